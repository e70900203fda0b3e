"""Build `models/personas/`: faces that belong to nobody, each composed of several licensed photos.

    python tools/build_personas.py                 fetch the photos, write the personas and personas.toml
    python tools/build_personas.py --check         build in memory and compare; exit 1 if anything differs
    python tools/build_personas.py --preview FILE  also write a PNG of the personas seen from the front

The photos are not kept. A persona that resembles a contributor (SFace cosine of 0.363 or more; its own also
on each other's faces) or another persona is refused. Other versions of the libraries may round otherwise, so
`--check` allows two levels of texture and a cosine of 0.99.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from persona_build.kitchen import Face, Kitchen
from persona_build.likeness import embed_frontal, highest_cosine
from persona_build.photos import BuildError, PhotoStore, package_of
from persona_build.recipes import CONTRIBUTORS, RECIPES, Contributor, Recipe

from livefusion.core.errors import LiveFusionError
from livefusion.core.face import Identity
from livefusion.evaluation.portrait import portrait
from livefusion.faces.embed import SAME_PERSON
from livefusion.faces.photo import PhotoFaces
from livefusion.swap.mesh.mask import face_mask
from livefusion.swap.persona import SCHEMA, PersonaLibrary, pack_persona, unpack_persona

Rgb = npt.NDArray[np.uint8]

_FOLDER = Path(__file__).resolve().parents[1] / "models" / "personas"
_DOWNLOADS = Path(tempfile.gettempdir()) / "livefusion-photos"
_DETECTION_SIDE = 1280
# How far a nose tip may lie from where the recipe says, in pixels.
_REACH = 40
_SAME_LEVELS, _SAME_COSINE = 2.0, 0.99


def build(recipe: Recipe, kitchen: Kitchen, faces: PhotoFaces) -> tuple[bytes, float]:
    """The file of a persona and its highest cosine to a contributor; ``BuildError`` if it resembles one."""
    rgb, shape = kitchen.cook(recipe)
    alpha = np.round(face_mask() * 255).astype(np.uint8)
    persona = Identity(recipe.name, recipe.label, np.dstack([rgb, alpha]), shape)
    embedding = embed_frontal(persona, faces)
    content = pack_persona(Identity(persona.id, persona.label, persona.texture, shape, embedding))
    made = unpack_persona(content, recipe.name, recipe.label)
    own = [kitchen.faces[key] for key in recipe.shares]
    others = [face for key, face in kitchen.faces.items() if key not in recipe.shares]
    cosine = highest_cosine(made, own, others, faces)
    if cosine >= SAME_PERSON:
        raise BuildError(f"{recipe.name} resembles a contributor ({cosine:.3f}): put in more faces")
    return content, cosine


def require_unlike(contents: Mapping[str, bytes]) -> None:
    """``BuildError`` if two personas are alike."""
    embeddings = {name: unpack_persona(content, name, name).embedding for name, content in contents.items()}
    for one, other in combinations(embeddings, 2):
        first, second = embeddings[one], embeddings[other]
        assert first is not None
        assert second is not None
        if float(first @ second) >= SAME_PERSON:
            raise BuildError(f"{one} and {other} are alike ({first @ second:.3f}): move one further away")


def find_contributors(
    wanted: Mapping[str, Contributor], photos: Mapping[str, Rgb], faces: PhotoFaces
) -> dict[str, Face]:
    """Photo and landmarks of each contributor; ``BuildError`` if one is not found where it should be."""
    found: dict[str, Face] = {}
    names = {contributor.photo for contributor in wanted.values()}
    seen = {name: faces.find(photos[name], max_side=_DETECTION_SIDE) for name in names}
    for key, contributor in wanted.items():
        nose = np.array([contributor.x, contributor.y])
        meshes = [face.landmarks for face in seen[contributor.photo] if face.landmarks is not None]
        near = [mesh for mesh in meshes if np.linalg.norm(mesh[1, :2] - nose) < _REACH]
        if not near:
            raise BuildError(f"no face at {contributor}: did the detector change?")
        found[key] = (photos[contributor.photo], near[0])
    return found


def entry(recipe: Recipe, content: bytes, cosine: float) -> str:
    """The table of a persona in `personas.toml`."""
    contributors = ", ".join(f'"{contributor}"' for contributor in recipe.contributors)
    named = {str(package): package for package in (package_of(each.photo) for each in recipe.contributors)}
    licence = ", ".join(dict.fromkeys(package.licence for package in named.values()))
    return f"""
[[persona]]
name = "{recipe.name}"
label = "{recipe.label}"
file = "{recipe.name}.npz"
sha256 = "{hashlib.sha256(content).hexdigest()}"
bytes = {len(content)}
licence = "{licence}"
source = "photos in npm packages {", ".join(named)}"
contributors = [{contributors}]
max_cosine = {cosine:.3f}
"""


def differences(contents: Mapping[str, bytes], folder: Path) -> list[str]:
    """Names of the personas that ``folder`` lacks or holds with another face."""
    library = PersonaLibrary(folder)
    missing = [name for name in contents if name not in library.names()]
    known = [name for name in contents if name not in missing]
    return missing + [name for name in known if not _same(library.load(name), contents[name])]


def _same(kept: Identity, content: bytes) -> bool:
    made = unpack_persona(content, kept.id, kept.label)
    levels = float(np.abs(kept.texture.astype(np.float32) - made.texture).mean())
    assert kept.embedding is not None
    assert made.embedding is not None
    return levels <= _SAME_LEVELS and float(kept.embedding @ made.embedding) >= _SAME_COSINE


def _write_preview(contents: Mapping[str, bytes], path: Path) -> None:
    views = [portrait(unpack_persona(content, name, name))[0] for name, content in contents.items()]
    cv2.imwrite(str(path), np.hstack(views)[..., ::-1])


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=_FOLDER, help="folder (default: models/personas)"
    )
    parser.add_argument("--photos", type=Path, default=_DOWNLOADS, help="folder of the downloaded archive")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--preview", type=Path, help="PNG to write")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the build; return the exit status."""
    arguments = _arguments(argv)
    arguments.photos.mkdir(parents=True, exist_ok=True)
    contents, tables = (
        {},
        [f'# Written by tools/build_personas.py: change the recipe, not this file.\nschema = "{SCHEMA}"\n'],
    )
    try:
        photos, faces = PhotoStore(arguments.photos).load(), PhotoFaces.from_registry()
        kitchen = Kitchen(find_contributors(CONTRIBUTORS, photos, faces))
        for recipe in RECIPES:
            contents[recipe.name], cosine = build(recipe, kitchen, faces)
            tables.append(entry(recipe, contents[recipe.name], cosine))
            print(f"{recipe.name}: {len(contents[recipe.name])} bytes, highest cosine {cosine:.3f}")
        require_unlike(contents)
        changed = differences(contents, arguments.output) if arguments.check else []
    except (BuildError, LiveFusionError) as error:
        print(f"build_personas: {error}", file=sys.stderr)
        return 1
    if arguments.preview:
        _write_preview(contents, arguments.preview)
    if arguments.check:
        print(f"differ: {', '.join(changed)}" if changed else "all as built")
        return 1 if changed else 0
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (arguments.output / f"{name}.npz").write_bytes(content)
    (arguments.output / "personas.toml").write_text("".join(tables), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
