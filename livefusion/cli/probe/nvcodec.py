"""What do the video engines of the NVIDIA GPU decode and encode?"""

from livefusion.cli.probe.finding import Finding, State
from livefusion.cli.probe.packages import version_of
from livefusion.devices.select import missing_driver
from livefusion.media.nvcodec.capabilities import CODEC_NAMES, Capabilities
from livefusion.media.nvcodec.probe import probe_codecs

SOFTWARE_DECODES = "nothing to do: FFmpeg decodes on the CPU"
SOFTWARE_ENCODES = "nothing to do: x264 encodes on the CPU, from one copy of each picture"


def find_nvcodec() -> list[Finding]:
    """NVDEC and NVENC; nothing where there is no driver, or in an installation for the CPU."""
    if version_of("PyNvVideoCodec") is None or missing_driver():
        return []
    return judge_nvcodec(probe_codecs(0))


def judge_nvcodec(capabilities: Capabilities) -> list[Finding]:
    """The findings behind what the probe said."""
    return [_decoder(capabilities), _encoder(capabilities)]


def _decoder(capabilities: Capabilities) -> Finding:
    if capabilities.no_decoder:
        return Finding("NVDEC", State.LACKING, capabilities.no_decoder, SOFTWARE_DECODES)
    known = [
        f"{CODEC_NAMES[codec]} up to {engine.largest}" for codec, engine in capabilities.decoders.items()
    ]
    missing = [name for codec, name in CODEC_NAMES.items() if codec not in capabilities.decoders]
    without = f"; not {', '.join(missing)}" if missing else ""
    return Finding("NVDEC", State.OK, f"{', '.join(known)}{without}")


def _encoder(capabilities: Capabilities) -> Finding:
    engine = capabilities.encoder
    if engine is None:
        reason = capabilities.no_encoder or "this GPU does not encode H.264"
        return Finding("NVENC", State.LACKING, reason, SOFTWARE_ENCODES)
    engines = "one engine" if engine.count == 1 else f"{engine.count} engines"
    return Finding("NVENC", State.OK, f"H.264 up to {engine.largest}, {engines}")
