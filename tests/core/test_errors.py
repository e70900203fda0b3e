"""The error tree: exit statuses and texts."""

import inspect

import pytest

from livefusion.core import errors

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (errors.LiveFusionError, 1),
        (errors.GraphError, 1),
        (errors.SettingsError, 2),
        (errors.InputError, 2),
        (errors.OutputError, 2),
        (errors.IdentityError, 2),
        (errors.DeviceError, 3),
        (errors.OutOfMemoryError, 3),
        (errors.DeviceLostError, 3),
        (errors.ModelError, 3),
        (errors.DriverError, 3),
        (errors.SafetyStopError, 4),
    ],
)
def test_exit_status(kind: type[errors.LiveFusionError], status: int) -> None:
    assert kind("a problem").exit_status == status


def test_every_error_is_in_the_tree_and_in_its_drawing() -> None:
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, Exception):
            assert issubclass(kind, errors.LiveFusionError)
            assert name in (errors.__doc__ or "")


@pytest.mark.parametrize(("remedy", "text"), [("do that", "it is wrong: do that"), ("", "it is wrong")])
def test_text_is_problem_and_remedy(remedy: str, text: str) -> None:
    error = errors.InputError("it is wrong", remedy)
    assert (str(error), error.problem, error.remedy) == (text, "it is wrong", remedy)
