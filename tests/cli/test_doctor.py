"""doctor: each state of a machine gets its line and its remedy."""

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from livefusion.cli import doctor
from livefusion.cli.main import main
from livefusion.cli.probe import cuda, models, packages, system, virtual_camera
from livefusion.cli.probe.finding import Finding, State

pytestmark = pytest.mark.unit

GPU = {"name": "NVIDIA A", "memory": 16 * 2**30, "compute": [8, 9]}


def install(monkeypatch: pytest.MonkeyPatch, **versions: str | None) -> None:
    """Pretend that packages have these versions; None is not installed."""
    real = metadata.version

    def version(name: str) -> str:
        key = name.replace("-", "_")
        if key not in versions:
            return real(name)
        if versions[key] is None:
            raise metadata.PackageNotFoundError(name)
        return str(versions[key])

    monkeypatch.setattr(metadata, "version", version)


@pytest.mark.parametrize(
    ("versions", "state", "text"),
    [
        ({"onnxruntime": "1.32", "onnxruntime_gpu": None}, State.OK, "onnxruntime 1.32"),
        ({"onnxruntime": None, "onnxruntime_gpu": "1.31"}, State.OK, "onnxruntime-gpu 1.31"),
        ({"onnxruntime": "1.32", "onnxruntime_gpu": "1.31"}, State.BROKEN, "overwrite each other"),
        ({"onnxruntime": None, "onnxruntime_gpu": None}, State.BROKEN, "not installed"),
    ],
)
def test_one_onnx_runtime(
    versions: dict[str, str | None], state: State, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, **versions)
    [finding] = [finding for finding in packages.find_packages() if finding.name == "ONNX Runtime"]
    assert finding.state is state
    assert text in finding.detail
    assert bool(finding.remedy) is (state is not State.OK)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, av=None)
    [finding] = [finding for finding in packages.find_packages() if finding.name == "libraries"]
    assert (finding.state, finding.detail) == (State.BROKEN, "av missing")


@pytest.mark.parametrize(
    ("aiortc", "state", "detail"),
    [
        (None, State.LACKING, "aiortc missing: webrtc: and WHIP need aiortc and aiohttp"),
        ("1.16.0", State.OK, "aiortc 1.16.0, aiohttp 3.14"),
    ],
)
def test_what_webrtc_needs_is_not_needed_by_all(
    aiortc: str | None, state: State, detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, aiortc=aiortc, aiohttp="3.14")
    [finding] = [finding for finding in packages.find_packages() if finding.name == "WebRTC"]
    assert (finding.state, finding.detail) == (state, detail)


FOUND = {"release": "580.95.05", "driver": [13, 0], "devices": [GPU]}
OLD_GPU = GPU | {"name": "NVIDIA B", "compute": [7, 0]}


@pytest.mark.parametrize(
    ("answer", "findings"),
    [
        (
            {"error": "no NVIDIA driver (libcuda.so.1 is not there)"},
            [("CUDA", State.LACKING, "no NVIDIA driver (libcuda.so.1 is not there)")],
        ),
        (FOUND | {"devices": []}, [("CUDA", State.LACKING, "the driver is there, but no GPU")]),
        (
            FOUND,
            [
                ("NVIDIA driver", State.OK, "580.95.05, for CUDA up to 13.0"),
                ("GPU cuda:0", State.OK, "NVIDIA A, 16 GB, compute capability 8.9"),
            ],
        ),
        (
            {"release": "535.104", "driver": [12, 2], "devices": [GPU, OLD_GPU]},
            [
                ("NVIDIA driver", State.LACKING, "535.104, for CUDA up to 12.2: too old for CUDA 13"),
                ("GPU cuda:0", State.OK, "NVIDIA A, 16 GB, compute capability 8.9"),
                ("GPU cuda:1", State.LACKING, "NVIDIA B, 16 GB, compute capability 7.0: too old"),
            ],
        ),
        (
            FOUND | {"release": "", "devices": [OLD_GPU | {"compute": [7, 5]}]},
            [
                ("NVIDIA driver", State.OK, "release unknown, for CUDA up to 13.0"),
                ("GPU cuda:0", State.OK, "NVIDIA B, 16 GB, compute capability 7.5"),
            ],
        ),
        (
            FOUND | {"release": "", "driver": [12, 9]},
            [
                ("NVIDIA driver", State.LACKING, "release unknown, for CUDA up to 12.9: too old for CUDA 13"),
                ("GPU cuda:0", State.OK, "NVIDIA A, 16 GB, compute capability 8.9"),
            ],
        ),
    ],
)
def test_driver_and_gpus(answer: dict[str, object], findings: list[tuple[str, State, str]]) -> None:
    found = cuda.judge_cuda(answer)
    assert [(one.name, one.state, one.detail) for one in found] == findings
    assert all(bool(one.remedy) is (one.state is not State.OK) for one in found)


