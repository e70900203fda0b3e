"""Tells a network whose face to make, at each of its seats."""

import itertools
from collections import OrderedDict
from dataclasses import dataclass, field

from livefusion.core.by_track import MOST_TRACKS
from livefusion.core.face import FaceTrack
from livefusion.core.frame import Frame
from livefusion.core.settings import SwapSettings
from livefusion.devices.device import Array, Device, Event, Stream
from livefusion.inference.contract import SwapContract
from livefusion.swap.neural.bucket import Bucket
from livefusion.swap.neural.network import tensor_of
from livefusion.swap.neural.performer import NEUTRAL, Performers, weighed
from livefusion.swap.neural.recipe import Floats


@dataclass(slots=True, eq=False)
class Prepared:
    """An identity as a network takes it: its ``tensor`` on the device, once ``uploaded``, and its latent."""

    tensor: Array
    uploaded: Event | None
    latent: Floats | None = None
    serial: int = field(default_factory=itertools.count().__next__)


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """Whose face is wanted, and how, in which frame."""

    prepared: Prepared
    frame: Frame
    settings: SwapSettings

    @property
    def key(self) -> tuple[float, ...]:
        """What the network is told by it, but for the performer."""
        return self.prepared.serial, self.settings.morph, self.settings.identity_weight


class Teller:
    """Copies an identity to a seat if that was told another one. Used on one thread and one stream."""

    def __init__(self, device: Device, contract: SwapContract, performers: Performers) -> None:
        self._device = device
        self._contract = contract
        self._performers = performers
        self._weighed: OrderedDict[tuple[float, ...], Array] = OrderedDict()

    def tell(self, bucket: Bucket, seat: int, order: Order, track: FaceTrack, stream: Stream) -> None:
        """Whose face is made of ``track`` at a seat, unless it knows already."""
        performer, prepared = None, order.prepared
        morph, weight = order.settings.morph, order.settings.identity_weight
        if weight != NEUTRAL and prepared.latent is not None:
            performer = self._performers.latent(order.frame, track, stream)
        told = (prepared.serial, morph, *((track.id, weight) if performer is not None else ()))
        if told == bucket.told[seat]:
            return
        if prepared.uploaded is not None:
            stream.wait(prepared.uploaded)
            prepared.uploaded = None
        tensor = prepared.tensor
        if performer is not None:
            tensor = self._weigh(told, prepared, performer, weight, stream)
        bucket.tell(seat, tensor, morph, stream)
        bucket.told[seat] = told

    def _weigh(
        self, told: tuple[float, ...], prepared: Prepared, performer: Floats, weight: float, stream: Stream
    ) -> Array:
        """The identity as it is told with a performer's, kept for as long as both are about."""
        spec = self._contract.identity
        assert spec is not None, "it has a latent"
        assert prepared.latent is not None, "only latents are weighed"
        if told not in self._weighed:
            values = weighed(prepared.latent, performer, weight)
            self._weighed[told] = tensor_of(self._device, values, spec, stream)
            while len(self._weighed) > MOST_TRACKS:
                self._weighed.popitem(last=False)
        self._weighed.move_to_end(told)
        return self._weighed[told]
