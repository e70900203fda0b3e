"""Landmark networks that a user brings give the points that their stand-ins put into the picture."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")

from livefusion.cli.main import main
from livefusion.core.alignment import five_points
from livefusion.core.errors import ModelError
from livefusion.core.geometry import Box
from livefusion.faces.photo import PhotoFaces
from livefusion.faces.point_networks import SCHEMES, PointNetwork, crop_round
from livefusion.inference.catalog import inspect
from livefusion.inference.registry import ModelRegistry
from livefusion.media.photo import load_photo
from livefusion.testing.onnx_files import graph_file, picture
from livefusion.testing.point_standins import landmark_offsets, landmarks_standin

pytestmark = pytest.mark.unit

BOX = Box(120.0, 90.0, 110.0, 150.0)
PHOTO = ModelRegistry.load().folder / "performer" / "first.webp"


@pytest.mark.parametrize("family", sorted(SCHEMES))
def test_points_come_back_in_the_photo_in_their_order(tmp_path: Path, family: str) -> None:
    rgb = np.zeros((320, 400, 3), np.uint8)
    rgb[120:200, 140:220] = 250, 10, 102
    model = inspect(landmarks_standin(tmp_path / "renamed.onnx", family))
    assert model.family == family
    network = PointNetwork(model)
    points = network.find(rgb, BOX)
    scheme = SCHEMES[family]
    scale = scheme.side / (scheme.margin * BOX.height)
    wanted = np.array([179.5, 159.5]) + landmark_offsets(family) * (102 / 255) / scale
    np.testing.assert_allclose(points, wanted, atol=0.35)
    five = network.five(points)
    for found, group in zip(five, scheme.five, strict=True):
        np.testing.assert_allclose(found, wanted[list(group)].mean(axis=0), atol=0.35)


@pytest.mark.parametrize("family", sorted(SCHEMES))
def test_the_crop_lies_round_the_box_with_the_margin_of_its_training(family: str) -> None:
    scheme = SCHEMES[family]
    to_crop = crop_round(BOX, scheme.side, scheme.margin)
    middle = (scheme.side - 1) / 2
    np.testing.assert_allclose(to_crop(np.array([BOX.centre]))[0], [middle, middle])
    top, bottom = to_crop(np.array([[BOX.x, BOX.y], [BOX.x, BOX.bottom]]))[:, 1]
    assert bottom - top == pytest.approx(scheme.side / scheme.margin)


def test_another_network_is_refused(tmp_path: Path) -> None:
    other = graph_file(tmp_path / "x.onnx", {"x": picture(512)}, {"y": picture(512)})
    with pytest.raises(ModelError, match="is no landmark network"):
        PointNetwork(inspect(other))


def test_try_draws_what_a_network_sees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """YuNet as a file of one's own, on a face, against the mesh."""
    yunet, out = ModelRegistry.load()["yunet"].path, tmp_path / "seen.png"
    assert main(["models", "try", str(yunet), str(PHOTO), "-o", str(out), "--json", "-"]) == 0
    (face,) = json.loads(capsys.readouterr().out)["faces"]
    rgb = load_photo(PHOTO)
    (mesh,) = PhotoFaces.from_registry().find(rgb)
    assert mesh.landmarks is not None
    np.testing.assert_allclose(face["points"], five_points(mesh.landmarks), atol=0.08 * mesh.box.width)
    changed = np.abs(load_photo(out).astype(int) - rgb).max(axis=2) > 30
    assert 100 < changed.sum() < 0.05 * changed.size


def test_try_says_what_it_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    swap = graph_file(tmp_path / "x.onnx", {"a": picture(512), "b": [1, 512]}, {"c": picture(512)})
    assert main(["models", "try", str(swap), str(PHOTO)]) == 2
    assert "only detectors, landmarks and enhancers" in capsys.readouterr().err
