"""PyNvVideoCodec with half a driver: the contract with its wheel, and our words for its faults."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from stub_driver import build_stubs

from livefusion.core.errors import DeviceError
from livefusion.media.nvcodec.capabilities import NO_NVENC
from livefusion.media.nvcodec.module import load_module

_NO_ENCODER, _UNSUPPORTED, _GENERIC = 1, 2, 20
"""``NVENCSTATUS``: no encode device, unsupported device, generic error."""

pytestmark = [
    pytest.mark.gpu_wheels,
    pytest.mark.skipif(sys.platform != "linux", reason="builds stub libraries for Linux"),
]


@pytest.fixture(scope="module")
def extensions() -> list[Path]:
    """The native parts of the wheel."""
    assert shutil.which("gcc"), "the stubs of the driver need gcc and nm"
    assert shutil.which("nm"), "the stubs of the driver need gcc and nm"
    package = find_spec("PyNvVideoCodec")
    assert package is not None
    assert package.origin is not None
    return list(Path(package.origin).parent.glob("PyNvVideoCodec_*.so"))


def test_the_contract_with_the_wheel(extensions: list[Path], tmp_path: Path) -> None:
    contract = Path(__file__).with_name("contract_nvcodec.py")
    done = _run(
        build_stubs(extensions, tmp_path, _GENERIC), "-m", "pytest", "-p", "no:cacheprovider", str(contract)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


@pytest.mark.parametrize(
    ("status", "words"),
    [(_NO_ENCODER, NO_NVENC), (_UNSUPPORTED, NO_NVENC), (_GENERIC, "asking what it encodes")],
)
def test_a_gpu_without_an_encoder_is_told_from_a_driver_that_fails(
    status: int, words: str, extensions: list[Path], tmp_path: Path
) -> None:
    ask = "from livefusion.media.nvcodec.probe import probe_codecs; print(probe_codecs(0).no_encoder)"
    done = _run(build_stubs(extensions, tmp_path, status), "-c", ask)
    assert words in done.stdout, done


def test_without_a_driver_the_import_fails_in_our_words() -> None:
    if "PyNvVideoCodec" in sys.modules:
        pytest.skip("there is an NVIDIA driver here")
    with pytest.raises(DeviceError, match="NVDEC and NVENC are not there") as told:
        load_module()
    assert "NVIDIA_DRIVER_CAPABILITIES" in told.value.remedy
    assert "\n" not in str(told.value)


def _run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)
