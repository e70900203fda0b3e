"""``livefusion models try``: what a network of one's own sees in a photo, or makes of its faces."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.cli.console import Console
from livefusion.cli.json_output import write_json
from livefusion.core.errors import InputError, SettingsError
from livefusion.core.files import write_whole
from livefusion.core.geometry import Box
from livefusion.inference.catalog import ModelFile, find_model
from livefusion.inference.classify import Role

Photo = npt.NDArray[np.uint8]
Seen = tuple[Box, float, npt.NDArray[np.floating]]
"""A face's box, its score, and its points."""

_BOX, _POINT = (255, 200, 0), (0, 255, 120)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Look, tell and draw; ``InputError`` if there is no face, ``SettingsError`` for other networks."""
    from livefusion.media.photo import load_photo

    model = find_model(arguments.name)
    photo = load_photo(arguments.photo)
    if model.role is Role.ENHANCER:
        seen, picture = _restore(model, photo)
    else:
        seen = _look(model, photo)
        picture = _drawn(photo, seen)
    if arguments.out is not None:
        _save(picture, arguments.out)
    if arguments.json is not None:
        write_json(arguments.json, _document(model, seen), console)
    else:
        for box, score, points in seen:
            console.result(
                f"a face of {box.width:.0f} × {box.height:.0f} at {box.x:.0f}, {box.y:.0f}: "
                f"score {score:.2f}, {len(points)} points"
            )
    if not seen:
        raise InputError(f"{model.name} sees no face in {arguments.photo}", "try another photo")
    return 0


def _look(model: ModelFile, photo: Photo) -> list[Seen]:
    if model.role is Role.DETECTOR:
        from livefusion.faces.photo_detector import PhotoDetector

        found = PhotoDetector(model).find(photo)
        return [(face.box, face.score, _points(face.keypoints)) for face in found]
    if model.role is Role.LANDMARKS:
        from livefusion.faces.photo import PhotoFaces
        from livefusion.faces.point_networks import PointNetwork

        network = PointNetwork(model)
        faces = PhotoFaces.from_registry().find(photo)
        return [(face.box, face.score, network.find(photo, face.box)) for face in faces]
    raise SettingsError(
        f"{model.name} is for {model.role}: only detectors, landmarks and enhancers are tried on a photo",
        f"see a swap network at work with `livefusion demo --engine {model.name}`",
    )


def _points(keypoints: npt.NDArray[np.float32] | None) -> npt.NDArray[np.floating]:
    return np.empty((0, 2)) if keypoints is None else keypoints


def _restore(model: ModelFile, photo: Photo) -> tuple[list[Seen], Photo]:
    """The faces, and the photo with each of them restored."""
    from livefusion.faces.photo import PhotoFaces
    from livefusion.swap.neural.restore import Restorer, put_back

    network, restored = Restorer(model), photo
    faces = [face for face in PhotoFaces.from_registry().find(photo) if face.landmarks is not None]
    for face in faces:
        assert face.landmarks is not None
        restored = put_back(restored, network.restore(photo, face.landmarks))
    return [(face.box, face.score, np.empty((0, 2))) for face in faces], restored


def _drawn(photo: Photo, seen: list[Seen]) -> Photo:
    import cv2

    canvas, thick = photo.copy(), max(1, photo.shape[1] // 400)
    for box, _, points in seen:
        corners = [round(value) for value in (box.x, box.y, box.right, box.bottom)]
        cv2.rectangle(canvas, tuple(corners[:2]), tuple(corners[2:]), _BOX, thick)
        for x, y in np.rint(points).astype(int).tolist():
            cv2.circle(canvas, (x, y), thick, _POINT, -1)
    return canvas


def _save(picture: Photo, out: Path) -> None:
    import cv2

    _, content = cv2.imencode(".png", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))
    write_whole(out, content.tobytes())


def _document(model: ModelFile, seen: list[Seen]) -> dict[str, Any]:
    return {
        "schema": "livefusion.model-try/1",
        "name": model.name,
        "family": model.family,
        "faces": [
            {
                "box": [box.x, box.y, box.width, box.height],
                "score": score,
                "points": np.asarray(points, np.float64).round(2).tolist(),
            }
            for box, score, points in seen
        ],
    }
