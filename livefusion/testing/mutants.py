"""The test of the test: every wait of the code is left out, and somebody has to notice."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from livefusion.testing.sim_farm import SimFarm, Task
from livefusion.testing.sim_graph import SimRun
from livefusion.testing.sim_route import Route
from livefusion.testing.wait_sites import sites_in_source

NOT_FOR_ORDER = {
    "blend/blender.py:Blender.blend:0": "for engines with a stream of their own",
    "blend/blender.py:Blender.warm_up:0": "so that operators are compiled when the stage is open",
    "blend/occlusion.py:Occlusion.keep:0": "for engines with a stream of their own",
    "blend/occlusion.py:Occlusion.warm_up:0": "so that the network is loaded when the stage is open",
    "media/sinks/null.py:NullSink.write:0": "what this sink is for: the work is done, nobody looks at it",
    "swap/mesh/engine.py:MeshEngine.warm_up:1": "so that operators are compiled when the stage is open",
    "swap/mesh/engine.py:MeshEngine.prepare:0": "so that a switch of faces stalls no frame",
}
"""Places whose waits order nothing: they are for time, or for parts that this graph does not have.

Those of ``Blender.blend`` and ``Occlusion.keep`` are not even reached: our engine draws on the stream that it
is given."""

_SEEDS = 4


@dataclass(frozen=True, slots=True)
class Mutant:
    """One place of the source: how often it waited in a whole run, and what came of it without its waits."""

    site: str
    waits: int
    noticed: bool
    clue: str

    @property
    def excused(self) -> str:
        """Why nothing need come of it; empty if something must."""
        return "" if self.noticed else NOT_FOR_ORDER.get(self.site, "")


def leave_out_places(farm: SimFarm, whole: Mapping[Route, SimRun]) -> list[Mutant]:
    """All waits of each place at once, along the routes and with the seeds that reach it, until it shows."""
    return [_leave_out(farm, site.name, whole) for site in sites_in_source()]


def leave_out_each(
    farm: SimFarm, route: Route, whole: SimRun, note: Callable[[str], None]
) -> tuple[int, list[str]]:
    """Each wait that orders anything, in turn: how many, and the places of those that nobody noticed."""
    # Their number differs a little from run to run, because slots of memory come back when threads let go.
    tasks = [Task(route, seed=number, drop_wait=number) for number in range(whole.waits)]
    silent = []
    made = 0
    for run in farm.run(tasks):
        if not run.left_out:
            continue
        made += 1
        if not clue_of(run, whole) and run.left_out not in NOT_FOR_ORDER:
            silent.append(run.left_out)
            note(f"nobody noticed a wait that was left out of {run.left_out}")
    return made, silent


def clue_of(run: SimRun, whole: SimRun) -> str:
    """What is wrong with a run; empty if nothing is."""
    if run.races:
        return run.races[0]
    if run.error:
        return run.error
    return "" if run.same(whole) else "other pixels"


def unreached(mutants: Sequence[Mutant]) -> list[str]:
    """Places of the source at which no run ever waited, and that are not known for it."""
    return [mutant.site for mutant in mutants if not mutant.waits and not mutant.excused]


def _leave_out(farm: SimFarm, site: str, whole: Mapping[Route, SimRun]) -> Mutant:
    waits = Counter({route: run.seen[site] for route, run in whole.items() if run.seen[site]})
    for route in sorted(waits, key=lambda route: -whole[route].ordering[site]):
        for run in farm.run(Task(route, seed, drop_site=site) for seed in range(_SEEDS)):
            if clue := clue_of(run, whole[route]):
                return Mutant(site, waits.total(), True, clue)
    return Mutant(site, waits.total(), False, "")
