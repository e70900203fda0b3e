"""Everything that leans on names inside aiortc 1.16 which it does not promise: one place, and each with why.

A test looks every name up; when one is gone, that test says so before a stream does.
"""

import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from aiortc import RTCPeerConnection, RTCRtpReceiver, RTCRtpSender
from aiortc.codecs import CODECS, HEADER_EXTENSIONS
from aiortc.rtcrtpparameters import (
    RTCRtcpFeedback,
    RTCRtpCodecCapability,
    RTCRtpCodecParameters,
    RTCRtpHeaderExtensionParameters,
)
from aiortc.rtp import (
    RTCP_PSFB_APP,
    HeaderExtensionsMap,
    RtcpPsfbPacket,
    RtcpRrPacket,
    RtcpSrPacket,
    pack_header_extensions,
    pack_remb_fci,
    unpack_header_extensions,
)

from livefusion.media.webrtc.bursts import read_in_bursts
from livefusion.media.webrtc.names import require_names

# Constrained baseline first: it is what x264's ultrafast makes and what every browser has. Main and the two
# High profiles are what OBS, phones and FFmpeg really send; the decoder copes with all of them.
PROFILES = ("42e01f", "42001f", "4d001f", "640c1f", "64001f")

_FIRST_PAYLOAD_TYPE = 110
_FEEDBACK = (("nack", None), ("nack", "pli"), ("ccm", "fir"), ("goog-remb", None))
_lock = threading.Lock()

PLAYOUT_DELAY = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
"""Header extension by which a sender says how long its pictures may be held back before they are shown."""
_FREE_ID = 12
# Two numbers of twelve bits, in hundredths of a second: at least 0, at most 1.
_AT_ONCE = b"\x00\x00\x01"

RECEIVER_NAMES = (
    "_RTCRtpReceiver__jitter_buffer",
    "_RTCRtpReceiver__decoder_queue",
    "_RTCRtpReceiver__remote_bitrate_estimator",
    "_RTCRtpReceiver__nack_generator",
    "_RTCRtpReceiver__remote_streams",
    "_RTCRtpReceiver__rtx_ssrc",
    "_RTCRtpReceiver__rtcp_ssrc",
    "_enabled",
    "_send_rtcp",
    "_send_rtcp_nack",
    "_send_rtcp_pli",
    "_handle_rtcp_packet",
)
"""What of a receiver is read or replaced here."""
SENDER_NAMES = ("_send_keyframe", "_handle_rtcp_packet", "_ssrc", "_RTCRtpSender__rtp_header_extensions_map")
"""What of a sender is replaced here."""
PEER_NAMES = ("_RTCPeerConnection__iceTransports",)
GATHERER_NAMES = ("_connection",)
CONNECTION_NAMES = ("get_component_candidates",)
"""What of a connection, its ICE gatherers and aioice below them."""


def h264_preferences() -> list[RTCRtpCodecCapability]:
    """H.264 in every profile, and retransmission, for ``setCodecPreferences``.

    Why: aiortc knows two baseline profiles, and an offer of Main or High alone fails. Its table of codecs is
    the only way to tell it more. Preferences only count before the remote description is set.
    """
    _add_profiles()
    wanted = [
        RTCRtpCodecCapability(mimeType=codec.mimeType, clockRate=codec.clockRate, parameters=codec.parameters)
        for profile in PROFILES
        for codec in CODECS["video"]
        if codec.parameters.get("profile-level-id") == profile
    ]
    return [*wanted, RTCRtpCodecCapability(mimeType="video/rtx", clockRate=90_000)]


def opus_preferences() -> list[RTCRtpCodecCapability]:
    """Opus alone, for ``setCodecPreferences``: the others are telephony."""
    return [RTCRtpCodecCapability(mimeType="audio/opus", clockRate=48_000, channels=2)]


