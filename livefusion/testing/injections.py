"""What may go wrong while pictures are taken: each injection plays some, and spoils something meanwhile."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from livefusion.core.events import Discontinuity, Event, FormatChange
from livefusion.core.geometry import Size
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.testing.faults import FaultBoard, Mishap
from livefusion.testing.reel import Reel, Shot, draw_reel
from livefusion.testing.stages import InjectedError

Entry = Shot | Event | float
"""What a script yields: a picture, an event, or seconds in which nothing comes."""
SIZE = Size(320, 240)
# Pictures in which a piece of work that was told to fail must have been done.
_LONGEST_WAIT = 90


@dataclass(frozen=True, slots=True)
class Reels:
    """The scenes that the camera shows: two places of one person, two people who pass, another format."""

    here: Reel
    there: Reel
    crossing: Reel
    other_format: Reel

    @staticmethod
    def draw(seed: int, size: Size = SIZE, frames: int = 45) -> "Reels":
        """Draw them; takes some seconds."""
        face = int(0.42 * size.height)
        other = Size(size.width * 3 // 2 & ~1, size.height * 3 // 2 & ~1)
        here = PerformerOptions(size=size, face=face, seed=seed)
        # People meet after a quarter of eight seconds; each second frame, from one second before on.
        passing = PerformerOptions(size=size, face=face, seed=seed, crossing=True)
        return Reels(
            draw_reel(here, frames),
            draw_reel(PerformerOptions(size=size, face=face, seed=seed, cut=1), frames, first=1, step=2),
            draw_reel(passing, 36, first=24, step=2),
            draw_reel(PerformerOptions(size=other, face=face, seed=seed + 1), frames),
        )


class Scene:
    """What is on now, for the injections to play with."""

    def __init__(self, reels: Reels, board: FaultBoard, rng: random.Random) -> None:
        self.reels = reels
        self.board = board
        self.rng = rng
        self.reel = reels.here
        self.position = 0

    def play(self, frames: int) -> Iterator[Entry]:
        """So many pictures of the reel that is on."""
        for _ in range(frames):
            self.position += 1
            yield self.reel.at(self.position)

    def switch(self, reel: Reel) -> None:
        """Put another reel on, somewhere in it."""
        self.reel = reel
        self.position = self.rng.randrange(2 * len(reel.shots))


Injection = Callable[[Scene], Iterator[Entry]]


def work_fails(work: Sequence[str], mishap: Mishap, seconds: tuple[float, float], frames: int) -> Injection:
    """One of the named pieces of work fails once; ``frames`` pictures pass afterwards."""

    def play(scene: Scene) -> Iterator[Entry]:
        name = scene.rng.choice(work)
        scene.board.arm(name, mishap, scene.rng.uniform(*seconds))
        for _ in range(_LONGEST_WAIT):
            if not scene.board.is_armed(name):
                break
            yield from scene.play(1)
        yield from scene.play(frames)
        scene.board.disarm(name)

    return play


def blind(work: str) -> Injection:
    """A network finds nothing for 1 to 30 frames."""

    def play(scene: Scene) -> Iterator[Entry]:
        scene.board.arm(work, Mishap.BLIND)
        yield from scene.play(scene.rng.randint(1, 30))
        scene.board.disarm(work)
        yield from scene.play(6)

    return play


def cut(scene: Scene) -> Iterator[Entry]:
    """The picture jumps to another place, and nobody says so."""
    scene.switch(scene.reels.there if scene.reel is scene.reels.here else scene.reels.here)
    yield from scene.play(12)


def crossing(scene: Scene) -> Iterator[Entry]:
    """Two people pass each other."""
    scene.reel, scene.position = scene.reels.crossing, -1
    yield from scene.play(len(scene.reel.shots))
    scene.switch(scene.reels.here)
    yield from scene.play(6)


def camera_gone(scene: Scene) -> Iterator[Entry]:
    """Nothing comes for a while, then the camera is back and shows something else."""
    yield scene.rng.uniform(0.2, 0.8)
    yield Discontinuity("the camera is back")
    scene.switch(scene.rng.choice([scene.reels.here, scene.reels.there]))
    yield from scene.play(12)


def source_stalls(scene: Scene) -> Iterator[Entry]:
    """Nothing comes for a while, and then it goes on as if nothing had been."""
    yield scene.rng.uniform(0.2, 0.7)
    yield from scene.play(8)


def source_late(scene: Scene) -> Iterator[Entry]:
    """A picture comes one to three intervals late."""
    yield scene.rng.uniform(0.017, 0.05)
    yield from scene.play(6)


def format_change(scene: Scene) -> Iterator[Entry]:
    """The camera changes its picture size and changes it back."""
    for reel in (scene.reels.other_format, scene.reels.here):
        yield FormatChange(reel.size, reel.color)
        scene.switch(reel)
        yield from scene.play(14)


def source_raises(scene: Scene) -> Iterator[Entry]:
    """The source fails for good, which ends the run."""
    yield from scene.play(2)
    raise InjectedError("injected into the source")


ANALYSE = ("nv12_warp_norm", "face_landmarks", "letterbox_nv12")
RENDER = (
    "draw_mesh",
    "measure_detail",
    "soften_patch",
    "colour_stats",
    "light_field",
    "blend_matched",
    "blend_yuva",
)
_ONCE, _LATE, _STALL = (0.0, 0.0), (0.02, 0.06), (0.7, 0.9)

INJECTIONS: dict[str, Injection] = {
    "source stalls": source_stalls,
    "source late": source_late,
    "analyse raises": work_fails(ANALYSE, Mishap.RAISES, _ONCE, 6),
    "analyse stalls": work_fails(ANALYSE, Mishap.STALLS, _STALL, 10),
    "analyse late": work_fails(ANALYSE, Mishap.LATE, _LATE, 10),
    "detector raises": work_fails(("yunet",), Mishap.RAISES, _ONCE, 6),
    "detector stalls": work_fails(("yunet",), Mishap.STALLS, _STALL, 30),
    "detector late": work_fails(("yunet",), Mishap.LATE, _LATE, 10),
    "render raises": work_fails(RENDER, Mishap.RAISES, _ONCE, 6),
    "render stalls": work_fails(RENDER, Mishap.STALLS, _STALL, 10),
    "render late": work_fails(RENDER, Mishap.LATE, _LATE, 10),
    "detector blind": blind("yunet"),
    "landmarks blind": blind("face_landmarks"),
    "crossing": crossing,
    "cut": cut,
    "camera gone and back": camera_gone,
    "format change": format_change,
}
"""What may go wrong on the way of the pictures. Faults of sinks are armed by ``sink_fails``."""


def sink_fails(name: str, mishap: Mishap) -> Injection:
    """The sink of that name raises, stalls or is late at its next write."""
    seconds = {Mishap.RAISES: _ONCE, Mishap.STALLS: (2.5, 3.0), Mishap.LATE: _LATE}[mishap]
    return work_fails((name,), mishap, seconds, 6)
