"""How the performer moves: smooth, never still, and the same for the same seed."""

import math
from dataclasses import dataclass

import numpy as np

YAW, PITCH, ROLL = 18.0, 9.0, 8.0
"""Largest turn to the side, nod and tilt, in degrees, unless another turn is asked for, which nods along."""
SHIFT = (0.09, 0.05)
"""Largest way of the head to the side and up or down, in face heights."""
SCALE = 0.08
"""Largest relative change of size, as the head leans in and back."""

# Hz and share of each of the sines that make one movement: a slow sway with quicker ones on it. The rates
# have no common multiple, so that the motion does not repeat.
_SINES = ((0.0973, 0.58), (0.2311, 0.29), (0.4273, 0.13))
_BLINK_EVERY, _BLINK_SECONDS = 3.3, 0.30
_SPEECH_RATE = 2.3


@dataclass(frozen=True, slots=True)
class HeadPose:
    """Where the head is: degrees of turn, shift in face heights, size, and how far lids and lips have moved.

    ``yaw`` > 0 turns the nose to the right of the picture, ``pitch`` > 0 down, ``roll`` > 0 clockwise in the
    picture; all are relative to the photo. ``blink`` is 1 with closed eyes, ``mouth`` 1 wide open.
    """

    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0
    shift: tuple[float, float] = (0.0, 0.0)
    scale: float = 1.0
    blink: float = 0.0
    mouth: float = 0.0


class Motion:
    """The movement of one head over time; with ``loop`` it repeats after that many seconds without a seam.

    ``turn`` is the largest turn to the side in degrees.
    """

    def __init__(
        self, seed: int, *, loop: float | None = None, expressive: bool = True, turn: float = YAW
    ) -> None:
        random = np.random.default_rng([seed, 0x6D6F])
        self._yaw, self._pitch = turn, turn * PITCH / YAW
        self._loop = loop
        self._expressive = expressive
        # One row a movement: yaw, pitch, roll, x, y, scale, speech. The spread of rates unties them.
        self._rates = np.array([[self._rate(hz * spread) for hz, _ in _SINES] for spread in _SPREADS])
        self._phases = random.uniform(0, 2 * math.pi, self._rates.shape)
        self._shares = np.array([share for _, share in _SINES])
        self._blink_at = float(random.uniform(0.5, _BLINK_EVERY))
        self._blink_every = 1 / self._rate(1 / _BLINK_EVERY)

    def at(self, seconds: float) -> HeadPose:
        """The pose at a media time."""
        angles = 2 * math.pi * self._rates * seconds + self._phases
        yaw, pitch, roll, x, y, scale, speech = (np.sin(angles) @ self._shares).tolist()
        return HeadPose(
            yaw=self._yaw * yaw,
            pitch=self._pitch * pitch,
            roll=ROLL * roll,
            shift=(SHIFT[0] * x, SHIFT[1] * y),
            scale=1 + SCALE * scale,
            blink=self._blink(seconds) if self._expressive else 0.0,
            mouth=self._mouth(seconds, speech) if self._expressive else 0.0,
        )

    def _rate(self, hz: float) -> float:
        """The nearest rate that fits the loop."""
        return hz if self._loop is None else max(1, round(hz * self._loop)) / self._loop

    def _blink(self, seconds: float) -> float:
        phase = (seconds - self._blink_at) % self._blink_every / _BLINK_SECONDS
        return 0.5 - 0.5 * math.cos(2 * math.pi * phase) if phase < 1 else 0.0

    def _mouth(self, seconds: float, speech: float) -> float:
        """Speech comes in phrases: syllables at ``_SPEECH_RATE`` while the slow ``speech`` is positive."""
        phrase = min(1.0, max(0.0, 1.6 * speech + 0.3))
        return phrase * (0.5 - 0.5 * math.cos(2 * math.pi * self._rate(_SPEECH_RATE) * seconds))


_SPREADS = (1.0, 1.137, 0.873, 0.791, 1.261, 0.937, 1.733)
