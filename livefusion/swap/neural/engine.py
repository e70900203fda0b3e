"""The swap engine for networks that users bring: any family, one network."""

import itertools
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from livefusion.core.alignment import five_points, similarity_onto
from livefusion.core.by_track import MOST_TRACKS, ByTrack
from livefusion.core.errors import GraphError
from livefusion.core.face import FaceTrack, Identity, Landmarks
from livefusion.core.frame import Frame
from livefusion.core.geometry import Affine, Box, Region
from livefusion.core.patch import Patch
from livefusion.core.settings import SwapSettings
from livefusion.devices.device import Array, Device, Event, Stream
from livefusion.devices.select import Fallback
from livefusion.inference.catalog import ModelFile, find_of_family
from livefusion.inference.contract import Family, IdentityKind, read_contract
from livefusion.inference.session import Session
from livefusion.ops.reference.colour import CELL
from livefusion.ops.registry import PATCH_OF_CROP
from livefusion.swap.mesh.canonical import VERTEX_COUNT
from livefusion.swap.mesh.canvas import PatchMemory
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.swap.neural.family import recipe_for
from livefusion.swap.neural.mask import CropMask
from livefusion.swap.neural.network import SwapNetwork, tensor_of
from livefusion.swap.neural.performer import NEUTRAL, Performers, weighed
from livefusion.swap.neural.recipe import Floats
from livefusion.swap.neural.selftest import fixed_inputs, judge
from livefusion.swap.neural.source import FindModel, SourceReader, find_route
from livefusion.swap.neural.template import template
from livefusion.swap.neural.verdict import MOST_BAD, Verdict
from livefusion.swap.wardrobe import Wardrobe


@dataclass(slots=True, eq=False)
class _Prepared:
    tensor: Array
    uploaded: Event | None
    latent: Floats | None = None
    serial: int = field(default_factory=itertools.count().__next__)


class NeuralEngine:
    """Makes faces with a network (``swap.engine.SwapEngine``).

    Where the network gives something that is no picture, the mesh engine's face takes its place. ``find``
    gives the user's models of a family, by which an identity is told to the network; ``boost`` is how many
    times finer than the network faces are made (``SwapNetwork``); ``live``, no picture waits to
    see whose face the performer has.

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
        self._network = SwapNetwork(device, self.session, self.contract, self.recipe, model.name, boost=boost)
        self._mask = CropMask(device, boost)
        self._points = template(self.recipe.template, self._network.side)
        self._upload_stream = device.stream("identities")
        self._patches: ByTrack[PatchMemory] = ByTrack()
        self._wardrobe: Wardrobe[_Prepared] = Wardrobe()
        self._preparing = threading.Lock()
        self._told: tuple[float, ...] | None = None
        self._performers = Performers(device, self._source, live=live)
        self._weighed: OrderedDict[tuple[float, ...], Array] = OrderedDict()
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

        ``ModelError`` if the network gives none here, or another one than on the CPU.
        """
        if self._own_mesh:
            self._mesh.warm_up()
        self._device.prepare(PATCH_OF_CROP)
        inputs = fixed_inputs(self.contract, self.recipe)
        answer = self._network.try_out(inputs, self._device.stream("warm-up"))
        self._told = None
        judge(self.name, self.recipe, answer, self._on_cpu(inputs))

    def _on_cpu(self, inputs: Mapping[str, npt.NDArray[np.generic]]) -> npt.NDArray[np.floating] | None:
        """What the network gives on the CPU; None if that is where it runs."""
        if self.session.device_name == "cpu":
            return None
        outputs = Session(self._model.entry).run(inputs)
        return np.array(outputs[self.contract.picture])

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
        self._tell(prepared, frame, track, settings, stream)
        to_crop = similarity_onto(five_points(track.landmarks), self._points)
        self._network.run(frame, to_crop, stream)
        mask = self._mask.draw(
            track.landmarks, to_crop, self._network.side, stream, mouth=settings.mouth, eyes=settings.eyes
        )
        self._network.read(frame, mask, stream)
        # From the pixels of the patch, which begin at its region.
        place = to_crop.after(Affine([[1, 0, patch.region.x], [0, 1, patch.region.y]]))
        arguments = {
            "crop": self._network.crop,
            "bad": self._network.bad,
            "to_crop": place,
            "patch": patch.pixels,
        }
        self._device.launch(PATCH_OF_CROP, arguments, stream)
        if self._verdict.note(self._network.bad, stream):
            return self._mesh.swap(frame, track, identity, settings, stream)
        return patch

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

    def _tell(
        self, prepared: _Prepared, frame: Frame, track: FaceTrack, settings: SwapSettings, stream: Stream
    ) -> None:
        """Whose face it is, unless the network knows already."""
        performer, weight = None, settings.identity_weight
        if weight != NEUTRAL and prepared.latent is not None:
            performer = self._performers.latent(frame, track, stream)
        told = (prepared.serial, settings.morph, *((track.id, weight) if performer is not None else ()))
        if told == self._told:
            return
        if prepared.uploaded is not None:
            stream.wait(prepared.uploaded)
            prepared.uploaded = None
        tensor = prepared.tensor
        if performer is not None:
            tensor = self._weigh(told, prepared, performer, weight, stream)
        self._network.tell(tensor, settings.morph, stream)
        self._told = told

    def _weigh(
        self, told: tuple[float, ...], prepared: _Prepared, performer: Floats, weight: float, stream: Stream
    ) -> Array:
        """The identity as it is told with a performer's, kept for as long as both are about."""
        spec = self.contract.identity
        assert spec is not None, "it has a latent"
        assert prepared.latent is not None, "only latents are weighed"
        if told not in self._weighed:
            values = weighed(prepared.latent, performer, weight)
            self._weighed[told] = tensor_of(self._device, values, spec, stream)
            while len(self._weighed) > MOST_TRACKS:
                self._weighed.popitem(last=False)
        self._weighed.move_to_end(told)
        return self._weighed[told]

    def _make_ready(self, identity: Identity) -> _Prepared:
        spec, latent = self.contract.identity, None
        if spec is None:
            return _Prepared(None, None)
        if self.contract.identity_kind is IdentityKind.PICTURE:
            side = spec.shape[-1]
            values = self._source.picture(identity, side if isinstance(side, int) else self.recipe.size)
        else:
            values = latent = self._source.latent(identity)
        tensor = tensor_of(self._device, values, spec, self._upload_stream)
        uploaded = self._upload_stream.record()
        uploaded.synchronize()
        return _Prepared(tensor, uploaded, latent)


def require_helpers(model: ModelFile, find: FindModel = find_of_family) -> None:
    """``ModelError`` if a network, or one by which it is told whose face to make, is not here."""
    recipe = recipe_for(read_contract(model.path, Family(model.family)))
    if recipe.latent is not None:
        find_route(recipe.routes, model.name, find)


def region_of(landmarks: Landmarks, frame: Frame) -> Region:
    """Where the outline of a face lies, on the grid over which light is averaged."""
    return Region.covering(Box.around(landmarks[:VERTEX_COUNT]), frame.size, CELL)


def load_session(device: Device, model: ModelFile) -> Session:
    """The network of a model where the device computes. Raises what ``Session`` does."""
    where = device.name if device.name.startswith("cuda") else "cpu"
    return Session(model.entry, where, device=device, graphs=where != "cpu", shapes_on_cpu=True)
