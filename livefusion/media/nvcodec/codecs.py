"""The video engines of the GPU that a device computes on, ready to be used."""

import re
from dataclasses import dataclass
from typing import Any

from livefusion.core.errors import DeviceError
from livefusion.devices.device import Device
from livefusion.media.nvcodec.capabilities import Capabilities
from livefusion.media.nvcodec.module import load_module
from livefusion.media.nvcodec.probe import probe_codecs

_CUDA = re.compile(r"cuda:(\d+)")


@dataclass(frozen=True, slots=True)
class Codecs:
    """PyNvVideoCodec (``testing.nvcodec`` has a stand-in), the number of the GPU, and what that can do."""

    module: Any
    gpu: int
    capabilities: Capabilities


def open_codecs(device: Device) -> Codecs | None:
    """The engines beside a device; None if it is no GPU.

    ``DeviceError`` if it is one, but its engines cannot be used at all.
    """
    match = _CUDA.fullmatch(device.name)
    if match is None:
        return None
    gpu = int(match[1])
    capabilities = probe_codecs(gpu)
    if capabilities.no_decoder and capabilities.no_encoder:
        raise DeviceError(capabilities.no_decoder, "run `livefusion doctor`")
    return Codecs(load_module(), gpu, capabilities)
