"""Packets into slots of the device through NVDEC, with FFmpeg as its scout and in reserve."""

import logging
from collections.abc import Sequence
from typing import Any

from av.error import FFmpegError

from livefusion.core.errors import DeviceError, InputError
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.decode.layout import DevicePicture, Layout, siting_of
from livefusion.media.decode.packets import SoftwareDecoder
from livefusion.media.nvcodec.bitstream import Bitstream, copied
from livefusion.media.nvcodec.codecs import Codecs
from livefusion.media.nvcodec.session import DecoderSession, Surface
from livefusion.media.nvcodec.slots import SurfaceSlots

_log = logging.getLogger(__name__)

_EIGHT_BIT_420 = frozenset({"yuv420p", "yuvj420p", "nv12"})
_HELD_BACK = 20
"""Pictures that a decoder may give at once when it is drained: sixteen of the codec, four of its own."""
_PATIENCE = 2
"""Failures without a picture between them after which NVDEC is given up."""
_REMEMBERED = 64
"""Packets whose times are kept; those of pictures that never come must not pile up."""


class NvdecDecoder:
    """Decodes on the GPU and copies each picture, upright and of even size, into a slot of a pool.

    ``context`` is the ``av.CodecContext`` of the stream. It looks at the key frames whose parameter sets are
    new, so size, cropping, rotation and colours are those that decoding in software would give. It decodes
    everything from the key frame on that NVDEC is not made for, or where that keeps failing; ``fallbacks``
    says so. ``stream`` is the ``av.VideoStream`` that the packets belong to, None where they are in Annex B.
    Pictures that are stored out of order come four later, others at once.
    """

    def __init__(
        self, codecs: Codecs, device: Device, context: Any, *, stream: Any = None, pictures: int = 16
    ) -> None:
        self._codecs = codecs
        self._device = device
        self._context = context
        self._codec = str(context.codec.canonical_name)
        self._pictures = pictures + _HELD_BACK
        self._work = device.stream("decode")
        self._bitstream = Bitstream(self._codec, stream)
        self._software: SoftwareDecoder | None = None
        self._session: DecoderSession | None = None
        self._slots: SurfaceSlots | None = None
        self._layout: Layout | None = None
        self._parameters = b""
        self._packets = 0
        self._times: dict[int, int | None] = {}
        self._newest_pts: int | None = None
        self._reordered = bool(context.has_b_frames)
        self._failures = 0
        self._moved = ""

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Why pictures come from software, if they do."""
        return self._software.fallbacks if self._software else ()

    def decode(self, packet: Any) -> Sequence[Any]:
        """The pictures that a packet completes; one without data drains the decoder.

        ``InputError`` if it is damaged, or builds on one that was.
        """
        if self._software is not None:
            return self._software.decode(packet)
        return self._decode_on_gpu(packet) if packet.size else self._drain()

    def move(self, device: Device, pictures: int) -> bool:
        """Go on with the next key frame: in new memory, or in software if that is another device."""
        try:
            self.close()
        except DeviceError as error:
            _log.debug("NVDEC is left behind: %s", error)
        self._slots, self._pictures = None, pictures + _HELD_BACK
        if device is self._device:
            self._work = device.stream("decode")
        else:
            self._moved = f"the pictures are wanted on {device.name} now"
        self._times.clear()
        self._newest_pts = None
        return self._software is None

    def close(self) -> None:
        """Give the decoder back."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _decode_on_gpu(self, packet: Any) -> Sequence[Any]:
        pts, original = packet.pts, copied(packet) if self._bitstream.is_key(packet) else None
        packet = self._bitstream.convert(packet)
        pictures = [] if original is None else self._get_ready(original, packet)
        if self._software is not None:
            return [*pictures, *self._software.decode(original)]
        if self._session is None:
            raise InputError("a packet builds on one that is damaged or missing")
        self._note_time(pts)
        return [*pictures, *self._decode_with(self._session, packet, original)]

    def _get_ready(self, original: Any, packet: Any) -> list[Any]:
        """Be ready for a key frame and what builds on it; the pictures that were still inside."""
        parameters = self._bitstream.parameters(packet)
        refusal = self._moved
        layout = self._layout
        if layout is None or parameters not in (b"", self._parameters):
            layout, unfit = self._look_at(original)
            refusal = refusal or unfit
            self._parameters = parameters
        if self._failures >= _PATIENCE:
            refusal = "it failed again and again"
        fits = layout == self._layout and self._session is not None
        if fits and not refusal and self._session and self._session.reordered == self._reordered:
            return []
        leftovers = self._drain()
        self._layout = layout
        if not refusal:
            refusal = self._open_session(layout)
        if refusal:
            self._fall_back(refusal)
        return leftovers

    def _look_at(self, key_packet: Any) -> tuple[Layout, str]:
        """What the pictures from a key frame on are like, and why NVDEC is not for them, if it is not."""
        try:
            pictures = [*self._context.decode(key_packet), *self._context.decode(None)]
        except FFmpegError as error:
            self.close()  # what follows builds on parameters that it has not seen
            raise InputError(f"a key frame is damaged ({error.strerror})") from error
        finally:
            self._context.flush_buffers()
        if not pictures:
            self.close()
            raise InputError("a key frame has no picture in it")
        picture = pictures[0]
        layout = Layout.of_frame(picture, siting_of(self._codec))
        if picture.format.name not in _EIGHT_BIT_420:
            return layout, f"it is used for 8-bit 4:2:0, not for {picture.format.name}"
        if picture.interlaced_frame:
            return layout, "it would deinterlace the pictures"
        return layout, self._codecs.capabilities.decoder_refusal(self._codec, layout.stored)

    def _open_session(self, layout: Layout) -> str:
        """Open NVDEC and a pool for pictures; why that does not go, if it does not."""
        try:
            self._session = DecoderSession(
                self._codecs, self._device, self._codec, self._work, reordered=self._reordered
            )
        except DeviceError as error:
            return error.problem
        if self._slots is None or self._slots.layout != layout:
            self._slots = SurfaceSlots(self._device, self._work, layout, self._pictures)
        how = "four pictures late, since they are stored out of order" if self._reordered else "without delay"
        _log.info("%s of %s is decoded by NVDEC, %s", self._codec, layout.stored, how)
        return ""

    def _fall_back(self, reason: str) -> SoftwareDecoder:
        _log.warning("decoding in software: %s", reason)
        self._software = SoftwareDecoder(self._context, (Fallback("nvdec", "software", reason),))
        return self._software

    def _decode_with(self, session: DecoderSession, packet: Any, original: Any) -> Sequence[Any]:
        try:
            surfaces = session.decode(packet, self._packets)
        except DeviceError as error:
            self._failures += 1
            self.close()
            if original is not None and self._failures >= _PATIENCE:
                return self._fall_back(error.problem).decode(original)
            raise InputError(f"a packet cannot be decoded ({error.problem})") from error
        if surfaces:
            self._failures = 0
        return self._keep(surfaces)

    def _drain(self) -> list[Any]:
        """The pictures that are still inside; the session ends."""
        if self._session is None:
            return []
        try:
            return self._keep(self._session.drain())
        except DeviceError as error:
            _log.debug("the last pictures are lost: %s", error)
            return []
        finally:
            self.close()

    def _keep(self, surfaces: Sequence[Surface]) -> list[Any]:
        """Copies of surfaces, put on the decoder's stream before its next picture overwrites them."""
        if not surfaces:
            return []
        slots = self._slots
        assert slots is not None, "a session has slots"
        return [
            DevicePicture(self._times.pop(surface.number, None), slots.layout, slots.copy(surface))
            for surface in surfaces
        ]

    def _note_time(self, pts: int | None) -> None:
        """Remember the time of a packet by its number, which its picture will carry."""
        self._packets += 1
        self._times[self._packets] = pts
        if len(self._times) > _REMEMBERED:
            del self._times[next(iter(self._times))]
        if pts is None:
            return
        if self._newest_pts is not None and pts < self._newest_pts and not self._reordered:
            _log.info(
                "pictures are stored out of order: NVDEC gives them four later from the next key frame on"
            )
            self._reordered = True
        self._newest_pts = pts if self._newest_pts is None else max(pts, self._newest_pts)
