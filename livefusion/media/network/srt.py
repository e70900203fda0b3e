"""SRT by way of ``srt-live-transmit``: PyAV's FFmpeg has no SRT of its own."""

import logging
import shutil
import socket
import subprocess
import threading
from contextlib import suppress

import av
from av.error import FFmpegError, ProtocolNotFoundError

from livefusion.core.errors import DriverError, InputError, OutputError, RequestError
from livefusion.media.network.address import StreamAddress
from livefusion.media.network.connection import Connection

_log = logging.getLogger(__name__)

PROGRAM = "srt-live-transmit"
_NOWHERE = "srt://127.0.0.1:1?timeout=1000"
_PACKET = 1316
"""Bytes of seven packets of MPEG-TS: what SRT and UDP carry at once."""
_END_SECONDS = 2.0


def ffmpeg_has_srt() -> bool:
    """Whether PyAV's FFmpeg knows srt:// itself; the ``srt`` in its list of formats is of subtitles."""
    try:
        av.open(_NOWHERE, format="mpegts", timeout=0.1).close()
    except ProtocolNotFoundError:
        return False
    except (FFmpegError, OSError):
        return True
    return True


class SrtBridge:
    """A ``srt-live-transmit`` that carries MPEG-TS between an SRT address and a local UDP port.

    It keeps the connection up by itself. ``DriverError`` if the program is not installed.
    """

    def __init__(self, address: StreamAddress) -> None:
        self._address = address
        self._program = shutil.which(PROGRAM)
        if self._program is None:
            raise DriverError(
                f"srt:// needs the program {PROGRAM}, as PyAV's FFmpeg has no SRT",
                "install it (Debian: srt-tools), or use udp:// or rtmp://",
            )
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.bind(("127.0.0.1", 0))
            self._port = int(one.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    @property
    def url(self) -> str:
        """The UDP address on this side of the bridge."""
        return f"udp://127.0.0.1:{self._port}?pkt_size={_PACKET}"

    def start(self, kind: type[RequestError]) -> None:
        """Start the program if it does not run; ``kind`` is the error if it cannot."""
        inside = f"udp://127.0.0.1:{self._port}"
        ends = (self._address.url, inside) if kind is InputError else (inside, self._address.url)
        with self._lock:
            if self._closed or (self._process is not None and self._process.poll() is None):
                return
            assert self._program is not None
            _log.info("srt goes through %s, as PyAV's FFmpeg has no SRT", PROGRAM)
            command = [self._program, f"-chunk:{_PACKET}", "-quiet", *ends]
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            except OSError as error:
                raise kind(
                    f"{PROGRAM} cannot be started ({error.strerror})", "check its installation"
                ) from error

    @property
    def failed(self) -> bool:
        """True if the program has ended: the address is wrong, or nobody answers there."""
        process = self._process
        return process is not None and process.poll() is not None

    def close(self) -> None:
        """End the program."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_END_SECONDS)
            return
        process.kill()
        process.wait()


class SrtLine:
    """Reads SRT as the UDP that the bridge makes of it."""

    def __init__(self, address: StreamAddress) -> None:
        self._address = address
        self._bridge = SrtBridge(address)
        self._closed = False

    def connect(self) -> Connection | None:
        """Wait for what comes over the bridge."""
        if self._closed:
            return None
        self._bridge.start(InputError)
        try:
            return Connection(self._address, self._bridge.url)
        except InputError as error:
            if self._bridge.failed:
                raise InputError(f"{PROGRAM} gave up on srt://{self._address.place}", _REMEDY) from error
            raise

    def hang_up(self) -> None:
        """Do nothing: the bridge connects again by itself."""

    def close(self) -> None:
        """End the bridge."""
        self._closed = True
        self._bridge.close()


_REMEDY = "check host and port, and the options in the address"


def broken(address: StreamAddress) -> OutputError:
    """The error of an output whose bridge has ended."""
    return OutputError(f"{PROGRAM} gave up on srt://{address.place}", _REMEDY)
