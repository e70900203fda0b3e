"""``livefusion doctor``: what this machine has, and what to do about what it lacks."""

import argparse
import logging
import textwrap
from collections.abc import Callable
from pathlib import Path

from livefusion import __version__
from livefusion.cli.console import Console
from livefusion.cli.json_output import json_target, write_json
from livefusion.cli.parser import CommandParser
from livefusion.cli.probe.cameras import find_cameras
from livefusion.cli.probe.cuda import find_cuda
from livefusion.cli.probe.finding import Finding, State
from livefusion.cli.probe.models import find_models
from livefusion.cli.probe.nvcodec import find_nvcodec
from livefusion.cli.probe.packages import find_packages
from livefusion.cli.probe.streams import find_streams
from livefusion.cli.probe.system import find_system
from livefusion.cli.probe.virtual_camera import find_virtual_camera
from livefusion.core.errors import MachineError

_log = logging.getLogger(__name__)

SCHEMA = "livefusion.doctor/1"
NAME_WIDTH = 15
Probe = Callable[[], list[Finding]]
PROBES: tuple[tuple[str, Probe], ...] = (
    ("packages", find_packages),
    ("system", find_system),
    ("models", find_models),
    ("cameras", find_cameras),
    ("virtual camera", find_virtual_camera),
    ("streams", find_streams),
    ("CUDA", find_cuda),
    ("NVDEC and NVENC", find_nvcodec),
)


def parser() -> CommandParser:
    """The parser of ``livefusion doctor``."""
    made = CommandParser(
        "livefusion doctor",
        "What this machine has, and what to do about what it lacks. Changes nothing.\n"
        "Exit status 3 if the main job cannot run.",
        "livefusion doctor --json doctor.json",
    )
    made.add_argument(
        "--json", type=json_target, metavar="FILE|-", help="write the findings as JSON (- stdout)"
    )
    return made


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Look, tell, and give 0, or ``MachineError`` if something that every run needs is missing."""
    findings = examine()
    broken = [finding for finding in findings if finding.state is State.BROKEN]
    target: Path | None = arguments.json
    if target is not None:
        document = {
            "schema": SCHEMA,
            "version": __version__,
            "fit": not broken,
            "findings": [finding.as_json() for finding in findings],
        }
        write_json(target, document, console)
    if str(target) != "-":
        console.result("\n".join(map(_told, findings)))
    if broken:
        raise MachineError(f"{broken[0].name}: {broken[0].detail}", broken[0].remedy)
    return 0


def examine(probes: tuple[tuple[str, Probe], ...] = PROBES) -> list[Finding]:
    """Every probe's findings; a probe that fails is a finding itself."""
    findings: list[Finding] = []
    for name, probe in probes:
        try:
            findings += probe()
        except Exception as error:  # doctor exists for broken machines: no foreign fault may end it
            _log.debug("the probe of %s failed", name, exc_info=True)
            fault = f"could not be looked at ({type(error).__name__}: {error})"
            findings.append(Finding(name, State.LACKING, fault, "`livefusion doctor -vv` says more"))
    return findings


def _told(finding: Finding) -> str:
    line = f"{finding.state:<8} {finding.name:<{NAME_WIDTH}} {finding.detail}"
    if not finding.remedy:
        return line
    indent = " " * (9 + NAME_WIDTH + 1)
    return f"{line}\n{textwrap.indent(finding.remedy, indent + '→ ')}"
