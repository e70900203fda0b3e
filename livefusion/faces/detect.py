"""YuNet on live frames: the picture is shrunk on the frame's path, the network runs beside it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.face import FaceObservation
from livefusion.core.frame import Frame
from livefusion.core.geometry import Affine, Box, Size
from livefusion.devices.device import Array, Device, Event
from livefusion.faces.boxes import corners_of
from livefusion.faces.network import BoundNetwork, Loaded
from livefusion.faces.yunet import YuNetDecoder, suppress
from livefusion.ops.fit import letterbox_affine, letterbox_size
from livefusion.ops.registry import LETTERBOX_NV12

INPUT = Size(320, 192)
"""What the network sees live: 1.3 ms, and a face of 18 px in it is found."""
_OVERLAP = 0.3
_KNOWN = 0.2


@dataclass(eq=False, slots=True)
class Slot:
    """A shrunken picture, the network on it, and the end of whatever was last done with it."""

    network: BoundNetwork
    free: Event | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DetectionJob:
    """A picture to be searched: all that the detector's thread sees of a frame.

    ``known`` are the boxes that the tracker has already explained; ``score`` is the least score of a face.
    """

    seq: int
    epoch: int
    captured_ns: int
    slot: Slot
    ready: Event
    to_frame: Affine
    known: tuple[Box, ...]
    score: float


class LiveDetector:
    """Finds faces in live frames. ``shrink`` belongs to the frames' thread, ``find`` to the detector's.

    The detector is blind to faces that lie on their side, and of a large one it finds the box but no roll.
    So where it sees something unknown, it looks again at the picture turned both ways, and the orientation
    with the best score counts; where it sees nothing at all, it turns the picture one way each time.
    """

    def __init__(self, device: Device, session: Loaded, slots: int = 3) -> None:
        self._device = device
        self._path = device.stream("detect")
        self._beside = device.stream("detector")
        shape = (1, 3, INPUT.height, INPUT.width)
        self._decode = YuNetDecoder(INPUT)
        self._slots = [
            Slot(BoundNetwork(device, session, "yunet", shape, YuNetDecoder.output_shapes(INPUT)))
            for _ in range(slots)
        ]
        upright = Size(INPUT.height, INPUT.width)
        self._decode_turned = YuNetDecoder(upright)
        self._turned = BoundNetwork(
            device, session, "yunet", (1, 3, INPUT.width, INPUT.height), YuNetDecoder.output_shapes(upright)
        )
        self._empty_looks = 0

    @property
    def slots(self) -> list[Slot]:
        """The slots, for whoever hands them out."""
        return list(self._slots)

    def shrink(self, frame: Frame, slot: Slot, known: tuple[Box, ...], score: float) -> DetectionJob:
        """Put the frame into a free slot; its pixels have been read when ``ready`` of the job is past."""
        self._path.wait(slot.free)
        self._path.wait(frame.buffer.ready)
        arguments = {
            "luma": frame.buffer.luma,
            "chroma": frame.buffer.chroma,
            "out": slot.network.image[0],
            "color": frame.color,
        }
        self._device.launch(LETTERBOX_NV12, arguments, self._path)
        slot.free = ready = self._path.record()
        to_frame = _to_frame(frame.size)
        return DetectionJob(frame.seq, frame.epoch, frame.captured_ns, slot, ready, to_frame, known, score)

    def thumbnail(self, job: DetectionJob, size: Size) -> npt.NDArray[np.float32]:
        """The green channel of the shrunken picture without bars, 0–255; blocks until it is there."""
        job.ready.synchronize()
        inner = letterbox_size(size, INPUT)
        host: npt.NDArray[np.float32] = self._device.to_host(job.slot.network.image)
        return host[0, 1, : inner.height, : inner.width]

    def find(self, job: DetectionJob) -> list[FaceObservation]:
        """Faces in frame pixels, best first."""
        self._beside.wait(job.ready)
        seen = self._look(job.slot.network, self._decode, job.to_frame, job.score)
        turns = self._turns(seen, job.known)
        for quarter_turns in turns:
            seen += self._look_turned(job, quarter_turns)
        job.slot.free = self._beside.record()
        return _best(seen) if turns else seen

    def _turns(self, seen: list[FaceObservation], known: tuple[Box, ...]) -> tuple[int, ...]:
        if not seen and not known:
            self._empty_looks += 1
            return (1,) if self._empty_looks % 2 else (3,)
        unknown = (face for face in seen if all(face.box.iou(box) < _KNOWN for box in known))
        return (1, 3) if any(unknown) else ()

    def _look(
        self, network: BoundNetwork, decode: YuNetDecoder, to_frame: Affine, score: float
    ) -> list[FaceObservation]:
        network.launch(self._beside)
        self._beside.record().synchronize()
        shapes = YuNetDecoder.output_shapes(INPUT)
        return decode({name: network.output(name) for name in shapes}, to_frame, score)

    def _look_turned(self, job: DetectionJob, quarter_turns: int) -> list[FaceObservation]:
        source, target = job.slot.network.image, self._turned.image
        work: Callable[[], None] = partial(_turn, source, target, quarter_turns)
        self._device.run(work, self._beside, reads=(source,), writes=(target,), name="turn")
        to_frame = job.to_frame.after(unturn(INPUT, quarter_turns))
        return self._look(self._turned, self._decode_turned, to_frame, job.score)


def unturn(size: Size, quarter_turns: int) -> Affine:
    """From the pixels of ``np.rot90(picture, quarter_turns)`` to those of the picture of ``size``."""
    right, bottom = size.width - 1, size.height - 1
    maps = (
        [[1, 0, 0], [0, 1, 0]],
        [[0, -1, right], [1, 0, 0]],
        [[-1, 0, right], [0, -1, bottom]],
        [[0, 1, 0], [-1, 0, bottom]],
    )
    return Affine(maps[quarter_turns % 4])


@lru_cache(maxsize=8)
def _to_frame(size: Size) -> Affine:
    return letterbox_affine(size, INPUT).inverse()


def _turn(source: Array, target: Array, quarter_turns: int) -> None:
    # What np.rot90 does on the last two axes, in methods that arrays of every device have.
    swapped: Any = source.transpose(0, 1, 3, 2)
    target[...] = swapped[:, :, ::-1] if quarter_turns == 1 else swapped[:, :, :, ::-1]


def _best(seen: list[FaceObservation]) -> list[FaceObservation]:
    corners = corners_of([face.box for face in seen])
    scores = np.array([face.score for face in seen])
    return [seen[index] for index in suppress(corners, scores, _OVERLAP)]
