"""The simulated device runs what may run in any order, and names what nothing orders."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livefusion.core.errors import DeviceError
from livefusion.core.geometry import Size
from livefusion.devices.pool import FramePool
from livefusion.ops.registry import ADD_PLANE, BLEND_YUVA
from livefusion.testing import wait_sites
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.unit

SIZE = Size(16, 8)
FRAMES = 4
GAINS = np.full((16, 16), 16, np.uint8)
"""Adds a plane, which is in 1/16 of a level, as it is."""


def three_stages(device: SimDevice) -> list[int]:
    """Decode, change and read pictures on three streams, with a pool too small to avoid reuse; their sums."""
    decode, render, encode = (device.stream(name) for name in ("decode", "render", "encode"))
    pool = FramePool(device, SIZE, limit=1)
    host = [device.pinned((12, 16), np.uint8) for _ in range(FRAMES)]
    delta = np.full((8, 16), 3 * 16, np.int8)
    for number, target in enumerate(host):
        buffer = pool.acquire(decode)
        device.copy(buffer.nv12, np.full((12, 16), 10 * number + 1, np.uint8), decode)
        buffer = buffer.after(decode.record())
        render.wait(buffer.ready)
        device.launch(ADD_PLANE, {"luma": buffer.luma, "delta": delta, "gains": GAINS}, render)
        buffer = buffer.after(render.record())
        encode.wait(buffer.ready)
        device.copy(target, buffer.nv12, encode)
        buffer.read_until(encode.record(), encode)
        del buffer
        delta[:] = 3 * 16  # a host argument may change at once: it was copied
    encode.record().synchronize()
    return [int(device.to_host(picture).astype(int).sum()) for picture in host]


EXPECTED = [12 * 16 * (10 * number + 1) + 8 * 16 * 3 for number in range(FRAMES)]


@pytest.mark.parametrize("seed", range(50))
def test_ordered_work_gives_the_same_in_any_order(seed: int) -> None:
    device = SimDevice(seed)
    assert three_stages(device) == EXPECTED
    device.assert_no_races()


def count_waits() -> int:
    device = SimDevice()
    three_stages(device)
    return device.mutation.count


@pytest.mark.parametrize("missing", range(count_waits()))
def test_each_missing_wait_is_named(missing: int) -> None:
    device = SimDevice(drop_wait=missing)
    three_stages(device)
    assert device.races
    with pytest.raises(AssertionError, match=r"(decode|render|encode|host): .+ does not wait for"):
        device.assert_no_races()


def test_a_missing_wait_shows_in_the_pixels_of_some_seed() -> None:
    results = []
    for seed in range(20):
        results.append(three_stages(SimDevice(seed, drop_wait=0)))
    assert any(result != EXPECTED for result in results)


@pytest.mark.parametrize("forget", [True, False])
def test_host_read_needs_a_synchronise(forget: bool) -> None:
    device = SimDevice()
    stream = device.stream("render")
    target = device.empty((4,), np.uint8)
    device.copy(target, np.arange(4, dtype=np.uint8), stream)
    if not forget:
        stream.synchronize()
        assert device.to_host(target).tolist() == [0, 1, 2, 3]
    device.host_read(target[1:])
    assert [race.second for race in device.races] == (["host: read"] if forget else [])


def test_parts_that_do_not_overlap_never_race() -> None:
    device = SimDevice()
    one, other = device.stream("one"), device.stream("other")
    memory = device.empty((4, 4), np.uint8)
    device.copy(memory[:2], np.zeros((2, 4), np.uint8), one)
    device.copy(memory[2:], np.zeros((2, 4), np.uint8), other)
    device.assert_no_races()
    device.copy(memory[1:3], np.zeros((2, 4), np.uint8), other)
    (race,) = device.races
    assert (race.first, race.second) == ("one: copy(target)", "other: copy(target)")
    assert "4x4 uint8" in race.memory


def test_two_readers_never_race() -> None:
    device = SimDevice()
    memory = device.empty((4,), np.uint8)
    for name in ("one", "other"):
        work: Any = lambda: None  # noqa: E731
        device.run(work, device.stream(name), reads=(memory,), writes=(), name="look")
    device.assert_no_races()


def test_what_the_host_waited_for_is_ordered_for_all() -> None:
    device = SimDevice()
    memory = device.empty((4,), np.uint8)
    for name in ("one", "other"):
        stream = device.stream(name)
        device.copy(memory, np.zeros(4, np.uint8), stream)
        stream.synchronize()
    device.assert_no_races()


def test_host_arguments_are_copied_at_launch() -> None:
    device = SimDevice()
    stream = device.stream("render")
    luma = device.empty((2, 2), np.uint8)
    device.copy(luma, np.full((2, 2), 5, np.uint8), stream)
    delta = np.full((2, 2), 16, np.int8)
    device.launch(ADD_PLANE, {"luma": luma, "delta": delta, "gains": GAINS}, stream)
    delta[:] = 100
    stream.synchronize()
    assert np.all(device.to_host(luma) == 6)


def test_operators_may_not_write_host_memory() -> None:
    device = SimDevice()
    arguments = {"luma": np.zeros((2, 2), np.uint8), "delta": np.ones((2, 2), np.int8), "gains": GAINS}
    with pytest.raises(DeviceError, match="writes luma into host memory"):
        device.launch(ADD_PLANE, arguments, device.stream("render"))


def test_an_error_comes_out_where_the_host_waits_for_it() -> None:
    device = SimDevice()
    broken, sound = device.stream("broken"), device.stream("sound")
    arrays = {
        "luma": device.empty((4, 4), np.uint8),
        "chroma": device.empty((2, 2, 2), np.uint8),
        "patch": np.zeros((2, 2, 4), np.uint8),
    }
    device.launch(BLEND_YUVA, arrays | {"x": 1, "y": 0}, broken)
    sound.synchronize()
    with pytest.raises(ValueError, match="even"):
        broken.synchronize()
    device.synchronize()


def test_streams_and_events_of_devices_do_not_mix() -> None:
    one, other = SimDevice(), SimDevice()
    with pytest.raises(DeviceError):
        one.stream("a").wait(other.stream("b").record())


def test_fresh_memory_is_poisoned() -> None:
    assert np.all(SimDevice().empty((3, 3), np.uint8) != 0)


@pytest.mark.parametrize(("host_orders", "races"), [(True, 0), (False, 1)])
def test_waits_of_the_host_may_be_left_out_of_account(host_orders: bool, races: int) -> None:
    device = SimDevice(host_orders=host_orders)
    one, other = device.stream("one"), device.stream("other")
    memory = device.empty((4,), np.uint8)
    device.copy(memory, np.zeros(4, np.uint8), one)
    one.synchronize()
    device.copy(memory, np.ones(4, np.uint8), other)
    other.synchronize()
    assert device.to_host(memory).tolist() == [1, 1, 1, 1]
    assert len(device.races) == races


def upload_twice(device: SimDevice) -> None:
    """Fill pinned memory again while it may still be copied from."""
    stream = device.stream("upload")
    pinned, target = device.pinned((4,), np.uint8), device.empty((4,), np.uint8)
    for value in (1, 2):
        stream.synchronize()
        pinned[:] = value
        device.copy(target, pinned, stream)
    stream.synchronize()


@pytest.mark.parametrize(("missing", "races"), [(None, 0), (0, 1)])
def test_host_write_needs_a_synchronise(missing: int | None, races: int) -> None:
    device = SimDevice(drop_wait=missing)
    upload_twice(device)
    assert len(device.races) == races
    assert all(race.second == "host: write" for race in device.races)


def test_another_thread_waits_for_itself_alone() -> None:
    device = SimDevice(host_orders=False)
    stream = device.stream("render")
    target = device.empty((4,), np.uint8)
    device.copy(target, np.zeros(4, np.uint8), stream)
    waiter = threading.Thread(target=stream.synchronize)
    waiter.start()
    waiter.join()
    device.to_host(target)
    assert [race.second for race in device.races] == ["host: read"]


def reuse_slot(device: SimDevice) -> None:
    """Let the pool make a writer wait for the last reader."""
    write, read = device.stream("write"), device.stream("read")
    pool = FramePool(device, SIZE, limit=1)
    for _ in range(2):
        buffer = pool.acquire(write)
        device.copy(buffer.nv12, np.zeros((12, 16), np.uint8), write)
        buffer = buffer.after(write.record())
        read.wait(buffer.ready)
        device.copy(device.empty((12, 16), np.uint8), buffer.nv12, read)
        buffer.read_until(read.record(), read)
        del buffer


@pytest.mark.parametrize(
    ("site", "races"), [(None, 0), ("devices/pool.py:FramePool.acquire:0", 1), ("pool.py:acquire:9", 0)]
)
def test_a_place_can_be_left_out(site: str | None, races: int) -> None:
    device = SimDevice(drop_site=site)
    reuse_slot(device)
    assert len(device.races) == races
    assert device.mutation.seen["devices/pool.py:FramePool.acquire:0"] == 2


SOURCE = """
class Stage:
    def run(self):
        self._stream.wait(
            self._ready
        )
        self._changed.wait()
        self._clock.wait(self._changed, 5)
        done.synchronize(); buffer.read_until(done, stream)
"""


def test_places_are_named_by_function_and_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait_sites, "PACKAGE", tmp_path)
    (tmp_path / "stage.py").write_text(SOURCE)
    found = wait_sites.sites_of(tmp_path / "stage.py")
    assert [(site.name, site.by_host) for site in found] == [
        ("stage.py:Stage.run:0", False),
        ("stage.py:Stage.run:1", True),
        ("stage.py:Stage.run:2", False),
    ]
