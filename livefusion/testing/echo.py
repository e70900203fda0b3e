"""Sends a peer's own packets back to it: what a round trip takes without decoding, graph and encoding."""

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

from livefusion.media.encode.outlet import EncodedPicture, Outlet
from livefusion.media.webrtc.exchange import Exchange


@contextmanager
def echoing(exchange: Exchange) -> Iterator[None]:
    """Whoever begins to send inside the block is sent back to all who watch; no graph may run."""
    from livefusion.media.webrtc import publisher

    with mock.patch.object(publisher, "DecoderFeed", partial(EchoFeed, exchange.outlet)):
        yield


class EchoFeed:
    """Stands in for a ``DecoderFeed`` and gives its coded pictures to an outlet as they are."""

    def __init__(self, outlet: Outlet, deliver: Any, damage: Callable[[], None], wanted: Any = None) -> None:
        self.decoder = None
        self.dropped = 0
        self._outlet = outlet
        self._damage = damage
        self._end: queue.Queue[None] = queue.Queue()

    def put(self, task: Any) -> None:
        """Send pictures on; when a viewer needs a key frame, the sender is asked for one."""
        from livefusion.media.webrtc.assemble import is_key

        if task is None:
            self._end.put(None)
            return
        for coded in task[1].pictures:
            if self._outlet.take_key_request():
                self._damage()
            self._outlet.send(EncodedPicture(coded.data, coded.rtp_time, is_key(coded.data)))

    def get(self) -> None:
        """Wait for the end."""
        self._end.get()
