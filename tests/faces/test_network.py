"""A network among the operators of a stream: its order, its own stream, its outputs on the host."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
from apart import ApartDevice

from livefusion.core.errors import GraphError
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.inference.loaded import Lane
from livefusion.inference.network import BoundNetwork
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.unit

OUTPUTS = {"sum": (1, 3), "twice": (1, 3, 2, 2), "mean": (1,)}
IMAGE = (1, 3, 2, 2)


class Arithmetic:
    """A network that is easily checked, tied to the buffers of one picture."""

    def __init__(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        self._image, self._outputs = inputs["image"], outputs
        self.prepared = 0
        self.runs = 0

    def prepare(self, undisturbed: AbstractContextManager[Any, Any]) -> None:
        with undisturbed:
            self.prepared += 1

    def run(self) -> None:
        self.runs += 1
        self._outputs["sum"][...] = self._image.sum(axis=(2, 3))
        self._outputs["twice"][...] = 2 * self._image
        self._outputs["mean"][...] = self._image.mean()


class Session:
    """What is loaded of it."""

    def __init__(self, lane: Lane | None, odd: str = "float32") -> None:
        self.lane = lane
        self.bound: list[Arithmetic] = []
        self._odd = odd

    def dtype_of(self, tensor: str) -> str:
        return self._odd if tensor == "mean" else "float32"

    def bind(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any] | None = None) -> Arithmetic:
        assert outputs is not None
        self.bound.append(Arithmetic(inputs, outputs))
        return self.bound[-1]

    def run(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        raise AssertionError("not on the live path")


def lane_of(device: Device) -> Lane | None:
    return None if device.shares_host_memory else Lane(device.stream("network"))


def pictures(count: int, seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(seed).uniform(0, 1, (count, *IMAGE[1:])).astype(np.float32)


def use_twice(device: Device, count: int = 2) -> list[list[dict[str, np.ndarray[Any, Any]]]]:
    """Two launches of ``count`` pictures on the same buffers, the answers to each read on the host."""
    session = Session(lane_of(device))
    network = BoundNetwork(device, session, "net", IMAGE, OUTPUTS, count=3)
    stream, answers = device.stream("caller"), []
    for turn in range(2):
        device.copy(network.image[:count], pictures(count, turn), stream)
        network.launch(stream, count)
        stream.record().synchronize()
        answers.append([{name: network.output(name, i).copy() for name in OUTPUTS} for i in range(count)])
    device.synchronize()
    assert [bound.runs for bound in session.bound] == [2] * count + [0] * (3 - count)
    return answers


def expected(count: int = 2) -> list[list[dict[str, np.ndarray[Any, Any]]]]:
    return [
        [
            {"sum": picture.sum(axis=(1, 2))[None], "twice": 2 * picture[None], "mean": picture.mean()[None]}
            for picture in pictures(count, turn)
        ]
        for turn in range(2)
    ]


def same(one: list[list[dict[str, Any]]], other: list[list[dict[str, Any]]]) -> bool:
    return all(
        np.allclose(first[name], second[name], rtol=1e-6)
        for ones, others in zip(one, other, strict=True)
        for first, second in zip(ones, others, strict=True)
        for name in OUTPUTS
    )


@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_picture_gets_its_own_answer(count: int) -> None:
    assert same(use_twice(CpuDevice(), count), expected(count))


@pytest.mark.parametrize("kind", [SimDevice, ApartDevice])
@pytest.mark.parametrize("seed", range(20))
def test_every_order_gives_the_same_answers(kind: type[SimDevice], seed: int) -> None:
    device = kind(seed, host_orders=False)
    assert same(use_twice(device), expected())
    device.assert_no_races()


def test_every_wait_that_is_left_out_is_named() -> None:
    sound = ApartDevice(3, host_orders=False)
    use_twice(sound)
    waits = sound.mutation.count
    assert waits >= 6  # before the run, behind it, and on the host: twice each
    for wait in range(waits):
        device = ApartDevice(3, drop_wait=wait, host_orders=False)
        use_twice(device)
        assert device.races, device.mutation.left_out


def test_two_graphs_may_share_the_stream_of_a_network() -> None:
    device = ApartDevice(5, host_orders=False)
    lane = Lane(device.stream("network"))
    networks = [BoundNetwork(device, Session(lane), "net", IMAGE, OUTPUTS) for _ in range(2)]
    streams = [device.stream(name) for name in ("one", "other")]
    for index, (network, stream) in enumerate(zip(networks, streams, strict=True)):
        device.copy(network.image, pictures(1, index), stream)
        network.launch(stream)
    assert not lane.lock.locked()
    for index in (1, 0):
        streams[index].record().synchronize()
        assert networks[index].output("twice") == pytest.approx(2 * pictures(1, index))
    device.assert_no_races()


def test_outputs_lie_in_one_aligned_block() -> None:
    device = ApartDevice()
    network = BoundNetwork(device, Session(lane_of(device)), "net", IMAGE, OUTPUTS)
    start = network.output("sum").ctypes.data
    assert [network.output(name).ctypes.data - start for name in OUTPUTS] == [0, 256, 512]
    assert [network.output(name).shape for name in OUTPUTS] == list(OUTPUTS.values())


def test_only_what_was_launched_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    device, copied = ApartDevice(), []
    monkeypatch.setattr(device, "copy", lambda dst, src, stream: copied.append(dst.nbytes))
    network = BoundNetwork(device, Session(lane_of(device)), "net", IMAGE, OUTPUTS, count=8)
    network.launch(device.stream("caller"), 2)
    assert copied == [2 * 3 * 256]


def test_where_memory_is_shared_nothing_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    device = CpuDevice()
    monkeypatch.setattr(device, "copy", lambda *arguments: pytest.fail("copied"))
    BoundNetwork(device, Session(None), "net", IMAGE, OUTPUTS).launch(device.stream("caller"))


def test_outputs_may_stay_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    device = ApartDevice()
    network = BoundNetwork(device, Session(lane_of(device)), "net", IMAGE, OUTPUTS, to_host=False)
    stream, found = device.stream("caller"), np.empty(OUTPUTS["twice"], np.float32)
    device.copy(network.image, pictures(1, 3), stream)
    with monkeypatch.context() as patched:
        patched.setattr(device, "copy", lambda *arguments: pytest.fail("copied"))
        network.launch(stream)
    device.copy(found, network.kept("twice"), stream)
    stream.synchronize()
    assert found == pytest.approx(2 * pictures(1, 3))
    device.assert_no_races()


def test_a_network_is_prepared_before_the_live_path() -> None:
    device = ApartDevice()
    session = Session(lane_of(device))
    BoundNetwork(device, session, "net", IMAGE, OUTPUTS, count=2)
    assert [bound.prepared for bound in session.bound] == [1, 1]


def test_outputs_of_different_types_are_refused() -> None:
    with pytest.raises(GraphError, match="float16, float32"):
        BoundNetwork(CpuDevice(), Session(None, odd="float16"), "net", IMAGE, OUTPUTS)
