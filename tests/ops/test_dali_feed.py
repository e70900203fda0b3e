"""What DALI is given, without DALI: coordinates, colours, and the order of streams."""

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from preprocess_cases import CudaByName, Tensor, noise

from livefusion.core.color import ColorInfo, Matrix, Range, Siting
from livefusion.core.errors import DeviceError, OutOfMemoryError
from livefusion.core.geometry import Affine
from livefusion.devices.cpu import CpuDevice
from livefusion.ops.dali.colour import colour_matrix
from livefusion.ops.dali.crops import sampling_maps
from livefusion.ops.dali.half_pixel import to_half_pixel
from livefusion.ops.dali.library import Dali, translated
from livefusion.ops.dali.pipe import Pipe, dense, gpu_index
from livefusion.ops.reference.convert import yuv_to_rgb
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.unit

TURNED = Affine([[0.8, -0.6, 10.0], [0.6, 0.8, -3.0]])


def applied(matrix: Tensor, x: float, y: float) -> Any:
    return matrix.astype(np.float64) @ (x, y, 1.0)


@pytest.mark.parametrize("point", [(0, 0), (7, 3), (-2, 11.5)])
def test_half_pixel_maps_the_same_points_from_corner_to_corner(point: tuple[float, float]) -> None:
    ours = TURNED.matrix @ (*point, 1.0)
    theirs = applied(to_half_pixel(TURNED), point[0] + 0.5, point[1] + 0.5)
    assert theirs == pytest.approx(ours + 0.5, abs=1e-5)


@pytest.mark.parametrize(("siting", "left"), [(Siting.LEFT, 0.0), (Siting.CENTRE, 0.5)])
def test_chroma_is_sampled_where_its_samples_lie(siting: Siting, left: float) -> None:
    luma, chroma = sampling_maps(TURNED, ColorInfo(siting=siting))
    x, y = applied(luma, 4.5, 9.5) - 0.5
    assert applied(chroma, 4.5, 9.5) - 0.5 == pytest.approx([(x - left) / 2, (y - 0.5) / 2], abs=1e-5)


@pytest.mark.parametrize("matrix", Matrix)
@pytest.mark.parametrize("span", Range)
def test_colour_matrix_is_that_of_the_reference(matrix: Matrix, span: Range) -> None:
    color = ColorInfo(matrix, span)
    code = np.array([120.0, 110.0, 140.0])  # a colour that clips nowhere
    wanted = yuv_to_rgb(code[:1], code[None, 1:] - 128.0, color)[0]
    assert applied_colour(colour_matrix(color, "rgb"), code) == pytest.approx(wanted, abs=1e-4)
    assert applied_colour(colour_matrix(color, "bgr"), code) == pytest.approx(wanted[::-1], abs=1e-4)


def applied_colour(matrix: Tensor, code: Any) -> Any:
    return matrix.astype(np.float64) @ (*code, 1.0)


class Recorder:
    """Stands in for a pipeline and its output, and writes down each call."""

    def __init__(self, fault: BaseException | None = None) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.options: dict[str, Any] = {}
        self._fault = fault

    def library(self) -> Dali:
        def pipeline_def(graph: Any) -> Any:
            def make(**options: Any) -> "Recorder":
                self.options = options
                return self

            return make

        return Dali(pipeline_def, None, None, None)

    def build(self) -> None:
        if self._fault:
            raise self._fault

    def feed_input(self, name: str, batch: Any, **options: Any) -> None:
        self.calls.append(("feed", name, options))

    def run(self, *stream: int) -> tuple["Recorder"]:
        self.calls.append(("run", *stream))
        return (self,)

    def copy_to_external(self, address: ctypes.c_void_p, **options: Any) -> None:
        self.calls.append(("copy", address.value, options))


def test_on_cuda_everything_of_the_device_is_ordered_by_our_stream() -> None:
    recorder, stream = Recorder(), SimDevice().stream("detect")
    out = np.empty((1, 3, 4, 4), np.float32)
    pipe = Pipe(recorder.library(), lambda: None, CudaByName(), 3)
    pipe.run({"luma": [np.zeros((4, 4), np.uint8)]}, {"size": [2]}, out, stream)
    ours = {"cuda_stream": stream.handle}
    assert recorder.calls == [
        ("feed", "luma", ours),
        ("feed", "size", {}),
        ("run", stream.handle),
        ("copy", out.ctypes.data, ours | {"non_blocking": True}),
    ]
    assert recorder.options["device_id"] == 1
    assert recorder.options["batch_size"] == 3
    assert recorder.options["exec_dynamic"]


def test_on_the_host_there_is_no_stream() -> None:
    recorder, device = Recorder(), CpuDevice()
    out = np.empty((1, 3, 4, 4), np.float32)
    pipe = Pipe(recorder.library(), lambda: None, device, 1)
    pipe.run({"luma": [np.zeros((4, 4), np.uint8)]}, {}, out, device.stream("detect"))
    assert recorder.calls == [("feed", "luma", {}), ("run",), ("copy", out.ctypes.data, {})]
    assert recorder.options["device_id"] is None


@pytest.mark.parametrize(
    "out", [np.empty((1, 3, 4, 4), np.float64), np.empty((1, 3, 4, 8), np.float32)[..., ::2]]
)
def test_a_tensor_that_cannot_be_copied_into_is_refused(out: Tensor) -> None:
    device = CpuDevice()
    pipe = Pipe(Recorder().library(), lambda: None, device, 1)
    with pytest.raises(ValueError, match="contiguous and float32"):
        pipe.run({}, {}, out, device.stream("detect"))


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        (RuntimeError("no driver.\nmore"), DeviceError, "DALI cannot build a pipeline: no driver: choose"),
        (RuntimeError("CUDA error: Out of memory"), OutOfMemoryError, "no memory left for DALI to build"),
        (MemoryError(), OutOfMemoryError, "no memory left for DALI to build a pipeline: use"),
    ],
)
def test_errors_of_dali_are_told_in_our_words(fault: Exception, kind: type[DeviceError], text: str) -> None:
    with pytest.raises(kind, match=text):
        Pipe(Recorder(fault).library(), lambda: None, CpuDevice(), 1)


def test_an_error_without_words_has_its_name() -> None:
    with pytest.raises(DeviceError, match="DALI cannot think: RuntimeError"), translated("think"):
        raise RuntimeError


def test_planes_are_given_without_padding() -> None:
    picture = noise(20, 12, ColorInfo())
    assert dense(picture.luma).shape == (12, 20, 1)
    assert np.shares_memory(dense(picture.luma), picture.luma)
    padded = picture.chroma[:, :8]
    assert dense(padded).flags.c_contiguous
    assert np.array_equal(dense(padded), padded)


def test_padded_planes_of_the_gpu_are_refused() -> None:
    plane = SimpleNamespace(ndim=3, flags=SimpleNamespace(c_contiguous=False))
    with pytest.raises(DeviceError, match="padded rows: choose --preprocess cupy"):
        dense(plane)


@pytest.mark.parametrize(("device", "index"), [(CpuDevice(), None), (SimDevice(), None), (CudaByName(), 1)])
def test_gpu_index(device: Any, index: int | None) -> None:
    assert gpu_index(device) == index
