"""Threads run in no order: a twin whose items and lanes run from last to first finds the same bytes."""

import importlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from op_case import Arguments, Case, twin

from livefusion.testing.host_twin import HostTwin, build_twin, compiler

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(compiler() is None, reason="no C++ compiler for the host twin"),
]

TABLES = sorted(path.stem for path in Path(__file__).parent.glob("cases_*.py"))
CASES: list[Case] = [case for table in TABLES for case in importlib.import_module(table).CASES]


@cache
def backwards() -> HostTwin:
    return HostTwin(build_twin(("-DLF_BACKWARDS",)))


def run(case: Case, launcher: HostTwin) -> Arguments:
    arguments = case.make(np.random.default_rng(0))
    case.operator.body("cuda")(launcher, **arguments)
    return arguments


@pytest.mark.parametrize("case", CASES, ids=[f"{case.operator.name}-{case.name}" for case in CASES])
def test_the_order_of_threads_changes_nothing(case: Case) -> None:
    forwards, turned = run(case, twin()), run(case, backwards())
    for name in case.operator.writes:
        assert forwards[name].tobytes() == turned[name].tobytes(), name
