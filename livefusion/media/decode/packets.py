"""What turns the packets of a file or a stream into pictures."""

from collections.abc import Sequence
from typing import Any, Protocol

from av.error import FFmpegError

from livefusion.core.errors import InputError
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback


class PacketDecoder(Protocol):
    """Pictures out of packets, in order of presentation. Used on one thread at a time."""

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where it runs otherwise than it best would."""
        ...

    def decode(self, packet: Any) -> Sequence[Any]:
        """The pictures that an ``av.Packet`` completes: ``av.VideoFrame`` or ``DevicePicture``.

        A packet without data drains the decoder. ``InputError`` if it is damaged; the next may be well.
        """
        ...

    def move(self, device: Device, pictures: int) -> bool:
        """Give pictures for memory of that device from now on, which may be the same one.

        True if it goes on only with a key frame: pictures up to there are lost, or have to be read again.
        """
        ...

    def close(self) -> None:
        """Give back what decoding took."""
        ...


class SoftwareDecoder:
    """FFmpeg on the CPU, by the codec context that a container opened."""

    def __init__(self, context: Any, fallbacks: tuple[Fallback, ...] = ()) -> None:
        self._context = context
        self._fallbacks = fallbacks

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """What it stands in for."""
        return self._fallbacks

    def decode(self, packet: Any) -> Sequence[Any]:
        """The pictures that a packet completes; ``InputError`` if it is damaged."""
        try:
            pictures: Sequence[Any] = self._context.decode(packet)
        except FFmpegError as error:
            raise InputError(f"a packet is damaged ({error.strerror})") from error
        return pictures

    def move(self, device: Device, pictures: int) -> bool:
        """Do nothing: its pictures lie on the host."""
        return False

    def close(self) -> None:
        """Do nothing: the container owns the context."""
