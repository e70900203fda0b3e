"""What is asked of a GPU's video engines comes back in words, whatever becomes of the process that asks."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from livefusion.cli.probe import nvcodec
from livefusion.cli.probe.finding import State
from livefusion.core.errors import DeviceError
from livefusion.core.geometry import Size
from livefusion.devices import select
from livefusion.devices.cpu import CpuDevice
from livefusion.media.nvcodec import codecs, module, probe
from livefusion.media.nvcodec.capabilities import NO_NVENC, Capabilities, Engine
from livefusion.media.nvcodec.choose import ChosenEncoder, choose_decoder
from livefusion.media.nvcodec.codecs import open_codecs

pytestmark = pytest.mark.unit

CAPS = {
    "supported": 1,
    "num_decoder_engines": 2,
    "width_min": 48,
    "height_min": 16,
    "width_max": 4096,
    "height_max": 2304,
}
NONE = {**CAPS, "supported": 0, "num_decoder_engines": 0, "width_max": 0}
ENCODER_CAPS = {"num_encoder_engines": 3, "width_max": 4096, "height_max": 4096}
REFUSED = "PyNvEncoderCaps : \nError code : 2\nError Type : OpenEncodeSessionEx failed\nat x.cpp:1\n"
ADVICE = "libnvidia-encode.so.1: cannot open shared object file\n\n=== TROUBLESHOOTING STEPS ===\n\nlong"


def text(capabilities: Capabilities) -> str:
    return f"{capabilities.no_decoder}|{capabilities.no_encoder}"


def test_what_a_gpu_says_is_understood() -> None:
    decoding = [
        {"step": "loading"},
        {"codec": "h264", "caps": CAPS},
        {"codec": "hevc", "caps": NONE},
        {"codec": "av1", "refused": "Codec not supported on this GPU"},
        {"opened": True},
    ]
    capabilities = probe.judge_codecs(decoding, [{"caps": ENCODER_CAPS}, {"opened": True}])
    assert capabilities == Capabilities(
        {"h264": Engine(Size(48, 16), Size(4096, 2304), 2)}, Engine(Size(2, 2), Size(4096, 4096), 3)
    )
    assert capabilities.decoder_refusal("h264", Size(1920, 1080)) == ""
    assert capabilities.decoder_refusal("av1", Size(1920, 1080)) == "this GPU does not decode AV1"
    assert "up to 4096x2304" in capabilities.decoder_refusal("h264", Size(4096, 4096))
    assert capabilities.encoder_refusal(Size(64, 48)) == ""


@pytest.mark.parametrize(
    ("decoding", "encoding", "says"),
    [
        ([{"step": "asking"}, {"died": 1}], [{"died": -11}], "asking ends the process (exit status 1)"),
        ([{"step": "opening a decoder"}, {"timeout": 20.0}], [], "answer within 20 s when opening a decoder"),
        ([{"codec": "h264", "caps": NONE}], [], "decodes none of"),
        (
            [{"step": "opening a decoder"}, {"fault": "PyNv : \nError code : 3\nError Type : no memory"}],
            [],
            "(no memory)",
        ),
        ([{"unloadable": ADVICE}], [], "NVIDIA_DRIVER_CAPABILITIES=compute,utility,video"),
        ([{"unloadable": "No module named 'PyNvVideoCodec'"}], [], "not installed"),
        ([{"unloadable": "Driver version is too old"}], [], "too old"),
        ([], [{"step": "asking what it encodes"}, {"fault": REFUSED}], NO_NVENC),
        (
            [],
            [{"caps": ENCODER_CAPS}, {"step": "opening an encoder"}, {"fault": REFUSED}],
            "opening an encoder fails",
        ),
        ([], [{"caps": {"num_encoder_engines": 0}}, {"opened": True}], "|"),
    ],
)
def test_what_is_missing_is_said_in_a_line(
    decoding: list[dict[str, Any]], encoding: list[dict[str, Any]], says: str
) -> None:
    capabilities = probe.judge_codecs(decoding, encoding)
    assert says in text(capabilities)
    assert "\n" not in text(capabilities)
    if encoding:
        assert capabilities.encoder is None


CHILDREN = {
    "dies": ('print(\'{"step": "opening a decoder"}\', flush=True); import os; os._exit(3)', "exit status 3"),
    "hangs": (
        'print(\'{"step": "asking"}\', flush=True); import time; time.sleep(60)',
        "does not answer within",
    ),
    "says nothing": ("pass", "starting ends the process"),
    "prints on": (
        "print('[FATAL] CUDA driver API error'); print('[1, 2]'); print('nonsense')",
        "exit status 0",
    ),
}


@pytest.mark.parametrize("name", CHILDREN)
def test_a_child_may_do_what_it_likes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, says = CHILDREN[name]
    child = tmp_path / "child.py"
    child.write_text(script)
    monkeypatch.setattr(probe, "CHILD", child)
    monkeypatch.setattr(probe, "PATIENCE", 1.0 if name == "hangs" else 20.0)
    capabilities = probe._ask.__wrapped__(0)
    assert says in capabilities.no_decoder
    assert says in capabilities.no_encoder


@pytest.mark.parametrize("what", ["decode", "encode"])
def test_the_child_tells_of_a_machine_without_the_package(what: str) -> None:
    if nvcodec.version_of("PyNvVideoCodec") is not None:
        pytest.skip("the package is installed")
    command = [sys.executable, "-I", str(probe.CHILD), what, "0", *(("h264",) if what == "decode" else ())]
    child = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    lines = probe._parsed(child.stdout)
    assert lines[0] == {"step": "loading PyNvVideoCodec"}
    assert "PyNvVideoCodec" in lines[1]["unloadable"]
    assert "is not installed" in probe.judge_codecs(lines, lines).no_decoder


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        (ADVICE, "libraries for NVDEC and NVENC"),
        ("Driver version is too old", "too old"),
        ("Module not found: x.so", "does not load (Module not found: x.so)"),
        ("", "no reason given"),
    ],
)
def test_an_import_that_fails_is_one_line_with_a_remedy(problem: str, says: str) -> None:
    error = module.import_failure(problem)
    assert says in error.problem
    assert error.remedy
    assert "\n" not in str(error)


class Gpu(CpuDevice):
    """A CPU that calls itself a GPU."""

    @property
    def name(self) -> str:
        return "cuda:1"


def test_only_a_gpu_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def answer(gpu: int) -> Capabilities:
        asked.append(gpu)
        return Capabilities(no_decoder="the driver does not answer", no_encoder=NO_NVENC)

    monkeypatch.setattr(codecs, "probe_codecs", answer)
    assert open_codecs(CpuDevice()) is None
    assert not asked
    with pytest.raises(DeviceError, match="does not answer"):
        open_codecs(Gpu())
    assert asked == [1]


def test_a_gpu_without_engines_is_a_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    import av

    nothing = Capabilities(no_decoder="the driver does not answer", no_encoder=NO_NVENC)
    monkeypatch.setattr(codecs, "probe_codecs", lambda gpu: nothing)

    class Stream:
        codec_context = av.CodecContext.create("h264", "r")

    [fallback] = choose_decoder(Stream(), Gpu()).fallbacks
    assert (fallback.wanted, fallback.got) == ("nvdec", "software")
    assert "does not answer" in fallback.reason
    assert choose_decoder(Stream(), CpuDevice()).fallbacks == ()
    encoder = ChosenEncoder(Gpu())
    assert encoder.fallbacks == ()


ENGINE = Engine(Size(48, 16), Size(4096, 4096), 2)


@pytest.mark.parametrize(
    ("capabilities", "decoder", "encoder"),
    [
        (
            Capabilities({"h264": ENGINE, "hevc": ENGINE}, ENGINE),
            (State.OK, "H.264 up to 4096x4096, HEVC up to 4096x4096; not VP9, AV1"),
            (State.OK, "H.264 up to 4096x4096, 2 engines"),
        ),
        (
            Capabilities({"h264": ENGINE}, None, no_encoder=NO_NVENC),
            (State.OK, "not HEVC"),
            (State.LACKING, "no NVENC"),
        ),
        (Capabilities(no_decoder="x", no_encoder="y"), (State.LACKING, "x"), (State.LACKING, "y")),
        (Capabilities({"h264": ENGINE}), (State.OK, "H.264"), (State.LACKING, "does not encode")),
    ],
)
def test_doctor_tells_both(
    capabilities: Capabilities, decoder: tuple[State, str], encoder: tuple[State, str]
) -> None:
    for finding, (state, says) in zip(nvcodec.judge_nvcodec(capabilities), (decoder, encoder), strict=True):
        assert finding.state is state
        assert says in finding.detail
        assert bool(finding.remedy) is (state is not State.OK)


def no_library(name: str) -> None:
    raise OSError(f"{name}: cannot open shared object file")


def test_doctor_says_nothing_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvcodec, "version_of", lambda name: "2.2.4")
    with monkeypatch.context() as patch:
        patch.setattr(select.ctypes, "CDLL", no_library)
        assert nvcodec.find_nvcodec() == []
    monkeypatch.setattr(nvcodec, "missing_driver", lambda: "")
    monkeypatch.setattr(nvcodec, "probe_codecs", lambda gpu: Capabilities({"h264": ENGINE}, ENGINE))
    assert [finding.name for finding in nvcodec.find_nvcodec()] == ["NVDEC", "NVENC"]
