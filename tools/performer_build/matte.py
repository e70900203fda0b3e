"""Cutting the person out of the photo: segmentation network, GrabCut, guided filter."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.inference.session import Session

Picture = npt.NDArray[np.uint8]
Plane = npt.NDArray[np.float32]

# What GrabCut mistakes for the person: the flag beside the sleeve, and shuttle and table behind the shoulder.
FLAG = ((0, 0), (60, 300), (18, 380), (24, 440), (34, 512), (0, 512))
TABLE = (
    (511, 0), (511, 440), (500, 440), (488, 400), (455, 362), (400, 340), (372, 342), (364, 346), (361, 300),
    (345, 235), (400, 200),
)  # fmt: skip
# Hair ends above this row; the wall is greyer and brighter than it.
HAIR_ROWS, WALL_SATURATION, WALL_VALUE = 100, 45, 130
HELMET_CENTRE, HELMET_RADII = (392, 430), (112, 86)


def cut_out(rgb: Picture, network: Session) -> Picture:
    """The matte of the person (h, w) uint8, 255 inside."""
    hard = _largest(_grab_cut(rgb, _hints(rgb, network)))
    return np.rint(_refined(rgb, hard) * 255).astype(np.uint8)


def _hints(rgb: Picture, network: Session) -> Picture:
    small = cv2.resize(rgb, (256, 256), interpolation=cv2.INTER_AREA)
    tensor = np.ascontiguousarray(small.transpose(2, 0, 1)[None], dtype=np.float32) / 255
    alpha = network.run({"image": tensor})["alpha"][0, 0]
    person = cv2.resize(alpha, rgb.shape[1::-1], interpolation=cv2.INTER_CUBIC)
    hints = np.full(rgb.shape[:2], cv2.GC_PR_BGD, np.uint8)
    hints[person > 0.4] = cv2.GC_PR_FGD
    hints[cv2.erode((person > 0.8).astype(np.uint8), np.ones((9, 9))) > 0] = cv2.GC_FGD
    hints[cv2.dilate((person > 0.2).astype(np.uint8), np.ones((13, 13))) == 0] = cv2.GC_BGD
    cv2.ellipse(hints, HELMET_CENTRE, HELMET_RADII, 0, 0, 360, cv2.GC_FGD, -1)
    cv2.rectangle(hints, (300, 430), (495, 512), cv2.GC_FGD, -1)
    for outside in (FLAG, TABLE):
        cv2.fillPoly(hints, [np.array(outside, np.int32)], cv2.GC_BGD)
    return hints


def _grab_cut(rgb: Picture, hints: Picture) -> Picture:
    background, foreground = np.zeros((1, 65)), np.zeros((1, 65))
    whole = (0, 0, rgb.shape[1], rgb.shape[0])  # not looked at when there are hints
    cv2.setRNGSeed(1)
    cv2.grabCut(rgb[..., ::-1].copy(), hints, whole, background, foreground, 4, cv2.GC_INIT_WITH_MASK)
    person: Picture = ((hints == cv2.GC_FGD) | (hints == cv2.GC_PR_FGD)).astype(np.uint8)
    return person


def _largest(mask: Picture) -> Picture:
    """The largest connected part of a 0/1 mask, without holes."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(mask)
    part = (labels == 1 + stats[1:, cv2.CC_STAT_AREA].argmax()).astype(np.uint8)
    part = cv2.morphologyEx(part, cv2.MORPH_CLOSE, np.ones((9, 9)))
    contours, _ = cv2.findContours(part, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(part, contours, -1, 1, cv2.FILLED)
    return part.astype(np.uint8)


def _refined(rgb: Picture, mask: Picture, reach: int = 7) -> Plane:
    """Soften the edge: half a guided filter (K. He, J. Sun, X. Tang, 2010) on the lightness, half a blur."""

    def mean(plane: Any) -> Any:
        return cv2.blur(plane, (reach, reach))

    guide = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY).astype(np.float32) / 255
    hard = mask.astype(np.float32)
    slope = (mean(guide * hard) - mean(guide) * mean(hard)) / (mean(guide**2) - mean(guide) ** 2 + 2e-4)
    offset = mean(hard) - slope * mean(guide)
    guided = np.clip((mean(slope) * guide + mean(offset) - 0.15) / 0.75, 0, 1)
    guided[cv2.dilate(mask, np.ones((9, 9))) == 0] = 0
    guided[cv2.erode(mask, np.ones((9, 9))) > 0] = 1
    refined: Plane = (0.5 * guided + 0.5 * cv2.GaussianBlur(hard, (0, 0), 0.8)).astype(np.float32)
    return refined


def without_backdrop(rgb: Picture, alpha: Picture) -> Picture:
    """The photo with the person's colours carried on beyond her edge, so that no rim of the wall stays."""
    known = (cv2.erode(alpha, np.ones((3, 3))) > 250).astype(np.float32)
    known[_wall_in_hair(rgb, alpha)] = 0
    colours: Any = rgb.astype(np.float32) * known[..., None]
    for sigma in (1.0, 1.5, 2.5, 4.0):
        share = cv2.GaussianBlur(known, (0, 0), sigma)
        spread = cv2.GaussianBlur(colours, (0, 0), sigma) / np.maximum(share, 1e-6)[..., None]
        new = (known == 0) & (share > 0.05)
        colours[new] = spread[new]
        known[new] = 1
    beyond = (known == 0)[..., None]
    return np.where(beyond, rgb, np.rint(np.clip(colours, 0, 255))).astype(np.uint8)


def _wall_in_hair(rgb: Picture, alpha: Picture) -> npt.NDArray[np.bool_]:
    """Where the matte took the wall for hair: bright and grey, and close to the edge of the hair."""
    hsv = cv2.cvtColor(rgb, cv2.COLOR_RGB2HSV)
    is_wall = (hsv[..., 1] < WALL_SATURATION) & (hsv[..., 2] > WALL_VALUE)
    is_edge = cv2.erode(alpha, np.ones((21, 21))) < 250
    is_wall &= is_edge
    is_wall[HAIR_ROWS:] = False
    return cv2.dilate(is_wall.astype(np.uint8), np.ones((3, 3))) > 0
