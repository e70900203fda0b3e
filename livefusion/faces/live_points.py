"""A landmark network of the user's in live pictures: crops are aligned by what it sees."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from livefusion.core.alignment import five_points, similarity_onto
from livefusion.core.by_track import ByTrack
from livefusion.core.face import FaceTrack, TrackState
from livefusion.core.frame import Frame
from livefusion.core.timing import NANOSECONDS, Clock
from livefusion.devices.device import Device, Stream
from livefusion.faces.point_networks import crop_round, scheme_of
from livefusion.inference.catalog import ModelFile
from livefusion.inference.network import BoundNetwork
from livefusion.inference.session import Session
from livefusion.ops.registry import NV12_WARP_NORM

Five = npt.NDArray[np.float64]
"""(5, 2) x and y: eye middles, nose tip, mouth corners, left to right in the picture."""

_PLAIN: Final = np.array([[-0.5, 0], [0.5, 0], [0, 0.6], [-0.4, 1.1], [0.4, 1.1]])
"""Where the five points of a face lie in eye distances, about: the unit in which corrections are kept."""
FARTHEST: Final = 0.35
"""In eye distances: a network that sees a point farther than that from the mesh's sees something else."""
_TRIES: Final = 3


class LivePoints:
    """Alignment points of followed faces, with buffers for ``faces`` a frame. One thread at a time.

    What a network sees is kept as a correction of the mesh's points, in the frame of the face, and steadied
    by ``smoothing`` in [0, 1]: the mesh carries the motion, so steadiness costs no delay.

    ``ModelError`` if the file finds no landmarks, or is of no known family.
    """

    def __init__(
        self,
        device: Device,
        model: ModelFile,
        session: Session,
        stream: Stream,
        *,
        faces: int = 1,
        smoothing: float = 0.5,
    ) -> None:
        self._device = device
        self._stream = stream
        self._scheme = scheme = scheme_of(model)
        self._names = [spec.name for spec in model.graph.outputs]
        self._take = 1 - 0.8 * smoothing
        image = model.graph.inputs[0]
        shape = (1, 3, scheme.side, scheme.side)
        found = session.run({image.name: np.zeros(shape, image.dtype)})
        shapes = {name: np.asarray(found[name]).shape for name in self._names}
        self._network = BoundNetwork(
            device, session, model.name, shape, shapes, count=faces, image_name=image.name
        )
        self._corrections: ByTrack[list[Five]] = ByTrack()
        self.astray = 0
        """How many answers were not followed."""

    def try_out(self, clock: Clock) -> float:
        """The seconds that it takes for a face, the least of three runs."""
        self._device.prepare(NV12_WARP_NORM)
        took = []
        for _ in range(_TRIES):
            before = clock.now_ns()
            self._network.launch(self._stream)
            self._stream.record().synchronize()
            took.append(clock.now_ns() - before)
        return min(took) / NANOSECONDS

    def align(self, frame: Frame, tracks: Sequence[FaceTrack]) -> list[Five | None]:
        """The points of each track that is seen, None for the others and for what is not known yet.

        The stream has waited for the frame, which is read when this returns.
        """
        seen = [track for track in tracks if track.state is TrackState.SEEN and track.landmarks is not None]
        seen = seen[: self._network.count]
        known = dict(zip([track.id for track in seen], self._find(frame, seen), strict=True))
        return [known.get(track.id) for track in tracks]

    def _find(self, frame: Frame, tracks: Sequence[FaceTrack]) -> list[Five | None]:
        if not tracks:
            return []
        scheme, count = self._scheme, len(tracks)
        to_crops = [crop_round(track.box, scheme.side, scheme.margin) for track in tracks]
        arguments = {
            "luma": frame.buffer.luma,
            "chroma": frame.buffer.chroma,
            "matrices": to_crops,
            "color": frame.color,
            "mean": scheme.normalisation.mean,
            "scale": scheme.normalisation.scale,
            "order": scheme.normalisation.order,
            "out": self._network.image[:count],
        }
        self._device.launch(NV12_WARP_NORM, arguments, self._stream)
        self._network.launch(self._stream, count)
        self._stream.record().synchronize()
        found: list[Five | None] = []
        for index, (track, to_crop) in enumerate(zip(tracks, to_crops, strict=True)):
            points = scheme.read([self._network.output(name, index) for name in self._names])
            # Networks count from the edge of the crop; pixel centres are whole numbers here.
            in_frame = to_crop.inverse()(points.astype(np.float64) - 0.5)
            found.append(self._corrected(track, scheme.five_of(in_frame)))
        return found

    def _corrected(self, track: FaceTrack, seen: Five) -> Five | None:
        """The mesh's points with the correction as it is after one more look."""
        assert track.landmarks is not None, "only tracks with landmarks are looked at"
        mesh = five_points(track.landmarks)
        to_plain = similarity_onto(mesh, _PLAIN)
        off = to_plain(seen) - to_plain(mesh)
        kept = self._corrections.of(track.id, list)
        if not np.isfinite(off).all() or float(np.abs(off).max()) > FARTHEST:
            self.astray += 1
        else:
            kept[:] = [off] if not kept else [kept[0] + self._take * (off - kept[0])]
        return to_plain.inverse()(to_plain(mesh) + kept[0]) if kept else None
