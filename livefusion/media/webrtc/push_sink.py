"""The finished picture for a WHIP server: a streaming service, or another LiveFusion."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from livefusion.core.errors import DriverError, OutputError
from livefusion.core.events import Event
from livefusion.core.frame import RenderedFrame
from livefusion.core.timing import Clock
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.sink import SinkStats
from livefusion.media.webrtc.loop import LoopThread
from livefusion.media.webrtc.sink import WebRtcSink
from livefusion.runtime.stage import StageContext

if TYPE_CHECKING:
    from livefusion.media.webrtc.push import WhipPush

_PATIENCE = 60.0
"""Seconds: longer than three answers and a connection may take, each of which has a limit of its own."""


class WhipSink:
    """Connects when it is opened, and fails when the server goes away: the graph opens it again.

    The server is one more viewer of the encoder that all live outputs share.
    """

    def __init__(
        self, url: str, token: str, share: EncoderShare, device: Device, output: OutputFormat
    ) -> None:
        self._url = url
        self._token = token
        self._share = share
        self._sink = WebRtcSink(share, device, output)
        self._thread: LoopThread | None = None
        self._push: WhipPush | None = None
        self._opened = 0
        self.stats.uri = f"whip+{url}"

    @property
    def stats(self) -> SinkStats:
        """What was sent so far."""
        return self._sink.stats

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where encoding runs otherwise than it best would, and why."""
        return self._sink.fallbacks

    def open(self, context: StageContext) -> None:
        """Connect. ``OutputError`` if the server refuses, ``DriverError`` if the extra package is missing."""
        make = _import_push()
        self._sink.open(context)
        self._thread = LoopThread("whip")
        try:
            self._thread.start()
            self._push = self._thread.call(self._connect(make, context.clock), _PATIENCE)
        except OutputError as error:
            self.stats.errors.append(error.problem)
            self._give_up()
            raise
        except BaseException:  # also Ctrl-C: nothing half open may stay
            self._give_up()
            raise
        self.stats.reconnects = self._opened
        self._opened += 1

    def write(self, item: RenderedFrame) -> None:
        """Encode and send a picture. ``OutputError`` if the connection is over."""
        if self._push is None or self._push.ended:
            place = urlsplit(self._url).netloc
            raise OutputError(f"the WHIP server {place} ended the connection", "check it there")
        self._sink.write(item)

    def handle(self, event: Event) -> None:
        """Do nothing: a change of size is seen in the frames."""

    def close(self) -> None:
        """End the session."""
        self._sink.close()
        push, self._push = self._push, None
        try:
            if push is not None and self._thread is not None:
                self._thread.call(push.close(), _PATIENCE)
        finally:
            self._end_thread()

    async def _connect(self, make: "type[WhipPush]", clock: Clock) -> "WhipPush":
        push = make(self._url, self._token, self._share.outlet, clock)
        await push.open()
        return push

    def _give_up(self) -> None:
        self._sink.close()
        self._end_thread()

    def _end_thread(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop()


def _import_push() -> "type[WhipPush]":
    try:
        from livefusion.media.webrtc.push import WhipPush
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("livefusion"):
            raise
        raise DriverError(
            f"WHIP needs the package {error.name}",
            "start with `uv run --extra cpu --extra webrtc livefusion …`, which installs it",
        ) from error
    return WhipPush
