"""Train `models/face_occluder.onnx`: which pixels of a face crop are covered by something before the face.

    python tools/build_occluder.py --steps 36000       train, or go on, and write the network
    python tools/build_occluder.py --export            write the network as trained so far
    python tools/build_occluder.py --sheet FILE        write a PNG of training examples
    python tools/build_occluder.py --exam CLIP...      mark the network on the performer and on clips

Faces are licensed photos that npm fetches; all that covers them is drawn by chance, so no labelled data is
needed. Training is repeatable in kind, not in bytes.

Needs, beside LiveFusion: pip install "jax[cpu]" optax onnx
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import tempfile
from pathlib import Path

# One core: a build in the background must leave the machine usable. To be set before JAX is imported.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import cv2
import numpy as np
from occluder_build.faces import FaceBank, collect
from occluder_build.photos import BuildError

_MODEL = Path(__file__).resolve().parents[1] / "models" / "face_occluder.onnx"
_EXAM_PICTURES = 20
_WORK = Path(tempfile.gettempdir()) / "livefusion-occluder"


def faces(work: Path) -> FaceBank:
    """The faces, found once. ``BuildError`` if their photos cannot be had."""
    path = work / "bank.npz"
    if not path.exists():
        downloads = work / "npm"
        downloads.mkdir(exist_ok=True)
        collect(downloads).save(path)
    return FaceBank.load(path)


def _sheet(bank: FaceBank, path: Path) -> None:
    from occluder_build.scene import compose

    rng = np.random.default_rng(0)
    rows = []
    for _ in range(8):
        made = [compose(bank, rng) for _ in range(12)]
        rows.append(np.hstack([example.image for example in made]))
        rows.append(np.hstack([np.dstack([example.cover] * 2 + [example.weight]) for example in made]))
    cv2.imwrite(str(path), np.vstack(rows)[..., ::-1])


def _train(bank: FaceBank, work: Path, steps: int) -> None:
    from occluder_build.train import Plan, train

    train(bank, Plan(steps), work / "state.pickle", lambda line: print(line, flush=True))


def _export(work: Path, output: Path) -> None:
    from occluder_build.onnx_layers import to_onnx
    from occluder_build.scene import CROP

    state = work / "state.pickle"
    if not state.exists():
        raise BuildError(f"nothing is trained in {work}: run with --steps first")
    content = to_onnx(pickle.loads(state.read_bytes())["average"], CROP)
    output.write_bytes(content)
    print(f"{len(content):>10,}  {output}")


def _exam(model: Path, clips: list[Path], picture: Path | None) -> None:
    from occluder_build.exam import Candidate, marks, questions, sheet

    asked, candidate = questions(clips, _EXAM_PICTURES), Candidate(model.read_bytes())
    for clip, kind, value, count in marks(asked, candidate):
        print(f"{clip:32} {kind:12} {value:.4f}  of {count}")
    if picture:
        sheet(asked, candidate, picture)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=_MODEL, help="file to write")
    parser.add_argument("--work", type=Path, default=_WORK, help="folder of photos, faces and the state")
    parser.add_argument("--steps", type=int, default=36000, help="steps of 4 examples in all")
    parser.add_argument("--export", action="store_true", help="do not train")
    parser.add_argument("--sheet", type=Path, help="write examples (with --exam, answers) and stop")
    parser.add_argument(
        "--exam", type=Path, nargs="*", help="mark the network, beside the performer on clips"
    )
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the build; return the exit status."""
    arguments = _arguments(argv)
    arguments.work.mkdir(parents=True, exist_ok=True)
    cv2.setNumThreads(1)
    try:
        if arguments.exam is not None:
            _exam(arguments.output, arguments.exam, arguments.sheet)
            return 0
        bank = faces(arguments.work)
        if arguments.sheet:
            _sheet(bank, arguments.sheet)
            return 0
        if not arguments.export:
            _train(bank, arguments.work, arguments.steps)
        _export(arguments.work, arguments.output)
    except BuildError as error:
        print(f"build_occluder: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
