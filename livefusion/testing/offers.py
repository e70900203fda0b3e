"""Offers as other programs write them."""

FINGERPRINT = ":".join(f"{byte:02X}" for byte in range(74, 106))

OBS = """v=0
o=rtc 3767197920 0 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0 1
a=group:LS 0 1
a=msid-semantic:WMS *
a=setup:actpass
a=ice-ufrag:xp7b
a=ice-pwd:eWxH1jCdrEkpWIRsRzbkrz
a=ice-options:ice2,trickle
a=fingerprint:sha-256 FINGERPRINT
m=audio 9 UDP/TLS/RTP/SAVPF 111
c=IN IP4 0.0.0.0
a=mid:0
a=sendonly
a=ssrc:1362341425 cname:kkJxIZHhDcXVOc7d
a=ssrc:1362341425 msid:bKZtQDG4CQJPhBzc bKZtQDG4CQJPhBzc-audio
a=msid:bKZtQDG4CQJPhBzc bKZtQDG4CQJPhBzc-audio
a=rtcp-mux
a=rtpmap:111 opus/48000/2
a=fmtp:111 minptime=10;maxaveragebitrate=96000;stereo=1;sprop-stereo=1;useinbandfec=1
m=video 9 UDP/TLS/RTP/SAVPF 96
c=IN IP4 0.0.0.0
a=mid:1
a=sendonly
a=ssrc:1362341426 cname:kkJxIZHhDcXVOc7d
a=ssrc:1362341426 msid:bKZtQDG4CQJPhBzc bKZtQDG4CQJPhBzc-video
a=msid:bKZtQDG4CQJPhBzc bKZtQDG4CQJPhBzc-video
a=rtcp-mux
a=rtpmap:96 H264/90000
a=rtcp-fb:96 nack
a=rtcp-fb:96 nack pli
a=rtcp-fb:96 goog-remb
a=fmtp:96 profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1
a=candidate:1 1 UDP 2122317823 127.0.0.1 50000 typ host
a=end-of-candidates
""".replace("\n", "\r\n").replace("FINGERPRINT", FINGERPRINT)
"""OBS Studio 30 by libdatachannel: all candidates in the offer, audio first, 42e01f whatever it encodes."""
