"""The performer's ground truth against what the graph finds and shows."""

import numpy as np
import pytest

from livefusion.cli.bench.truth import Tally, measure_analysis, measure_swap
from livefusion.core.settings import FaceSettings
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.pipeline.identities import IdentityLibrary

pytestmark = pytest.mark.unit

URI = "performer:?size=640x360&fps=30&face=150&seed=11"


def test_landmarks_lie_where_they_are() -> None:
    errors: list[float] = []
    measure_analysis(PerformerOptions.parse(URI), 6, FaceSettings(), errors)
    assert len(errors) >= 5
    assert np.mean(errors) < 1.5


def test_only_the_face_changes_and_is_somebody_else() -> None:
    tally = Tally()
    measure_swap(URI, 6, IdentityLibrary().load(""), tally)
    assert tally.swapped >= 5
    assert tally.changed_outside == 0
    assert tally.changed_beyond_face == 0
    assert np.mean(tally.expression) < 2.5
    assert np.mean(tally.to_persona) > 0.363
    assert np.mean(tally.to_persona) > np.mean(tally.to_performer)
    assert np.mean(tally.before) < 0.363
