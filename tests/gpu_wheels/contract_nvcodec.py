"""PyNvVideoCodec as its wheel is. ``test_nvcodec`` runs this in a process that finds stubs of a driver."""

import inspect
from dataclasses import fields
from enum import EnumMeta
from pathlib import Path

import numpy as np
import PyNvVideoCodec
import pytest
from signatures import fault, signatures
from uses import ROOT, Chain, uses

from livefusion.media.nvcodec.capabilities import CODECS
from livefusion.media.nvcodec.module import load_module, reason_of
from livefusion.media.nvcodec.probe import probe_codecs
from livefusion.media.nvcodec.settings import ARGUMENTS
from livefusion.testing.nvcodec import PacketData, StandInModule
from livefusion.testing.nvdec import StandInDecoder, StandInFrame
from livefusion.testing.nvenc import ReconfigureParams, StandInEncoder

KNOWN: dict[str, Chain] = dict.fromkeys(("module", "_module", "PyNvVideoCodec"), ("PyNvVideoCodec",))
METHODS = {
    "PyNvDecoder": {"Decode"},
    "DecodedFrame": {"cuda", "getPTS", "format", "timestamp"},
    "PyNvEncoder": {"Encode", "EndEncode", "GetEncodeReconfigureParams", "Reconfigure"},
}


def test_everything_we_use_exists_and_is_called_rightly() -> None:
    found = uses(ROOT / "livefusion" / "media" / "nvcodec", "PyNvVideoCodec", KNOWN)
    used = {use.chain[-1] for use in found}
    assert {"CreateDecoder", "CreateEncoder", "GetDecoderCaps", "GetEncoderCaps", "PacketData"} <= used
    assert [message for use in found if (message := fault(PyNvVideoCodec, use))] == []


@pytest.mark.parametrize(("kind", "names"), METHODS.items())
def test_what_it_gives_has_the_methods_we_call(kind: str, names: set[str]) -> None:
    assert names <= set(dir(getattr(PyNvVideoCodec, kind)))


def test_the_door_lets_it_in() -> None:
    assert load_module() is PyNvVideoCodec


def test_it_names_the_codecs_that_we_decode() -> None:
    assert {codec.upper() for codec in CODECS} <= set(PyNvVideoCodec.cudaVideoCodec.__members__)


def test_it_has_a_latency_without_delay_and_the_flags_for_it() -> None:
    assert {"LOW", "NATIVE"} <= set(PyNvVideoCodec.DisplayDecodeLatencyType.__members__)
    assert {"ENDOFPICTURE", "ENDOFSTREAM"} <= set(PyNvVideoCodec.VideoPacketFlag.__members__)


def test_key_frames_can_be_asked_for_with_their_parameter_sets() -> None:
    flags = PyNvVideoCodec.NV_ENC_PIC_FLAGS
    assert int(flags.FORCEIDR) & int(flags.OUTPUT_SPSPPS) == 0
    assert {int(flags.FORCEIDR), int(flags.OUTPUT_SPSPPS)} == {2, 4}  # as in nvEncodeAPI.h


def test_a_packet_takes_bytes_in_our_memory() -> None:
    data = np.zeros(16, np.uint8)
    packet = PyNvVideoCodec.PacketData()
    packet.bsl_data, packet.bsl = data.ctypes.data, data.size
    packet.pts = packet.dts = 1 << 40
    packet.decode_flag = int(PyNvVideoCodec.VideoPacketFlag.ENDOFPICTURE)
    assert (packet.bsl_data, packet.bsl, packet.pts) == (data.ctypes.data, 16, 1 << 40)


@pytest.mark.parametrize("name", ["averageBitrate", "maxBitRate", "vbvBufferSize", "vbvInitialDelay"])
def test_the_bitrate_of_an_encoder_can_be_changed(name: str) -> None:
    parameters = PyNvVideoCodec.structEncodeReconfigureParams()
    setattr(parameters, name, 3_000_000)
    assert getattr(parameters, name) == 3_000_000


def test_without_a_gpu_the_encoder_says_so_in_a_form_that_we_read() -> None:
    with pytest.raises(PyNvVideoCodec.PyNvVCException) as refused:
        PyNvVideoCodec.CreateEncoder(640, 360, "NV12", False, gpu_id=0, codec="h264", preset="P3")
    assert "\n" not in reason_of(str(refused.value))
    assert reason_of(str(refused.value)) != "no reason given"


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_the_encoder_knows_the_names_of_our_arguments(name: str) -> None:
    # It passes over what it does not know, so its strings are all that there is to look at.
    assert f"{name}\0".encode() in Path(PyNvVideoCodec._PyNvVideoCodec.__file__).read_bytes()


def test_the_encoder_tells_key_frames_by_a_number() -> None:
    told = PyNvVideoCodec.PyNvEncoder.Encode.__doc__
    assert all(f"'{key}' ({kind})" in told for key, kind in (("data", "bytes"), ("picture_type", "int")))


def test_a_gpu_that_is_not_there_is_told_by_the_probe() -> None:
    capabilities = probe_codecs(0)
    for reason in (capabilities.no_decoder, capabilities.no_encoder):
        assert reason
        assert "\n" not in reason
    assert not capabilities.decoders
    assert capabilities.encoder is None


ENUMS = {name: kind for name, kind in vars(StandInModule).items() if isinstance(kind, EnumMeta)}


@pytest.mark.parametrize(("name", "kind"), ENUMS.items())
def test_the_stand_in_counts_as_it_does(name: str, kind: EnumMeta) -> None:
    real = getattr(PyNvVideoCodec, name).__members__
    assert {member: int(real.get(member, -1)) for member in kind.__members__} == {
        member: int(value) for member, value in kind.__members__.items()
    }


def test_the_stand_in_has_no_name_that_it_lacks() -> None:
    names = {name for name in vars(StandInModule) if name[0].isupper()}
    assert len(names) > len(ENUMS) > 3
    assert names <= set(dir(PyNvVideoCodec))
    for ours, real in ((PacketData, "PacketData"), (ReconfigureParams, "structEncodeReconfigureParams")):
        assert {field.name for field in fields(ours)} <= set(dir(getattr(PyNvVideoCodec, real)))


def test_the_stand_in_takes_no_argument_that_it_does_not() -> None:
    ours = set(inspect.signature(StandInModule.CreateDecoder).parameters) - {"self"}
    assert any(ours <= set(way.names) for way in signatures(PyNvVideoCodec.CreateDecoder))


@pytest.mark.parametrize(
    ("ours", "kind"),
    [(StandInDecoder, "PyNvDecoder"), (StandInFrame, "DecodedFrame"), (StandInEncoder, "PyNvEncoder")],
)
def test_what_the_stand_in_gives_has_no_method_that_it_lacks(ours: type, kind: str) -> None:
    methods = {name for name in vars(ours) if name[0].isalpha()}
    assert methods
    assert methods <= set(dir(getattr(PyNvVideoCodec, kind)))
