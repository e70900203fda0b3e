"""What a run records is known again: as it is, encoded anew, killed and signed later; and nothing else is."""

import json
import os
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from livefusion.cli.main import main
from livefusion.core.errors import InputError
from livefusion.core.settings import Pace, Settings
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.seal import seal
from livefusion.pipeline.verify import verify
from livefusion.provenance.chips import EPOCH_SECONDS
from livefusion.provenance.label import SOURCE_TYPE_URI
from livefusion.provenance.manifest import can_sign, manifest_state, sidecar_of

pytestmark = pytest.mark.media

SECONDS = 5
"""Of 3 s that were encoded anew, one payload of some twenty could not be read."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVEFUSION_HOME", str(home))


@pytest.fixture(scope="module")
def recorded(home: Path) -> tuple[Path, Path, dict[str, Any]]:
    """A recording as MP4 and as Matroska, and the report of its run."""
    paths = home / "a.mp4", home / "a.mkv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIVEFUSION_HOME", str(home))
        settings = Settings(
            input="performer:?face=150&size=640x360",
            output=tuple(map(str, paths)),
            pace=Pace.FAST,
            duration=SECONDS,
        )
        pipeline = Pipeline(settings)
        try:
            pipeline.start()
            pipeline.wait()
        finally:
            pipeline.stop()
    return *paths, pipeline.report()


@pytest.mark.parametrize("index", [0, 1])
def test_everything_in_a_recording_says_what_it_is(
    recorded: tuple[Path, Path, dict[str, Any]], index: int
) -> None:
    report = recorded[2]
    said = verify(str(recorded[index])).as_json()
    json.dumps(said)
    assert said["altered"]
    assert said["watermark"]["detected"]
    assert said["watermark"]["payload"] == report["watermark"]
    assert said["sei"]["count"] == SECONDS
    assert said["sei"]["notice"]["id"].startswith(report["watermark"]["session"])
    assert said["metadata"]["digitalSourceType"] == SOURCE_TYPE_URI
    assert said["metadata"]["aigc"]["Label"] == "1"
    assert said["metadata"]["xmp"] == (index == 0)
    if can_sign():
        assert said["c2pa"]["state"] == "valid"
        assert said["c2pa"]["source_types"] == (SOURCE_TYPE_URI,)


def test_a_recording_of_nothing_but_slates_is_known_like_any_other(home: Path) -> None:
    """Across an epoch's end, as an output keeps it that shows the slate itself."""
    path = home / "slates.mp4"
    seconds = EPOCH_SECONDS + 4
    pipeline = Pipeline(
        Settings(
            input="performer:?face=150&size=640x360", output=(str(path),), duration=seconds, pace=Pace.FAST
        )
    )
    pipeline.panic.engage()
    try:
        pipeline.start()
        pipeline.wait()
    finally:
        pipeline.stop()
    report = pipeline.report()
    said = verify(str(path)).as_json()
    assert report["outputs"][0]["slates"] == report["outputs"][0]["frames"] == said["pictures"]
    assert said["watermark"]["payload"] == report["watermark"]
    assert said["watermark"]["windows"] == {"total": seconds // 2, "detected": seconds // 2}
    assert said["sei"]["found"]


def test_a_file_that_was_encoded_anew_keeps_the_watermark_alone(
    recorded: tuple[Path, Path, dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "again.mp4"
    with av.open(str(recorded[0])) as source, av.open(str(path), "w") as target:
        stream: Any = target.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = 854, 480, "yuv420p", 1_000_000
        for frame in source.decode(video=0):
            plain = frame.reformat(854, 480, "yuv420p")
            plain.pts, plain.time_base = frame.pts, frame.time_base
            target.mux(stream.encode(plain))
        target.mux(stream.encode(None))
    said = verify(str(path)).as_json()
    assert said["watermark"]["detected"]
    assert said["watermark"]["payload"] == recorded[2]["watermark"]
    assert not said["sei"]["found"]
    assert not said["metadata"]["found"]
    assert said["c2pa"]["state"] in {"none", "not-installed"}


def test_a_foreign_file_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "foreign.mp4"
    rng = np.random.default_rng(0)
    with av.open(str(path), "w") as target:
        stream: Any = target.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        for number in range(12):
            picture = rng.integers(0, 256, (360, 320), np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 30)
            target.mux(stream.encode(frame))
        target.mux(stream.encode(None))
    said = verify(str(path)).as_json()
    assert not said["altered"]
    assert not said["watermark"]["detected"]


@pytest.mark.parametrize("content", [b"", b"no video at all", b"\0" * 5000])
def test_what_is_no_video_is_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(content)
    with pytest.raises(InputError):
        verify(str(path))


@pytest.mark.skipif(not can_sign(), reason="c2pa-python is not installed")
@pytest.mark.parametrize("index", [0, 1])
def test_a_change_after_the_signature_is_noticed(
    recorded: tuple[Path, Path, dict[str, Any]], index: int, tmp_path: Path
) -> None:
    path = tmp_path / f"changed{recorded[index].suffix}"
    data = bytearray(recorded[index].read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    if index == 1:
        shutil.copy(sidecar_of(recorded[1]), sidecar_of(path))
    assert manifest_state(path).state == "invalid"


@pytest.mark.skipif(not can_sign(), reason="c2pa-python is not installed")
@pytest.mark.parametrize("change", ["longer", "shorter"])
def test_a_signature_beside_a_file_covers_its_length(
    recorded: tuple[Path, Path, dict[str, Any]], change: str, tmp_path: Path
) -> None:
    path, data = tmp_path / "a.mkv", recorded[1].read_bytes()
    path.write_bytes(data + b"\0" if change == "longer" else data[:-1])
    shutil.copy(sidecar_of(recorded[1]), sidecar_of(path))
    assert manifest_state(path).state == "invalid"


@pytest.mark.skipif(not can_sign(), reason="c2pa-python is not installed")
@pytest.mark.parametrize("content", [b"", b"no manifest", b"\0" * 5000])
def test_a_damaged_signature_beside_a_file_is_said(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.mkv"
    path.write_bytes(b"any bytes")
    sidecar_of(path).write_bytes(content)
    assert manifest_state(path).state == "unreadable"


def test_a_matroska_file_alone_has_no_signature(
    recorded: tuple[Path, Path, dict[str, Any]], tmp_path: Path
) -> None:
    shutil.copy(recorded[1], tmp_path / "alone.mkv")
    assert manifest_state(tmp_path / "alone.mkv").state == "none"


@pytest.mark.skipif(not can_sign(), reason="c2pa-python is not installed")
def test_a_matroska_file_that_was_cut_off_is_signed_beside_it(
    recorded: tuple[Path, Path, dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "killed.mkv"
    data = recorded[1].read_bytes()
    path.write_bytes(data[: len(data) * 9 // 10])
    assert main(["sign", str(path)]) == 0
    assert "signed, in killed.c2pa" in capsys.readouterr().out
    assert verify(str(path)).manifest.state == "valid"
    assert path.read_bytes() == data[: len(data) * 9 // 10], "the file itself stays as it was"
    assert main(["sign", str(path)]) == 0
    assert "signed already" in capsys.readouterr().out


@pytest.mark.skipif(not can_sign(), reason="c2pa-python is not installed")
def test_what_was_cut_off_can_be_signed_later(
    recorded: tuple[Path, Path, dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "later.mp4"
    with av.open(str(recorded[1])) as source, av.open(str(path), "w") as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    assert manifest_state(path).state == "none"
    assert seal(path, "c0de-2a")
    assert manifest_state(path).state == "valid"
    twice = tmp_path / "twice.mp4"
    shutil.copy(path, twice)
    assert verify(str(twice)).watermark.detected


@pytest.mark.parametrize("what", ["a text", "nothing", "a folder", "a missing file", "a pipe", "a stream"])
def test_what_is_no_video_is_told_by_name_and_at_once(tmp_path: Path, what: str) -> None:
    path = tmp_path / "clip.mp4"
    if what in ("a text", "nothing"):
        path.write_text("hello\n" if what == "a text" else "", encoding="utf-8")
    elif what == "a folder":
        path.mkdir()
    elif what == "a pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("pipes have no names here")
        os.mkfifo(path)
    target = "rtmp://ana:hunter2@127.0.0.1:9/app/hunter2" if what == "a stream" else str(path)
    with pytest.raises(InputError) as caught:
        verify(target, keys=())
    assert "127.0.0.1" in str(caught.value) if what == "a stream" else path.name in str(caught.value)
    assert "hunter2" not in str(caught.value)