def offer_playout_delay() -> None:
    """Let connections agree on the playout delay from now on, where the peer knows it.

    Why: aiortc's table of header extensions is the only way to tell it more.
    """
    with _lock:
        known = HEADER_EXTENSIONS["video"]
        if not any(one.uri == PLAYOUT_DELAY for one in known):
            known.append(RTCRtpHeaderExtensionParameters(id=_FREE_ID, uri=PLAYOUT_DELAY))


class _ShownAtOnce(HeaderExtensionsMap):
    """Adds to each packet that its picture is to be shown at once, if that was agreed on."""

    def __init__(self) -> None:
        super().__init__()
        self._id = 0

    def configure(self, parameters: Any) -> None:
        super().configure(parameters)
        self._id = next((one.id for one in parameters.headerExtensions if one.uri == PLAYOUT_DELAY), 0)

    def set(self, values: Any) -> tuple[int, bytes]:
        profile, packed = super().set(values)
        if not self._id:
            return profile, packed
        extensions = [*unpack_header_extensions(profile, packed), (self._id, _AT_ONCE)]
        added: tuple[int, bytes] = pack_header_extensions(extensions)
        return added


def show_at_once(sender: RTCRtpSender) -> None:
    """Have browsers show pictures as soon as they are decoded; before the connection is up.

    Why: otherwise they hold each one back by what they take for the jitter of the line, and 10 ms for
    drawing. ``jitterBufferTarget`` of a page is a wish that does not reach below that.
    """
    require_names(sender, SENDER_NAMES)
    hooked: Any = sender
    hooked._RTCRtpSender__rtp_header_extensions_map = _ShownAtOnce()


def _add_profiles() -> None:
    with _lock:
        known = {codec.parameters.get("profile-level-id") for codec in CODECS["video"]}
        number = _FIRST_PAYLOAD_TYPE
        for profile in PROFILES:
            if profile in known:
                continue
            CODECS["video"] += [
                RTCRtpCodecParameters(
                    mimeType="video/H264",
                    clockRate=90_000,
                    payloadType=number,
                    rtcpFeedback=[RTCRtcpFeedback(kind, parameter) for kind, parameter in _FEEDBACK],
                    parameters={
                        "level-asymmetry-allowed": "1",
                        "packetization-mode": "1",
                        "profile-level-id": profile,
                    },
                ),
                RTCRtpCodecParameters(
                    mimeType="video/rtx",
                    clockRate=90_000,
                    payloadType=number + 1,
                    parameters={"apt": number},
                ),
            ]
            number += 2


