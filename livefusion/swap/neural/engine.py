"""The swap engine for networks that users bring: any family, one network."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livefusion.core.alignment import points_of, similarity_onto
from livefusion.core.by_track import ByTrack
from livefusion.core.errors import GraphError, ModelError
from livefusion.core.face import FaceTrack, Identity, Landmarks
from livefusion.core.frame import Frame
from livefusion.core.geometry import Affine, Box, Region
from livefusion.core.patch import Patch
from livefusion.core.settings import SwapSettings
from livefusion.devices.device import Device, Stream
from livefusion.devices.select import Fallback
from livefusion.inference.catalog import ModelFile, find_of_family
from livefusion.inference.contract import Family, IdentityKind, read_contract
from livefusion.inference.registry import ModelEntry
from livefusion.inference.session import Session
from livefusion.ops.reference.colour import CELL
from livefusion.ops.registry import PATCH_OF_CROP
from livefusion.swap.mesh.canonical import VERTEX_COUNT
from livefusion.swap.mesh.canvas import PatchMemory
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.swap.neural.bucket import Bucket
from livefusion.swap.neural.family import recipe_for
from livefusion.swap.neural.groups import Group, Groups
from livefusion.swap.neural.mask import CropMask
from livefusion.swap.neural.network import SwapNetwork, tensor_of
from livefusion.swap.neural.performer import Performers
from livefusion.swap.neural.selftest import fixed_inputs, judge, widened_after
from livefusion.swap.neural.source import FindModel, SourceReader, find_route
from livefusion.swap.neural.teller import Order, Prepared, Teller
from livefusion.swap.neural.template import template
from livefusion.swap.neural.verdict import MOST_BAD, Verdict
from livefusion.swap.wardrobe import Wardrobe


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """What a bucket holds: the faces of a group, the key of their order, and the maps to their crops."""

    group: Group
    key: tuple[float, ...]
    to_crops: tuple[Affine, ...]


class NeuralEngine:
    """Makes faces with a network (``swap.engine.SwapEngine``).

    Where the network gives something that is no picture, the mesh engine's face takes its place. ``find``
    gives the user's models of a family, by which an identity is told to the network; ``boost`` is how many
    times finer than the network faces are made and ``faces`` how many of a frame at once, if the device gains
    by it (``SwapNetwork``); ``live``, no picture waits to see whose face the performer has.

    ``ModelError`` if the file, or one that it needs, is missing, damaged or foreign; what the device says.
    """

    def __init__(
        self,
        device: Device,
        model: ModelFile,
        *,
        mesh: MeshEngine | None = None,
        session: Session | None = None,
        find: FindModel = find_of_family,
        boost: int = 1,
        faces: int = 1,
        live: bool = False,
    ) -> None:
        self._device = device
        self._model = model
        self._mesh = mesh or MeshEngine(device)
        self._own_mesh = mesh is None
        self.contract = read_contract(model.path, Family(model.family))
        self.recipe = recipe_for(self.contract)
        self._source = SourceReader(self.recipe, model.name, find)
        self.session = session or load_session(device, model)
        self._boost, self._faces = boost, faces
        self._network = self._bind()
        self._groups = Groups(self._network.sizes)
        self._made: dict[int, _Made] = {}
        self._mask = CropMask(device, boost)
        self._points = template(self.recipe.template, self._network.side)
        self._upload_stream = device.stream("identities")
        self._patches: ByTrack[PatchMemory] = ByTrack()
        self._wardrobe: Wardrobe[Prepared] = Wardrobe()
        self._preparing = threading.Lock()
        self._performers = Performers(device, self._source, live=live)
        self._teller = Teller(device, self.contract, self._performers)
        self._verdict = Verdict(device, model.name, "the mesh engine's face is shown")

    @property
    def name(self) -> str:
        """That of the model."""
        return self._model.name

    @property
    def networks(self) -> tuple[Session, ...]:
        """The network, for the report."""
        return (self.session,)

    @property
    def bad(self) -> int:
        """How many of the network's answers were not shown."""
        return self._verdict.count

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """That the network is asked no more, if so."""
        if not self._verdict.given_up():
            return ()
        return (Fallback(self.name, self._mesh.name, f"it gave {MOST_BAD} bad pictures in a row"),)

    def prepare(self, identity: Identity) -> None:
        """Find out what the network takes of an identity, and upload it; also for the mesh engine."""
        self._mesh.prepare(identity)
        with self._preparing:
            if not self._wardrobe.has(identity):
                self._wardrobe.keep(identity, self._make_ready(identity))

    def warm_up(self) -> None:
        """Run everything once, and see that pictures come out; a mesh engine that was given may be at work.

        A network in half precision that does not give the picture of single precision runs in that from then
        on. ``ModelError`` if the network gives none here, or another one than on the CPU.
        """
        if self._own_mesh:
            self._mesh.warm_up()
        self._device.prepare(PATCH_OF_CROP)
        try:
            self._try_out()
        except ModelError as error:
            wide = widened_after(error, self._model, self.session)
            if wide is None:
                raise
            self.session = load_session(self._device, self._model, wide)
            self._network = self._bind()
            self._try_out()

    def _bind(self) -> SwapNetwork:
        faces = self._faces if self.session.takes_new_shapes else 1
        return SwapNetwork(
            self._device,
            self.session,
            self.contract,
            self.recipe,
            self._model.name,
            boost=self._boost,
            faces=faces,
        )

    def _try_out(self) -> None:
        inputs = fixed_inputs(self.contract, self.recipe)
        answers = self._network.try_out(inputs, self._device.stream("warm-up"))
        self._made.clear()
        wanted = self._on_cpu(inputs)
        for answer in answers:
            judge(self.name, self.recipe, answer, wanted)

    def _on_cpu(self, inputs: Mapping[str, npt.NDArray[np.generic]]) -> npt.NDArray[np.floating] | None:
        """What the network gives on the CPU, in single precision; None if the CPU is where it runs."""
        if self.session.device_name == "cpu":
            return None
        outputs = Session(self._model.widened("it is the yardstick") or self._model.entry).run(inputs)
        return np.array(outputs[self.contract.picture])

    def look(self, frame: Frame, tracks: Sequence[FaceTrack]) -> None:
        """Note the faces of a frame: those of a group are cropped before the first of them is pasted."""
        if self._groups.most > 1:
            self._groups.look(frame, [track for track in tracks if track.landmarks is not None])

    def swap(
        self, frame: Frame, track: FaceTrack, identity: Identity, settings: SwapSettings, stream: Stream
    ) -> Patch | None:
        """The identity's face over ``track`` as the protocol says."""
        if track.landmarks is None:
            raise GraphError(f"track {track.id} cannot be swapped without landmarks")
        prepared = self._wardrobe.find(identity)
        if self._verdict.given_up():
            return self._mesh.swap(frame, track, identity, settings, stream)
        patch = self._place(frame, track, identity, settings, stream)
        if patch is None:
            return None
        bucket, seat, to_crop = self._make(Order(prepared, frame, settings), track, stream)
        mask = self._mask.draw(
            track.landmarks, to_crop, self._network.side, stream, mouth=settings.mouth, eyes=settings.eyes
        )
        self._network.read(bucket, seat, frame, mask, stream)
        # From the pixels of the patch, which begin at its region.
        place = to_crop.after(Affine([[1, 0, patch.region.x], [0, 1, patch.region.y]]))
        arguments = {
            "crop": self._network.crop,
            "bad": self._network.bad,
            "to_crop": place,
            "patch": patch.pixels,
        }
        self._device.launch(PATCH_OF_CROP, arguments, stream)
        if self._verdict.note(self._network.bad, frame, stream):
            return self._mesh.swap(frame, track, identity, settings, stream)
        return patch

    def _make(self, order: Order, track: FaceTrack, stream: Stream) -> tuple[Bucket, int, Affine]:
        """Where the new face of a track is, and the map to its crop.

        All of a group are made with the first that is asked for.
        """
        group = self._groups.of(order.frame, track)
        made = self._made.get(len(group))
        if made is not None and made.group is group and made.key != order.key:
            group, made = (track,), None  # the others were made for somebody else
        if made is None or made.group is not group:
            made = self._run(group, order, stream)
        seat = group.index(track)
        return self._network.bucket(len(group)), seat, made.to_crops[seat]

    def _run(self, group: Group, order: Order, stream: Stream) -> _Made:
        """Make the faces of a group."""
        bucket, to_crops = self._network.bucket(len(group)), []
        for seat, track in enumerate(group):
            self._teller.tell(bucket, seat, order, track, stream)
            to_crops.append(similarity_onto(points_of(track), self._points))
        bucket.run(order.frame, to_crops, stream)
        made = self._made[len(group)] = _Made(group, order.key, tuple(to_crops))
        return made

    def _place(
        self, frame: Frame, track: FaceTrack, identity: Identity, settings: SwapSettings, stream: Stream
    ) -> Patch | None:
        """Where the new face goes, and what shows there if the network fails.

        The host would have to wait for the network to learn that. So where it does not share the memory, the
        mesh engine draws first, and the network's face is put over it if it is one; else it draws only then.
        """
        if not self._device.shares_host_memory:
            return self._mesh.swap(frame, track, identity, settings, stream)
        assert track.landmarks is not None, "checked before"
        region = region_of(track.landmarks, frame)
        if region.empty:
            return None
        memory = self._patches.of(track.id, lambda: PatchMemory(self._device))
        return Patch(region, memory.view(region))

    def _make_ready(self, identity: Identity) -> Prepared:
        spec, latent = self.contract.identity, None
        if spec is None:
            return Prepared(None, None)
        if self.contract.identity_kind is IdentityKind.PICTURE:
            side = spec.shape[-1]
            values = self._source.picture(identity, side if isinstance(side, int) else self.recipe.size)
        else:
            values = latent = self._source.latent(identity)
        tensor = tensor_of(self._device, values, spec, self._upload_stream)
        uploaded = self._upload_stream.record()
        uploaded.synchronize()
        return Prepared(tensor, uploaded, latent)


def require_helpers(model: ModelFile, find: FindModel = find_of_family) -> None:
    """``ModelError`` if a network, or one by which it is told whose face to make, is not here."""
    recipe = recipe_for(read_contract(model.path, Family(model.family)))
    if recipe.latent is not None:
        find_route(recipe.routes, model.name, find)


def region_of(landmarks: Landmarks, frame: Frame) -> Region:
    """Where the outline of a face lies, on the grid over which light is averaged."""
    return Region.covering(Box.around(landmarks[:VERTEX_COUNT]), frame.size, CELL)


def load_session(device: Device, model: ModelFile, entry: ModelEntry | None = None) -> Session:
    """The network of a model, or an ``entry`` made of it, where the device computes.

    Raises what ``Session`` does.
    """
    where = device.name if device.name.startswith("cuda") else "cpu"
    return Session(entry or model.entry, where, device=device, graphs=where != "cpu", shapes_on_cpu=True)
