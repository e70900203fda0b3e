"""Build `models/performer/`: the built-in performer and her companion, cut out, with their face landmarks.

    python tools/build_performer.py            write two photos, landmarks.npz and performer.toml
    python tools/build_performer.py --check    build in memory and compare; exit 1 if anything differs

The photo is NASA's official portrait of astronaut Eileen Collins (public domain), taken out of the
scikit-image wheel, which is checked by sha256, unpacked and never imported. Landmarks and the rough matte
come from the networks in `models/`; GrabCut and a guided filter refine the matte.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from model_build.wheels import BuildError, Wheel, WheelStore
from performer_build.disguise import disguised
from performer_build.matte import cut_out, without_backdrop
from performer_build.second_person import make_second_person
from PIL import Image

from livefusion.core.geometry import Affine
from livefusion.inference.registry import ModelRegistry
from livefusion.inference.session import Session
from livefusion.media.sources.performer_mesh import OVAL

SCIKIT_IMAGE = Wheel(
    package="scikit-image",
    version="0.25.2",
    filename="scikit_image-0.25.2-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    sha256="a17e17eb8562660cc0d31bb55643a4da996a81944b82c54805c91b3fe66f4824",
    platform=("3.12", "manylinux2014_x86_64"),
)
MEMBER = "skimage/data/astronaut.png"
FIRST, SECOND, LANDMARKS, ENTRY = "first.webp", "second.webp", "landmarks.npz", "performer.toml"

# Centre and side of the square round the face, in pixels of the photo.
FACE_CENTRE, FACE_SIDE = (226.0, 124.0), 165.0
# The network counts from the edge of its crop; pixel centres are whole numbers here.
_HALF_PIXEL = 0.5

_FOLDER = Path(__file__).resolve().parents[1] / "models" / "performer"
_WHEELS = Path(tempfile.gettempdir()) / "livefusion-wheels"

_ENTRY = """\
# Written by tools/build_performer.py: change the recipe, not this file.
schema = "livefusion.performer/1"
person = "Eileen Collins, astronaut, in her official portrait"
licence = "public domain (work of NASA)"
source = "NASA portrait as skimage/data/astronaut.png, from wheel scikit-image 0.25.2"

[[file]]
name = "first.webp"
sha256 = "{first}"
content = "512x512 RGBA: the photo, cut out"

[[file]]
name = "second.webp"
sha256 = "{second}"
content = "512x512 RGBA: a second person, made of the photo: warped, mirrored, recoloured, disguised"

[[file]]
name = "landmarks.npz"
sha256 = "{landmarks}"
content = "first, second (478, 3) float32: x, y, z in pixels of the photos"
"""

Picture = npt.NDArray[np.uint8]


def find_landmarks(
    rgb: Picture, face_centre: tuple[float, float], network: Session
) -> npt.NDArray[np.float32]:
    """Landmarks (478, 3) in photo pixels: the mean over crops of different size, place and roll.

    One crop leaves 0.1–0.3 px of the 108 px face to chance, the mean of 45 a tenth of it.
    """
    found = []
    for scale in (0.92, 0.96, 1.0, 1.04, 1.08):
        for shift in (-2.0, 0.0, 2.0):
            for roll in (-0.06, 0.0, 0.06):
                centre = (face_centre[0] + shift, face_centre[1] - shift)
                crop = Affine.similarity(256 / (FACE_SIDE * scale), roll, centre, (127.5, 127.5))
                found.append(_landmarks_in(rgb, crop, network))
    mean: npt.NDArray[np.float32] = np.stack(found).mean(axis=0).astype(np.float32)
    return mean


def _landmarks_in(rgb: Picture, crop: Affine, network: Session) -> npt.NDArray[np.float64]:
    patch = cv2.warpAffine(rgb, crop.matrix, (256, 256), flags=cv2.INTER_CUBIC)
    tensor = np.ascontiguousarray(patch.transpose(2, 0, 1)[None], dtype=np.float32) / 255
    points = np.array(network.run({"image": tensor})["landmarks"][0], np.float64)
    zoom = float(np.hypot(crop.matrix[0, 0], crop.matrix[1, 0]))
    return np.column_stack([crop.inverse()(points[:, :2] - _HALF_PIXEL), points[:, 2] / zoom])


def build(wheels: WheelStore) -> dict[str, bytes]:
    """Return the content of every file, by file name."""
    registry = ModelRegistry.load()
    landmarks, segmentation = Session(registry["face_landmarks"]), Session(registry["selfie_segmentation"])
    rgb = np.asarray(Image.open(io.BytesIO(wheels.read(SCIKIT_IMAGE, MEMBER))).convert("RGB"))
    alpha = cut_out(rgb, segmentation)
    first = np.dstack([without_backdrop(rgb, alpha), alpha])
    first_points = find_landmarks(rgb, FACE_CENTRE, landmarks)
    second = make_second_person(first, first_points, OVAL)
    mirrored_centre = (rgb.shape[1] - 1 - FACE_CENTRE[0], FACE_CENTRE[1])
    bare_points = find_landmarks(second[..., :3].copy(), mirrored_centre, landmarks)
    second[..., :3] = disguised(second[..., :3], bare_points)
    second_points = find_landmarks(second[..., :3].copy(), mirrored_centre, landmarks)
    points = io.BytesIO()
    np.savez(points, first=first_points, second=second_points)
    files = {FIRST: _webp(first), SECOND: _webp(second), LANDMARKS: points.getvalue()}
    digests = {name.partition(".")[0]: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return {**files, ENTRY: _ENTRY.format(**digests).encode()}


def _webp(rgba: Picture) -> bytes:
    encoded = io.BytesIO()
    Image.fromarray(rgba).save(encoded, "WEBP", quality=95, method=6, exact=True)
    return encoded.getvalue()


def main(argv: list[str] | None = None) -> int:
    """Run the build; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=_FOLDER, help="folder to write")
    parser.add_argument("--wheels", type=Path, default=_WHEELS, help="folder of downloaded wheels")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args(argv)
    arguments.wheels.mkdir(parents=True, exist_ok=True)
    try:
        files = build(WheelStore(arguments.wheels))
    except BuildError as error:
        print(f"build_performer: {error}", file=sys.stderr)
        return 1
    if arguments.check:
        paths = {name: arguments.output / name for name in files}
        wrong = [
            name for name, path in paths.items() if not path.is_file() or path.read_bytes() != files[name]
        ]
        print(f"differ: {', '.join(wrong)}" if wrong else f"{len(files)} files identical")
        return 1 if wrong else 0
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (arguments.output / name).write_bytes(content)
        print(f"{len(content):>10,}  {arguments.output / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
