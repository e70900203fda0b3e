"""NVDEC against FFmpeg, picture by picture; and whether there is NVENC."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from gpu_checks.machine import Machine
from gpu_checks.sheet import Row, SkippedError, exactly
from livefusion.core.geometry import Size
from livefusion.devices.device import Device

_SIZE, _FRAMES = (1280, 720), 90


def check(machine: Machine) -> list[Row]:
    """Pictures whose bytes or times differ, out of order or missing ones included."""
    missing = [name for name in ("av", "cv2", "PyNvVideoCodec") if find_spec(name) is None]
    if machine.stands_in or missing:
        raise SkippedError("needs a GPU" if machine.stands_in else f"{', '.join(missing)} not installed")
    with tempfile.TemporaryDirectory() as folder:
        clip = Path(folder, "clip.mp4")
        _write(clip)
        wanted = _decoded(clip)
        got, fallbacks = _decoded_on(clip, machine.device)
    if fallbacks:
        raise SkippedError("; ".join(fallback.reason for fallback in fallbacks))
    differing = sum(one != other for one, other in zip(wanted, got, strict=False))
    differing += abs(len(wanted) - len(got))
    return [
        exactly("codec", f"NVDEC: of {_FRAMES} pictures, differ from FFmpeg's", differing, 0),
        Row("codec", "NVENC", _nvenc(machine.device)),
    ]


def _write(path: Path) -> None:
    """A clip of moving noise and gradients, without B-frames."""
    import av

    rng = np.random.default_rng(0)
    width, height = _SIZE
    noise = rng.integers(0, 256, (height * 3 // 2, width + _FRAMES * 4), np.uint8)
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.options = {"preset": "veryfast", "bf": "0", "tune": "zerolatency"}
        for index in range(_FRAMES):
            picture = np.ascontiguousarray(noise[:, index * 4 : index * 4 + width])
            frame = av.VideoFrame.from_ndarray(picture, format="yuv420p")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def _decoded(path: Path) -> list[tuple[int, int]]:
    import av

    with av.open(str(path)) as container:
        return [
            (int(frame.pts or 0), crc32(frame.reformat(format="nv12").to_ndarray().tobytes()))
            for frame in container.decode(video=0)
        ]


def _decoded_on(path: Path, device: Device) -> tuple[list[tuple[int, int]], Any]:
    import av

    from livefusion.media.nvcodec.choose import choose_decoder

    found = []
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        decoder = choose_decoder(stream, device)
        for packet in container.demux(stream):
            for picture in decoder.decode(packet):
                if picture.buffer.ready is not None:
                    picture.buffer.ready.synchronize()
                nv12 = device.to_host(picture.buffer.nv12)
                found.append((int(picture.pts or 0), crc32(nv12.tobytes())))
        fallbacks = decoder.fallbacks
        decoder.close()
    return found, fallbacks


def _nvenc(device: Device) -> str:
    from livefusion.core.errors import DeviceError
    from livefusion.media.nvcodec.codecs import open_codecs

    try:
        codecs = open_codecs(device)
    except DeviceError as error:
        return str(error)
    return "not asked" if codecs is None else (codecs.capabilities.encoder_refusal(Size(*_SIZE)) or "there")
