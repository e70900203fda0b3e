"""Packets in the form in which the GPU's decoders take them."""

from typing import Any

from av.bitstream import BitStreamFilterContext
from av.error import FFmpegError
from av.packet import Packet

from livefusion.core.errors import InputError
from livefusion.media.nvcodec.parameters import HEAD_BYTES, parameters_of

_TO_ANNEX_B = {"h264": "h264_mp4toannexb", "hevc": "hevc_mp4toannexb"}


class Bitstream:
    """Puts start codes and parameter sets into the packets of a container that keeps them apart.

    ``stream`` is the ``av.VideoStream`` that they belong to; None where they are in Annex B already.
    """

    def __init__(self, codec: str, stream: Any) -> None:
        self._codec = codec
        self._filter: Any = None
        if stream is not None and codec in _TO_ANNEX_B:
            self._filter = BitStreamFilterContext(_TO_ANNEX_B[codec], stream)

    def is_key(self, packet: Any) -> bool:
        """Whether decoding can begin with a packet; outside of a container its parameter sets say so."""
        return packet.is_keyframe or (self._filter is None and bool(self.parameters(packet)))

    def parameters(self, packet: Any) -> bytes:
        """The parameter sets of a packet that was converted."""
        return parameters_of(self._codec, bytes(memoryview(packet)[:HEAD_BYTES]))

    def convert(self, packet: Any) -> Any:
        """The packet in Annex B; the one that was given is empty then. ``InputError`` if it is damaged."""
        if self._filter is None:
            return packet
        try:
            parts = self._filter.filter(packet)
        except FFmpegError as error:
            raise InputError(f"a packet is damaged ({error.strerror})") from error
        if len(parts) != 1:
            raise InputError("a packet has no picture in it")
        return parts[0]


def copied(packet: Any) -> Any:
    """The same packet again, since a conversion takes the one that it is given."""
    twin = Packet(bytes(packet))
    twin.pts, twin.dts = packet.pts, packet.dts
    if packet.time_base is not None:
        twin.time_base = packet.time_base
    twin.is_keyframe = packet.is_keyframe
    for side_data in packet.iter_sidedata():
        twin.set_sidedata(side_data)
    return twin