ALL = {"cupy_cuda13x": "14", "onnxruntime_gpu": "1.31", "nvidia_dali_cuda130": "2.4", "PyNvVideoCodec": "2.2"}


@pytest.mark.parametrize(
    ("lacks", "has_gpu", "state", "text", "remedy"),
    [
        ([], True, State.OK, "cupy-cuda13x 14, onnxruntime-gpu 1.31, nvidia-dali-cuda130 2.4", ""),
        ([], False, State.OK, "PyNvVideoCodec 2.2", ""),
        (
            ["onnxruntime_gpu", "PyNvVideoCodec"],
            True,
            State.LACKING,
            "onnxruntime-gpu, PyNvVideoCodec missing; there is cupy-cuda13x 14, nvidia-dali-cuda130 2.4",
            "uv sync --extra cuda",
        ),
        (list(ALL), True, State.LACKING, "PyNvVideoCodec missing", "uv sync --extra cuda"),
        (["cupy_cuda13x"], False, State.LACKING, "cupy-cuda13x missing", cuda.CPU_IS_ENOUGH),
        (list(ALL), False, None, "", ""),
    ],
)
def test_packages_for_the_gpu(
    lacks: list[str],
    has_gpu: bool,
    state: State | None,
    text: str,
    remedy: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda.sys, "platform", "linux")
    install(monkeypatch, **(ALL | dict.fromkeys(lacks)))
    found = cuda.judge_packages(has_gpu)
    if state is None:
        assert found == []
        return
    [finding] = found
    assert (finding.state, finding.remedy) == (state, remedy)
    assert text in finding.detail


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("import time; time.sleep(60)", "does not answer"),
        ("import os; os.abort()", "crashed"),
        ("print('hello')", "crashed"),
    ],
)
def test_a_driver_that_hangs_or_crashes_does_not_take_doctor_along(
    script: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child.py"
    child.write_text(script, encoding="utf-8")
    monkeypatch.setattr(cuda, "CHILD", child)
    monkeypatch.setattr(cuda, "PATIENCE", 0.5)
    finding = cuda.find_cuda()[0]
    assert finding.state is State.LACKING
    assert text in finding.detail


def test_virtual_camera_on_linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_camera.sys, "platform", "linux")
    [_, missing] = virtual_camera.find_virtual_camera(tmp_path / "none")
    assert missing.state is State.LACKING
    assert (
        'sudo modprobe v4l2loopback devices=1 exclusive_caps=1 card_label="LiveFusion (AI)"' in missing.remedy
    )
    assert "exclusive_caps=0" in missing.remedy
    (tmp_path / "video4").mkdir()
    (tmp_path / "video4" / "name").write_text("LiveFusion (AI)\n", encoding="utf-8")
    [_, there] = virtual_camera.find_virtual_camera(tmp_path)
    assert (there.state, there.detail) == (State.OK, "/dev/video4 (LiveFusion (AI))")


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_virtual_camera_elsewhere_is_that_of_obs(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_camera.sys, "platform", platform)
    [_, finding] = virtual_camera.find_virtual_camera()
    assert "OBS" in finding.detail


