"""A detector on live frames: the picture is shrunk on the frame's path, the network runs beside it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import DeviceError
from livefusion.core.face import FaceObservation
from livefusion.core.frame import Frame
from livefusion.core.geometry import Affine, Box, Size
from livefusion.devices.device import Array, Device, Event
from livefusion.faces.boxes import corners_of
from livefusion.faces.cut import EVERY
from livefusion.faces.detector_format import DetectorFormat, suppress
from livefusion.faces.yunet import YUNET
from livefusion.inference.network import BoundNetwork, Loaded
from livefusion.ops.fit import letterbox_affine, letterbox_size
from livefusion.ops.preprocess import Nv12, OperatorPreprocessor, Preprocessor

_OVERLAP = 0.3
_KNOWN = 0.2
_MOST = 0.7
_LESS_SURE = 0.15
_TURNS = (1, 3)


@dataclass(eq=False, slots=True)
class Slot:
    """A shrunken picture, the networks that can look at it, and the end of what was last done with it."""

    networks: dict[Size, BoundNetwork]
    free: Event | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DetectionJob:
    """A picture to be searched: all that the detector's thread sees of a frame.

    ``size`` is how the shrunken picture lies, ``known`` the boxes that the tracker has already explained,
    ``score`` the least score of a face.
    """

    seq: int
    epoch: int
    slot: Slot
    size: Size
    ready: Event
    to_frame: Affine
    known: tuple[Box, ...]
    score: float


class LiveDetector:
    """Finds faces in live frames. ``shrink`` belongs to the frames' thread, ``find`` to the detector's.

    The detector is blind to faces that lie on their side, and of a large one it finds the box but no roll.
    So where it sees something unknown or nothing at all, it looks again at the picture turned both ways, and
    the orientation with the best score counts.
    """

    def __init__(
        self,
        device: Device,
        session: Loaded,
        preprocessor: Preprocessor | None = None,
        slots: int = 3,
        form: DetectorFormat = YUNET,
    ) -> None:
        self._device = device
        self._session = session
        self._form = form
        self._preprocessor = preprocessor or OperatorPreprocessor(device, form.normalisation)
        self._path = device.stream("detect")
        self._beside = device.stream("detector")
        self._decoders = {size: form.decoder(size) for size in form.sizes}
        self._slots = [Slot(self._networks()) for _ in range(slots)]
        self._turned = self._networks()
        self._thumbnails = (
            {} if device.shares_host_memory else {size: self._pinned(size) for size in form.sizes}
        )

    @property
    def slots(self) -> list[Slot]:
        """The slots, for whoever hands them out."""
        return list(self._slots)

    def shrink(self, frame: Frame, slot: Slot, known: tuple[Box, ...], score: float) -> DetectionJob:
        """Put the frame into a free slot; its pixels have been read when ``ready`` of the job is past."""
        tall = frame.size.height > frame.size.width
        size = self._form.portrait if tall else self._form.landscape
        self._path.wait(slot.free)
        self._path.wait(frame.buffer.ready)
        picture = Nv12(frame.buffer.luma, frame.buffer.chroma, frame.color)
        self._preprocessor.fill((picture,), slot.networks[size].image, self._path)
        self._copy_thumbnail(slot, frame.size, size)
        slot.free = ready = self._path.record()
        to_frame = _to_frame(frame.size, size)
        return DetectionJob(frame.seq, frame.epoch, slot, size, ready, to_frame, known, score)

    def thumbnail(self, job: DetectionJob, size: Size) -> npt.NDArray[np.float32]:
        """What ``CutDetector`` looks at; blocks until it is there.

        That is of the shrunken picture's green channel, 0–255 and without bars, every ``cut.EVERY``-th row.
        Where memory is not shared, it holds until the next picture is shrunk.
        """
        job.ready.synchronize()
        pinned = self._thumbnails.get(job.size)
        rows = _thumbnail(job.slot, size, job.size) if pinned is None else pinned
        inner = letterbox_size(size, job.size)
        host: npt.NDArray[np.float32] = self._device.to_host(rows)
        return self._grey(host[: len(range(0, inner.height, EVERY)), : inner.width])

    def find(self, job: DetectionJob) -> list[FaceObservation]:
        """Faces in frame pixels, best first."""
        self._beside.wait(job.ready)
        seen = self._look(job.slot.networks[job.size], job.size, job.to_frame, job.score)
        turns, upright = self._turns(seen, job.known), tuple(seen)
        for quarter_turns in turns:
            turned = self._look_turned(job, quarter_turns)
            seen += [face for face in turned if not any(_is_shell(face, one) for one in upright)]
        job.slot.free = self._beside.record()
        return _best(seen) if len(seen) > 1 and turns else seen

    def _grey(self, green: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """The green channel as it was before the network's normalisation; the same array if there is none."""
        mean, scale = _green(self._form.normalisation.mean), _green(self._form.normalisation.scale)
        return green if (mean, scale) == (0.0, 1.0) else green / np.float32(scale) + np.float32(mean)

    def _networks(self) -> dict[Size, BoundNetwork]:
        return {
            size: BoundNetwork(
                self._device,
                self._session,
                self._form.name,
                (1, 3, size.height, size.width),
                self._form.outputs(size),
            )
            for size in self._form.sizes
        }

    def _pinned(self, size: Size) -> npt.NDArray[np.float32]:
        return self._device.pinned((len(range(0, size.height, EVERY)), size.width), np.float32)

    def _copy_thumbnail(self, slot: Slot, size: Size, shrunken: Size) -> None:
        """Bring to the host what ``thumbnail`` gives, in whole rows, if it does not lie there already."""
        if self._thumbnails:
            rows = _thumbnail(slot, size, shrunken)
            self._device.copy(self._thumbnails[shrunken][: rows.shape[0]], rows, self._path)

    def _turns(self, seen: list[FaceObservation], known: tuple[Box, ...]) -> tuple[int, ...]:
        unknown = (face for face in seen if all(face.box.iou(box) < _KNOWN for box in known))
        nothing = not seen and not known
        return _TURNS if nothing or any(unknown) else ()

    def _look(
        self, network: BoundNetwork, size: Size, to_frame: Affine, score: float
    ) -> list[FaceObservation]:
        network.launch(self._beside)
        self._beside.record().synchronize()
        outputs = {name: network.output(name) for name in self._form.outputs(size)}
        _require_sense(outputs, self._form.name)
        return self._decoders[size](outputs, to_frame, score)

    def _look_turned(self, job: DetectionJob, quarter_turns: int) -> list[FaceObservation]:
        lying = Size(job.size.height, job.size.width)
        source, target = job.slot.networks[job.size].image, self._turned[lying].image
        work: Callable[[], None] = partial(_turn, source, target, quarter_turns)
        self._device.run(work, self._beside, reads=(source,), writes=(target,), name="turn")
        to_frame = job.to_frame.after(unturn(job.size, quarter_turns))
        return self._look(self._turned[lying], lying, to_frame, job.score)


