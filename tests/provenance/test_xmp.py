"""XMP is read where it is, and any bytes are survived."""

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livefusion.core.errors import InputError, OutputError
from livefusion.provenance.label import SOURCE_TYPE_URI, xmp_packet
from livefusion.provenance.xmp import append_xmp, read_xmp

pytestmark = pytest.mark.unit

FTYP = struct.pack(">I4s", 16, b"ftyp") + b"isom\0\0\0\0"
LARGE = struct.pack(">I4sQ", 1, b"mdat", 24) + b"\0" * 8


@pytest.mark.parametrize("before", [b"", FTYP, FTYP + LARGE])
def test_a_packet_is_found_behind_everything_else(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(before)
    assert read_xmp(path) is None
    append_xmp(path, xmp_packet())
    packet = read_xmp(path)
    assert packet is not None
    assert SOURCE_TYPE_URI.encode() in packet


@pytest.mark.parametrize(
    "rest", [b"\0", struct.pack(">I4s", 4, b"free"), struct.pack(">I4s", 1 << 30, b"mdat")]
)
def test_a_file_that_was_cut_has_none(tmp_path: Path, rest: bytes) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(FTYP + rest)
    assert read_xmp(path) is None


@given(data=st.binary(max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(data)
    read_xmp(path)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_xmp(tmp_path / "none.mp4")
    with pytest.raises(OutputError):
        append_xmp(tmp_path / "none" / "a.mp4", b"")
