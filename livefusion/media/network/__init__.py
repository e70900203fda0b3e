"""Streams of the network: RTMP, RTSP, MPEG-TS over UDP, and SRT by way of it."""
