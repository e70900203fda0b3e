"""The whole graph between the two engines: file, NVDEC, swap, NVENC, file."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livefusion.core.geometry import Size
from livefusion.core.settings import Pace, Settings
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.media.nvcodec.capabilities import NO_NVENC, Capabilities, Engine
from livefusion.media.sinks.file import FileSink
from livefusion.media.sources.file import FileSource
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.testing.media import decode_clip, luma_of
from livefusion.testing.nvcodec import Faults, stand_in_codecs
from livefusion.testing.performer_clip import render_clip
from livefusion.testing.simdevice import SimDevice
from livefusion.testing.slow_clock import SlowClock

pytestmark = pytest.mark.media

FRAMES = 6
SIZE = Size(320, 240)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clip") / "performer.mp4"
    render_clip(path, SIZE, Fraction(30), 100, FRAMES / 30)
    return path


def swap(clip: Path, out: Path, device: Device, codecs: Any) -> dict[str, Any]:
    """Run the graph from file to file; the report."""
    sinks: list[FileSink] = []

    def make_sink(where: Device, form: Any) -> FileSink:
        sinks.append(FileSink(out, where, form, codecs=codecs))
        return sinks[0]

    def make_source(where: Device) -> FileSource:
        return FileSource(clip, where, pace=Pace.FAST, codecs=codecs)

    parts = Parts(device=device, source=make_source, sinks=[make_sink], clock=SlowClock())
    pipeline = Pipeline(Settings(input=str(clip), pace=Pace.FAST), parts=parts)
    try:
        pipeline.start()
        pipeline.wait()
    finally:
        pipeline.stop()
    return pipeline.report()


def lumas(path: Path) -> list[np.ndarray]:
    return [luma_of(picture).astype(int) for picture in decode_clip(path)]


DEVICES: dict[str, Callable[[], Device]] = {
    "cpu": CpuDevice,
    "sim": lambda: SimDevice(1, host_orders=False),
    "sim-cuda": lambda: SimDevice(2, kind="cuda", host_orders=False),
}


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("delay", [0, 3])
def test_a_file_is_swapped_between_the_engines(clip: Path, tmp_path: Path, name: str, delay: int) -> None:
    device = DEVICES[name]()
    codecs = stand_in_codecs(device, Faults(delay=delay))
    report = swap(clip, tmp_path / "nv.mp4", device, codecs)
    swap(clip, tmp_path / "soft.mp4", CpuDevice(), None)

    assert report["frames"]["swapped"] == FRAMES
    assert report["device"]["fallbacks"] == []
    assert len(codecs.module.decoders) == len(codecs.module.encoders) == 1
    got, expected = lumas(tmp_path / "nv.mp4"), lumas(tmp_path / "soft.mp4")
    assert len(got) == len(expected) == FRAMES
    # Two encoders apart, and on CUDA two bodies of each operator.
    assert max(np.abs(one - other).mean() for one, other in zip(got, expected, strict=True)) < 2
    original = lumas(clip)
    assert min(np.abs(one - other).max() for one, other in zip(got, original, strict=True)) > 25
    if isinstance(device, SimDevice):
        device.assert_no_races()


def test_a_gpu_without_an_encoder_swaps_all_the_same_and_says_so(clip: Path, tmp_path: Path) -> None:
    device = SimDevice(3, kind="cuda")
    decodes = Capabilities({"h264": Engine(Size(48, 16), Size(4096, 4096))}, no_encoder=NO_NVENC)
    report = swap(clip, tmp_path / "out.mp4", device, stand_in_codecs(device, capabilities=decodes))
    assert report["frames"]["swapped"] == FRAMES
    assert report["device"]["fallbacks"] == [{"wanted": "nvenc", "got": "x264", "reason": NO_NVENC}]
    assert len(decode_clip(tmp_path / "out.mp4")) == FRAMES
    device.assert_no_races()
