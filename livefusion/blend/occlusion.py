"""What is in front of a face stays in front of the new one: a hand, hair, glasses, a microphone.

A network looks at an upright crop of each face and says where something else is before it; where it is in
doubt, the colours on both sides decide. What comes of that is remembered in the crop, which moves with the
face, and cut out of the new face before that is blended in.

What is cut out shows the camera's own pixels, so a network that errs would show the real face. Therefore no
more than a share of the new face is ever cut out, and of a face that seems to be covered almost wholly,
nothing is: it is drawn over whole. A face that is doubtful in itself is not swapped at all, but covered.
"""

from collections.abc import Callable, Sequence
from math import exp
from typing import Protocol

import numpy as np
import numpy.typing as npt

from livefusion.blend.face_mask import FaceMasks
from livefusion.blend.occlusion_crop import crop_of
from livefusion.blend.occlusion_outline import outline_of
from livefusion.core.by_track import ByTrack
from livefusion.core.face import FaceTrack
from livefusion.core.frame import Frame
from livefusion.core.geometry import Affine
from livefusion.core.patch import Patch
from livefusion.devices.device import Device, Stream
from livefusion.inference.network import BoundNetwork, Loaded
from livefusion.ops.registry import NV12_WARP_NORM, OCCLUDE, OCCLUSION_MATTE, OCCLUSION_TRACK

RISE_S, FALL_S = 0.02, 0.03
"""Time constants: what comes before a face must be there at once; where it leaves, the real face shows for as
long as that is not noticed."""
BAND = 0.06
"""Changes of the network's answer up to this are flicker."""
LONGEST_GAP_S = 0.5
"""A track that was not looked at for longer begins afresh."""

_AT_ONCE = (1.0, 1.0, 0.0)


class CropNetwork(Loaded, Protocol):
    """The network, which has an input ``image`` (1, 3, S, S) and an output ``occlusion`` (1, 1, S, S)."""

    def shape_of(self, tensor: str) -> tuple[int, ...]:
        """The shape of an input or output."""
        ...


