"""Counterparts of the network's edges: Debian's ffmpeg, nginx, and free ports."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from livefusion.core.events import Eos, Event
from livefusion.core.frame import Frame
from livefusion.media.network.source import StreamSource

NGINX_MODULE = Path("/usr/lib/nginx/modules/ngx_rtmp_module.so")


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def program(name: str, package: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed (Debian: {package})")
    return found


@contextmanager
def publishing(*outputs: str, size: str = "160x120", seconds: int = 60) -> Iterator[subprocess.Popen[bytes]]:
    """Debian's ffmpeg sends a picture of that size, ten a second, and a tone."""
    command = [
        *(program("ffmpeg", "ffmpeg"), "-nostdin", "-loglevel", "error", "-re"),
        *("-f", "lavfi", "-i", f"testsrc2=size={size}:rate=10"),
        *("-f", "lavfi", "-i", "sine=440:sample_rate=44100"),
        *("-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "5"),
        *("-c:a", "aac", "-t", str(seconds), *outputs),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def read_frames(source: StreamSource, count: int) -> list[Frame | Event]:
    """What the source gives up to that number of frames."""
    got: list[Frame | Event] = []
    while sum(isinstance(one, Frame) for one in got) < count:
        got.append(source.read())
        assert not isinstance(got[-1], Eos), "the source ended"
    return got


@contextmanager
def nginx(folder: Path) -> Iterator[str]:
    """nginx with its RTMP module; the address of its application."""
    server = program("nginx", "nginx-light")
    if not NGINX_MODULE.exists():
        pytest.skip("nginx has no RTMP module (Debian: libnginx-mod-rtmp)")
    port = free_port()
    config = folder / "nginx.conf"
    config.write_text(
        f"load_module {NGINX_MODULE}; daemon off; worker_processes 1;\n"
        f"pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        "events { worker_connections 32; }\n"
        f"rtmp {{ server {{ listen 127.0.0.1:{port}; application live {{ live on; }} }} }}\n"
    )
    process = subprocess.Popen([server, "-p", str(folder), "-c", str(config)], stderr=subprocess.DEVNULL)
    try:
        _await_answer(port)
        yield f"rtmp://127.0.0.1:{port}/live"
    finally:
        process.terminate()
        process.wait()


def _await_answer(port: int) -> None:
    for _ in range(1000):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            continue
        return
    raise AssertionError("nginx does not answer")
