"""A slot of our device as PyNvVideoCodec takes pictures: planes with the CUDA array interface."""

from typing import Any

from livefusion.devices.device import Array


class Plane:
    """One plane: ``__cuda_array_interface__``, version 3."""

    __slots__ = ("__cuda_array_interface__",)

    def __init__(self, array: Array, channels: int) -> None:
        height, width = array.shape[:2]
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (height, width, channels),
            "strides": (array.strides[0], channels, 1),
            "typestr": "|u1",
            "data": (address_of(array), False),
        }


class Picture:
    """An NV12 picture whose chroma follows its luma with the same pitch, as slots have it.

    It does not keep the slot; whoever encodes it does.
    """

    __slots__ = ("_planes",)

    def __init__(self, luma: Array, chroma: Array) -> None:
        self._planes = [Plane(luma, 1), Plane(chroma, 2)]

    def cuda(self) -> list[Plane]:
        """Luma and chroma."""
        return self._planes


def address_of(array: Array) -> int:
    """Address of an array's first byte, on the device or the host."""
    interface: Any = getattr(array, "__cuda_array_interface__", None) or array.__array_interface__
    address: int = interface["data"][0]
    return address
