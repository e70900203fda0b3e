from fractions import Fraction

import av
import numpy as np
import pytest

from livefusion.core.color import ColorInfo, Matrix, Range
from livefusion.core.errors import MachineError
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.media.encode.x264 import X264Encoder
from livefusion.media.formats import OutputFormat
from livefusion.media.h273 import write_color
from livefusion.testing.media import flat_picture, luma_of, patch_samples, pattern_picture

pytestmark = pytest.mark.media

MILLISECONDS = Fraction(1, 1000)


def output(size: Size, color: ColorInfo | None = None) -> OutputFormat:
    return OutputFormat(size, Fraction(30), color or ColorInfo(), MILLISECONDS)


def frame(picture: av.VideoFrame, seq: int, pts: int) -> Frame:
    decoder = FrameDecoder(CpuDevice())
    decoder.adapt(picture)
    ts = Timestamp(pts, MILLISECONDS)
    return Frame(seq, "test", ts, 0, decoder.size, decoder.color, decoder.convert(picture))


def decode(packets: list[av.Packet]) -> list[av.VideoFrame]:
    decoder = av.CodecContext.create("h264", "r")
    return [picture for packet in [*packets, None] for picture in decoder.decode(packet)]


@pytest.mark.parametrize("matrix", [Matrix.BT601, Matrix.BT709])
@pytest.mark.parametrize("value_range", list(Range))
@pytest.mark.parametrize("rgb", [(200, 30, 40), (20, 180, 60), (30, 40, 220), (224, 172, 140)])
@pytest.mark.parametrize("source", [None, ColorInfo(), ColorInfo(matrix=Matrix.BT601, range=Range.FULL)])
def test_colours_come_back_as_they_were(
    matrix: Matrix, value_range: Range, rgb: tuple[int, int, int], source: ColorInfo | None
) -> None:
    color = ColorInfo(matrix=matrix, range=value_range)
    source = color if source is None else source
    given = flat_picture(Size(64, 64), "yuv420p", patch_samples(rgb, source))
    write_color(given, source)
    encoder = X264Encoder(CpuDevice())
    encoder.open(output(Size(64, 64), color))

    (picture,) = decode(list(encoder.encode(frame(given, 0, 0))))

    # Seen by an independent way to RGB, which trusts the tags that were written.
    seen = picture.to_ndarray(format="rgb24").reshape(-1, 3).mean(axis=0)
    assert np.abs(seen - rgb).max() <= 3
    assert picture.color_range == (2 if value_range is Range.FULL else 1)
    assert picture.colorspace == (1 if matrix is Matrix.BT709 else 6)


def test_one_packet_a_frame_with_its_own_time_and_a_key_each_second() -> None:
    encoder = X264Encoder(CpuDevice())
    encoder.open(output(Size(64, 48)))
    times = [0, 33, 40, 500, 990, 1000, 1033, 2100, 2101, 3000]
    packets = []
    for index, pts in enumerate(times):
        made = encoder.encode(frame(pattern_picture(Size(64, 48), index), index, pts), keyframe=pts == 40)
        assert len(made) == 1
        packets += made
    assert encoder.flush() == []
    encoder.close()

    assert [packet.pts for packet in packets] == times
    assert all(packet.dts == packet.pts for packet in packets)
    assert [packet.pts for packet in packets if packet.is_keyframe] == [0, 40, 1033 + 1067]
    assert len(decode(packets)) == len(times)


@pytest.mark.parametrize("size", [Size(2, 2), Size(18, 34), Size(322, 180)])
def test_any_even_size(size: Size) -> None:
    encoder = X264Encoder(CpuDevice())
    encoder.open(output(size))
    (picture,) = decode(list(encoder.encode(frame(pattern_picture(size), 0, 0))))
    assert (picture.width, picture.height) == (size.width, size.height)


def test_pictures_of_another_size_are_fitted_with_black_bars() -> None:
    encoder = X264Encoder(CpuDevice(), quality=1)
    encoder.open(output(Size(128, 64)))
    samples = (200, 90, 160)
    packets = []
    for seq, size in enumerate([Size(128, 64), Size(32, 32), Size(256, 256), Size(128, 64)]):
        packets += encoder.encode(frame(flat_picture(size, "yuv420p", samples), seq, seq * 33))
    pictures = [picture.to_ndarray(format="yuv420p") for picture in decode(packets)]

    for luma in (pictures[1][:64], pictures[2][:64]):
        assert np.abs(luma[:, :30].astype(int) - 16).max() <= 3
        assert np.abs(luma[:, 34:94].astype(int) - 200).max() <= 3
        assert np.abs(luma[:, 98:].astype(int) - 16).max() <= 3
    assert np.abs(pictures[3][:64].astype(int) - 200).max() <= 3


def test_padded_rows_are_read_as_rows() -> None:
    size, device = Size(36, 20), CpuDevice()
    buffer = FramePool(device, size, row_alignment=64).acquire(device.stream("test"))
    buffer.luma[:], buffer.chroma[:] = 120, 128
    buffer.luma[:, 18:] = 180
    encoder = X264Encoder(device, quality=1)
    encoder.open(output(size))
    made = encoder.encode(Frame(0, "test", Timestamp(0, MILLISECONDS), 0, size, ColorInfo(), buffer))
    luma = luma_of(decode(list(made))[0])
    assert np.abs(luma[:, :16].astype(int) - 120).max() <= 4
    assert np.abs(luma[:, 20:].astype(int) - 180).max() <= 4


def test_a_size_that_h264_cannot_carry_is_refused() -> None:
    with pytest.raises(MachineError, match="refuses"):
        X264Encoder(CpuDevice()).open(output(Size(0, 0)))
