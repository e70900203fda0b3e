"""The licensed photos whose faces are covered for training: fetched by npm, checked, never committed."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

Rgb = npt.NDArray[np.uint8]


class BuildError(Exception):
    """The build cannot go on; the text is one line that says why and what to do."""


@dataclass(frozen=True, slots=True)
class Package:
    """An npm package: sha256 of its archive, a pattern of its photos, and those that are left out."""

    name: str
    version: str
    licence: str
    sha256: str
    pattern: str
    without: tuple[str, ...] = ()

    @property
    def archive(self) -> str:
        """File name that `npm pack` gives."""
        return f"{self.name.removeprefix('@').replace('/', '-')}-{self.version}.tgz"


# Left out are photos of people with glasses, of covered faces, and those that another package has too.
PACKAGES = (
    Package(
        "tabler-ui",
        "0.0.34",
        "MIT",
        "04167737bbd743dc4f504b5a0f38bf0afe3e79b75352f057c22dbd79d276c899",
        r"dist/demo/faces/.*\.jpg",
        ("female/21.", "female/24.", "female/26.", "female/27.", "female/30.", "/male/14.", "/male/39."),
    ),
    Package(
        "admin-lte",
        "3.2.0",
        "MIT",
        "92650fb9e582b9e01f691693be79b1213608a6282a7f062c139bfeafc8593df5",
        r"dist/img/user.*\.jpg",
        ("user2", "user5", "user7"),
    ),
    Package(
        "gentelella",
        "1.4.0",
        "MIT",
        "9ecb0a1a91b7aea06bdaefd0855fe91f73096cf03a9365cacbb0e645176aee20",
        r"production/images/(img|picture|media)\.jpg",
    ),
    Package(
        "soft-ui-dashboard",
        "1.0.1",
        "MIT",
        "a829e661517184f7a7a84f6cc86efa17a65d91e30807b6d2bf631bb34d94f1ee",
        r"assets/img/(ivana-square|ivancik|kal-visuals-square|marie|team-.)\.jpg",
        ("team-2", "team-3"),
    ),
    Package(
        "@creative-tim-official/argon-dashboard-free",
        "1.2.0",
        "MIT",
        "0bc231aaf0cfc5425d67068dae6ea066a4c6228fee925823e54dfaa1b42b567a",
        r"assets/img/theme/team-.\.jpg",
        ("team-1", "team-5"),
    ),
    Package(
        "material-dashboard",
        "3.1.0",
        "MIT",
        "424b8c15e9446bae383106122e22e37a349139ee6fb4b94e214a6ffabc8b41b0",
        r"assets/img/(ivana-squares|ivancik|kal-visuals-square|meeting|team-.)\.jpg",
        ("team-2", "team-3"),
    ),
    Package(
        "material-kit",
        "2.0.4",
        "MIT",
        "543712c988b2697c61a7ef6c9527ebf850b21b56e1bdfd7258fc6d333f725602",
        r"assets/img/(faces/|examples/)?[^/]*\.jpg",
        (
            "onojegaw",
            "georgieva",
            "studio-3",
            "kendall",
            "card-profile2",
            "card-profile4",
            "img/profile",
            "faces/avatar",
        ),
    ),
    Package(
        "soft-ui-design-system",
        "1.0.4",
        "MIT",
        "b999a9fe6dc31469bcb498c9d0560ac17060d76957abe7f1cb1c2dddf61a5095",
        r"assets/img/.*\.jpe?g",
        ("brooke", "bruce-mars", "kal-visuals", "jordan", "heftiba", "team-2", "team-3"),
    ),
    Package(
        "shards-ui",
        "3.0.0",
        "MIT",
        "cbcfcb9d94f752c4ac5ddec9bf3ed75b53a9579f35c21259359fcd376306e976",
        r"dist/images/.*\.jpe?g",
        ("card-3", "stock-photos/3"),
    ),
    Package(
        "sneat-bootstrap-html-admin-template-free",
        "1.0.0",
        "MIT",
        "93c4f08f8c618dc956ac0371dd355e14e746ec62bd94655dd16c2531d063352b",
        r"assets/img/(avatars|elements)/.*\.(png|jpg)",
        ("avatars/5",),
    ),
    Package(
        "@themesberg/volt-bootstrap-5-dashboard",
        "1.4.1",
        "MIT",
        "6e775352a0fd8e6a337e7cce7cab1babb9b69983f926fdb136c693cc4a924966",
        r"src/assets/img/.*\.(jpg|png)",
        ("picture-2", "picture-4"),
    ),
    Package(
        "@vladmandic/face-api",
        "1.7.15",
        "MIT",
        "0d77fffeef362ef9c0939cf6c567f3a2e8e177f114fa257a3270cbd2e509b031",
        r"demo/.*\.jpg",
    ),
)


def photos(folder: Path) -> Iterator[tuple[str, Rgb]]:
    """Name and (h, w, 3) uint8 RGB of each photo, each once. ``BuildError`` if a package cannot be had.

    Archives that lie in ``folder`` are used, without a network.
    """
    seen: set[str] = set()
    for package in PACKAGES:
        with tarfile.open(_archive(package, folder)) as archive:
            for member in sorted(archive.getnames()):
                if not _wanted(package, member):
                    continue
                file = archive.extractfile(member)
                content = file.read() if file is not None else b""
                digest = hashlib.sha256(content).hexdigest()
                bgr = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
                if digest not in seen and bgr is not None:
                    seen.add(digest)
                    yield f"{package.name}/{member}", np.asarray(bgr[..., ::-1], np.uint8).copy()


def _wanted(package: Package, member: str) -> bool:
    inside = re.fullmatch(f"package/{package.pattern}", member) is not None
    return inside and not any(name in member for name in package.without)


def _archive(package: Package, folder: Path) -> Path:
    path = folder / package.archive
    if not path.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise BuildError(f"npm is not installed: install it or put {path.name} into {folder}")
        command = [npm, "pack", "--silent", f"{package.name}@{package.version}"]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
        if done.returncode or not path.exists():
            raise BuildError(f"npm could not fetch {package.archive}: put it into {folder}")
    if hashlib.sha256(path.read_bytes()).hexdigest() != package.sha256:
        raise BuildError(f"{path} is not the pinned package: delete it and run again")
    return path
