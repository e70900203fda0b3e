"""Drawing one person into an NV12 picture, touching only the pixels she covers."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.media.sources.performer_layer import PersonLayer, make_layer
from livefusion.media.sources.performer_mesh import FACE_POINTS, OVAL, TEMPLES, HeadMesh, PosedHead
from livefusion.media.sources.performer_motion import HeadPose
from livefusion.media.sources.performer_photo import PerformerPhoto
from livefusion.media.sources.performer_truth import covered
from livefusion.ops.registry import BLEND_YUVA

# Width of the ramp between a turned cheek and the hair behind it, in face heights.
_TEMPLE_SOFTNESS = 0.025

Plane = npt.NDArray[np.uint8]


class Person:
    """One person at a fixed scale; ``face_height`` is in pixels of the picture. One thread at a time.

    Positions are those of the layer's top left corner in the picture: even, and possibly outside it.
    """

    def __init__(self, photo: PerformerPhoto, face_height: float, color: ColorInfo) -> None:
        at_rest = float(np.ptp(photo.landmarks[list(OVAL), 1]))
        self.layer: PersonLayer = make_layer(photo, face_height / at_rest, color)
        self.mesh = HeadMesh(self.layer.landmarks, photo.triangles, self.layer.throat)
        self._weight = np.ones(len(self.mesh.uv), np.float32)
        self._triangles = self._visible(self.mesh.triangles)
        self._canvas = _Canvas()
        self._body, self._body_at = self._still_part()

    @property
    def face_centre(self) -> tuple[float, float]:
        """The middle of the face at rest, in pixels of the layer."""
        x, y = self.layer.landmarks[:FACE_POINTS, :2].mean(axis=0).tolist()
        return x, y

    @property
    def height(self) -> int:
        """Height of the layer, down to the lower edge of the photo."""
        return int(self.layer.body.shape[0])

    @property
    def body_alpha(self) -> Plane:
        """The (h, w) alpha of what does not move, in the layer."""
        return self._body_alpha

    def outline(self, head: PosedHead) -> npt.NDArray[np.float32]:
        """The convex outline (n, 2) of the drawn head with its hair, in pixels of the layer."""
        return np.asarray(cv2.convexHull(head.vertices[self._opaque]), np.float32).reshape(-1, 2)

    def posed(self, pose: HeadPose) -> PosedHead:
        """The head in a pose, in pixels of the layer."""
        return self.mesh.posed(pose)

    def draw(self, head: PosedHead, at: tuple[int, int], luma: Plane, chroma: Plane) -> None:
        """Draw body and head over a picture."""
        from livefusion.ops.cpu.raster import sample_uv

        blend = BLEND_YUVA.body("cpu")
        x, y = at
        blend(luma=luma, chroma=chroma, patch=self._body, x=x + self._body_at[0], y=y + self._body_at[1])
        left, top, right, bottom = self._window(head)
        left, right = max(left, -x), min(right, luma.shape[1] - x)
        top, bottom = max(top, -y), min(bottom, luma.shape[0] - y)
        if right <= left or bottom <= top:
            return
        self._raster(head, left, top, right, bottom)
        self._soften_temples(head, left, top)
        canvas = self._canvas
        sample_uv(map=canvas.texels, cover=canvas.cover, texture=self.layer.texture, patch=canvas.patch)
        blend(luma=luma, chroma=chroma, patch=canvas.patch, x=x + left, y=y + top)

    def _window(self, head: PosedHead) -> tuple[int, int, int, int]:
        """The even box (left, top, right, bottom) of the layer that holds the head."""
        used = head.vertices[self._used]
        left, top = (np.floor(used.min(axis=0)).astype(int) & ~1).tolist()
        right, bottom = ((np.ceil(used.max(axis=0)).astype(int) + 2) & ~1).tolist()
        return left, top, right, bottom

    def _raster(self, head: PosedHead, left: int, top: int, right: int, bottom: int) -> None:
        """Find the texel of each pixel in a window of the layer."""
        from livefusion.ops.cpu.raster import raster_uv

        canvas = self._canvas
        canvas.resize(bottom - top, right - left)
        raster_uv(
            vertices=head.vertices - np.array([left, top], np.float32),
            depth=head.depth,
            uv=self.mesh.uv,
            weight=self._weight,
            triangles=self._triangles,
            map=canvas.texels,
            cover=canvas.cover,
            zbuffer=canvas.depth,
        )

    def _soften_temples(self, head: PosedHead, left: int, top: int) -> None:
        """Make the step of texels where a turned cheek meets hair or ear a short ramp.

        A mean of texels changes nothing where the map is smooth, and at the step it shows what lies between.
        """
        reach = 2 * round(self.mesh.height * _TEMPLE_SOFTNESS / 2) + 1
        for side in TEMPLES:
            points = head.vertices[list(side)] - np.array([left, top], np.float32)
            x0, y0 = np.maximum(np.floor(points.min(axis=0)).astype(int) - reach, 0).tolist()
            x1, y1 = np.maximum(np.ceil(points.max(axis=0)).astype(int) + reach, 0).tolist()
            part = self._canvas.texels[y0:y1, x0:x1]
            if part.size:
                part[:] = cv2.blur(part, (reach, reach))

    def _visible(self, triangles: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The triangles that show anything: half of the sheet lies in the empty air round the hair."""
        corners = self.mesh.uv[triangles]
        low = np.maximum(np.floor(corners.min(axis=1)).astype(int), 0)
        high = np.ceil(corners.max(axis=1)).astype(int) + 1
        alpha = self.layer.texture[..., 3]
        # The blur of the temples needs a map all round the oval, even where it shows nothing.
        near = np.isin(triangles, self.mesh.inner_rings).any(axis=1)
        shown = [bool(alpha[y0:y1, x0:x1].any()) for (x0, y0), (x1, y1) in zip(low, high, strict=True)]
        visible = np.ascontiguousarray(triangles[np.array(shown) | near])
        self._used = np.unique(visible)
        self._opaque = self._used[covered(alpha, self.mesh.uv[self._used])]
        return visible

    def _still_part(self) -> tuple[Plane, tuple[int, int]]:
        """What the mesh does not draw, as a patch and its place in the layer."""
        head = self.mesh.posed(HeadPose())
        height, width = self.layer.body.shape[:2]
        left, top, right, bottom = self._window(head)
        left, top, right, bottom = max(left, 0), max(top, 0), min(right, width), min(bottom, height)
        self._raster(head, left, top, right, bottom)
        body = self.layer.body.copy()
        body[top:bottom, left:right][self._canvas.cover > 0] = 0
        self._body_alpha = body[..., 3].copy()
        rows, columns = np.nonzero(body[..., 3].any(axis=1))[0], np.nonzero(body[..., 3].any(axis=0))[0]
        left, top = int(columns[0]) & ~1, int(rows[0]) & ~1
        right, bottom = (int(columns[-1]) + 2) & ~1, (int(rows[-1]) + 2) & ~1
        return np.ascontiguousarray(body[top:bottom, left:right]), (left, top)


class _Canvas:
    """Scratch of any size, contiguous and allocated anew only to grow; its content is what was left there."""

    def __init__(self) -> None:
        self._reserve(0)

    def resize(self, height: int, width: int) -> None:
        """Make all planes ``height`` by ``width``."""
        pixels = height * width
        if pixels > len(self._covers):
            self._reserve(pixels)
        self.texels = self._texels[: 2 * pixels].reshape(height, width, 2)
        self.cover = self._covers[:pixels].reshape(height, width)
        self.depth = self._depths[:pixels].reshape(height, width)
        self.patch = self._patches[: 4 * pixels].reshape(height, width, 4)

    def _reserve(self, pixels: int) -> None:
        self._texels = np.zeros(2 * pixels, np.float32)
        self._covers = np.zeros(pixels, np.float32)
        self._depths = np.zeros(pixels, np.float32)
        self._patches = np.zeros(4 * pixels, np.uint8)