class Occlusion:
    """Finds what is in front of faces and keeps it there. Used on one thread and one stream.

    ``load`` gives the network when it is needed first; there are buffers for ``faces`` a frame. ``own`` is a
    network of the user's, which may see more.
    """

    def __init__(
        self,
        device: Device,
        load: Callable[[], CropNetwork],
        faces: int = 1,
        *,
        own: FaceMasks | None = None,
    ) -> None:
        self._device = device
        self.own = own
        self._own_looked = False
        self._load = load
        self._faces = faces
        self._session: CropNetwork | None = None
        self._network: BoundNetwork | None = None
        self._tracks: ByTrack[_Belief] = ByTrack()
        self._looked: dict[int, tuple[int, Affine, npt.NDArray[np.uint8]]] = {}
        self._seconds = 0.0

    def warm_up(self, stream: Stream) -> None:
        """Load the network and run it once, so that the first frame has not to wait."""
        network = self._bound(self._faces)
        self._device.prepare(NV12_WARP_NORM, OCCLUSION_MATTE, OCCLUSION_TRACK, OCCLUDE)
        self._device.copy(network.image, np.zeros(network.image.shape, network.image.dtype), stream)
        network.launch(stream, network.count)
        stream.synchronize()
        if self.own is not None:
            self.own.warm_up(stream)

    def look(
        self, frame: Frame, tracks: Sequence[FaceTrack], stream: Stream, *, with_own: bool = True
    ) -> None:
        """Look at the faces of a frame, before anything is drawn on it: a new face may reach into others.

        ``with_own`` asks the user's network too.
        """
        crops = {track.id: track.landmarks for track in tracks if track.landmarks is not None}
        self._looked, self._seconds = {}, frame.ts.seconds
        if not crops:
            return
        network = self._bound(len(crops))
        side = network.image.shape[-1]
        maps = [crop_of(landmarks, side) for landmarks in crops.values()]
        outlines = [outline_of(*face, side) for face in zip(crops.values(), maps, strict=True)]
        arguments = {
            "luma": frame.buffer.luma,
            "chroma": frame.buffer.chroma,
            "matrices": maps,
            "color": frame.color,
            "scale": 1 / 255,
            "out": network.image[: len(maps)],
        }
        self._device.launch(NV12_WARP_NORM, arguments, stream)
        network.launch(stream, len(maps))
        self._own_looked = self.own is not None and with_own
        if self.own is not None and with_own:
            self.own.look(frame, list(crops.values()), stream)
        looks = zip(range(len(maps)), maps, outlines, strict=True)
        self._looked = dict(zip(crops, looks, strict=True))

    def keep(self, patch: Patch, track: FaceTrack, most: float, stream: Stream) -> None:
        """Cut out of a new face what is in front of it, up to the share ``most``; its alpha is changed.

        Does nothing for a track that was not looked at in this frame.
        """
        looked = self._looked.get(track.id)
        if looked is None or self._network is None:
            return
        index, to_crop, outline = looked
        belief = self._belief(track.id, stream)
        rise, fall, band = belief.speed(self._seconds)
        # From the pixels of the patch, which begin at its region.
        place = to_crop.after(Affine([[1, 0, patch.region.x], [0, 1, patch.region.y]]))
        state = {"cover": belief.cover, "share": belief.share, "patch": patch.pixels, "to_crop": place}
        found = self._network.kept("occlusion", index)[0, 0]
        edges = {"found": found, "image": self._network.image[index], "matte": belief.matte}
        now = {"found": belief.matte, "belief": belief.belief, "outline": outline}
        self._device.launch(OCCLUSION_MATTE, edges, stream)
        if self.own is not None and self._own_looked:
            self.own.raise_matte(index, belief.matte, to_crop, stream)
        stream.wait(patch.ready)
        self._device.launch(OCCLUSION_TRACK, state | now | {"rise": rise, "fall": fall, "band": band}, stream)
        self._device.launch(OCCLUDE, state | {"most": most}, stream)

    def reset(self) -> None:
        """Forget what was before the faces: the picture has jumped."""
        for belief in self._tracks:
            belief.seconds = None

    def _bound(self, faces: int) -> BoundNetwork:
        """The network with buffers for so many faces."""
        if self._network is None or self._network.count < faces:
            session = self._session = self._session or self._load()
            image, found = session.shape_of("image"), session.shape_of("occlusion")
            self._network = BoundNetwork(
                self._device,
                session,
                "face_occluder",
                image,
                {"occlusion": found},
                count=max(faces, self._faces),
                to_host=False,
            )
        return self._network

    def _belief(self, track_id: int, stream: Stream) -> "_Belief":
        assert self._network is not None, "it has looked"
        side = self._network.image.shape[-1]
        return self._tracks.of(track_id, lambda: _Belief(self._device, side, stream))


class _Belief:
    """What is believed to be before one face, at media time ``seconds``; None if that no longer holds."""

    def __init__(self, device: Device, side: int, stream: Stream) -> None:
        self.seconds: float | None = None
        self.matte = device.empty((side, side), np.float32)
        self.belief = device.empty((side, side), np.float32)
        self.cover = device.empty((side, side), np.uint8)
        self.share = device.empty((1,), np.float32)
        device.copy(self.belief, np.zeros((side, side), np.float32), stream)

    def speed(self, seconds: float) -> tuple[float, float, float]:
        """``rise``, ``fall`` and ``band`` of ``occlusion_track`` for a frame at this time."""
        before, self.seconds = self.seconds, seconds
        if before is None or not 0 <= seconds - before <= LONGEST_GAP_S:
            return _AT_ONCE
        passed = seconds - before
        return 1 - exp(-passed / RISE_S), 1 - exp(-passed / FALL_S), BAND