class ReceiverHooks:
    """A receiver of video whose pictures we assemble and decode ourselves.

    Why: its jitter buffer gives a picture one frame too late and blocks for seconds behind a packet that was
    lost twice; its two queues have no bound; its bitrate estimate starves browsers (4 fps at 720p); and a
    packet is asked for again only when another one is missing.
    """

    def __init__(self, receiver: RTCRtpReceiver) -> None:
        require_names(receiver, RECEIVER_NAMES)
        self._receiver: Any = receiver

    def replace(self, assembler: Any, feed: Any) -> None:
        """Put our own parts in place; before the connection is up."""
        self._set("jitter_buffer", assembler)
        self._set("decoder_queue", feed)
        # None is what an audio receiver has: no estimate is made, and `send_limit` tells ours.
        self._set("remote_bitrate_estimator", None)

    def watch_clock(self, on_report: Callable[[int, int], None]) -> None:
        """Have it told which time of its own clock (NTP) the sender gives to which RTP time.

        Why: aiortc keeps that to itself, and without it sound and pictures cannot be put together.
        """
        handle: Callable[[Any], Awaitable[None]] = self._receiver._handle_rtcp_packet

        async def observe(packet: Any) -> None:
            if isinstance(packet, RtcpSrPacket) and packet.ssrc == self.stream:
                on_report(packet.sender_info.ntp_timestamp, packet.sender_info.rtp_timestamp)
            await handle(packet)

        self._receiver._handle_rtcp_packet = observe

    def ignore(self) -> None:
        """Let what comes be dropped at once, for a track that nobody reads: it would fill memory."""
        self._receiver._enabled = False

    @property
    def stream(self) -> int | None:
        """The SSRC of the media, not of its retransmissions; None before its first packet."""
        repairs = self._get("rtx_ssrc")
        return next((ssrc for ssrc in self._get("remote_streams") if ssrc not in repairs), None)

    @property
    def missing(self) -> list[int]:
        """Sequence numbers that did not come yet and are worth asking for."""
        return sorted(self._get("nack_generator").missing)

    def forget_missing(self) -> None:
        """Ask for none of them again."""
        self._get("nack_generator").missing.clear()

    @property
    def totals(self) -> tuple[int, int]:
        """Packets of the media that should have come, and that came."""
        statistics = self._get("remote_streams").get(self.stream)
        return (0, 0) if statistics is None else (statistics.packets_expected, statistics.packets_received)

    async def ask_again(self, stream: int, missing: list[int]) -> None:
        """Ask for packets."""
        await self._receiver._send_rtcp_nack(stream, missing)

    async def ask_key(self, stream: int) -> None:
        """Ask for a key frame."""
        await self._receiver._send_rtcp_pli(stream)

    async def send_limit(self, stream: int, bitrate: int) -> None:
        """Tell the sender how many bits a second it may send (REMB)."""
        own = self._get("rtcp_ssrc")
        if own is not None:
            fci = pack_remb_fci(bitrate, [stream])
            packet = RtcpPsfbPacket(fmt=RTCP_PSFB_APP, ssrc=own, media_ssrc=0, fci=fci)
            await self._receiver._send_rtcp(packet)

    def _get(self, name: str) -> Any:
        return getattr(self._receiver, f"_RTCRtpReceiver__{name}")

    def _set(self, name: str, value: Any) -> None:
        setattr(self._receiver, f"_RTCRtpReceiver__{name}", value)


def hook_sender(sender: RTCRtpSender, on_key: Callable[[], None], on_loss: Callable[[float], None]) -> None:
    """Have the receiver's wishes told: a key frame (PLI, FIR), and the share of packets it lost, 0…1.

    Why: a sender of packets that are encoded already only sets a flag that it never reads, and keeps the
    reports of loss to itself.
    """
    require_names(sender, SENDER_NAMES)
    hooked: Any = sender
    handle: Callable[[Any], Awaitable[None]] = hooked._handle_rtcp_packet

    async def observe(packet: Any) -> None:
        if isinstance(packet, RtcpRrPacket | RtcpSrPacket):
            for report in packet.reports:
                if report.ssrc == hooked._ssrc:
                    on_loss(report.fraction_lost / 256)
        await handle(packet)

    hooked._send_keyframe = on_key
    hooked._handle_rtcp_packet = observe


def limit_candidates(peer: RTCPeerConnection, seconds: float, addresses: Iterable[str] | None) -> None:
    """Let our candidates be gathered within so many seconds, and on these addresses alone; before they are.

    Why: aioice opens a socket on each address of this machine, whatever the server listens on, and waits for
    five seconds for a STUN server that does not answer. The sockets are read in bursts then.
    """
    require_names(peer, PEER_NAMES)
    for transport in getattr(peer, PEER_NAMES[0]):
        require_names(transport.iceGatherer, GATHERER_NAMES)
        connection = transport.iceGatherer._connection
        require_names(connection, CONNECTION_NAMES)
        connection.get_component_candidates = _limited(connection, seconds, addresses)


def _limited(connection: Any, seconds: float, wanted: Iterable[str] | None) -> Any:
    gather = connection.get_component_candidates

    async def limited(component: int, addresses: list[str]) -> Any:
        found = await gather(component, addresses if wanted is None else list(wanted), timeout=seconds)
        read_in_bursts(connection)
        return found

    return limited
