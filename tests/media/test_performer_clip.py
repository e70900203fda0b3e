from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from livefusion.core.errors import OutputError
from livefusion.core.geometry import Size
from livefusion.testing import performer_clip

pytestmark = pytest.mark.media


def test_a_long_clip_repeats_its_packets_and_keeps_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(performer_clip, "LOOP_SECONDS", 0.5)
    path, truth, done = tmp_path / "clip.mp4", tmp_path / "truth.npz", []
    frames = performer_clip.render_clip(
        path, Size(320, 180), Fraction(30000, 1001), 60, 1.3, 3, truth=truth, progress=done.append
    )
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        decoded = list(container.decode(stream))
    times = [frame.pts * stream.time_base for frame in decoded]
    assert times == [Fraction(1001, 30000) * n for n in range(frames)]
    assert frames == len(decoded) == 39
    first, again = (decoded[n].to_ndarray(format="gray").astype(int) for n in (3, 18))
    assert np.array_equal(first, again)
    assert done[-1] == 1
    landmarks = np.load(truth)["landmarks"]
    assert landmarks.shape == (39, 1, 478, 3)
    assert np.array_equal(landmarks[3], landmarks[18])


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        performer_clip.render_clip(tmp_path / "no" / "clip.mp4", Size(320, 180), Fraction(30), 60, 0.1)
