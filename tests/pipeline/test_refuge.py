"""The CPU is made ready beside a run on CUDA, by a process of its own."""

import subprocess
import sys
from collections.abc import Sequence

import pytest

from livefusion.devices.cpu import CpuDevice
from livefusion.pipeline.refuge import prepare_refuge

pytestmark = pytest.mark.unit


class Gpu(CpuDevice):
    name = "cuda:0"


def test_the_operators_are_compiled_where_a_gpu_computes() -> None:
    commands: list[Sequence[str]] = []

    def start(command: Sequence[str]) -> "subprocess.Popen[bytes]":
        commands.append(command)
        return subprocess.Popen(command)

    prepare_refuge(Gpu(), start)
    assert [command[0] for command in commands] == [sys.executable]
    assert subprocess.run(commands[0], check=False).returncode == 0


def test_on_the_cpu_there_is_nothing_to_do() -> None:
    def start(command: Sequence[str]) -> "subprocess.Popen[bytes]":
        raise AssertionError(command)

    prepare_refuge(CpuDevice(), start)


def test_a_machine_that_starts_no_process_is_no_reason_to_stop() -> None:
    def start(command: Sequence[str]) -> "subprocess.Popen[bytes]":
        raise OSError("no more processes")

    prepare_refuge(Gpu(), start)
