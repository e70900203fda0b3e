"""The outputs of a run, each with how it is made and how long it is waited for."""

from collections.abc import Callable
from functools import partial
from typing import Any

from livefusion.core.errors import DeviceError, SettingsError
from livefusion.core.settings import Settings
from livefusion.devices.device import Device
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.sink import PictureSink
from livefusion.media.sources.uri import redact
from livefusion.pipeline.ends import Ends, is_live, is_timed, make_sink, patience_of
from livefusion.pipeline.parts import Parts
from livefusion.pipeline.recovery import Recovery
from livefusion.pipeline.witness import Output


def plan_outputs(
    settings: Settings,
    parts: Parts,
    ends: Ends | None,
    output: OutputFormat,
    *,
    share: EncoderShare,
    recovery: Recovery,
) -> dict[str, Output]:
    """Those that the settings name and those that the caller brings, by name; none is opened yet.

    ``SettingsError`` if one is named twice.
    """
    outputs = dict[str, Output]()
    if ends is not None:
        for text, locator in zip(settings.output, ends.outputs, strict=True):
            name = _unique(redact(text), outputs)
            exchange, files = parts.exchange, ends.input_files
            make = partial(make_sink, locator, input_files=files, share=share, exchange=exchange)
            make = partial(make, recording=settings.recording, encodes_live=ends.encodes_live)
            outputs[name] = Output(
                partial(_make, recovery, name, make, output),
                restart=is_live(locator),
                patience=patience_of(locator),
                timed=is_timed(locator),
            )
    for number, make_part in enumerate(parts.sinks):
        name = _unique(f"part {number}", outputs)
        outputs[name] = Output(partial(_make, recovery, name, make_part, output))
    return outputs


def _make(
    recovery: Recovery, name: str, make: Callable[[Device, OutputFormat], PictureSink], output: OutputFormat
) -> PictureSink:
    """Make a sink on the device in use, on the next one if that is lost meanwhile."""
    while True:
        footing = recovery.footing
        try:
            return make(footing.device, output)
        except DeviceError as error:
            if not recovery.meet(name, error, footing):
                raise


def _unique(name: str, taken: dict[str, Any]) -> str:
    if name in taken:
        raise SettingsError(f"the output {name} is named twice", "name each output once")
    return name
