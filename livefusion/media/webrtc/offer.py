"""What a peer offers, checked before anything is made for it."""

from aiortc import RTCSessionDescription, sdp

from livefusion.core.errors import InputError

MAX_BYTES = 64 * 1024
"""Longest offer or fragment that is read; browsers write about 6 KB."""

_MAX_SECTIONS = 8


class MalformedOfferError(InputError):
    """What came is no session description."""


class UnsupportedOfferError(InputError):
    """It is one, but nothing in it can be served."""


def read_offer(text: str, *, direction: str) -> RTCSessionDescription:
    """The offer, which must have a video section of that ``direction`` (``sendonly``: the peer sends).

    ``MalformedOfferError`` if it cannot be read, ``UnsupportedOfferError`` if there is no such section.
    """
    if len(text) > MAX_BYTES:
        raise MalformedOfferError("the offer is too long")
    if not text.lstrip().startswith("v="):
        raise MalformedOfferError("this is no session description (SDP)")
    try:
        description = sdp.SessionDescription.parse(text)
    except Exception as error:  # border: the parser raises whatever a malformed line leads it to
        raise MalformedOfferError(f"the offer cannot be read ({type(error).__name__})") from error
    if len(description.media) > _MAX_SECTIONS:
        raise MalformedOfferError("the offer has too many sections")
    served = {direction, "sendrecv"}
    if not any(one.kind == "video" and (one.direction or "sendrecv") in served for one in description.media):
        verb = "sends" if direction == "sendonly" else "receives"
        raise UnsupportedOfferError(f"the offer has no video that {verb}")
    if not all(
        one.ice is not None and one.ice.usernameFragment and one.ice.password for one in description.media
    ):
        raise MalformedOfferError("the offer has no ICE credentials")
    if not all(one.dtls is not None and one.dtls.fingerprints for one in description.media):
        raise MalformedOfferError("the offer has no fingerprint")
    return RTCSessionDescription(sdp=text, type="offer")
