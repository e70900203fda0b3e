"""What INPUT and OUTPUT on the command line mean."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from livefusion.core.errors import InputError, OutputError, RequestError
from livefusion.core.words import did_you_mean
from livefusion.media.network.address import INPUT_SCHEMES, OUTPUT_SCHEMES, StreamAddress, parse_stream
from livefusion.media.sinks.file import SUFFIXES

INPUTS = "a video file, camera:0, camera:/dev/video0, rtmp://, rtsp://, udp://, srt://, webrtc: or performer:"
"""The inputs there are, for messages."""
OUTPUTS = (
    f"FILE{'|'.join(SUFFIXES)}, vcam:, rtmp://HOST/APP/KEY, rtsp://, udp://, srt://, webrtc:, "
    "whip+https://TOKEN@HOST/PATH or null:"
)
"""The outputs there are, for messages."""

# One letter before the colon is a Windows drive, not a scheme.
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?P<rest>.*)", re.DOTALL)
_USERINFO = re.compile(r"(?<=//)[^/@\s]+@")
_QUERY_VALUE = re.compile(r"(?P<name>[?&][^=&#\s]*=)(?P<value>[^&#\s]+)")
_HARMLESS = re.compile(r"[?&](?:listen|mode|latency|pkt_size|size|fps|face)=")
# What follows the application in an RTMP address is the key to somebody's channel.
_STREAM_KEY = re.compile(r"(?<![\w+])(?P<place>rtmps?://[^/\s]+/[^/\s?]+/)[^\s?]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FileLocator:
    """A file on this machine."""

    path: Path


@dataclass(frozen=True, slots=True)
class CameraLocator:
    """A camera by number (``0``) or by the system's name of it (``/dev/video2``)."""

    device: str


@dataclass(frozen=True, slots=True)
class PerformerLocator:
    """The synthetic performer, with its options as they were written."""

    options: str


@dataclass(frozen=True, slots=True)
class VirtualCameraLocator:
    """A virtual camera by the system's name of it; the first one that is free if empty."""

    device: str


@dataclass(frozen=True, slots=True)
class WebRtcLocator:
    """Whoever comes: as an input who sends by WebRTC, as an output all who watch."""


@dataclass(frozen=True, slots=True)
class WhipLocator:
    """A server that takes pictures by WHIP: its address, and the token that it asks for, perhaps empty."""

    url: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class NullLocator:
    """Nowhere."""


InputLocator = FileLocator | CameraLocator | PerformerLocator | StreamAddress | WebRtcLocator
OutputLocator = FileLocator | VirtualCameraLocator | StreamAddress | WebRtcLocator | WhipLocator | NullLocator


def parse_input(text: str) -> InputLocator:
    """Understand INPUT. ``InputError`` if nothing of ours is called that."""
    scheme, rest = _split(text)
    match scheme:
        case "":
            return FileLocator(_path(rest, InputError, INPUTS))
        case "file":
            return FileLocator(_path(_strip_authority(rest), InputError, INPUTS))
        case "camera":
            return CameraLocator(rest or "0")
        case "performer":
            return PerformerLocator(rest)
        case "webrtc":
            return _webrtc(rest, InputError)
    if scheme in INPUT_SCHEMES:
        return parse_stream(text, InputError)
    near = ("camera:", "performer:", "webrtc:")
    raise InputError(f"there is no input of the kind {scheme}", _hint(scheme, near, INPUTS))


def parse_output(text: str) -> OutputLocator:
    """Understand OUTPUT. ``OutputError`` if nothing of ours is called that."""
    scheme, rest = _split(text)
    match scheme:
        case "" | "file":
            path = _path(_strip_authority(rest) if scheme else rest, OutputError, OUTPUTS)
            if path.suffix.lower() not in SUFFIXES:
                raise OutputError(f"{path.name} does not say what to write", f"use {OUTPUTS}")
            return FileLocator(path)
        case "vcam":
            return VirtualCameraLocator(rest)
        case "webrtc":
            return _webrtc(rest, OutputError)
        case "whip+http" | "whip+https":
            return _whip(scheme.removeprefix("whip+"), rest)
        case "null":
            return NullLocator()
    if scheme in OUTPUT_SCHEMES:
        return parse_stream(text, OutputError)
    near = ("vcam:", "webrtc:", "whip+https:", "null:")
    raise OutputError(f"there is no output of the kind {scheme}", _hint(scheme, near, OUTPUTS))


def redact(text: str) -> str:
    """The text without user names, passwords, stream keys and query values of URLs, for logs and reports."""
    if "://" not in text:
        return text
    text = _STREAM_KEY.sub(r"\g<place>***", _USERINFO.sub("***@", text))
    return _QUERY_VALUE.sub(_hide_value, text)


def _hide_value(match: re.Match[str]) -> str:
    return match[0] if _HARMLESS.fullmatch(match["name"]) else f"{match['name']}***"


def _split(text: str) -> tuple[str, str]:
    match = _SCHEME.fullmatch(text)
    # A file whose name has a colon in it wins over a scheme that nobody knows.
    if match is None or (match["scheme"].lower() not in _SCHEMES and _exists(text)):
        return "", text
    return match["scheme"].lower(), match["rest"]


def _webrtc(rest: str, error: type[RequestError]) -> WebRtcLocator:
    if rest:
        raise error(f"webrtc: takes nothing behind it, not {rest}", "use --host and --port for the address")
    return WebRtcLocator()


def _whip(scheme: str, rest: str) -> WhipLocator:
    match = re.fullmatch(r"//(?:(?P<user>[^/@\s]*)@)?(?P<place>[^/@\s]+(?:/\S*)?)", rest)
    if match is None:
        raise OutputError("the address of the WHIP server is missing", "write whip+https://TOKEN@HOST/PATH")
    return WhipLocator(f"{scheme}://{match['place']}", unquote((match["user"] or "").lstrip(":")))


def _hint(scheme: str, near: Sequence[str], known: str) -> str:
    slip = "" if scheme in _SCHEMES else did_you_mean(f"{scheme}:", near)
    return slip or f"use {known}"


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def _path(text: str, error: type[RequestError], known: str) -> Path:
    if not text.strip() or "\0" in text:
        raise error("no file is named", f"use {known}")
    return Path(text)


def _strip_authority(rest: str) -> str:
    """``///path`` and ``/path`` are both ``/path``; ``///C:/path`` is ``C:/path``."""
    rest = rest.removeprefix("//")
    return rest[1:] if re.match(r"/[A-Za-z]:", rest) else rest


_SCHEMES = frozenset({"file", "camera", "performer", "vcam", "webrtc", "whip+http", "whip+https", "null"}) | {
    *INPUT_SCHEMES,
    *OUTPUT_SCHEMES,
}
