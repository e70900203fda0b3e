"""The publishing side of RTMP: FLV written to a socket of ours.

FFmpeg's own would do it, but PyAV holds Python's lock while an output connects: a server that does not answer
would stop every thread of the process. It has no limit for writes either, and tells no reason of a refusal.
"""

import os
import socket
import struct
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from livefusion.core.errors import OutputError
from livefusion.media.network import amf
from livefusion.media.network.address import StreamAddress
from livefusion.media.network.trust import tls_context

CONNECT_SECONDS: Final = 5.0
WRITE_SECONDS: Final = 5.0
"""Longest time that a server may take nothing."""
_HANDSHAKE = 1536
_CHUNK = 4096
_SET_CHUNK, _USER_CONTROL, _AUDIO, _VIDEO, _DATA, _COMMAND = 1, 4, 8, 9, 18, 20
_PING, _PONG = 6, 7
_CONTROL_LANE, _COMMAND_LANE, _SOUND_LANE, _PICTURE_LANE = 2, 3, 4, 6
_EXTENDED = 0xFFFFFF
_FLV_HEADER = 13


class RtmpPublisher:
    """A file to which FFmpeg's FLV muxer writes; its tags go to the server as messages.

    Raises ``OutputError`` with the server's own reason if it refuses, ``OSError`` if the connection is lost
    or takes nothing for ``WRITE_SECONDS``.
    """

    def __init__(self, address: StreamAddress) -> None:
        self._address = address
        self._socket = _connect(address)
        self._inbox = _Inbox(self._socket)
        self._lock = threading.Lock()
        self._pending = bytearray()
        self._skip = _FLV_HEADER
        self._stream = 0
        try:
            self._shake_hands()
            self._publish()
        except BaseException:  # also Ctrl-C: nothing half open may stay
            self._socket.close()
            raise
        threading.Thread(target=self._listen, name="rtmp", daemon=True).start()

    def write(self, data: bytes) -> int:
        """Take bytes of an FLV file."""
        self._pending += data
        while len(self._pending) > self._skip + 11:
            del self._pending[: self._skip]
            self._skip = 0
            size = int.from_bytes(self._pending[1:4], "big")
            if len(self._pending) < 11 + size + 4:
                break
            kind = self._pending[0] & 0x1F
            time = int.from_bytes(self._pending[4:7], "big") | self._pending[7] << 24
            self._send_tag(kind, time, bytes(self._pending[11 : 11 + size]))
            del self._pending[: 11 + size + 4]
        return len(data)

    def close(self) -> None:
        """Say that the stream ends, and hang up."""
        with suppress(OSError):
            self._command("deleteStream", None, float(self._stream))
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _shake_hands(self) -> None:
        self._socket.sendall(b"\3" + bytes(8) + os.urandom(_HANDSHAKE - 8))
        answer = self._inbox.exactly(1 + 2 * _HANDSHAKE)
        self._socket.sendall(answer[1 : 1 + _HANDSHAKE])

    def _publish(self) -> None:
        url = urlsplit(self._address.url)
        app, key = split_path(url.path, url.query)
        self._send(_CONTROL_LANE, _SET_CHUNK, 0, struct.pack(">I", _CHUNK))
        place = f"{url.scheme}://{url.netloc.rpartition('@')[2]}/{app}"
        wishes = {
            "app": app,
            "type": "nonprivate",
            "flashVer": "FMLE/3.0 (compatible; LiveFusion)",
            "tcUrl": place,
        }
        self._ask("connect", 1, wishes)
        self._command("releaseStream", None, key, number=2)
        self._command("FCPublish", None, key, number=3)
        created = self._ask("createStream", 4, None)
        self._stream = int(created[-1]) if created and isinstance(created[-1], float) else 1
        self._command("publish", None, key, "live", number=5, stream=self._stream)
        self._await_start()

    def _ask(self, name: str, number: int, *values: Any) -> Sequence[Any]:
        """Send a command and wait for its result."""
        self._command(name, *values, number=number)
        while True:
            answer = self._next_command()
            if answer[0] in {"_result", "_error"} and answer[1] == number:
                if answer[0] == "_error":
                    raise self._refusal(answer)
                return answer[2:]
            if answer[0] == "onStatus":
                self._check(answer)

    def _await_start(self) -> None:
        while True:
            answer = self._next_command()
            if answer[0] == "_error" or (answer[0] == "onStatus" and self._check(answer)):
                if answer[0] == "_error":
                    raise self._refusal(answer)
                return

    def _check(self, answer: Sequence[Any]) -> bool:
        """Whether a status says that the stream has begun; raises what it refuses."""
        status = _status(answer)
        if status.get("level") == "error":
            raise self._refusal(answer)
        return str(status.get("code", "")).endswith("Publish.Start")

    def _refusal(self, answer: Sequence[Any]) -> OutputError:
        status = _status(answer)
        reason = " ".join(str(status.get("description") or status.get("code") or "no reason given").split())
        if self._address.url in reason or "://" in reason:  # some answer with the address, key and all
            reason = str(status.get("code") or "no reason given")
        place = f"{self._address.scheme}://{self._address.place}"
        return OutputError(f"{place} refuses the stream ({reason[:120]})", "check application and stream key")

    def _next_command(self) -> Sequence[Any]:
        while True:
            kind, body = self._inbox.message()
            if kind == _USER_CONTROL:
                self._answer_ping(body)
            elif kind == _COMMAND:
                values = amf.decode(body)
                if len(values) >= 2:
                    return values

    def _answer_ping(self, body: bytes) -> None:
        if len(body) >= 6 and int.from_bytes(body[:2], "big") == _PING:
            self._send(_CONTROL_LANE, _USER_CONTROL, 0, struct.pack(">H", _PONG) + body[2:6])

    def _listen(self) -> None:
        """Answer pings until the connection ends; then writing fails, too."""
        self._inbox.patient = True
        try:
            while True:
                kind, body = self._inbox.message()
                if kind == _USER_CONTROL:
                    self._answer_ping(body)
                elif kind == _COMMAND and _status(amf.decode(body)).get("level") == "error":
                    break
        except (OSError, ValueError, OutputError):
            pass
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _send_tag(self, kind: int, time: int, body: bytes) -> None:
        if kind == _DATA:  # what a file begins with is a command of its own here
            body = amf.encode("@setDataFrame") + body
        lane = _SOUND_LANE if kind == _AUDIO else _PICTURE_LANE
        self._send(lane, kind, time, body, stream=self._stream)

    def _command(self, name: str, *values: Any, number: int = 0, stream: int = 0) -> None:
        body = b"".join(amf.encode(value) for value in (name, float(number), *values))
        self._send(_COMMAND_LANE, _COMMAND, 0, body, stream=stream)

    def _send(self, lane: int, kind: int, time: int, body: bytes, stream: int = 0) -> None:
        short = min(time, _EXTENDED)
        extended = struct.pack(">I", time) if short == _EXTENDED else b""
        head = short.to_bytes(3, "big") + len(body).to_bytes(3, "big") + bytes([kind])
        parts = [bytes([lane]), head, struct.pack("<I", stream), extended, body[:_CHUNK]]
        for start in range(_CHUNK, len(body), _CHUNK):
            parts += [bytes([0xC0 | lane]), extended, body[start : start + _CHUNK]]
        with self._lock:
            self._socket.sendall(b"".join(parts))


