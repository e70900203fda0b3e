"""The viewer of the bench of sound against picture."""

from fractions import Fraction
from typing import Any

import av
import pytest

from livefusion.core.geometry import Size
from livefusion.testing.media import flat_picture
from livefusion.testing.sound import BeepEncoder
from livefusion.testing.whep import BeaconViewer

pytestmark = pytest.mark.media

FLASHES = [0.5, 1.5]


def pictures() -> list[tuple[int, bytes]]:
    context: Any = av.CodecContext.create("libx264", "w")
    context.width, context.height, context.pix_fmt = 64, 48, "yuv420p"
    context.time_base, context.framerate = Fraction(1, 90_000), Fraction(30)
    context.options = {"preset": "ultrafast", "tune": "zerolatency"}
    made = []
    for index in range(60):
        lit = any(at <= index / 30 < at + 0.1 for at in FLASHES)
        picture = flat_picture(Size(64, 48), "yuv420p", (235 if lit else 16, 128, 128))
        picture.pts = 3000 * index
        made += [(one.pts, bytes(one)) for one in context.encode(picture)]
    return made


@pytest.mark.parametrize("late", [0.0, 0.06, -0.03])
def test_it_tells_how_late_the_beeps_are(late: float) -> None:
    viewer = BeaconViewer()
    assert viewer.skews() == []
    ntp = 1000 << 32
    viewer.received.lips.video.note_report(ntp, 7_000)
    viewer.received.lips.sound.note_report(ntp, 2**32 - 5_000)
    for pts, data in pictures():
        viewer.received.on_picture(7_000 + pts, data)
    for sound in BeepEncoder([at + late for at in FLASHES]).packets(2.0):
        viewer.received.on_sound((2**32 - 5_000 + sound.pts) % 2**32, sound.data)
    assert viewer.skews() == pytest.approx([late, late], abs=0.012)
