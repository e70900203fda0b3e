"""Each way to break in, or to hold the door, against a server that really listens."""

import logging

import pytest

pytest.importorskip("aiohttp", reason="needs the extra webrtc")
pytest.importorskip("aiortc", reason="needs the extra webrtc")

from livefusion.cli.console import Console
from livefusion.cli.logs import start_logging
from livefusion.server.door import open_door
from livefusion.testing.door_floods import ATTACKS, Attack
from livefusion.testing.door_knocks import LOOPBACK, TOKEN, ask, authorised

pytestmark = [
    pytest.mark.net,
    # aiortc leaves sockets and transports to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_the_door_holds(attack: Attack) -> None:
    with open_door(attack.settings, attack.limits) as door:
        verdict = attack.run(door)
    assert verdict.held, verdict.got


def test_what_is_secret_in_an_address_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging(Console(), verbose=1)
    logger = logging.getLogger("livefusion.media.anything")
    logger.info("calling %s", "rtmp://user:pa55@live.example/app/k3y?auth=t0ken")
    logger.warning("no answer from https://s3cret@live.example/whip?token=t0ken, it is tried again")
    told = capsys.readouterr().err
    assert told.count("live.example") == 2
    assert not any(secret in told for secret in ("pa55", "k3y", "t0ken", "s3cret"))


def test_what_cannot_be_read_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging(Console(), verbose=2)
    with open_door(LOOPBACK) as door:
        assert ask(door, "GET", "/", Authorization=authorised() + "x" * 9000)[0] == 400
    told = capsys.readouterr().err
    assert "a request is refused (LineTooLong)" in told
    assert TOKEN not in told
