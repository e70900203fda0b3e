"""The whole graph on a device that runs everything as late and as disordered as streams and events allow."""

import pytest

from livefusion.cli.bench.device import run_graph, run_simulated, same
from livefusion.core.frame import Outcome
from livefusion.devices.cpu import CpuDevice

pytestmark = pytest.mark.unit

FRAMES = 2


def test_every_order_gives_the_same_pictures() -> None:
    expected = run_graph(CpuDevice(), 5, FRAMES)
    assert [picture.outcome for picture in expected] == [Outcome.SWAPPED] * FRAMES
    for seed in range(4):
        run = run_simulated(seed, 5, frames=FRAMES)
        assert run.races == ()
        assert same(run.pictures, expected), f"seed {seed} gives other pixels"


def test_a_missing_wait_is_named() -> None:
    silent, number = [], 0
    # Each in turn is for the bench; the stride hits other waits in the second frame than in the first.
    while (run := run_simulated(1, 5, number, FRAMES)).waits > number:
        silent += [] if run.races else [number]
        number += 3
    assert number > 8
    assert silent == []
