"""PyNvVideoCodec, behind one function that says in a line what keeps it from loading."""

from typing import Any

from livefusion.core.errors import DeviceError

INSTALL = "start with `uv run --extra cuda livefusion …`, which installs it"
VIDEO_LIBRARIES = (
    "install the driver's video libraries; a container needs NVIDIA_DRIVER_CAPABILITIES=compute,utility,video"
)
MISSING_LIBRARIES = ("libnvidia-encode", "libnvcuvid", "nvEncodeAPI", "nvcuvid")
UPDATE_DRIVER = "update the NVIDIA driver"


def load_module() -> Any:
    """The module. ``DeviceError`` if it is not installed or the driver lacks what it needs.

    Ask ``probe.probe_codecs`` first: what the module does with a broken driver may end the process.
    """
    try:
        import PyNvVideoCodec
    except ModuleNotFoundError as error:
        raise DeviceError("PyNvVideoCodec is not installed", INSTALL) from error
    except (ImportError, RuntimeError, OSError) as error:
        raise import_failure(str(error)) from error
    return PyNvVideoCodec


def import_failure(text: str) -> DeviceError:
    """The error behind a failed import, whose text is a page of advice."""
    if any(name in text for name in MISSING_LIBRARIES) or "TROUBLESHOOTING" in text:
        return DeviceError("the driver's libraries for NVDEC and NVENC are not there", VIDEO_LIBRARIES)
    if "too old" in text:
        return DeviceError("the NVIDIA driver is too old for PyNvVideoCodec", UPDATE_DRIVER)
    return DeviceError(f"PyNvVideoCodec does not load ({reason_of(text)})", UPDATE_DRIVER)


def reason_of(text: str) -> str:
    """The line of a text of PyNvVideoCodec that says what went wrong.

    Its exceptions have four lines: who raised, a code, ``Error Type : …``, and a place in its source.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line.partition(":")[2].strip() for line in lines if line.startswith("Error Type")]
    return next(filter(None, [*told, *lines]), "no reason given")
