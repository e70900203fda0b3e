"""The whole graph on a device that runs everything as late and as disordered as streams and events allow."""

from dataclasses import replace

import pytest

from livefusion.core.frame import Outcome
from livefusion.devices.cpu import CpuDevice
from livefusion.testing.host_twin import compiler
from livefusion.testing.mutants import NOT_FOR_ORDER, clue_of
from livefusion.testing.sim_graph import run_graph, run_simulated, same
from livefusion.testing.sim_route import LIVE, ROUTES, Route
from livefusion.testing.wait_sites import sites_in_source

pytestmark = pytest.mark.unit

FRAMES = 3
SHARED = replace(LIVE, name="shared", kind="cpu")
needs_compiler = pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler for the host twin")


def test_every_order_gives_the_pictures_of_the_cpu() -> None:
    expected = run_graph(CpuDevice(), 5, FRAMES)
    assert [picture.outcome for picture in expected] == [Outcome.SWAPPED] * FRAMES
    for seed in range(3):
        run = run_simulated(seed, 5, frames=FRAMES, route=SHARED)
        assert run.races == ()
        assert same(run.pictures, expected), f"seed {seed} gives other pixels"


@needs_compiler
@pytest.mark.parametrize("route", [route for route in ROUTES if route.kind == "cuda"], ids=lambda r: r.name)
def test_every_order_gives_the_same_pictures_on_every_route(route: Route) -> None:
    runs = [run_simulated(seed, 5, frames=6, route=route) for seed in range(2)]
    outcomes = [picture.outcome for picture in runs[0].pictures]
    assert runs[0].error == ""
    assert len(outcomes) == 6
    assert (Outcome.SAFE in outcomes) == bool(route.fails)
    for run in runs:
        assert (run.races, run.error) == ((), "")
        assert run.same(runs[0])


def test_a_missing_wait_is_noticed() -> None:
    whole = run_simulated(0, 5, frames=FRAMES, route=SHARED)
    silent, number = [], 0
    # Each in turn is for the bench; the stride hits other waits in each frame.
    while (run := run_simulated(1, 5, drop_wait=number, frames=FRAMES, route=SHARED)).waits > number:
        if not clue_of(run, whole) and run.left_out not in NOT_FOR_ORDER:
            silent.append(run.left_out)
        number += 7
    assert number > 20
    assert silent == []


@needs_compiler
@pytest.mark.parametrize(
    "site",
    [
        "faces/landmarks.py:Landmarker.find:0",
        "media/host.py:HostPictures._fetch:0",
        "media/host.py:HostPictures._fetch:2",
        "pipeline/render.py:RenderStage.process:0",
    ],
)
def test_a_place_without_its_waits_is_noticed(site: str) -> None:
    whole = run_simulated(0, 5, frames=FRAMES)
    assert whole.seen[site] > 0
    assert clue_of(run_simulated(1, 5, drop_site=site, frames=FRAMES), whole)


def test_excuses_are_for_places_that_exist() -> None:
    assert set(NOT_FOR_ORDER) <= {site.name for site in sites_in_source()}
