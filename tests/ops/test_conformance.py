"""The bodies of every operator against its reference, which is its definition."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from op_case import Arguments, Case, body_of, padded

from livefusion.devices.device import BodyKind

pytestmark = pytest.mark.unit

FAST: tuple[BodyKind, ...] = ("cpu", "cuda")
TABLES = sorted(path.stem for path in Path(__file__).parent.glob("cases_*.py"))
CASES: list[Case] = [case for table in TABLES for case in importlib.import_module(table).CASES]

every_case = pytest.mark.parametrize(
    "case", CASES, ids=[f"{case.operator.name}-{case.name}" for case in CASES]
)


def copied(arguments: Arguments) -> Arguments:
    return {
        name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()
    }


def run(case: Case, kind: BodyKind, arguments: Arguments) -> Arguments:
    """Run on a copy and give it back, after looking that nothing changed that must not."""
    after = copied(arguments)
    for name, value in after.items():
        if isinstance(value, np.ndarray) and name not in case.operator.writes:
            value.flags.writeable = False  # a photo's pixels, for one
    body_of(case.operator, kind)(**after)
    masks = case.may_change(arguments) if case.may_change else {}
    for name, before in arguments.items():
        if not isinstance(before, np.ndarray):
            continue
        if name not in case.operator.writes:
            assert np.array_equal(after[name], before, equal_nan=True), f"{kind} changed {name}"
        elif name in masks:
            assert np.array_equal(after[name][~masks[name]], before[~masks[name]]), (
                f"{kind} strayed in {name}"
            )
    return after


def agree(case: Case, one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Whether all elements but the outliers are within the tolerance; equal infinities are."""
    close = np.isclose(one.astype(np.float64), other.astype(np.float64), rtol=0, atol=case.tolerance)
    return bool((~close).mean() <= case.outliers)


@every_case
@pytest.mark.parametrize("kind", FAST)
@pytest.mark.parametrize("seed", range(2))
def test_body_does_what_the_reference_says(case: Case, kind: BodyKind, seed: int) -> None:
    arguments = case.make(np.random.default_rng(seed))
    wanted, got = run(case, "reference", arguments), run(case, kind, arguments)
    for name in case.operator.writes:
        assert agree(case, wanted[name], got[name]), name


FIRST = {case.operator.name: case for case in reversed(CASES)}


@pytest.mark.parametrize("name", sorted(FIRST))
@pytest.mark.parametrize("kind", FAST)
def test_rows_may_be_padded(name: str, kind: BodyKind) -> None:
    case = FIRST[name]
    dense = case.make(np.random.default_rng(0))
    pitched = {
        key: padded(value) if isinstance(value, np.ndarray) and value.dtype == np.uint8 else value
        for key, value in copied(dense).items()
    }
    body_of(case.operator, kind)(**dense)
    body_of(case.operator, kind)(**pitched)
    for key in case.operator.writes:
        assert agree(case, dense[key], pitched[key])
