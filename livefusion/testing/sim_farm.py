"""Many simulated runs at once, each in a process, so that all cores of the machine work."""

import logging
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from types import TracebackType

from livefusion.testing.sim_graph import SimRun, run_simulated
from livefusion.testing.sim_route import Route


@dataclass(frozen=True, slots=True)
class Task:
    """One run to be made: by which route, from which seed, and without which waits."""

    route: Route
    seed: int
    drop_wait: int | None = None
    drop_site: str | None = None


class SimFarm:
    """Makes runs of one performer on all cores; leave it as a context manager."""

    def __init__(self, performer: int) -> None:
        self._work = partial(_run, performer)
        # Spawned, not forked: the threads of the libraries that are loaded here would be missing there.
        self._pool = ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), _silence)

    def __enter__(self) -> "SimFarm":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def run(self, tasks: Iterable[Task]) -> Iterator[SimRun]:
        """The runs, in the order of the tasks."""
        return self._pool.map(self._work, tasks)


def _run(performer: int, task: Task) -> SimRun:
    return run_simulated(
        task.seed, performer, drop_wait=task.drop_wait, drop_site=task.drop_site, route=task.route
    )


def _silence() -> None:
    """Failures are part of the runs: nobody needs to read of them."""
    logging.disable(logging.CRITICAL)
