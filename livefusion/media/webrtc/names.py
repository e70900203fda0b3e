"""Private names of the libraries, which may be gone with their next version."""

from collections.abc import Iterable

from livefusion.core.errors import MachineError


def require_names(part: object, names: Iterable[str]) -> None:
    """``MachineError`` if a part of aiortc, or of what it stands on, lacks one of these names."""
    lacking = [name for name in names if not hasattr(part, name)]
    if lacking:
        raise MachineError(
            f"this aiortc is not one that LiveFusion knows ({type(part).__name__} has no {lacking[0]})",
            "install aiortc 1.16",
        )
