"""When a recording goes on in another file."""

from dataclasses import dataclass

from livefusion.core.settings import RecordingSettings

_HALF_A_TICK = 1e-6


@dataclass(frozen=True, slots=True)
class Split:
    """The longest a part may be, in ``seconds`` and in ``bytes`` of pictures; None sets no limit."""

    seconds: float | None = None
    bytes: float | None = None

    @staticmethod
    def of(settings: RecordingSettings) -> "Split":
        """The limits that the settings name."""
        size = settings.split_mb
        return Split(settings.split_seconds, None if size is None else size * 1e6)

    def is_due(self, seconds: float, size: int) -> bool:
        """Whether a part of that length and size is full."""
        too_long = self.seconds is not None and seconds >= self.seconds - _HALF_A_TICK
        return too_long or (self.bytes is not None and size >= self.bytes)
