"""Pictures for eyes that know nothing: originals and altered ones, mixed, and what was said of them, counted.

    python tools/blind_trial.py OUT -i a.mp4 -i "performer:?face=300&seconds=4" -s alex -s noor
    python tools/blind_trial.py OUT --score ANSWERS.json

OUT/pictures gets numbered PNG files, OUT/key.json what each of them is: keep it from the eyes. No moment is
shown both ways. ANSWERS.json maps each file name to true where it was held to be altered.
"""

import argparse
import json
import random
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import cv2
import numpy as np

from livefusion.core.frame import Outcome
from livefusion.core.settings import Settings
from livefusion.evaluation.picture import Rgb
from livefusion.evaluation.run import PairRun, Work
from livefusion.evaluation.tap import Pair

WIDEST = 1000


@dataclass(frozen=True, slots=True)
class Shown:
    """What a numbered picture is."""

    input: str
    source: str
    seq: int
    altered: bool


def draw(clip: str, source: str, moments: int, chance: random.Random) -> list[tuple[Shown, Rgb]]:
    """That many swapped moments of a clip, evenly spaced, half of them as they were before."""
    swapped = [
        (pair.seq, pair.before.rgb, pair.after.rgb)
        for pair in _pairs(clip, source)
        if pair.outcome is Outcome.SWAPPED
    ]
    places = np.linspace(0, len(swapped) - 1, min(moments, len(swapped))).round().astype(int)
    sides = [bool(number % 2) for number in range(len(places))]
    chance.shuffle(sides)
    return [
        (Shown(clip, source, swapped[place][0], altered), swapped[place][2 if altered else 1])
        for place, altered in zip(places, sides, strict=True)
    ]


def _pairs(clip: str, source: str) -> list[Pair]:
    with closing(iter(PairRun(Work(Settings(input=clip, source=source))))) as pairs:
        return list(pairs)


def write(folder: Path, shown: Sequence[tuple[Shown, Rgb]]) -> None:
    """The pictures in their order, and the key beside their folder."""
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    key = {}
    for number, (what, rgb) in enumerate(shown, 1):
        name = f"{number:02}.png"
        factor = min(1.0, WIDEST / rgb.shape[1])
        small = cv2.resize(rgb, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
        cv2.imwrite(str(folder / "pictures" / name), cv2.cvtColor(small, cv2.COLOR_RGB2BGR))
        key[name] = asdict(what)
    (folder / "key.json").write_text(json.dumps(key, indent=1) + "\n", encoding="utf-8")


def score(folder: Path, answers: Path) -> str:
    """How often the answers were right, and what each picture was."""
    key = json.loads((folder / "key.json").read_text(encoding="utf-8"))
    said = json.loads(answers.read_text(encoding="utf-8"))
    lines = []
    for altered, what in ((True, "altered pictures noticed"), (False, "originals held to be altered")):
        names = [name for name, one in key.items() if one["altered"] is altered and name in said]
        lines.append(f"{what}: {sum(bool(said[name]) for name in names)} of {len(names)}")
    lines += [
        f"{name}: {one['source'] if one['altered'] else 'original'}, {one['input']} at {one['seq']}"
        f"{'' if bool(said.get(name)) is one['altered'] else ' (wrong)'}"
        for name, one in key.items()
    ]
    return "\n".join(lines)


def main() -> None:
    """Draw the pictures, or count the answers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="OUT", help="where the pictures and the key go")
    parser.add_argument("-i", "--input", action="append", default=[], help="a clip; repeat it")
    parser.add_argument("-s", "--source", action="append", default=[], help="a face; repeat it")
    parser.add_argument("--moments", type=int, default=2, help="pictures of each clip and face (default 2)")
    parser.add_argument("--seed", type=int, default=0, help="another number, another order")
    parser.add_argument("--score", type=Path, metavar="ANSWERS.json", help="count these answers")
    options = parser.parse_args()
    if options.score:
        print(score(options.folder, options.score))
        return
    chance = random.Random(options.seed)
    shown = [
        one
        for clip, source in product(options.input, options.source or [""])
        for one in draw(clip, source, options.moments, chance)
    ]
    chance.shuffle(shown)
    write(options.folder, shown)
    print(f"{len(shown)} pictures in {options.folder / 'pictures'}")


if __name__ == "__main__":
    main()
