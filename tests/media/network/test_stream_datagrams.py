"""Transport streams as senders pack them, by UDP."""

import io
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import cycle, pairwise
from typing import Any

import av
import numpy as np
import pytest
from stream_tools import free_port

from livefusion.core.errors import InputError
from livefusion.core.geometry import Size
from livefusion.media.network.address import parse_stream
from livefusion.media.network.connection import Connection
from livefusion.media.network.sound_decoder import SoundDecoder
from livefusion.testing.media import pattern_picture

pytestmark = pytest.mark.net

_SIZE, _FPS, _SECONDS = Size(160, 96), 30, 6


def _transport_stream(codec: str, slices: int, *, pairs: bool, sound: bool = False) -> bytes:
    """A second has a key frame; ``pairs`` puts two pictures into each packet."""
    file = io.BytesIO()
    with av.open(
        file, "w", format="mpegts", options={"omit_video_pes_length": "0", "max_delay": "500000"}
    ) as container:
        stream: Any = container.add_stream(codec, rate=_FPS)
        stream.width, stream.height, stream.pix_fmt = _SIZE.width, _SIZE.height, "yuv420p"
        if codec == "libx264":
            stream.options = {"tune": "zerolatency", "x264-params": f"slices={slices}:keyint={_FPS}"}
        spoken: list[Any] = []
        tone: Any = container.add_stream("aac", rate=48_000, layout="stereo") if sound else None
        for start in range(0, 48_000 * _SECONDS if sound else 0, 1024):
            samples = np.sin(np.arange(start, start + 1024) / 20).astype(np.float32)
            frame = av.AudioFrame.from_ndarray(np.stack([samples, samples]), "fltp", "stereo")
            frame.sample_rate, frame.pts, frame.time_base = 48_000, start, Fraction(1, 48_000)
            spoken += tone.encode(frame)
        packets: list[Any] = []
        for index in range(_FPS * _SECONDS):
            picture = pattern_picture(_SIZE, index)
            picture.pts, picture.time_base = index, Fraction(1, _FPS)
            packets += stream.encode(picture)
        packets += stream.encode(None)
        if pairs:
            packets = [_joined(packets[at : at + 2], stream) for at in range(0, len(packets), 2)]
        container.mux(sorted([*packets, *spoken], key=lambda one: one.dts * one.time_base))
    return file.getvalue()


def _joined(packets: list[Any], stream: Any) -> Any:
    """Two pictures in one packet, which is for the time of the first."""
    part = av.Packet(b"".join(bytes(one) for one in packets))
    part.stream, part.time_base = stream, packets[0].time_base
    part.pts = part.dts = packets[0].pts
    part.is_keyframe = packets[0].is_keyframe
    return part


@contextmanager
def _sending(data: bytes, port: int) -> Iterator[None]:
    """Again and again, three times as fast as it is: seven packets of 188 bytes in a datagram."""
    done = threading.Event()

    def send() -> None:
        pieces = [data[at : at + 1316] for at in range(0, len(data), 1316)]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            for piece in cycle(pieces):
                out.sendto(piece, ("127.0.0.1", port))
                if done.wait(timeout=_SECONDS / 3 / len(pieces)):
                    return

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize(
    ("codec", "slices", "pairs", "whole"),
    [
        ("libx264", 1, False, True),
        ("libx264", 2, False, True),
        ("libx264", 2, True, False),
        ("mpeg2video", 1, False, False),
    ],
)
def test_each_packet_is_a_picture(codec: str, slices: int, pairs: bool, whole: bool) -> None:
    port = free_port(socket.SOCK_DGRAM)
    with _sending(_transport_stream(codec, slices, pairs=pairs), port):
        connection = Connection(
            parse_stream(f"udp://127.0.0.1:{port}", InputError), f"udp://127.0.0.1:{port}"
        )
        packets = []
        for packet in connection.packets():
            packets.append(packet)
            if sum(one.is_keyframe for one in packets) == 2:
                break
        started = next(index for index, one in enumerate(packets) if one.is_keyframe)
        pictures = [picture for one in packets[started:] for picture in one.decode()]
        connection.close()
    assert connection._is_whole is whole
    assert all((one.width, one.height) == (_SIZE.width, _SIZE.height) for one in pictures)
    assert len(pictures) >= len(packets) - started - 1 > 5


class _Ring:
    """Notes where sound was put, and how much of it."""

    def __init__(self) -> None:
        self.writes: list[tuple[int, int]] = []

    def write(self, position: int, samples: Any) -> None:
        self.writes.append((position, samples.shape[1]))


class _Clock:
    running = True

    def sound(self, stream_ns: int) -> int:
        return stream_ns


def test_several_pieces_of_sound_in_a_packet_follow_each_other() -> None:
    ring: Any = _Ring()
    clock: Any = _Clock()
    decoder = SoundDecoder(ring, clock)
    port = free_port(socket.SOCK_DGRAM)
    with _sending(_transport_stream("libx264", 1, pairs=False, sound=True), port):
        connection = Connection(
            parse_stream(f"udp://127.0.0.1:{port}", InputError), f"udp://127.0.0.1:{port}"
        )
        fed = 0
        for packet in connection.packets():
            if packet.stream is connection.audio:
                decoder.feed(packet)
                fed += 1
            if fed == 4:
                break
        connection.close()
    assert connection._is_whole
    assert len(ring.writes) > 2 * fed
    assert all(abs(after[0] - sum(before)) <= 1 for before, after in pairwise(ring.writes))
