"""Evaluate a whole set: every clip with every source, one `livefusion eval` after the other.

    python tools/eval_set.py OUT -i a.mp4 -i "performer:?face=300&seconds=4" -s alex -s noor
    python tools/eval_set.py OUT --set SET.toml -- --fetch-judge --no-video
    python tools/eval_set.py OUT -i a.mp4 -i b.mp4 -s suggest

The source `suggest` is the persona that `livefusion identity suggest` picks for the clip. Into the folder
OUT go the figures, sheet and video of each, and all together as eval.json and eval.md. What follows -- is
given to each `livefusion eval`. SET.toml holds tables [[clip]] with `input`, and if you like `source`,
`consent`, `truth` and `duration`; paths in it are relative to it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from livefusion.evaluation.document import SUMMARY, document

_PATHS = {"input", "source", "truth"}
_KEYS = _PATHS | {"consent", "duration"}
SUGGEST = "suggest"
_LIVEFUSION = (sys.executable, "-m", "livefusion.cli.main")


class SetError(Exception):
    """The set cannot be evaluated; the text says why in one line."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A clip with a source, which may be suggested; ``flags`` are for `livefusion eval`."""

    input: str
    source: str
    flags: tuple[str, ...] = ()
    suggested: bool = False

    @property
    def name(self) -> str:
        """What its files are called."""
        parts = [self.input.rpartition("/")[2], self.source.rpartition("/")[2] or "default"]
        return re.sub(r"[^\w.-]+", "-", "-as-".join(parts)).strip("-")


def read_set(path: Path) -> list[Entry]:
    """The entries of a TOML file. ``SetError`` if it is none."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))["clip"]
    except (OSError, KeyError, ValueError) as error:
        raise SetError(f"{path} holds no [[clip]]: {error}") from error
    return [_entry(table, path.parent) for table in tables]


def _entry(table: Mapping[str, Any], folder: Path) -> Entry:
    unknown = set(table) - _KEYS
    if unknown or "input" not in table:
        raise SetError(f"a clip has {', '.join(sorted(_KEYS))} (input is needed), not {sorted(unknown)}")
    values = {
        key: str(folder / str(value)) if key in _PATHS and (folder / str(value)).exists() else str(value)
        for key, value in table.items()
    }
    flags = [word for key in sorted(set(values) - {"input", "source"}) for word in (f"--{key}", values[key])]
    return Entry(values["input"], values.get("source", ""), tuple(flags))


def settled(entry: Entry) -> Entry | None:
    """The entry with the persona that is suggested, if it asks for that; None if none is, which is said."""
    if entry.source != SUGGEST:
        return entry
    command = [*_LIVEFUSION, "identity", "suggest", entry.input, "--json", "-"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    persona = json.loads(done.stdout)["suggested"] if done.returncode == 0 else None
    if persona is None:
        print(f"eval_set: no persona is suggested for {entry.input}", file=sys.stderr)
        return None
    return replace(entry, source=persona, suggested=True)


def evaluate(entry: Entry, folder: Path, flags: Sequence[str]) -> dict[str, Any] | None:
    """Evaluate one entry in a process of its own; None if that failed, which was said on stderr."""
    target = folder / f"{entry.name}.json"
    source = ["-s", entry.source] if entry.source else []
    command = [*_LIVEFUSION, "eval", entry.input, *source, "--json", str(target)]
    done = subprocess.run([*command, *entry.flags, *flags], stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        return None
    clip: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))["clips"][0]
    return clip | {"suggested": entry.suggested}


def as_markdown(whole: Mapping[str, Any]) -> str:
    """A table with a row for each figure, a column for each clip and one for the mean."""
    clips = whole["clips"]
    names = [
        f"{clip['input'].rpartition('/')[2]} as {clip['source'].rpartition('/')[2]}"
        + (" (suggested)" if clip.get("suggested") else "")
        for clip in clips
    ]
    lines = ["| figure | " + " | ".join([*names, "all"]) + " |", "|---" * (len(names) + 2) + "|"]
    for key in SUMMARY:
        values = [*(clip["summary"][key] for clip in clips), whole["summary"][key]]
        lines.append(
            f"| {key} | " + " | ".join("–" if one is None else f"{one:.3f}" for one in values) + " |"
        )
    return "\n".join(lines) + "\n"


def _arguments(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    words = list(argv)
    cut = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="OUT", help="where everything goes")
    parser.add_argument("-i", "--input", action="append", default=[], help="a clip; repeat it")
    parser.add_argument("-s", "--source", action="append", default=[], help="a source, or suggest; repeat it")
    parser.add_argument("--set", type=Path, metavar="SET.toml", help="clips with their sources")
    return parser.parse_args(words[:cut]), words[cut + 1 :]


def main(argv: Sequence[str] | None = None) -> int:
    """Evaluate the set; 1 if a clip failed or there is none."""
    options, flags = _arguments(sys.argv[1:] if argv is None else argv)
    try:
        entries = [Entry(clip, source) for clip in options.input for source in options.source or [""]]
        entries += read_set(options.set) if options.set else []
        if not entries:
            raise SetError("there is no clip: give -i or --set")
        options.folder.mkdir(parents=True, exist_ok=True)
    except (SetError, OSError) as error:
        print(f"eval_set: {error}", file=sys.stderr)
        return 1
    clips = []
    for number, asked in enumerate(entries, 1):
        entry = settled(asked)
        print(f"{number}/{len(entries)} {(entry or asked).name}", file=sys.stderr, flush=True)
        clips.append(evaluate(entry, options.folder, flags) if entry else None)
        whole = document([clip for clip in clips if clip is not None])
        (options.folder / "eval.json").write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")
        (options.folder / "eval.md").write_text(as_markdown(whole), encoding="utf-8")
    print(as_markdown(whole))
    return 1 if None in clips else 0


if __name__ == "__main__":
    sys.exit(main())
