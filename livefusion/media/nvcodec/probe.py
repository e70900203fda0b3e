"""What the video engines of a GPU can do, asked in child processes that may hang or crash."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from livefusion.core.geometry import Size
from livefusion.media.nvcodec.capabilities import CODECS, NO_NVENC, Capabilities, Engine
from livefusion.media.nvcodec.module import INSTALL, import_failure, reason_of

CHILD = Path(__file__).with_name("probe_child.py")
PATIENCE = 20.0
"""Seconds; a driver that wakes a sleeping GPU takes up to ten."""

_SMALLEST, _LARGEST = Size(2, 2), Size(4096, 4096)
# NvEncodeAPI's numbers for a GPU without an encoder: no such device, unsupported device.
_NO_ENCODER = re.compile(r"Error code : [12]\b")


_asking = threading.Lock()


def probe_codecs(gpu: int) -> Capabilities:
    """What a GPU can do; asked once in the life of the process, whoever of its threads comes first."""
    with _asking:
        return _ask(gpu)


@cache
def _ask(gpu: int) -> Capabilities:
    children = [_start("decode", gpu, *CODECS), _start("encode", gpu)]
    decoding, encoding = (_answers(child) for child in children)
    return judge_codecs(decoding, encoding)


def judge_codecs(
    decoding: Sequence[Mapping[str, Any]], encoding: Sequence[Mapping[str, Any]]
) -> Capabilities:
    """The capabilities behind the lines that the two children said."""
    decoders = {
        str(line["codec"]): engine
        for line in decoding
        if "caps" in line and (engine := _engine(line["caps"], "num_decoder_engines")) is not None
    }
    no_decoder = _failure(decoding)
    if not no_decoder and not decoders:
        no_decoder = "this GPU decodes none of H.264, HEVC, VP9 and AV1"
    encoder = next(
        (_engine(line["caps"], "num_encoder_engines") for line in encoding if "caps" in line), None
    )
    no_encoder = _encoder_failure(encoding)
    return Capabilities(decoders, None if no_encoder else encoder, no_decoder, no_encoder)


def _start(*arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-I", str(CHILD), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _answers(child: "subprocess.Popen[str]") -> list[dict[str, Any]]:
    """The lines of a child; the last one says how it ended if that was not well."""
    try:
        output, _ = child.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        output, _ = child.communicate()
        return [*_parsed(output), {"timeout": PATIENCE}]
    lines = _parsed(output)
    return lines if child.returncode == 0 and lines else [*lines, {"died": child.returncode}]


def _parsed(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines() if _is_json(line)]


def _is_json(line: str) -> bool:
    """Whether a line is the child's own: the libraries print there too."""
    try:
        return isinstance(json.loads(line), dict)
    except json.JSONDecodeError:
        return False


def _failure(lines: Iterable[Mapping[str, Any]]) -> str:
    """What went wrong in a child, in words, or nothing."""
    step = ""
    for line in lines:
        step = str(line.get("step", step))
        if "unloadable" in line:
            return _unloadable(str(line["unloadable"]))
        if "fault" in line:
            return f"{step} fails ({reason_of(str(line['fault']))})"
        if "timeout" in line:
            return f"the driver does not answer within {line['timeout']:.0f} s when {step or 'started'}"
        if "died" in line:
            return f"{step or 'starting'} ends the process (exit status {line['died']})"
    return ""


def _unloadable(text: str) -> str:
    if "No module named" in text:
        return f"PyNvVideoCodec is not installed: {INSTALL}"
    return str(import_failure(text))


def _encoder_failure(lines: Sequence[Mapping[str, Any]]) -> str:
    fault = next((str(line["fault"]) for line in lines if "fault" in line), "")
    if _NO_ENCODER.search(fault) and not any("caps" in line for line in lines):
        return NO_NVENC
    return _failure(lines)


def _engine(caps: Mapping[str, int], count: str) -> Engine | None:
    """The engine that a library's dictionary describes; None if it says that there is none."""
    engines = caps.get(count, 1)
    if not engines or not caps.get("supported", 1) or not caps.get("width_max", 1):
        return None
    return Engine(
        Size(caps.get("width_min", _SMALLEST.width), caps.get("height_min", _SMALLEST.height)),
        Size(caps.get("width_max", _LARGEST.width), caps.get("height_max", _LARGEST.height)),
        engines,
    )
