"""The same graph on a device that runs work late and disordered: same pixels, no race, no idle wait."""

from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.testing.host_twin import compiler
from livefusion.testing.mutants import (
    Mutant,
    clue_of,
    leave_out_each,
    leave_out_places,
    unreached,
)
from livefusion.testing.sim_farm import SimFarm, Task
from livefusion.testing.sim_graph import FRAMES, SimRun
from livefusion.testing.sim_route import CHIP, ROUTES, Route

SCENARIO = "device"
SEEDS = 200


def measure(options: BenchOptions) -> list[Figure]:
    """Two hundred seeds, then each wait left out in turn, then all waits of each place of the source."""
    routes = [route for route in ROUTES if route.kind == "cpu" or compiler()]
    if routes != list(ROUTES):
        options.note("device: without a C++ compiler the kernels of the GPU cannot run on the host")
    with SimFarm(options.seed) as farm:
        whole = dict(zip(routes, farm.run(Task(route, 0) for route in routes), strict=True))
        figures = _seeds(farm, whole, options)
        options.note("device: each wait left out in turn")
        route = CHIP if CHIP in whole else routes[0]
        made, silent = leave_out_each(farm, route, whole[route], options.note)
        figures += [
            Figure(SCENARIO, "waits left out in turn", made, "", "> 0"),
            Figure(SCENARIO, "waits left out unnoticed", len(silent), "", "= 0"),
        ]
        options.note("device: all waits of each place left out")
        return figures + _places(leave_out_places(farm, whole), whole)


def _seeds(farm: SimFarm, whole: dict[Route, SimRun], options: BenchOptions) -> list[Figure]:
    routes = list(whole)
    tasks = [Task(routes[seed % len(routes)], seed) for seed in range(SEEDS)]
    options.note(f"device: {SEEDS} seeds of {FRAMES} frames along {len(routes)} routes")
    identical = races = 0
    for task, run in zip(tasks, farm.run(tasks), strict=True):
        clue = clue_of(run, whole[task.route])
        identical += not clue
        races += len(run.races)
        if clue:
            options.note(f"seed {task.seed} on route {task.route.name}: {clue}")
    return [
        Figure(SCENARIO, "seeds identical", identical, "", f"= {SEEDS}"),
        Figure(SCENARIO, "races", races, "", "= 0"),
    ]


def _places(mutants: list[Mutant], whole: dict[Route, SimRun]) -> list[Figure]:
    rows = [Figure(SCENARIO, f"  {one.site}", one.waits, f"waits: {_verdict(one)}") for one in mutants]
    reached = [one for one in mutants if one.waits]
    silent = [one for one in reached if not one.noticed and not one.excused]
    return [
        *rows,
        Figure(SCENARIO, "places that wait", len(mutants)),
        Figure(SCENARIO, "places left out and noticed", sum(one.noticed for one in reached)),
        Figure(SCENARIO, "places that order nothing", sum(bool(one.excused) for one in mutants)),
        Figure(SCENARIO, "places left out unnoticed", len(silent), "", "= 0"),
        Figure(
            SCENARIO,
            "places never reached",
            len(unreached(mutants)),
            "",
            "= 0" if len(whole) == len(ROUTES) else "",
        ),
    ]


def _verdict(mutant: Mutant) -> str:
    if not mutant.waits and not mutant.excused:
        return "never reached"
    return "noticed" if mutant.noticed else mutant.excused or "NOT NOTICED"
