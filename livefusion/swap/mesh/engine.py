"""The built-in swap engine: the identity's texture on the performer's mesh."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from livefusion.core.by_track import ByTrack
from livefusion.core.color import ColorInfo, Matrix, Range
from livefusion.core.errors import GraphError
from livefusion.core.face import FaceTrack, Identity
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box, Region
from livefusion.core.patch import Patch
from livefusion.core.settings import SwapSettings
from livefusion.devices.device import Array, Device, Event, Stream
from livefusion.inference.session import Session
from livefusion.ops.reference.colour import CELL
from livefusion.ops.registry import DRAW_MESH, MIX_TEXELS
from livefusion.swap.mesh.canonical import canonical_mesh
from livefusion.swap.mesh.canvas import PatchMemory, VertexUpload
from livefusion.swap.mesh.expression import ExpressionReader
from livefusion.swap.mesh.mimic import Mimic, MixBox, known_of, mix_boxes
from livefusion.swap.mesh.shape import SourceShape
from livefusion.swap.mesh.texture import Level, choose_level, to_levels
from livefusion.swap.mesh.visible import visible_triangles
from livefusion.swap.wardrobe import Wardrobe

_log = logging.getLogger(__name__)

USUAL_COLORS = (ColorInfo(), ColorInfo(matrix=Matrix.BT601))
"""Colour descriptions that textures are converted to when they are prepared; others are on first use."""


@dataclass(slots=True, eq=False)
class _Prepared:
    identity: Identity
    shape: SourceShape
    triangles: Array
    corners: npt.NDArray[np.int32]
    levels: dict[tuple[Matrix, Range], list[Level]] = field(default_factory=dict)
    strengths: dict[str, tuple[float, float]] = field(default_factory=dict)
    changes: dict[tuple[Matrix, Range], list[MixBox | None]] = field(default_factory=dict)
    uploaded: Event | None = None


class MeshEngine:
    """Draws identities on tracked faces (``swap.engine.SwapEngine``)."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._upload_stream = device.stream("textures")
        self._vertices = VertexUpload(device)
        self._patches: ByTrack[PatchMemory] = ByTrack()
        self._wardrobe: Wardrobe[_Prepared] = Wardrobe()
        self._uploading = threading.Lock()
        """Held while something is put on the stream of the textures: faces are prepared on other threads."""
        self._warm: Event | None = None
        self._stream: Stream | None = None
        self._reader: ExpressionReader | None = None
        self._mimics: ByTrack[Mimic] = ByTrack()

    @property
    def name(self) -> str:
        """``mesh``."""
        return "mesh"

    @property
    def networks(self) -> tuple[Session, ...]:
        """None."""
        return ()

    def prepare(self, identity: Identity) -> None:
        """Convert and upload the texture of an identity. ``ModelError`` if the canonical mesh is missing."""
        if self._wardrobe.has(identity):
            return
        triangles = visible_triangles(identity.texture[..., 3])
        prepared = _Prepared(
            identity,
            SourceShape(identity.shape),
            self._device.empty(triangles.shape, np.int32),
            np.unique(triangles).astype(np.int32),
            strengths={
                name: (identity.expressions[name].rest, identity.expressions[name].strength)
                for name in known_of(identity)
            },
        )
        with self._uploading:
            if prepared.strengths and self._reader is None:
                self._device.prepare(MIX_TEXELS)
                self._reader = ExpressionReader()
            self._device.copy(prepared.triangles, triangles, self._upload_stream)
            for color in USUAL_COLORS:
                self._convert(prepared, color)
            # Waited for here, so that a switch of identities does not stall the first frame with the new one.
            self._upload_stream.synchronize()
        self._wardrobe.keep(identity, prepared)
        _log.debug("identity %s is ready, %d triangles show", identity.id, len(triangles))

    def warm_up(self) -> None:
        """Compile the operators by drawing one triangle, and pose a mesh once: LAPACK loads on first use."""
        stream, region = self._device.stream("warm-up"), Region(0, 0, 2, 2)
        if self._stream is not None:  # a stage that opens again after a failure may still be drawing
            stream.wait(self._stream.record())
        triangles = self._device.empty((1, 3), np.int32)
        self._device.copy(triangles, np.zeros((1, 3), np.int32), stream)
        level = to_levels(np.zeros((1024, 1024, 4), np.uint8), ColorInfo(), self._device, stream)[-1]
        face = canonical_mesh().vertices
        posed = self._vertices.send(*SourceShape(face).onto(face, 0.5), region, stream)
        self._draw(posed, triangles, level, PatchMemory(self._device).view(region), stream)
        self._warm = stream.record()
        self._warm.synchronize()

    def look(self, frame: Frame, tracks: Sequence[FaceTrack]) -> None:
        """Nothing is gained by drawing several faces at once."""

    def swap(
        self, frame: Frame, track: FaceTrack, identity: Identity, settings: SwapSettings, stream: Stream
    ) -> Patch | None:
        """The identity's face over ``track`` as the protocol says."""
        if track.landmarks is None:
            raise GraphError(f"track {track.id} cannot be swapped without landmarks")
        prepared = self._wardrobe.find(identity)
        mesh, weight = prepared.shape.onto(track.landmarks, settings.shape, settings.mouth, settings.eyes)
        shown = mesh[prepared.corners]
        box = Box.around(shown)
        # On the grid over which light is averaged: by smaller steps the cells would move with the region, and
        # colours at the rim would jump.
        region = Region.covering(box, frame.size, CELL)
        if region.empty:
            return None
        memory = self._patches.of(track.id, lambda: PatchMemory(self._device))
        memory.level = choose_level(box.width, memory.level)
        level = self._levels(prepared, frame.color)[memory.level]
        self._wait(prepared, stream)
        if prepared.strengths:
            change = prepared.changes[frame.color.matrix, frame.color.range][memory.level]
            level = self._mimed(prepared, track, settings.expression).level(level, change, stream)
        posed = self._vertices.send(mesh, weight, region, stream)
        pixels = memory.view(region)
        self._draw(posed, prepared.triangles, level, pixels, stream)
        return Patch(region, pixels)

    def _mimed(self, prepared: _Prepared, track: FaceTrack, amount: float) -> Mimic:
        """What is known of the performer's expression after this frame."""
        mimic = self._mimics.of(track.id, lambda: Mimic(self._device))
        assert self._reader is not None, "prepared for"
        assert track.landmarks is not None, "checked before"
        mimic.follow(self._reader, track.landmarks, prepared.strengths, amount)
        return mimic

    def _wait(self, prepared: _Prepared, stream: Stream) -> None:
        """Let the one stream that draws wait for what others made, once: waits cost time in each frame."""
        self._stream = stream
        if self._warm is not None:
            stream.wait(self._warm)
            self._warm = None
        if prepared.uploaded is not None:
            stream.wait(prepared.uploaded)
            prepared.uploaded = None

    def _draw(
        self,
        posed: tuple[Array, Array, Array],
        triangles: Array,
        level: Level,
        pixels: Array,
        stream: Stream,
    ) -> None:
        vertices, depth, weight = posed
        arguments = {
            "vertices": vertices,
            "depth": depth,
            "uv": level.uv,
            "weight": weight,
            "triangles": triangles,
            "texture": level.texels,
            "patch": pixels,
        }
        self._device.launch(DRAW_MESH, arguments, stream)

    def _levels(self, prepared: _Prepared, color: ColorInfo) -> list[Level]:
        levels = prepared.levels.get((color.matrix, color.range))
        if levels is None:
            with self._uploading:
                levels = self._convert(prepared, color)
        return levels

    def _convert(self, prepared: _Prepared, color: ColorInfo) -> list[Level]:
        levels = to_levels(prepared.identity.texture, color, self._device, self._upload_stream)
        if prepared.strengths:
            known = [prepared.identity.expressions[name] for name in prepared.strengths]
            changes = mix_boxes(known, color, self._device, self._upload_stream)
            prepared.changes[color.matrix, color.range] = changes
        prepared.levels[color.matrix, color.range] = levels
        prepared.uploaded = self._upload_stream.record()
        return levels
