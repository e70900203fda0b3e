"""DALI's own pipelines on the CPU against our references; the bounds are in grey levels."""

import itertools
from typing import Any

import numpy as np
import pytest
from preprocess_cases import CudaByName, Tensor, expected, noise, on_device, photo

from livefusion.core.color import ColorInfo, Matrix, Range, Siting
from livefusion.core.errors import DeviceError
from livefusion.core.geometry import Affine, Size
from livefusion.core.settings import Preprocess
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.ops.dali import crops as dali_crops
from livefusion.ops.dali.crops import Crop, DaliCrops
from livefusion.ops.dali.letterbox import DaliPreprocessor
from livefusion.ops.preprocess import Normalisation, Nv12, open_preprocessor
from livefusion.ops.reference.warp import nv12_warp_norm
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.gpu_wheels

COLOURS = [ColorInfo(matrix, span) for matrix, span in itertools.product(Matrix, Range)]
PLAIN = Normalisation()


@pytest.fixture(autouse=True)
def _needs_dali() -> None:
    pytest.importorskip("nvidia.dali")


def filled(device: Device, pictures: list[Nv12], how: Normalisation = PLAIN) -> Tensor:
    stream = device.stream("detect")
    planes = [on_device(device, picture, stream) for picture in pictures]
    out = device.empty((len(pictures), 3, 192, 320), np.float32)
    DaliPreprocessor(device, how).fill(planes, out, stream)
    stream.record().synchronize()
    return device.to_host(out)


def difference(pictures: list[Nv12], how: Normalisation = PLAIN) -> tuple[float, float]:
    """Largest and mean difference from the reference, in grey levels."""
    scale = np.broadcast_to(how.scale, 3)[:, None, None]
    error = np.abs(filled(CpuDevice(), pictures, how) - expected(pictures, 192, 320, how)) / scale
    return float(error.max()), float(error.mean())


@pytest.mark.parametrize("color", COLOURS, ids=lambda c: f"{c.matrix}-{c.range}")
@pytest.mark.parametrize("size", [(320, 192), (160, 120), (2, 2)], ids=str)
def test_without_shrinking_the_tensor_is_that_of_the_reference(
    size: tuple[int, int], color: ColorInfo
) -> None:
    assert difference([noise(*size, color)])[0] < 0.001


@pytest.mark.parametrize("color", COLOURS, ids=lambda c: f"{c.matrix}-{c.range}")
@pytest.mark.parametrize("size", [(640, 480), (854, 480), (480, 640)], ids=str)
def test_a_photo_is_shrunk_as_by_area_but_for_hard_edges(size: tuple[int, int], color: ColorInfo) -> None:
    largest, mean = difference([photo(*size, color)])
    assert largest < 25
    assert mean < 0.7


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (720, 1280)], ids=str)
def test_a_large_photo_is_as_by_every_nth_row_but_for_edges(size: tuple[int, int]) -> None:
    largest, mean = difference([photo(*size, ColorInfo())])
    assert largest < 80
    assert mean < 2


@pytest.mark.parametrize(("size", "mean"), [((1280, 720), 45), ((640, 480), 13)], ids=str)
def test_noise_is_the_worst_that_shrinking_can_do(size: tuple[int, int], mean: float) -> None:
    assert difference([noise(*size, ColorInfo())])[1] < mean


@pytest.mark.parametrize(
    "how",
    [
        Normalisation(127.5, 1 / 128, "rgb"),
        Normalisation((104.0, 117.0, 123.0), (0.5, 1.0, 0.25), "rgb"),
        Normalisation((104.0, 117.0, 123.0), (0.5, 1.0, 0.25), "bgr"),
    ],
)
def test_colours_are_clipped_and_then_normalised(how: Normalisation) -> None:
    # A picture that leaves room beside it, which must be black.
    assert difference([noise(160, 120, ColorInfo())], how)[0] < 0.001


def test_three_sources_of_different_sizes_in_one_run_are_each_as_alone() -> None:
    pictures = [
        photo(1280, 720, ColorInfo()),
        photo(480, 640, ColorInfo(Matrix.BT601, Range.FULL)),
        noise(64, 48, ColorInfo(Matrix.BT601)),
    ]
    together = filled(CpuDevice(), pictures)
    alone = np.concatenate([filled(CpuDevice(), [picture]) for picture in pictures])
    assert np.array_equal(together, alone)


def test_pictures_change_their_size_and_number_between_runs() -> None:
    device = CpuDevice()
    stream, preprocessor = device.stream("detect"), DaliPreprocessor(device)
    preprocessor.prepare(Size(64, 48), 2)
    runs = [
        [noise(32, 24, ColorInfo()), noise(64, 48, ColorInfo())],
        [noise(64, 48, ColorInfo(), seed=1)],
        [noise(8, 48, ColorInfo()), noise(64, 2, ColorInfo()), noise(48, 48, ColorInfo())],
    ]
    for pictures in runs:
        out = np.empty((len(pictures), 3, 48, 64), np.float32)
        preprocessor.fill(pictures, out, stream)
        assert np.abs(out - expected(pictures, 48, 64, PLAIN)).max() < 0.001


def test_more_tensor_sizes_than_are_kept_still_work() -> None:
    device = CpuDevice()
    stream, preprocessor = device.stream("detect"), DaliPreprocessor(device)
    for width in (8, 16, 24, 32, 40, 48, 8):
        out = np.empty((1, 3, 48, width), np.float32)
        preprocessor.fill([noise(8, 8, ColorInfo())], out, stream)
        wanted = expected([noise(8, 8, ColorInfo())], 48, width, PLAIN)
        assert np.abs(out - wanted).max() < 0.001


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_streams_is_kept(seed: int) -> None:
    device = SimDevice(seed, host_orders=False)
    pictures = [photo(320, 240, ColorInfo()), noise(64, 48, ColorInfo())]
    assert np.array_equal(filled(device, pictures), filled(CpuDevice(), pictures))
    device.assert_no_races()