@pytest.mark.parametrize(("cores", "state"), [(1, State.LACKING), (2, State.OK)])
def test_processor(cores: int, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "usable_cores", lambda: cores)
    finding = system.find_system()[0]
    assert finding.state is state
    assert f"{cores} cores" in finding.detail


def test_damaged_models_stop_the_main_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVEFUSION_MODELS", str(tmp_path))
    [finding] = models.find_models()
    assert finding.state is State.BROKEN
    assert "no model registry" in finding.detail


def test_a_probe_that_fails_is_a_finding() -> None:
    def broken() -> list[Finding]:
        raise RuntimeError("odd machine")

    [finding] = doctor.examine((("thing", broken),))
    assert (finding.name, finding.state) == ("thing", State.LACKING)
    assert "RuntimeError: odd machine" in finding.detail


FINE = Finding("thing", State.OK, "all well")
LACKS = Finding("other", State.LACKING, "not there", "get one\nor two")
BROKEN = Finding("main", State.BROKEN, "gone", "bring it back")


@pytest.mark.parametrize(("findings", "status"), [([FINE, LACKS], 0), ([FINE, BROKEN], 3)])
def test_lines_json_and_status(
    findings: list[Finding],
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: findings)
    path = tmp_path / "doctor.json"
    assert main(["doctor", "--json", str(path)]) == status
    out, err = capsys.readouterr()
    assert "ok       thing           all well" in out
    assert err == ("" if status == 0 else "livefusion: error: main: gone: bring it back\n")
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["schema"] == "livefusion.doctor/1"
    assert document["fit"] is (status == 0)
    assert document["findings"][0] == {"name": "thing", "state": "ok", "detail": "all well", "remedy": ""}


def test_every_step_of_a_remedy_is_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: [LACKS])
    assert main(["doctor"]) == 0
    assert [line.strip() for line in capsys.readouterr().out.splitlines()[1:]] == ["→ get one", "→ or two"]


def test_json_to_stdout_is_json_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: [FINE])
    assert main(["doctor", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["fit"]


def test_json_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: [FINE])
    assert main(["doctor", "--json", str(tmp_path / "none" / "doctor.json")]) == 2


CUDA_STUB = """
int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int *version) { *version = 13010; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int index) { *device = index; return 0; }
int cuDeviceGetName(char *name, int length, int device) { name[0] = 'X'; name[1] = 0; return 0; }
int cuDeviceTotalMem_v2(unsigned long *bytes, int device) { *bytes = 1ul << 33; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) { *value = attribute - 70; return 0; }
"""
NVML_STUB = """
int nvmlInit_v2(void) { return STATUS; }
int nvmlSystemGetDriverVersion(char *text, unsigned length) { return __builtin_strcpy(text, "580.95") == 0; }
"""


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("gcc") is None, reason="stubs need gcc and Linux")
@pytest.mark.parametrize(("nvml", "release"), [(0, "580.95"), (9, ""), (None, "")])
def test_the_driver_is_asked_through_its_own_libraries(
    nvml: int | None, release: str, tmp_path: Path
) -> None:
    stubs = {"libcuda.so.1": CUDA_STUB}
    if nvml is not None:
        stubs["libnvidia-ml.so.1"] = NVML_STUB.replace("STATUS", str(nvml))
    for name, code in stubs.items():
        command = ["gcc", "-shared", "-fPIC", "-xc", "-", "-o", str(tmp_path / name)]
        subprocess.run(command, input=code, text=True, check=True)
    child = subprocess.run(
        [sys.executable, "-I", str(cuda.CHILD)],
        env=os.environ | {"LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(child.stdout) == {
        "release": release,
        "driver": [13, 1],
        "devices": [{"name": "X", "memory": 2**33, "compute": [5, 6]}],
    }
