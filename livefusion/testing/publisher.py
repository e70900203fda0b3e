"""A publisher: sends a clip by RTMP in real time, as OBS would."""

import threading
import time
from pathlib import Path
from typing import Any

import av

from livefusion.core.errors import InputError, OutputError
from livefusion.media.network.address import parse_stream
from livefusion.media.network.rtmp import RtmpPublisher


def publish(clip: Path, url: str, done: threading.Event) -> None:
    """Send a clip in real time to a server that may take a while to be there, until ``done``."""
    address = parse_stream(url, InputError)
    while not done.wait(0.1):
        try:
            publisher = RtmpPublisher(address)
        except (OSError, OutputError):
            continue
        try:
            _send(clip, publisher, done)
        except OSError:
            pass  # the server has ended
        finally:
            publisher.close()
        return


def _send(clip: Path, publisher: RtmpPublisher, done: threading.Event) -> None:
    target: Any = publisher
    with av.open(str(clip)) as source, av.open(target, "w", format="flv") as container:
        streams = {one.index: container.add_stream_from_template(one) for one in source.streams}
        began = time.monotonic()
        for packet in source.demux():
            if packet.dts is None or packet.time_base is None:
                continue
            if done.wait(max(0.0, float(packet.dts * packet.time_base) + began - time.monotonic())):
                return
            packet.stream = streams[packet.stream.index]
            container.mux(packet)
