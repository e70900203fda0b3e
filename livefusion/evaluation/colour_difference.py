"""CIEDE2000: how different two colours look (CIE 142-2001; Sharma et al., Color Res. Appl. 30, 2005)."""

from typing import Any

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]

_POW7 = 25.0**7


def delta_e(first: npt.ArrayLike, second: npt.ArrayLike) -> Doubles:
    """ΔE₀₀ of CIE L*a*b* colours (…, 3), shape (…), with all weights 1."""
    one, two = np.asarray(first, np.float64), np.asarray(second, np.float64)
    raw = (np.hypot(one[..., 1], one[..., 2]) + np.hypot(two[..., 1], two[..., 2])) / 2
    stretch = 1.5 - 0.5 * np.sqrt(raw**7 / (raw**7 + _POW7))
    chroma1, hue1 = _polar(one, stretch)
    chroma2, hue2 = _polar(two, stretch)
    lightness = (one[..., 0] + two[..., 0]) / 2
    chroma = (chroma1 + chroma2) / 2
    turn = _turn(hue1, hue2, chroma1 * chroma2)
    hue = _middle(hue1, hue2, chroma1 * chroma2)
    d_lightness = (two[..., 0] - one[..., 0]) / _lightness_weight(lightness)
    d_chroma = (chroma2 - chroma1) / (1 + 0.045 * chroma)
    d_hue = 2 * np.sqrt(chroma1 * chroma2) * np.sin(np.radians(turn) / 2) / (1 + 0.015 * chroma * _tint(hue))
    square = d_lightness**2 + d_chroma**2 + d_hue**2 + _rotation(chroma, hue) * d_chroma * d_hue
    return np.asarray(np.sqrt(np.maximum(square, 0)), np.float64)


def _polar(lab: Doubles, stretch: Any) -> tuple[Doubles, Doubles]:
    """Chroma, and hue in [0, 360) degrees."""
    red = lab[..., 1] * stretch
    hue = np.degrees(np.arctan2(lab[..., 2], red)) % 360
    return np.hypot(red, lab[..., 2]), np.asarray(hue, np.float64)


def _turn(first: Doubles, second: Doubles, colourful: Doubles) -> Doubles:
    """The way from one hue to another, at most half round; 0 where one of the colours is grey."""
    way = (second - first + 180) % 360 - 180
    way = np.where((way == -180) & (second > first), 180.0, way)
    return np.asarray(np.where(colourful == 0, 0.0, way), np.float64)


def _middle(first: Doubles, second: Doubles, colourful: Doubles) -> Doubles:
    """The hue half-way; where one of the colours is grey, their sum."""
    total = first + second
    near = np.abs(first - second) <= 180
    middle = np.where(near, total / 2, np.where(total < 360, (total + 360) / 2, (total - 360) / 2))
    return np.asarray(np.where(colourful == 0, total, middle), np.float64)


def _lightness_weight(lightness: Doubles) -> Doubles:
    away = (lightness - 50) ** 2
    return np.asarray(1 + 0.015 * away / np.sqrt(20 + away), np.float64)


def _tint(hue: Doubles) -> Doubles:
    def wave(share: float, times: int, shift: float) -> Doubles:
        return np.asarray(share * np.cos(np.radians(times * hue + shift)), np.float64)

    return 1 + wave(-0.17, 1, -30) + wave(0.24, 2, 0) + wave(0.32, 3, 6) + wave(-0.20, 4, -63)


def _rotation(chroma: Doubles, hue: Doubles) -> Doubles:
    bend = 30 * np.exp(-(((hue - 275) / 25) ** 2))
    strength = 2 * np.sqrt(chroma**7 / (chroma**7 + _POW7))
    return np.asarray(-np.sin(np.radians(2 * bend)) * strength, np.float64)
