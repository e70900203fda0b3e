"""What session descriptions say of sound."""

import re

_OPUS = re.compile(r"^a=rtpmap:(\d+) opus/48000/2[ \t]*$", re.IGNORECASE | re.MULTILINE)
_MUSIC = "minptime=10;useinbandfec=1;stereo=1;sprop-stereo=1;maxaveragebitrate=128000"


def offers_opus(description: str) -> bool:
    """Whether a session description has a section of sound that can be Opus."""
    return any(
        section.startswith("audio") and _OPUS.search(section.replace("\r", ""))
        for section in re.split(r"^m=", description, flags=re.MULTILINE)[1:]
    )


def with_music(description: str) -> str:
    """Our description, asking for, and announcing, stereo at the rate of music.

    Browsers send mono at the rate of speech unless they are asked. Every line ends in CRLF.
    """
    for kind in _OPUS.findall(description.replace("\r", "")):
        description = re.sub(rf"^a=fmtp:{kind} .*\n", "", description, flags=re.MULTILINE)
        description = re.sub(
            rf"^(a=rtpmap:{kind} opus/48000/2)[ \t]*\r?\n",
            rf"\1\r\na=fmtp:{kind} {_MUSIC}\r\n",
            description,
            flags=re.MULTILINE | re.IGNORECASE,
        )
    return description
