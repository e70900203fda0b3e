"""Seeded faults on every stage: order is kept, nothing unsafe is shown, and the figures add up.

Times are real but short, so a loaded machine may see a fault where none was planned: what is asserted holds
for any timing.
"""

import threading

import pytest

from livefusion.runtime.backoff import RestartPolicy
from livefusion.runtime.graph import Graph
from livefusion.runtime.mailbox import LATEST, WAIT, Policy
from livefusion.runtime.services import Limits
from livefusion.testing.stages import (
    FailingStage,
    Fault,
    FaultPlan,
    MemorySink,
    ScriptedItem,
    ScriptedSource,
    fork_scripted,
)

pytestmark = pytest.mark.chaos

MS = 1_000_000
ITEMS = 60
STAGES = ("analyse", "swap", "mark")


def run(seed: int, policy: Policy) -> tuple[Graph, dict[str, FaultPlan], list[MemorySink]]:
    plans = {
        name: FaultPlan.seeded(seed * 31 + index, ITEMS, 0.06, late_ns=30 * MS)
        for index, name in enumerate(STAGES)
    }
    sinks = [MemorySink(), MemorySink()]
    graph = Graph(
        fork=fork_scripted,
        limits=Limits(stage_ns=15 * MS, first_item=1, hung=100),
        restarts=RestartPolicy(first_ns=MS, longest_ns=4 * MS),
    )
    script = [ScriptedItem(seq) for seq in range(ITEMS)]
    graph.source("decode", lambda: ScriptedSource(script, 0 if policy is WAIT else MS))
    for name in STAGES:
        graph.stage(name, lambda name=name: FailingStage(plans[name]), policy)
    for number, sink in enumerate(sinks):
        graph.sink(f"sink {number}", lambda sink=sink: sink, policy)
    graph.start()
    assert graph.wait(30), "deadlock"
    return graph, plans, sinks


def assert_adds_up(graph: Graph) -> None:
    """What was captured was delivered or dropped for a cause, for each sink."""
    figures = graph.snapshot()
    for name, sink in figures.sinks.items():
        foreign = [other for other in figures.sinks if other != name]
        on_the_way = {
            key: count for key, count in figures.dropped.items() if not any(other in key for other in foreign)
        }
        assert figures.captured == sink.delivered + sum(on_the_way.values()), figures.dropped


@pytest.mark.parametrize("policy", [WAIT, LATEST], ids=["wait", "latest"])
@pytest.mark.parametrize("seed", range(6))
def test_faults_on_every_stage(seed: int, policy: Policy) -> None:
    before = set(threading.enumerate())
    graph, plans, sinks = run(seed, policy)
    assert_adds_up(graph)
    assert graph.snapshot().order == 0
    failed = {seq for plan in plans.values() for seq, fault in plan.injected if fault is Fault.RAISE}
    lost = {
        seq
        for plan in plans.values()
        for seq, fault in plan.injected
        if fault in (Fault.STALL, Fault.DROP, Fault.FALLBACK)
    }
    for sink in sinks:
        assert sink.seqs == sorted(set(sink.seqs))
        assert not lost & set(sink.seqs)
        assert all(item.safe for item in sink.items if item.seq in failed)
        assert sink.closed == 1
    for plan in plans.values():
        plan.release()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive(), thread


def test_the_seeds_hold_every_kind_of_fault() -> None:
    plans = [FaultPlan.seeded(seed * 31 + index, ITEMS, 0.06) for seed in range(6) for index in range(3)]
    kinds = set()
    for plan in plans:
        kinds |= {fault for seq in range(ITEMS) if (fault := plan.next(seq)) is not None}
    assert kinds == set(Fault)
