"""A headless Chromium whose camera is a file, driven by its own debugging protocol: neither Node nor npm."""

import base64
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from livefusion.core.errors import MachineError
from livefusion.core.geometry import Size
from livefusion.media.webrtc.loop import LoopThread
from livefusion.testing.webrtc import burn_number

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
"""What Chromium is called on various systems."""
_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # in containers, where everybody is root
    "--no-first-run",
    "--disable-gpu",
    "--remote-debugging-port=0",
    "--autoplay-policy=no-user-gesture-required",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
)
# Root's Chromium lifts its own threads to nice -8, six times the weight of any other: on two busy cores it
# runs and all else waits. No user's can; root gives the right away (CAP_SYS_NICE) before it starts.
_DROP_BOUND, _SYS_NICE = 24, 23
_AS_USERS_HAVE_IT = (
    f"import ctypes, os, sys; ctypes.CDLL(None).prctl({_DROP_BOUND}, {_SYS_NICE}, 0, 0, 0); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)
_START_SECONDS, _CALL_SECONDS = 30.0, 60.0


def find_chromium() -> str | None:
    """The path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def write_numbered_camera(path: Path, size: Size, pictures: int = 90) -> Path:
    """A camera's file (Y4M, 30 fps) of numbered pictures without a face: soft stripes that move."""
    columns = np.arange(size.width)
    chroma = np.full((size.height // 2, size.width // 2), 128, np.uint8).tobytes()
    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{size.width} H{size.height} F30:1 Ip A1:1 C420jpeg\n".encode())
        for number in range(pictures):
            row = 120 + 60 * np.sin((columns + 4 * number) / 40)
            luma = np.tile(row.astype(np.uint8), (size.height, 1))
            burn_number(luma, number)
            file.write(b"FRAME\n" + luma.tobytes() + chroma * 2)
    return path


class Browser:
    """One Chromium with one page; a context manager. ``camera`` is a Y4M file that plays over and over."""

    def __init__(self, camera: Path) -> None:
        self._camera = camera
        self._loop = LoopThread("browser")
        self._folder = tempfile.TemporaryDirectory(prefix="livefusion-browser-", ignore_cleanup_errors=True)
        self._process: subprocess.Popen[bytes] | None = None
        self._session: Any = None
        self._socket: Any = None
        self._number = 0

    def __enter__(self) -> "Browser":
        path = find_chromium()
        if path is None:
            raise MachineError("there is no Chromium", "install it: apt install chromium")
        arguments = [path, *_FLAGS, f"--user-data-dir={self._folder.name}"]
        arguments.append(f"--use-file-for-fake-video-capture={self._camera.resolve()}")
        if sys.platform == "linux":
            arguments = [sys.executable, "-c", _AS_USERS_HAVE_IT, *arguments]
        self._process = subprocess.Popen(
            [*arguments, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._loop.start()
        self._loop.call(self._connect(self._read_port()), _START_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call(self._disconnect(), _START_SECONDS)
        self._loop.stop()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_START_SECONDS)
        self._folder.cleanup()

    @property
    def pid(self) -> int:
        """Of its first process, whose children are the others; inside the block."""
        assert self._process is not None, "the browser is not open"
        return self._process.pid

    def screenshot(self, size: Size, *, dark: bool = False) -> bytes:
        """The page in a window of that size, as PNG, for who likes it light or dark."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=size.width,
            height=size.height,
            deviceScaleFactor=1,
            mobile=False,
        )
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    def go(self, url: str) -> None:
        """Load a page and wait until it is there."""
        self._call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete'")

    def before_load(self, script: str) -> None:
        """Run a script in each page before its own."""
        self._call("Page.enable")
        self._call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page, or of its promise. ``MachineError`` if it throws."""
        answer = self._call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            text = details.get("exception", {}).get("description") or details.get("text", "")
            raise MachineError(f"the page failed ({text.splitlines()[0]})")
        return answer["result"].get("value")

    def wait_for(self, condition: str, seconds: float = 30.0) -> None:
        """Wait until an expression in the page is true. ``MachineError`` if it never is."""
        deadline = time.monotonic() + seconds
        while not self.evaluate(condition):
            if time.monotonic() > deadline:
                raise MachineError(f"the page did not come to {condition}")
            time.sleep(0.05)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._loop.call(self._ask(method, parameters), _CALL_SECONDS)

    def _read_port(self) -> int:
        file, deadline = Path(self._folder.name, "DevToolsActivePort"), time.monotonic() + _START_SECONDS
        while not (file.exists() and file.read_text().strip()):
            if time.monotonic() > deadline:
                raise MachineError("Chromium does not start")
            time.sleep(0.05)
        return int(file.read_text().splitlines()[0])

    async def _connect(self, port: int) -> None:
        import aiohttp

        self._session = aiohttp.ClientSession()
        async with self._session.get(f"http://127.0.0.1:{port}/json/list") as response:
            pages = [page for page in await response.json(content_type=None) if page["type"] == "page"]
        self._socket = await self._session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0)

    async def _disconnect(self) -> None:
        if self._socket is not None:
            await self._socket.close()
        if self._session is not None:
            await self._session.close()

    async def _ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        number = self._number
        await self._socket.send_str(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads((await self._socket.receive()).data)
            if answer.get("id") == number:
                if "error" in answer:
                    raise MachineError(f"Chromium refuses {method} ({answer['error'].get('message')})")
                result: dict[str, Any] = answer["result"]
                return result