@pytest.mark.parametrize("seed", range(5))
def test_padded_rows_are_read_when_they_are_written(seed: int) -> None:
    device, picture = SimDevice(seed), noise(40, 24, ColorInfo())
    stream = device.stream("detect")
    luma = device.empty((24, 48), np.uint8)[:, :40]
    chroma = device.empty((12, 24, 2), np.uint8)[:, :20]
    device.copy(luma, picture.luma, stream)
    device.copy(chroma, picture.chroma, stream)
    out = device.empty((1, 3, 24, 40), np.float32)
    DaliPreprocessor(device).fill([Nv12(luma, chroma, picture.color)], out, stream)
    stream.synchronize()
    assert np.abs(device.to_host(out) - expected([picture], 24, 40, PLAIN)).max() < 0.001


def test_a_picture_that_is_still_written_is_a_race() -> None:
    device = SimDevice()
    decode, detect = device.stream("decode"), device.stream("detect")
    picture = on_device(device, noise(64, 48, ColorInfo()), decode)
    out = device.empty((1, 3, 24, 40), np.float32)
    DaliPreprocessor(device).fill([picture], out, detect)
    assert device.races


def no_gpu() -> bool:
    import cupy

    return not cupy.cuda.is_available()


def test_without_a_driver_dali_fails_in_our_words() -> None:
    if not no_gpu():
        pytest.skip("there is a GPU")
    with pytest.raises(DeviceError, match=r"^DALI cannot build a pipeline: .+: choose --preprocess cupy$"):
        open_preprocessor(CudaByName(), Preprocess.DALI, [Size(64, 48)])
    assert open_preprocessor(CudaByName(), Preprocess.AUTO, [Size(64, 48)]).name == "operators"


def test_what_the_gpu_path_calls_exists() -> None:
    from nvidia.dali import Pipeline, ops, tensors

    assert {
        "Cat",
        "CoordTransform",
        "CropMirrorNormalize",
        "ExternalSource",
        "Resize",
        "WarpAffine",
    } <= set(ops.gpu_ops())
    assert "cuda_stream" in Pipeline.feed_input.__doc__
    for argument in ("ptr", "cuda_stream", "non_blocking"):
        assert f"{argument}:" in tensors.TensorListGPU.copy_to_external.__doc__


def turned(angle: float, zoom: float, shift: tuple[float, float]) -> Affine:
    cosine, sine = zoom * np.cos(angle), zoom * np.sin(angle)
    return Affine([[cosine, -sine, shift[0]], [sine, cosine, shift[1]]])


CROPS = [
    (turned(0.0, 1.0, (-20.0, -30.0)), ColorInfo()),
    (turned(0.4, 0.7, (-10.0, -20.0)), ColorInfo(Matrix.BT601, Range.FULL, siting=Siting.CENTRE)),
    (turned(-2.5, 1.6, (90.0, 150.0)), ColorInfo(Matrix.BT601)),
    (turned(1.2, 0.3, (60.0, -5.0)), ColorInfo(siting=Siting.CENTRE)),  # beyond every border
]


def cut(how: Normalisation, seeds: tuple[int, ...] = (0, 1, 2)) -> tuple[Tensor, Tensor]:
    """Every crop of three frames by DALI in one run, and by the reference."""
    device, size = CpuDevice(), Size(64, 48)
    crops = [Crop(noise(160, 120, color, seed), matrix) for seed in seeds for matrix, color in CROPS]
    out = np.full((len(crops), 3, 48, 64), np.nan, np.float32)
    DaliCrops(device, size, len(crops), how).fill(crops, out, device.stream("crops"))
    wanted = np.full_like(out, np.nan)
    for crop, tensor in zip(crops, wanted, strict=True):
        nv12_warp_norm(
            crop.picture.luma,
            crop.picture.chroma,
            tensor[None],
            matrices=(crop.matrix,),
            color=crop.picture.color,
            mean=how.mean,
            scale=how.scale,
            order=how.order,
        )
    return out, wanted


@pytest.mark.parametrize("how", [Normalisation(order="rgb"), Normalisation((1, 2, 3), (1.0, 0.5, 0.25))])
def test_faces_of_several_frames_are_cut_as_by_the_reference(how: Normalisation) -> None:
    out, wanted = cut(how)
    assert np.abs(out - wanted).max() < 0.2
    assert np.abs(out - wanted).mean() < 0.01


def test_without_the_half_pixel_crops_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def raw(matrix: Affine) -> Any:
        return matrix.matrix.astype(np.float32)

    monkeypatch.setattr(dali_crops, "to_half_pixel", raw)
    out, wanted = cut(Normalisation(order="rgb"))
    assert np.abs(out - wanted).mean() > 7


def test_a_smaller_batch_fits_and_a_larger_one_is_refused() -> None:
    device = CpuDevice()
    stream, cutter = device.stream("crops"), DaliCrops(CpuDevice(), Size(16, 8), 2)
    crop = Crop(noise(32, 24, ColorInfo()), turned(0, 0.5, (0.0, 0.0)))
    cutter.fill([crop], np.empty((1, 3, 8, 16), np.float32), stream)
    with pytest.raises(ValueError, match="3 crops are more than the 2"):
        cutter.fill([crop] * 3, np.empty((3, 3, 8, 16), np.float32), stream)
