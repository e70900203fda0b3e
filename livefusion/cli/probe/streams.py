"""What carries streams of the network."""

import shutil

from livefusion.cli.probe.finding import Finding, State
from livefusion.cli.probe.packages import version_of
from livefusion.media.network.srt import PROGRAM, ffmpeg_has_srt

NAME = "SRT"
_INSTALL = "install it (Debian and Ubuntu: sudo apt install srt-tools), or use udp:// or rtmp://"


def find_streams() -> list[Finding]:
    """RTMP, RTSP and UDP come with PyAV; SRT needs a program."""
    version = version_of("av")
    carried = Finding("RTMP, RTSP, UDP", State.OK, f"by FFmpeg in PyAV {version}")
    program = shutil.which(PROGRAM)
    own = "has SRT, which is not used" if ffmpeg_has_srt() else "has no SRT of its own"
    if program is None:
        detail = f"{PROGRAM} is not installed, and FFmpeg in PyAV {version} {own}"
        return [carried, Finding(NAME, State.LACKING, detail, _INSTALL)]
    return [carried, Finding(NAME, State.OK, f"by {program}, as FFmpeg in PyAV {version} {own}")]
