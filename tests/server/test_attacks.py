"""Each way to break in, or to hold the door, against a server that really listens."""

import pytest

pytest.importorskip("aiohttp", reason="needs the extra webrtc")
pytest.importorskip("aiortc", reason="needs the extra webrtc")

from livefusion.server.door import open_door
from livefusion.testing.door_floods import ATTACKS, Attack

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
