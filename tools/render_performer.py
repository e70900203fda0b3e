"""Render a clip of the performer: a real-looking face that moves, with ground truth.

    python tools/render_performer.py OUT.mp4 --face 170 --seconds 60
    python tools/render_performer.py OUT.mp4 --query "crossing=1&occluder=hand" --seconds 10 --truth OUT.npz

Everything a `performer:` address understands can be given with --query; the options win over it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from livefusion.core.errors import LiveFusionError
from livefusion.media.sources.performer_options import SCHEME, PerformerOptions
from livefusion.testing.performer_clip import render_scene


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="MP4 or MKV file to write")
    parser.add_argument("--size", metavar="WxH", help="picture size (default: 1280x720)")
    parser.add_argument("--fps", help="frame rate, also as a fraction (default: 30)")
    parser.add_argument("--face", metavar="PIXELS", help="height of the face (default: 170)")
    parser.add_argument("--seconds", default="10", help="length of the clip (default: 10)")
    parser.add_argument("--seed", help="another motion and room for each number (default: 0)")
    parser.add_argument("--query", default="", help="further options, as after performer:?")
    parser.add_argument("--truth", type=Path, metavar="FILE.npz", help="also write where the faces are")
    return parser.parse_args(argv)


def _options(arguments: argparse.Namespace) -> PerformerOptions:
    named = {name: getattr(arguments, name) for name in ("size", "fps", "face", "seconds", "seed")}
    parts = [arguments.query, *(f"{name}={value}" for name, value in named.items() if value is not None)]
    return PerformerOptions.parse(f"{SCHEME}?{'&'.join(part for part in parts if part)}")


def _show(done: float) -> None:
    end = "\n" if done >= 1 else ""
    print(f"\r{done:4.0%}", end=end, file=sys.stderr, flush=True)


def main(argv: list[str] | None = None) -> int:
    """Render; return the exit status."""
    arguments = _arguments(argv)
    progress = _show if sys.stderr.isatty() else None
    try:
        frames = render_scene(arguments.output, _options(arguments), truth=arguments.truth, progress=progress)
    except LiveFusionError as error:
        print(f"render_performer: {error}", file=sys.stderr)
        return error.exit_status
    print(f"{frames} frames in {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
