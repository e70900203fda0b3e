"""Sound through the ends of the graph: what a peer says stays with its pictures, in every output."""

import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.timing import NANOSECONDS, SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.media.encode.delay import OutputDelay
from livefusion.media.encode.opus import SAMPLE_RATE, EncodedSound, OpusReader, opus_samples
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.file import FileSink
from livefusion.media.sources.audio import FileAudio
from livefusion.media.webrtc.lipsync import LipSync
from livefusion.media.webrtc.live_sound import LiveSound
from livefusion.media.webrtc.music import offers_opus, with_music
from livefusion.runtime.stage import StageContext
from livefusion.testing.sound import BeepEncoder, beep_times
from livefusion.testing.webrtc import numbered_picture

pytestmark = pytest.mark.media


@pytest.mark.parametrize(
    ("head", "samples"),
    [
        (b"", 0),
        (b"\x78\x00", 960),  # CELT, 20 ms, one frame
        (b"\xf8\x00", 960),
        (b"\xf9\x00", 1920),  # two of them
        (b"\xfb\x03\x00", 2880),  # three
        (b"\xe0\x00", 120),
        (b"\x18\x00", 2880),  # SILK, 60 ms
        (b"\x19\x00", 5760),
        (b"\x1b\x03", 0),  # 180 ms: there is no such packet
        (b"\x03", 0),
    ],
)
def test_the_length_of_a_packet(head: bytes, samples: int) -> None:
    assert opus_samples(head) == samples


