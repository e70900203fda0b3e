import threading

import pytest

from livefusion.media.encode.outlet import EncodedPicture, Outlet
from livefusion.media.webrtc.bitrate import LossBackoff, LossMeter
from livefusion.media.webrtc.inlet import Inlet, ReceivedPicture, SenderGone

pytestmark = pytest.mark.unit


def test_the_newest_picture_wins() -> None:
    inlet = Inlet()
    sender = inlet.enter()
    for number in range(1000):
        inlet.put(sender, number, number * 3000, number)
    taken = inlet.take()
    assert isinstance(taken, ReceivedPicture)
    assert (taken.picture, inlet.received, inlet.replaced) == (999, 1000, 999)
    assert inlet.take(0) is None


def test_a_peer_that_was_replaced_is_not_heard() -> None:
    inlet = Inlet()
    first = inlet.enter()
    inlet.put(first, "a", 0, 0)
    second = inlet.enter()
    inlet.put(first, "b", 0, 0)
    assert inlet.take() == SenderGone()
    inlet.leave(first)
    assert inlet.take(0) is None
    inlet.put(second, "c", 0, 0)
    taken = inlet.take()
    assert isinstance(taken, ReceivedPicture)
    assert taken.picture == "c"
    inlet.put(second, "d", 0, 0)
    inlet.leave(second)
    inlet.put(second, "e", 0, 0)
    taken = inlet.take()
    assert isinstance(taken, ReceivedPicture)
    assert taken.picture == "d"
    assert inlet.take() == SenderGone()
    inlet.leave(second)
    assert inlet.take(0) is None
    inlet.enter()
    assert inlet.take(0) is None  # its end was told


def test_closing_frees_who_waits() -> None:
    inlet = Inlet()
    taken = []
    thread = threading.Thread(target=lambda: taken.append(inlet.take()))
    thread.start()
    inlet.close()
    thread.join(5)
    assert taken == [None]


def test_pictures_reach_everybody_and_wishes_reach_the_encoder_once() -> None:
    outlet = Outlet(8_000_000)
    seen: list[tuple[str, int]] = []
    one = outlet.attach(lambda picture: seen.append(("one", picture.pts)))
    two = outlet.attach(lambda picture: seen.append(("two", picture.pts)))
    assert outlet.take_key_request()
    assert not outlet.take_key_request()
    outlet.send(EncodedPicture(b"", 1, True))
    outlet.detach(one)
    outlet.send(EncodedPicture(b"", 2, False))
    assert seen == [("one", 1), ("two", 1), ("two", 2)]
    assert outlet.viewers == 1
    outlet.request_key()
    assert outlet.take_key_request()
    outlet.detach(two)
    outlet.detach(two)
    assert outlet.viewers == 0


def test_the_weakest_viewer_sets_the_rate_until_it_is_gone() -> None:
    outlet = Outlet(8_000_000)
    one, two = (outlet.attach(lambda picture: None) for _ in range(2))
    assert outlet.bitrate == 8_000_000
    outlet.limit(one, 1_000_000)
    outlet.limit(two, 99_000_000)
    assert outlet.bitrate == 1_000_000
    outlet.detach(one)
    assert outlet.bitrate == 8_000_000
    outlet.limit(one, 5)
    assert outlet.bitrate == 8_000_000


def test_a_weak_viewer_holds_others_back_to_half_of_the_ceiling_only() -> None:
    outlet = Outlet(8_000_000, Outlet(8_000_000))
    one = outlet.attach(lambda picture: None)
    outlet.limit(one, 1_000_000)
    assert outlet.bitrate == 1_000_000
    two = outlet.attach(lambda picture: None)
    assert outlet.bitrate == outlet.floor == 4_000_000
    outlet.limit(one, 5_000_000)
    assert outlet.bitrate == 5_000_000
    outlet.detach(two)
    outlet.limit(one, 300_000)
    assert outlet.bitrate == 300_000


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([0.0] * 5, 1_000_000),
        ([0.05] * 50, 1_000_000),
        ([0.2], 900_000),
        ([0.2, 0.05], 900_000),
        ([0.2, 0.0], 972_000),
        ([0.2, 0.0, 0.0], 1_000_000),
        ([1.0] * 20, 300_000),
        ([2.0], 500_000),
    ],
)
def test_loss_lowers_the_rate_and_its_end_raises_it(losses: list[float], expected: int) -> None:
    backoff = LossBackoff(1_000_000)
    for lost in losses:
        backoff.report(lost)
    assert backoff.bitrate == expected


def test_loss_is_counted_between_two_looks() -> None:
    meter = LossMeter()
    assert meter.take(0, 0) == 0
    assert meter.take(100, 90) == pytest.approx(0.1)
    assert meter.take(100, 90) == 0
    assert meter.take(200, 195) == 0  # late ones came
    assert meter.take(50, 40) == 0  # another sender
    assert meter.take(60, 45) == pytest.approx(0.5)
