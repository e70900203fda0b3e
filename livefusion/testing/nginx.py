"""nginx with its RTMP module, from Debian: a server that programs publish to and read from."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from livefusion.core.errors import MachineError

MODULE = Path("/usr/lib/nginx/modules/ngx_rtmp_module.so")
_START_SECONDS = 15.0


def find_nginx() -> str | None:
    """The program, if its RTMP module is there, too."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    return program if MODULE.exists() else None


@contextmanager
def nginx_rtmp(folder: Path, *, tells: bool = False) -> Iterator[str]:
    """The address of its application, on a free port. ``MachineError`` if it is not installed.

    ``tells`` has it tell viewers that the publisher is gone, which it does not by itself.
    """
    program = find_nginx()
    if program is None:
        raise MachineError("nginx has no RTMP here", "apt install nginx-light libnginx-mod-rtmp")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = int(one.getsockname()[1])
    words = "live on; publish_notify on;" if tells else "live on;"
    config = folder / "nginx.conf"
    config.write_text(
        f"load_module {MODULE}; daemon off; worker_processes 1;\n"
        f"pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        "events { worker_connections 32; }\n"
        f"rtmp {{ server {{ listen 127.0.0.1:{port}; application live {{ {words} }} }} }}\n"
    )
    process = subprocess.Popen([program, "-p", str(folder), "-c", str(config)], stderr=subprocess.DEVNULL)
    try:
        _await(port)
        yield f"rtmp://127.0.0.1:{port}/live"
    finally:
        process.terminate()
        process.wait(timeout=_START_SECONDS)


def _await(port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError as error:
            if time.monotonic() > deadline:
                raise MachineError("nginx does not answer") from error
            time.sleep(0.02)
        else:
            return