class _Inbox:
    """Messages of the server, put together from chunks."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._chunk = 128
        self._lanes: dict[int, _Lane] = {}
        self.patient = False
        """Whether a server that says nothing is waited for: it has nothing to say once a stream has begun."""

    def exactly(self, count: int) -> bytes:
        """So many bytes."""
        data = bytearray()
        while len(data) < count:
            try:
                more = self._socket.recv(count - len(data))
            except TimeoutError:
                if self.patient:
                    continue
                raise
            if not more:
                raise ConnectionResetError("the server hung up")
            data += more
        return bytes(data)

    def message(self) -> tuple[int, bytes]:
        """The kind and the body of the next message."""
        while True:
            lane = self._read_chunk()
            if len(lane.body) < lane.size:
                continue
            kind, body = lane.kind, bytes(lane.body)
            lane.body.clear()
            if kind == _SET_CHUNK and len(body) >= 4:
                self._chunk = max(1, int.from_bytes(body[:4], "big") & 0x7FFFFFFF)
                continue
            return kind, body

    def _read_chunk(self) -> "_Lane":
        first = self.exactly(1)[0]
        form, number = first >> 6, first & 0x3F
        if number == 0:
            number = 64 + self.exactly(1)[0]
        elif number == 1:
            number = 64 + int.from_bytes(self.exactly(2), "little")
        lane = self._lanes.setdefault(number, _Lane())
        if form < 3:
            head = self.exactly((11, 7, 3)[form])
            lane.extended = head[:3] == b"\xff\xff\xff"
            if form < 2:
                lane.size, lane.kind = int.from_bytes(head[3:6], "big"), head[6]
                if lane.size > _MOST:
                    raise ConnectionResetError("the server sends nonsense")
        if lane.extended:
            self.exactly(4)
        lane.body += self.exactly(min(self._chunk, lane.size - len(lane.body)))
        return lane


_MOST = 1 << 20


class _Lane:
    def __init__(self) -> None:
        self.size = self.kind = 0
        self.extended = False
        self.body = bytearray()


def split_path(path: str, query: str = "") -> tuple[str, str]:
    """Application and stream key of an RTMP address; what a service's key has behind ``?`` belongs to it."""
    app, _, key = path.strip("/").partition("/")
    return unquote(app), key + (f"?{query}" if query else "")


def _status(answer: Sequence[Any]) -> dict[str, Any]:
    return next((one for one in reversed(answer) if isinstance(one, dict)), {})


def _connect(address: StreamAddress) -> socket.socket:
    made = socket.create_connection((address.host, address.port), CONNECT_SECONDS)
    try:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.settimeout(WRITE_SECONDS)
        if address.scheme == "rtmps":
            made = tls_context(address).wrap_socket(made, server_hostname=address.host)
    except BaseException:  # also Ctrl-C: nothing half open may stay
        made.close()
        raise
    return made