def put_beeps(sound: LiveSound, seconds: float, beeps: list[float]) -> None:
    """Sound of one sender whose RTP time starts at 5,000, with its pictures' at 0; they start at once."""
    sound.anchor(1, 0, 0)
    for packet in BeepEncoder(beeps).packets(seconds):
        sound.put(1, packet.data, 5000 + packet.pts, packet.pts * 90 // 48)


def test_a_reader_gives_each_packet_once_and_in_order() -> None:
    sound = LiveSound()
    sound.anchor(1, 0, 90_000)
    reader = sound.open()
    data = BeepEncoder([]).packets(0.02)[0].data
    for number in (0, 2, 1, 3):  # one overtook another
        sound.put(1, data, number * 960, number * 1800)
    assert [packet.pts for packet in reader.until(1.05)] == [48_000, 48_960, 49_920]
    assert [packet.pts for packet in reader.until(1.2)] == [50_880]
    assert list(reader.until(1.2)) == []
    assert list(sound.open().until(9)) == []  # from now on
    reader.close()


def test_sound_without_a_picture_of_its_sender_is_left_out() -> None:
    sound = LiveSound()
    reader = sound.open()
    data = BeepEncoder([]).packets(0.02)[0].data
    sound.put(1, data, 0, 0)
    sound.anchor(1, 0, 0)
    sound.put(2, data, 0, 0)
    sound.put(1, b"", 0, 0)
    assert list(reader.until(9)) == []
    reader.close()


def test_what_nobody_reads_costs_no_memory() -> None:
    sound = LiveSound()
    sound.anchor(1, 0, 0)
    data = BeepEncoder([]).packets(0.02)[0].data
    for number in range(3000):  # a minute
        sound.put(1, data, number * 960, number * 1800)
    assert sound.received == 3000
    assert len(sound.between(-1, 1e9)) == 501


def test_the_next_sender_goes_on_in_media_time() -> None:
    sound = LiveSound()
    reader = sound.open()
    data = BeepEncoder([0.0]).packets(0.02)[0].data
    sound.anchor(1, 7000, 0)
    sound.put(1, data, 123, 7000 + 90_000)
    sound.anchor(2, 2**32 - 90_000, 900_000)
    sound.put(2, data, 77, 0)  # its RTP time wraps in between
    given = list(reader.until(11.01))
    assert [packet.pts for packet in given if bytes(packet) == data] == [48_000, 528_000]
    reader.close()


def test_where_nothing_is_said_there_is_silence() -> None:
    """A track without a packet makes a recording unplayable until it is finished."""
    sound = LiveSound()
    reader = sound.open()
    sound.anchor(1, 0, 0)
    data = BeepEncoder([0.0]).packets(0.02)[0].data
    assert list(reader.until(1.0)) == []
    silence = [packet for step in range(1, 21) for packet in reader.until(1.0 + step / 10)]
    assert [packet.pts for packet in silence] == [48_000 + 960 * step for step in range(97)]  # to 2.94 s
    for number in range(3):  # then somebody speaks at 4 s, and nothing is missing before it
        sound.put(1, data, 192_000 + number * 960, 360_000 + number * 1800)
    given = list(reader.until(4.1))
    assert [packet.pts for packet in given] == [141_120 + 960 * step for step in range(56)]
    assert [bytes(packet) == data for packet in given] == [False] * 53 + [True] * 3
    context = av.CodecContext.create("opus", "r")
    assert all(not frame.to_ndarray().any() for packet in silence for frame in context.decode(packet))
    reader.close()


def test_jitter_of_clocks_is_not_heard_and_a_real_shift_is_followed() -> None:
    sound = LiveSound()
    reader = sound.open()
    sound.anchor(1, 0, 0)
    data = BeepEncoder([]).packets(0.02)[0].data
    for number, off in enumerate([0, 5, -9, 4, 80, 83, 75]):  # ms
        sound.put(1, data, number * 960, number * 1800 + 90 * off)
    expected = [0, 960, 1920, 2880, 3840 + 3840, 4800 + 3840, 5760 + 3840]
    assert [packet.pts for packet in reader.until(0.3)] == expected
    reader.close()


def test_opus_passes_as_it_is() -> None:
    sound = LiveSound()
    reader = OpusReader(sound.open())
    put_beeps(sound, 0.2, [0.1])
    given = list(reader.until(0.25))
    assert given == BeepEncoder([0.1]).packets(0.2)
    reader.close()


def test_other_sound_is_encoded_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "beeps.mka"
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("pcm_s16le", rate=44_100, layout="mono")
        samples = np.zeros((1, 44_100 * 2), np.int16)
        for start in (22_050, 66_150):  # at 0.5 s and 1.5 s
            samples[:, start : start + 2205] = 20_000 * np.sign(np.sin(np.arange(2205) * 0.14))
        for start in range(0, samples.shape[1], 1024):
            frame = av.AudioFrame.from_ndarray(samples[:, start : start + 1024], "s16", "mono")
            frame.sample_rate, frame.pts, frame.time_base = 44_100, start, Fraction(1, 44_100)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    source = FileAudio(path).open()
    assert source is not None
    reader = OpusReader(source)
    packets = [*reader.until(1.0), *reader.until(2.0)]
    reader.close()
    assert {packet.samples for packet in packets} == {960}
    assert decoded_beeps(packets) == pytest.approx([0.5, 1.5], abs=0.003)


def decoded_beeps(packets: list[EncodedSound]) -> list[float]:
    context = av.CodecContext.create("opus", "r")
    pieces: list[tuple[float, np.ndarray]] = []
    for packet in packets:
        for frame in context.decode(av.Packet(packet.data)):
            pieces.append((packet.pts / SAMPLE_RATE, frame.to_ndarray()[0]))
    return beep_times(pieces)


SUFFIXES = pytest.mark.parametrize("suffix", [".mp4", ".mkv"])


def record(path: Path, sound: LiveSound, pictures: int) -> FileSink:
    """A recording of so many pictures beside a sound, not finished yet."""
    base = Fraction(1, 90_000)
    output = OutputFormat(Size(160, 90), Fraction(30), ColorInfo(), base, audio=sound)
    made = FileSink(path, CpuDevice(), output)
    made.open(StageContext("file", SystemClock()))
    put_beeps(sound, 2.0, [0.5, 1.5])
    decoder = FrameDecoder(CpuDevice())
    for seq in range(pictures):
        picture = numbered_picture(output.size, seq)
        decoder.adapt(picture)
        buffer = decoder.convert(picture)
        frame = Frame(seq, "t", Timestamp(seq * 3000, base), 0, decoder.size, decoder.color, buffer)
        made.write(RenderedFrame(frame, Outcome.CLEAR))
    return made


@SUFFIXES
def test_a_recording_keeps_it(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    record(path, LiveSound(), 60).close()
    with av.open(str(path)) as container:
        assert container.streams.audio[0].codec_context.name == "opus"
        pieces = [
            (float(frame.pts * frame.time_base), frame.to_ndarray()[0]) for frame in container.decode(audio=0)
        ]
    assert beep_times(pieces) == pytest.approx([0.5, 1.5], abs=0.01)


@SUFFIXES
def test_a_recording_without_a_word_survives_a_kill(tmp_path: Path, suffix: str) -> None:
    class Nobody(LiveSound):
        def put(self, *arguments: Any) -> None:
            pass

    path = tmp_path / f"out{suffix}"
    made = record(path, Nobody(), 100)
    killed = path.with_stem("killed")
    shutil.copy(path, killed)
    made.close()
    with av.open(str(killed)) as container:
        assert sum(1 for _ in container.decode(video=0)) >= 60


def ticks() -> Iterator[tuple[int, int, int]]:
    """Sound of each 20 ms beside a picture of each 33 ms: (ns, RTP time of sound, RTP time of picture)."""
    for number in range(200):
        ns = number * 20_000_000
        yield ns, (2**32 - 9600 + number * 960) % 2**32, (7 + number * 3 // 5 * 3000) % 2**32


def test_sound_and_pictures_are_put_together_by_arrival_until_the_sender_tells_its_clock() -> None:
    lips = LipSync()
    assert lips.video_time(5) is None
    given = []
    for ns, sound, picture in ticks():
        lips.note_picture(picture, 40_000_000 + (ns + ns % 70_000_000 // 10))  # with some jitter
        lips.sound.note_arrival(sound, 40_000_000 + ns)
        video = lips.video_time(sound)
        assert video is not None
        given.append(video - 7 - ns * 9 // 100_000)
    assert max(map(abs, given)) < 0.035 * 90_000
    # Its clock says that sound is 300 ms early: it was held back less on its way.
    epoch = 3_900_000_000 << 32
    lips.video.note_report(epoch, 7)
    lips.sound.note_report(epoch - (3 << 32) // 10, 2**32 - 9600)
    assert lips.video_time(2**32 - 9600) == pytest.approx(7 - 27_000 + 2**32, abs=2)


@pytest.mark.parametrize("ntp", [0, 1 << 32])
def test_a_clock_that_cannot_be_is_not_believed(ntp: int) -> None:
    lips = LipSync()
    lips.note_picture(0, NANOSECONDS)
    lips.sound.note_arrival(0, NANOSECONDS)
    lips.video.note_report(3_900_000_000 << 32, 0)
    lips.sound.note_report(ntp, 0)
    assert lips.video_time(4800) == 9000


def test_output_is_late_by_what_it_was_of_late() -> None:
    delay = OutputDelay()
    for number in range(300):
        late = 40 + (5 if number % 2 else -5)
        delay.note(number / 30, round((number / 30 * 1000 + late) * 1_000_000))
    assert delay.due_ns(10.0) / 1e6 == pytest.approx(10_040, abs=1)
    assert delay.media_seconds(10_040_000_000) == pytest.approx(10, abs=0.001)
    delay.note(11.0, 15 * NANOSECONDS)  # a new beginning is no jitter
    assert delay.due_ns(11.0) == 15 * NANOSECONDS


SECTION = "m=audio 9 UDP/TLS/RTP/SAVPF 111 0\r\na=rtpmap:111 opus/48000/2\r\na=rtpmap:0 PCMU/8000\r\n"


def test_opus_is_found_in_sections_of_sound_alone() -> None:
    assert offers_opus("v=0\r\n" + SECTION)
    assert not offers_opus("v=0\r\n" + SECTION.replace("opus", "nopus"))
    assert not offers_opus("v=0\r\n" + SECTION.replace("m=audio", "m=video"))
    assert not offers_opus("")


def test_stereo_at_the_rate_of_music_is_asked_for_once() -> None:
    asked = with_music("v=0\r\n" + SECTION + "a=fmtp:111 minptime=10\r\na=fmtp:96 x=1\r\n")
    lines = asked.split("\r\n")
    assert [line for line in lines if line.startswith("a=fmtp:111")] == [
        "a=fmtp:111 minptime=10;useinbandfec=1;stereo=1;sprop-stereo=1;maxaveragebitrate=128000"
    ]
    assert lines.index("a=rtpmap:111 opus/48000/2") + 1 == lines.index(
        next(line for line in lines if "stereo" in line)
    )
    assert "a=fmtp:96 x=1" in lines
    assert with_music("v=0\r\n") == "v=0\r\n"
