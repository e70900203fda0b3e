"""What an output is like: how long it may show a picture before it is given it again."""

from fractions import Fraction

import pytest

from livefusion.media.encode import share
from livefusion.media.encode.outlet import CLOCK_RATE
from livefusion.media.encode.rung import STILL_INTERVAL
from livefusion.media.sources.uri import parse_output
from livefusion.pipeline.ends import STALL_SECONDS, STREAM_PATIENCE, is_live, patience_of

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("output", "live", "patience"),
    [
        ("webrtc:", True, STREAM_PATIENCE),
        ("whip+https://host/path", True, STREAM_PATIENCE),
        ("rtmp://host/live/key", True, STREAM_PATIENCE),
        ("vcam:", True, None),
        ("out.mp4", False, STALL_SECONDS),
    ],
)
def test_only_a_virtual_camera_counts_on_the_cadence(
    output: str, live: bool, patience: Fraction | None
) -> None:
    locator = parse_output(output)
    assert is_live(locator) == live
    assert patience_of(locator) == patience


def test_a_stream_loses_nothing_by_its_patience() -> None:
    """A repeat within it would not be encoded, and the sound that repeats carry is read ahead of it."""
    assert Fraction(STILL_INTERVAL, CLOCK_RATE) > STREAM_PATIENCE
    assert vars(share)["_AHEAD"] > STREAM_PATIENCE
