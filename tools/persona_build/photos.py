"""The licensed photos that personas are composed of: fetched by npm, checked by sha256, never committed."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import cv2
import numpy as np
import numpy.typing as npt

PACKAGE, VERSION, LICENCE = "@vladmandic/face-api", "1.7.15", "MIT"
ARCHIVE = "vladmandic-face-api-1.7.15.tgz"
SHA256: Mapping[str, str] = MappingProxyType(
    {
        "sample1.jpg": "8ecae4b267b2d3169e06e00c7dee97097aa2a94635d45216f7732a5f4943cb51",
        "sample2.jpg": "7d2b60ae6f13bf30f422e04df87451081a02c83de469056f25afb44b7000c691",
        "sample3.jpg": "8eb081c9efb14370fa94d9feab9e5fbeafd19a627491853a80c2bf67f7ffa936",
        "sample4.jpg": "729efa5923061d40eb4ed5f267a18cc7b8ba6f852bb2757b16d8b7e4937476fc",
        "sample5.jpg": "6d45095ebb182d8f975c0790e0e4eefd86fbb40609cf4b271776d92e12662938",
        "sample6.jpg": "9baad80f9d5e306fb9b8c0913d44445f1e95848df317530efb03d0934c57ba87",
    }
)


class BuildError(Exception):
    """The build cannot go on; the text is one line that says why and what to do."""


class PhotoStore:
    """A folder with the package's archive; one that is there already is used, without a network."""

    def __init__(self, folder: Path) -> None:
        self._archive = folder / ARCHIVE

    def load(self) -> dict[str, npt.NDArray[np.uint8]]:
        """All photos as (h, w, 3) uint8 RGB. ``BuildError`` if one cannot be had or is not the pinned one."""
        if not self._archive.exists():
            self._fetch()
        with tarfile.open(self._archive) as archive:
            return {name: self._read(archive, name) for name in SHA256}

    def _read(self, archive: tarfile.TarFile, name: str) -> npt.NDArray[np.uint8]:
        member = archive.extractfile(f"package/demo/{name}")
        content = member.read() if member is not None else b""
        digest = hashlib.sha256(content).hexdigest()
        if digest != SHA256[name]:
            raise BuildError(f"{name} has sha256 {digest}: delete {self._archive} and run again")
        bgr = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
        if bgr is None:
            raise BuildError(f"{name} is not a picture that OpenCV reads: use another OpenCV")
        return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), np.uint8)

    def _fetch(self) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise BuildError(f"npm is not installed: install it or put {ARCHIVE} into {self._archive.parent}")
        command = [npm, "pack", "--silent", f"{PACKAGE}@{VERSION}"]
        done = subprocess.run(command, cwd=self._archive.parent, stdout=subprocess.DEVNULL, check=False)
        if done.returncode or not self._archive.exists():
            raise BuildError(
                f"npm could not fetch {PACKAGE} {VERSION}: put {ARCHIVE} into {self._archive.parent}"
            )
