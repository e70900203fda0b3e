"""The watermark's figures: how often it is found again, by codec, size and bitrate, and how often falsely.

    python tools/watermark_table.py OUT --videos DIR --photos DIR [--seconds N] [--quick]

Each result is a line in OUT/results.jsonl as soon as it is there, and what is there is not measured again:
stop it and go on whenever you like. The table is in OUT/table.md. The whole takes about two hours of one core
for 30 clips of eight seconds, --quick a tenth of that.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from scipy.stats import norm
from watermark_clips import drawn_clips, filed_clips
from watermark_measures import SIZES, Results, Setting, measure

from livefusion.devices.cpu import CpuDevice
from livefusion.provenance.chips import EPOCHS
from livefusion.provenance.detector import (
    CHUNK_SECONDS,
    WINDOW,
    window_limit,
)

RATES = (500, 1000, 2000, 4000)
CODECS = ("x264", "vp8")
SECONDS, QUICK_SECONDS = 8, 4
_QUICK_CLIPS = (
    "flat-dark",
    "texture-2",
    "texture-9",
    "screen",
    "performer-250",
    "eat",
    "astronaut",
    "chelsea",
)


def table(results: Results) -> str:
    """All results as Markdown."""
    head = "codec, size, kbit/s | clips | windows | found | lowest score | payload of the clip read | misread"
    lines = [f"| {head} |", "|---|---|---|---|---|---|---|"]
    rows = list(results.rows.values())
    promised: list[bool] = []
    for name in (Setting(c, s, r).name for c in CODECS for s in SIZES for r in RATES):
        mine = [row for row in rows if row["what"] == name]
        if not mine:
            continue
        hits = [z > row["limit"] for row in mine for z in row["scores"]]
        if "720p" in name and not name.endswith(" 500"):
            promised += hits
        cells = (
            name,
            len(mine),
            len(hits),
            f"{100 * np.mean(hits):.2f} %",
            f"{min(z for row in mine for z in row['scores']):.1f}",
            sum(row["read"][-1] is True for row in mine),
            sum(one is False for row in mine for one in row["read"]),
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    if promised:
        share = f"{sum(promised)} of {len(promised)} windows, {100 * np.mean(promised):.2f} %"
        lines += ["", f"Found at 720p and 1 Mbit/s or more: {share} (promised: 99.9 %)."]
    return "\n".join([*lines, "", *_chances(rows)])


def _chances(rows: list[dict[str, Any]]) -> list[str]:
    embedding = [row for row in rows if row["what"] == "embedding"]
    unmarked = [row for row in rows if row["what"] == "unmarked"]
    if not embedding or not unmarked:
        return []
    worst = min(embedding, key=lambda row: row["psnr"])
    middle = np.median([row["psnr"] for row in embedding])
    deviation = max(row["wrong"]["sd"] for row in unmarked)
    limit = window_limit(6)
    tail = norm.sf(limit / deviation) * 6 * EPOCHS * WINDOW
    return [
        f"PSNR of the luma: {worst['psnr']:.1f} dB at least ({worst['clip']}), {middle:.1f} in the middle.",
        f"Marking 720p: {np.median([row['p50_ms'] for row in embedding]):.2f} ms of a core (p50).",
        f"Wrong keys: {sum(row['wrong']['keys'] for row in unmarked)}, z up to "
        f"{max(row['wrong']['max'] for row in unmarked):.2f}, deviation up to {deviation:.4f}: by the fitted "
        f"tail a window with all its looks exceeds {limit:.2f} with probability {tail:.1e}.",
        f"Unmarked, right key: {sum(row['windows'] for row in unmarked)} windows, score up to "
        f"{max(row['largest'] for row in unmarked):.2f}.",
    ]


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--videos", "--photos", type=Path, action="append", default=[], dest="folders")
    parser.add_argument("--seconds", type=int, default=SECONDS, metavar="N", help="of each clip, even")
    parser.add_argument("--quick", action="store_true", help="eight clips, two sizes, two bitrates")
    arguments = parser.parse_args()
    CpuDevice()  # one thread for OpenCV
    cv2.setNumThreads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = Results(arguments.out / "results.jsonl")
    clips = [*drawn_clips(), *filed_clips(arguments.folders)]
    settings = [Setting(codec, size, rate) for codec in CODECS for size in SIZES for rate in RATES]
    seconds = arguments.seconds
    if arguments.quick:
        clips = [clip for clip in clips if clip.name in _QUICK_CLIPS]
        settings = [one for one in settings if one.size != "360p" and one.kbit in {500, 1000}]
        seconds = QUICK_SECONDS
    if seconds <= 0 or seconds % (WINDOW * CHUNK_SECONDS):
        parser.error("--seconds must be whole windows of two seconds")
    # VP8 takes four times as long: whoever stops early has all of the other.
    for codec in CODECS:
        for clip in clips:
            measure(clip, [setting for setting in settings if setting.codec == codec], seconds, results)
            (arguments.out / "table.md").write_text(table(results) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
