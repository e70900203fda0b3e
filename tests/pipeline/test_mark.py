"""The watermark is in every picture of a run, within two levels, and drawn anew with each epoch."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from conftest import FrameMaker

from livefusion.core.errors import IdentityError
from livefusion.core.timing import Timestamp
from livefusion.pipeline import mark as marking
from livefusion.pipeline.mark import MarkStamp, new_mark
from livefusion.pipeline.parts import Parts
from livefusion.provenance.chips import EPOCH_SECONDS
from livefusion.testing.mark import FIXED_MARK

pytestmark = pytest.mark.unit


def test_a_run_is_marked_unless_told_otherwise() -> None:
    assert Parts().mark is new_mark


def test_a_stamp_changes_the_picture_a_little_and_each_epoch_otherwise(make_frame: FrameMaker) -> None:
    stamp, stream = MarkStamp(make_frame.device), make_frame.device.stream("test")
    changes = []
    for seconds in (0, 1, EPOCH_SECONDS, 3 * EPOCH_SECONDS):
        frame = replace(make_frame(), ts=Timestamp(seconds, Fraction(1)))
        stamp.stamp(frame, FIXED_MARK, stream)
        changes.append(frame.buffer.luma.astype(int) - make_frame.luma)
    assert 0 < np.abs(changes[0]).max() <= 2
    assert np.array_equal(changes[0], changes[1])
    assert not np.array_equal(changes[0], changes[2])
    assert not np.array_equal(changes[2], changes[3])


def test_without_a_place_for_a_key_there_is_a_mark_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise IdentityError("the disk is full")

    monkeypatch.setattr(marking.OperatorKey, "load", refuse)
    one, other = new_mark(), new_mark()
    assert len(one.key.secret) >= 16
    assert one.key.secret != other.key.secret
