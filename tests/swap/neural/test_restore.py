"""Networks that restore faces get the aligned face in −1..1, and their answer lands where it was."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")

from livefusion.cli.main import main
from livefusion.core.alignment import five_points
from livefusion.core.errors import ModelError
from livefusion.faces.photo import PhotoFaces
from livefusion.inference.catalog import inspect
from livefusion.inference.registry import ModelRegistry
from livefusion.media.photo import load_photo
from livefusion.swap.neural.restore import Restorer, put_back
from livefusion.swap.neural.template import template
from livefusion.testing.face_standins import MIX, restorer_standin, yolo_face_standin

pytestmark = pytest.mark.unit

PHOTO = ModelRegistry.load().folder / "performer" / "first.webp"


@pytest.fixture(scope="module")
def portrait() -> tuple[np.ndarray, np.ndarray]:
    rgb = load_photo(PHOTO)
    (face,) = PhotoFaces.from_registry().find(rgb)
    assert face.landmarks is not None
    return rgb, face.landmarks


@pytest.mark.parametrize(
    ("side", "codeformer", "name"),
    [(512, False, "ffhq_512"), (256, False, "arcface_128"), (512, True, "ffhq_512")],
    ids=["gfpgan", "gpen 256", "codeformer"],
)
def test_the_answer_is_that_of_the_aligned_face(
    tmp_path: Path, portrait: tuple[np.ndarray, np.ndarray], side: int, codeformer: bool, name: str
) -> None:
    rgb, landmarks = portrait
    model = inspect(restorer_standin(tmp_path / "renamed.onnx", side, codeformer=codeformer))
    network = Restorer(model)
    assert (network.side, network.template) == (side, name)
    found = network.restore(rgb, landmarks, fidelity=0.25)
    eyes = found.to_crop(five_points(landmarks))[:2].mean(axis=0)
    np.testing.assert_allclose(eyes, template(name, side)[:2].mean(axis=0), atol=0.06 * side)
    # Back in the photo every pixel is the mix of what was there, and the weight of CodeFormer.
    changed = put_back(rgb, found, share=1.0)
    left, top = found.to_crop.inverse()(np.full((1, 2), 0.3 * side))[0].astype(int)
    right, bottom = found.to_crop.inverse()(np.full((1, 2), 0.7 * side))[0].astype(int)
    before, after = (picture[top:bottom, left:right].astype(float) for picture in (rgb, changed))
    wanted = ((before / 127.5 - 1) @ MIX.T + (0.25 if codeformer else 0) + 1) * 127.5
    assert np.abs(after - wanted).mean() < 2.0
    outside = found.to_crop(np.array([[2.0, rgb.shape[0] - 3.0]]))[0]
    assert (outside < 0).any() or (outside > side).any()
    np.testing.assert_array_equal(changed[-3, 2], rgb[-3, 2])


def test_another_network_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not restore faces"):
        Restorer(inspect(yolo_face_standin(tmp_path / "x.onnx")))


def test_try_writes_the_restored_photo(tmp_path: Path) -> None:
    model, out = restorer_standin(tmp_path / "x.onnx"), tmp_path / "restored.png"
    assert main(["models", "try", str(model), str(PHOTO), "-o", str(out)]) == 0
    assert (load_photo(out) != load_photo(PHOTO)).any()