def _require_sense(outputs: Mapping[str, npt.NDArray[Any]], name: str) -> None:
    """``DeviceError`` if a network gave nothing but zeros, or what is no number: 15 µs.

    No picture gives that, but a device that fails does, and then "no face" would let every face pass.
    """
    total = sum(float(np.abs(output).sum(dtype=np.float64)) for output in outputs.values())
    if not math.isfinite(total) or not total:
        what = "zeros" if total == 0 else "what is no number"
        raise DeviceError(f"the network {name} gave {what}", "use --device cpu")


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


def _green(value: float | tuple[float, float, float]) -> float:
    return value[1] if isinstance(value, tuple) else value


def _thumbnail(slot: Slot, size: Size, shrunken: Size) -> Array:
    """The rows of the green channel that a thumbnail is made of, where the network's picture lies."""
    return slot.networks[shrunken].image[0, 1, : letterbox_size(size, shrunken).height : EVERY]


@lru_cache(maxsize=8)
def _to_frame(size: Size, shrunken: Size) -> Affine:
    return letterbox_affine(size, shrunken).inverse()


def _turn(source: Array, target: Array, quarter_turns: int) -> None:
    # What np.rot90 does on the last two axes, in methods that arrays of every device have.
    swapped: Any = source.transpose(0, 1, 3, 2)
    target[...] = swapped[:, :, ::-1] if quarter_turns == 1 else swapped[:, :, :, ::-1]


def _is_shell(turned: FaceObservation, upright: FaceObservation) -> bool:
    """Whether a face that was seen lying is but the head and hair round one that was seen upright.

    Of a performer with much hair near the camera one in ten was seen so, with scores 0.16 to 0.3 lower.
    """
    held = turned.box.intersection(upright.box).area / max(upright.box.area, 1e-9)
    return held >= _MOST and turned.score <= upright.score - _LESS_SURE


def _best(seen: list[FaceObservation]) -> list[FaceObservation]:
    corners = corners_of([face.box for face in seen])
    scores = np.array([face.score for face in seen])
    return [seen[index] for index in suppress(corners, scores, _OVERLAP)]
