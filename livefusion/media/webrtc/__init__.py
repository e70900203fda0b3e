"""WebRTC: peers that send us their picture and peers that watch ours. Only this package imports aiortc."""
