"""On a GPU that does nothing the stages see what the networks of another run gave."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from livefusion.core.geometry import Size
from livefusion.devices.cpu import CpuDevice
from livefusion.testing.host_time import measure_host, record_networks
from livefusion.testing.network_tape import NetworkTape, TapingDevice
from livefusion.testing.null_device import NullDevice
from livefusion.testing.performer_clip import render_clip

pytestmark = pytest.mark.media

FRAMES = 6


def test_a_tape_gives_again_what_it_was_given() -> None:
    tape = NetworkTape()
    device = TapingDevice(CpuDevice(), tape)
    stream, read = device.stream("s"), device.empty((2,), np.float32)
    output = device.empty((2,), np.float32)
    for value in (3, 5):
        device.run(lambda v=value: output.fill(v), stream, reads=(read,), writes=(output,), name="net")
    null = NullDevice(tape)
    played = null.empty((2,), np.float32)
    pinned = null.pinned((2,), np.float32)
    null_stream = null.stream("s")
    seen = []
    for _ in range(3):
        null.run(lambda: None, null_stream, reads=(), writes=(played,), name="net")
        null.copy(pinned, played, null_stream)
        seen.append(pinned.tolist())
    assert seen == [[3, 3], [5, 5], [5, 5]]


def test_every_frame_is_swapped_without_networks_and_kernels(tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    render_clip(clip, Size(320, 240), Fraction(30), 100, FRAMES / 30)
    tape = record_networks(clip, FRAMES)
    times = measure_host(clip, tape, warm_up=2, frames=FRAMES - 2)
    assert times.outcomes == ["swapped"] * (FRAMES - 2)
    assert times.stages.shape == (FRAMES - 2, 4)
    assert (times.stages > 0).all()
    assert len(times.detector) >= FRAMES - 2
