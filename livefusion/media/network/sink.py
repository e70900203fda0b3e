"""The finished picture for a server of RTMP or RTSP, or as MPEG-TS for whoever takes the datagrams."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from av.error import FFmpegError

from livefusion.core.errors import OutputError
from livefusion.core.events import Event
from livefusion.core.frame import RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.timing import Timestamp
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.encode.member import ShareMember, packet_of
from livefusion.media.encode.outlet import TIME_BASE, EncodedPicture
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import OutputFormat
from livefusion.media.network.address import StreamAddress
from livefusion.media.network.rtmp import RtmpPublisher
from livefusion.media.network.srt import SrtBridge, broken
from livefusion.media.network.trouble import explain, require_host
from livefusion.media.network.trust import distrust
from livefusion.media.network.wire import require_answer
from livefusion.media.sinks.recording import Recording
from livefusion.media.sinks.sink import SinkStats
from livefusion.runtime.stage import StageContext

# Muxers hold a packet back until the other stream has got as far: for no longer than this, in µs.
_LIVE = {"flush_packets": "1", "max_interleave_delta": "20000"}
_FLV = ("flv", {**_LIVE, "flvflags": "no_duration_filesize"})
# Without the length in its header a PES packet is complete only when the next one begins: 69 ms, else 36.
# And sound would be packed until 2930 bytes are full.
_MPEGTS = ("mpegts", {**_LIVE, "omit_video_pes_length": "0", "pes_payload_size": "0"})
_MUXERS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "rtmp": _FLV,
    "rtmps": _FLV,
    "rtsp": ("rtsp", {**_LIVE, "rtsp_transport": "tcp", "timeout": "5000000"}),
    "udp": _MPEGTS,
    "srt": _MPEGTS,
}


class StreamSink:
    """Sends H.264 of the encoder that all live outputs share, and the sound of the input as AAC.

    It fails when the connection is lost, and the graph opens it again: it goes on with a key frame. Pictures
    of another size begin the stream anew. A server that takes nothing for some seconds counts as lost.
    """

    def __init__(
        self, address: StreamAddress, uri: str, share: EncoderShare, device: Device, output: OutputFormat
    ) -> None:
        self._address = address
        self._share = share
        self._member = ShareMember(share, device)
        self._output = replace(output, time_base=TIME_BASE)
        self._stats = SinkStats(uri)
        self._bridge: SrtBridge | None = None
        self._publisher: RtmpPublisher | None = None
        self._stream: Recording | None = None
        self._size: Size | None = None
        self._opened = 0

    @property
    def stats(self) -> SinkStats:
        """What was sent so far."""
        return self._stats

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where encoding runs otherwise than it best would, and why."""
        return self._share.fallbacks

    def open(self, context: StageContext) -> None:
        """Make sure that somebody answers. ``OutputError`` if not; ``DriverError`` without SRT."""
        address = self._address
        require_host(address, OutputError)
        if address.scheme == "srt":
            self._bridge = self._bridge or SrtBridge(address)
            self._bridge.start(OutputError)
        elif address.scheme in {"rtmp", "rtmps"}:
            self._publisher = self._call()
        elif address.scheme != "udp":
            require_answer(address)
        self._member.join(self._output)
        self._size = None
        self._stats.reconnects = self._opened
        self._opened += 1

    def write(self, item: RenderedFrame) -> None:
        """Have a picture encoded, and send what is encoded. ``OutputError`` if the connection is lost."""
        if self._bridge is not None and self._bridge.failed:
            raise broken(self._address)
        try:
            for picture in self._member.take(item.frame, self._output):
                self._send(picture)
        except (FFmpegError, OSError) as error:
            text = explain(self._address, error, OutputError)
            self._stats.errors.append(text.problem)
            raise text from error
        self._stats.frames += 1

    def handle(self, event: Event) -> None:
        """Do nothing: a change of size is seen in the frames."""

    def close(self) -> None:
        """Hang up."""
        self._member.leave()
        try:
            self._end_stream()
        finally:
            bridge, self._bridge = self._bridge, None
            if bridge is not None:
                bridge.close()

    def _send(self, picture: EncodedPicture) -> None:
        size = picture.size or self._output.size
        if self._stream is not None and size != self._size:
            self._end_stream()
        self._size = size
        stream = self._stream = self._stream or self._begin_stream(size)
        stream.begin(Timestamp(picture.pts, TIME_BASE))
        self._stats.bytes += stream.mux([packet_of(picture)])

    def _begin_stream(self, size: Size) -> Recording:
        muxer, options = _MUXERS[self._address.scheme]
        if self._publisher is None and self._address.scheme in {"rtmp", "rtmps"}:
            self._publisher = self._call()
        if self._address.scheme == "rtsp":
            require_answer(self._address)
        target: Any = self._publisher or (self._bridge.url if self._bridge is not None else self._url())
        return Recording(target, muxer, options, "h264", replace(self._output, size=size))

    def _call(self) -> RtmpPublisher:
        try:
            return RtmpPublisher(self._address)
        except OSError as error:
            refused = distrust(self._address, error, OutputError)
            raise (refused or explain(self._address, error, OutputError)) from error

    def _url(self) -> str:
        if self._address.scheme == "udp" and "pkt_size" not in self._address.url:
            return f"{self._address.url}{'&' if '?' in self._address.url else '?'}pkt_size=1316"
        return self._address.url

    def _end_stream(self) -> None:
        stream, self._stream = self._stream, None
        publisher, self._publisher = self._publisher, None
        try:
            if stream is not None:
                stream.finish()
        except (FFmpegError, OSError):
            return  # it is lost already, and why was told
        finally:
            if stream is not None:
                stream.release()
            if publisher is not None:
                publisher.close()
