"""Makes the picture of the README: moments of the performer beside the same moments with another face.

python tools/make_picture.py before-after.webp
"""

import argparse
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from livefusion.core.settings import Pace, Settings
from livefusion.media.sinks.memory import KeptPicture, MemorySink
from livefusion.media.sinks.sink import PictureSink
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts

MOMENTS = ((20, "noor"), (75, "robin"))
SIZE, FACE = "1280x720", 300
CROP = slice(0, 720), slice(320, 1280)
SHOWN = (480, 360)

Rgb = npt.NDArray[np.uint8]


def main() -> None:
    """Render, swap, and put the halves side by side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("output", type=Path, help="the WebP file to write")
    output: Path = parser.parse_args().output
    halves = []
    for seq, persona in MOMENTS:
        halves += [_moment(seq, persona, shown=False), _moment(seq, persona, shown=True)]
    Image.fromarray(np.hstack(halves)).save(output, quality=88, method=6)


def _moment(seq: int, persona: str, *, shown: bool) -> Rgb:
    """Frame ``seq`` of the performer; ``shown`` as it leaves the graph."""
    kept: list[MemorySink] = []

    def keep(device: object, output: object) -> PictureSink:
        kept.append(MemorySink(device, limit=1))  # type: ignore[arg-type]
        return kept[0]

    settings = Settings(
        input=f"performer:?size={SIZE}&face={FACE}&seconds={(seq + 1) / 30}",
        source=persona,
        output=("null:",),
        pace=Pace.FAST,
        swap={"opacity": 1.0 if shown else 0.0},  # type: ignore[arg-type]
        safety={"badge": shown},  # type: ignore[arg-type]
    )
    pipeline = Pipeline(settings, parts=Parts(sinks=(keep,)))
    pipeline.start()
    pipeline.wait()
    pipeline.stop()
    return _to_rgb(kept[0].pictures[-1])


def _to_rgb(picture: KeptPicture) -> Rgb:
    nv12 = np.vstack([picture.luma, picture.chroma.reshape(picture.luma.shape[0] // 2, -1)])
    rgb = cv2.cvtColor(nv12, cv2.COLOR_YUV2RGB_NV12)[CROP]
    return cv2.resize(rgb, SHOWN, interpolation=cv2.INTER_AREA).astype(np.uint8)


if __name__ == "__main__":
    main()
