"""What a trickle PATCH brings: candidates that a peer found later (RFC 8840)."""

from dataclasses import dataclass

from livefusion.media.webrtc.offer import MalformedOfferError

_MAX_CANDIDATES = 64


@dataclass(frozen=True, slots=True)
class Fragment:
    """``candidates`` are (media section, what follows ``candidate:``); ``ended`` says that there are no more.

    ``user`` is the ICE user name; one other than the offer's asks for an ICE restart.
    """

    candidates: tuple[tuple[str, str], ...]
    ended: bool
    user: str = ""


def read_fragment(text: str) -> Fragment:
    """``MalformedOfferError`` if it is no fragment of a session description."""
    section, user, ended = "0", "", False
    candidates: list[tuple[str, str]] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        if len(line) < 2 or line[1] != "=":
            raise MalformedOfferError("this is no fragment of a session description")
        name, _, value = line[2:].partition(":")
        if not line.startswith("a="):
            continue
        match name:
            case "mid":
                section = value.strip()
            case "ice-ufrag":
                user = value.strip()
            case "candidate":
                candidates.append((section, value.strip()))
            case "end-of-candidates":
                ended = True
    if len(candidates) > _MAX_CANDIDATES:
        raise MalformedOfferError("there are too many candidates")
    return Fragment(tuple(candidates), ended, user)
