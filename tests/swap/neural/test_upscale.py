"""Networks that make faces larger: sampled smaller than the patch, and put back to the half pixel."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from restoring import engine_of, loading, play

from livefusion.core.alignment import five_points, similarity_onto
from livefusion.core.errors import ModelError
from livefusion.core.face import Identity
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.inference.catalog import inspect
from livefusion.swap.neural.engine import load_session
from livefusion.swap.neural.enhance import PatchRestorer
from livefusion.swap.neural.enhance_standby import Enhancer
from livefusion.swap.neural.template import template
from livefusion.testing.face_standins import UPSCALED, restorer_standin, upscaled_waves, upscaler_standin
from livefusion.testing.reel import Reel
from livefusion.testing.standins.check import BARE, StandinFolder, performer, tracks_of

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def reel() -> Reel:
    return performer(220, 2)


@pytest.fixture(scope="module")
def standins(tmp_path_factory: pytest.TempPathFactory) -> StandinFolder:
    return StandinFolder(tmp_path_factory.mktemp("standins"))


UPSCALERS = [(2, "?"), (4, "?"), (8, "?"), (4, 128), (2, 256), (4, 64)]


@pytest.mark.parametrize("kind", ["mesh", "network"])
@pytest.mark.parametrize(("times", "side"), UPSCALERS)
def test_the_new_face_is_made_larger(
    kind: str,
    times: int,
    side: int | str,
    tmp_path: Path,
    reel: Reel,
    identity: Identity,
    standins: StandinFolder,
) -> None:
    wearing = BARE.model_copy(update={"enhance_blend": 1.0})
    plain = play(reel, identity, engine_of(kind, standins), None, wearing=wearing)
    engine = engine_of(kind, standins)
    model = inspect(upscaler_standin(tmp_path / "any.onnx", times, side))
    assert model.family == "upscaler"
    enhancer = Enhancer(loading(engine._device, model))
    large = play(reel, identity, engine, enhancer, wearing=wearing)
    assert (enhancer.restored, enhancer.bad) == (len(large), 0)
    taken = side if isinstance(side, int) else 512 // times
    for seq, (one, other) in enumerate(zip(plain, large, strict=True)):
        (track,) = tracks_of(reel.at(seq))
        assert track.landmarks is not None
        to_crop = similarity_onto(five_points(track.landmarks), template("arcface_128", taken))
        rows, columns = np.nonzero(other.opaque)
        places = to_crop(np.stack([columns, rows], axis=1).astype(float))
        inner = (np.abs(places / taken - 0.5) < 0.4).all(axis=1)
        rows, columns, places = rows[inner], columns[inner], (places[inner] + 0.5) * times - 0.5
        assert len(rows) > 5000
        blurred = seen_small(one.after, to_crop, taken)[rows, columns]
        errors = {}
        for shift in (-0.5 * times, 0.0, 0.5 * times):
            waves = upscaled_waves(places[:, 0] + shift, places[:, 1] + shift)[:, None]
            wanted = blurred @ UPSCALED.T + 255 * waves
            errors[shift] = np.abs((other.after[rows, columns] - wanted).mean(axis=1)).mean()
        assert errors[0.0] == min(errors.values())
        assert errors[0.0] < 3.0, errors
        moved = np.abs(other.after.astype(float) - one.after)[rows, columns].mean()
        assert moved > 8


def seen_small(rgb: np.ndarray, to_crop: Any, side: int) -> np.ndarray:
    """The picture as it is after it was sampled by a crop of ``side`` pixels and enlarged again."""
    matrix, size = to_crop.matrix, (rgb.shape[1], rgb.shape[0])
    small = cv2.warpAffine(rgb, matrix, (side, side), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    back = cv2.warpAffine(small, matrix, size, flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)
    return back.astype(float)


def test_what_does_not_enlarge_both_sides_alike_is_refused(tmp_path: Path) -> None:
    model = inspect(upscaler_standin(tmp_path / "x.onnx", stretched=True))
    with pytest.raises(ModelError, match="256 × 512 pixels of 64 × 64"):
        PatchRestorer(CpuDevice(), model, load_session)


def test_halves_that_restore_nothing_run_in_single_precision(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = inspect(restorer_standin(tmp_path / "x.onnx", 256))
    loaded = onnx.load(model.path)
    for weight in loaded.graph.initializer:
        values = onnx.numpy_helper.to_array(weight).astype(np.float16)
        weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
    loaded.graph.node[0].input[0] = "halves"
    loaded.graph.node[-1].output[0] = "small"
    made = [onnx.helper.make_node("Cast", ["input"], ["halves"], to=10)]
    large = onnx.numpy_helper.from_array(np.array([60000.0], np.float16), "large")
    loaded.graph.initializer.append(large)
    # Concat and Split have kernels for halves on the CPU too; between others they are left out.
    after = [
        onnx.helper.make_node("Mul", ["small", "large"], ["a"]),
        onnx.helper.make_node("Mul", ["a", "large"], ["b"]),
        onnx.helper.make_node("Concat", ["b", "b"], ["c"], axis=1),
        onnx.helper.make_node("Split", ["c"], ["d", "e"], axis=1),
        onnx.helper.make_node("Div", ["d", "large"], ["f"]),
        onnx.helper.make_node("Div", ["f", "large"], ["g"]),
        onnx.helper.make_node("Cast", ["g"], ["output"], to=1),
    ]
    nodes = [*made, *loaded.graph.node, *after]
    del loaded.graph.node[:]
    loaded.graph.node.extend(nodes)
    model.path.write_bytes(loaded.SerializeToString())
    one = PatchRestorer(CpuDevice(), inspect(model.path), load_session)
    assert one.session.precision == "fp16"
    one.try_out(SystemClock())
    assert one.session.precision == "fp32"
    assert "it runs in fp32" in caplog.text
