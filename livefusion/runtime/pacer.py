"""The last step before a sink: it holds the cadence, and it alone decides what is shown in a panic."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

from livefusion.core.events import Discontinuity, Event, Flush, FormatChange
from livefusion.core.frame import RenderedFrame
from livefusion.core.timing import NANOSECONDS, Clock, Timestamp
from livefusion.core.trace import FrameTrace
from livefusion.runtime.counters import DropCounters
from livefusion.runtime.mailbox import Mailbox
from livefusion.runtime.panic import PanicSwitch

Slate = Callable[[RenderedFrame], RenderedFrame]
"""Makes the safe picture with the numbers, size and colours of the one it is given, and reads no pixels."""


class Issue(StrEnum):
    """What the pacer gave out last."""

    FRESH = "fresh"
    REPEATED = "repeated"
    SLATE = "slate"


@dataclass(frozen=True, slots=True)
class Pacing:
    """How a sink is paced: ``interval`` seconds between pictures, None for as fast as they come.

    ``patience`` is how long, in seconds, a picture may be shown before it is issued again: two intervals if
    left out, for readers that count on the cadence; longer for those that read timestamps, because a repeat
    makes the frame that it stood in for too late. ``timed`` is False for readers that get no media time at
    all: a frame whose time was shown already is then shown with the next one.
    """

    interval: Fraction | None = None
    slate: Slate | None = None
    patience: Fraction | None = None
    timed: bool = True


class SinkPacer:
    """Takes from a sink's mailbox what shall be shown now.

    With an interval, the last picture is issued again when no new one has come for as long as ``patience``
    says, and then each interval, with its media time moved on; a frame that comes with a media time already
    shown is dropped as ``late``. Sequence numbers and media times of what is issued strictly rise.

    In a panic what comes from upstream is dropped and the slate is issued at once and each interval; without
    an interval it takes the place of each frame. Without a slate nothing is issued.
    """

    def __init__(
        self,
        mailbox: Mailbox[Any],
        clock: Clock,
        drops: DropCounters,
        *,
        panic: PanicSwitch | None = None,
        pacing: Pacing | None = None,
    ) -> None:
        self.issue = Issue.FRESH
        self._mailbox = mailbox
        self._clock = clock
        self._drops = drops
        self._panic = panic if panic is not None else PanicSwitch()
        self._panic.watch(mailbox.wake)
        pacing = pacing if pacing is not None else Pacing()
        self._interval = pacing.interval
        self._interval_ns = int((pacing.interval or 0) * NANOSECONDS)
        patience = pacing.patience if pacing.patience is not None else 2 * (pacing.interval or 0)
        self._stall_ns = int(patience * NANOSECONDS)
        self._slate = pacing.slate
        self._timed = pacing.timed
        self._epoch = 0
        self._shown: RenderedFrame | None = None  # the last picture issued; it gives numbers and media time
        self._like: RenderedFrame | None = None  # the format that a slate has to have
        self._repeatable = False
        self._slating = False
        self._stands_in = False  # the last picture issued was none of the source's
        self._due_ns = 0
        self._jumped = False
        self._shift = Fraction(0)

    def next(self) -> Any | None:
        """The picture or event to hand to the sink, waiting for it; None once the mailbox is closed."""
        while True:
            # What is there comes first: to a sink slower than the interval a repeat is always due.
            entry = self._mailbox.get(0)
            if entry is None:
                again = self._again()
                if again is not None:
                    return again
                entry = self._mailbox.get(self._patience_ns())
            if entry is None:
                if self._mailbox.closed:
                    return None
            elif isinstance(entry, Event):
                self._note(entry)
                return entry
            else:
                picture = self._admitted(entry)
                if picture is not None:
                    return picture

    def _again(self) -> RenderedFrame | None:
        """The slate or the last picture, if it is due without anything from upstream."""
        if self._interval is None or self._like is None:
            return None
        now_ns = self._clock.now_ns()
        if self._panic.active:
            if self._slating and now_ns < self._due_ns:
                return None
            return self._issue_slate(self._like, now_ns)
        self._slating = False
        if self._shown is None or not self._repeatable or now_ns < self._due_ns:
            return None
        return self._issue_again(self._shown, Issue.REPEATED, now_ns)

    def _patience_ns(self) -> int | None:
        waits = self._interval is None or self._like is None
        if waits or not (self._repeatable or (self._panic.active and self._slate)):
            return None
        return max(0, self._due_ns - self._clock.now_ns())

    def _admitted(self, item: Any) -> Any | None:
        """What an item from upstream is shown as, if at all."""
        if item.epoch < self._epoch:
            self._drop("flushed")
            return None
        if self._panic.active:
            self._drop("panic")
            self._like = item
            if self._interval is not None:
                return None
            return self._slate_for(item)
        self.issue = Issue.FRESH
        return item if self._interval is None else self._issue_fresh(item, self._interval)

    def _issue_fresh(self, item: RenderedFrame, interval: Fraction) -> RenderedFrame | None:
        seconds, ts, seq = _seconds(item.frame.ts), item.frame.ts, item.seq
        if self._shown is not None:
            last = _seconds(self._shown.frame.ts)
            if self._jumped and seconds + self._shift < last - 1:
                self._shift = last + interval - seconds
            # A picture that was repeated stands in for the next one: what comes a hair after it is late.
            margin = interval / 4 if self._stands_in and self._timed else Fraction(0)
            is_late = seconds + self._shift <= last + margin
            if is_late and not self._timed:
                # An input slower than its own time (a file on a busy machine) never catches up with
                # repeats: a virtual camera showed 4 of its 1000 pictures, and repeats of those.
                self._shift = last + _moment(ts) - seconds
            elif is_late:
                # It shows that more will come: repeats that went on now would stay ahead of them for ever.
                self._due_ns = self._clock.now_ns() + self._stall_ns
                self._drop("late")
                return None
            seq = max(seq, self._shown.seq + 1)
        self._jumped = False
        if self._shift:
            ts = ts + self._shift
        if seq != item.seq or ts is not item.frame.ts:
            item = replace(item, frame=replace(item.frame, seq=seq, ts=ts))
        self._shown = self._like = item
        self._repeatable = True
        self._stands_in = False
        self._due_ns = self._clock.now_ns() + self._stall_ns
        return item

    def _issue_slate(self, like: RenderedFrame, now_ns: int) -> RenderedFrame | None:
        if self._slate is None:
            return None
        if not self._slating:
            self._due_ns = now_ns
        self._slating = True
        self._repeatable = True
        # After its numbers: the watermark goes by the time at which it is shown.
        return self._issue_again(like, Issue.SLATE, now_ns, self._slate)

    def _issue_again(
        self, picture: RenderedFrame, issue: Issue, now_ns: int, make: Slate = lambda same: same
    ) -> RenderedFrame:
        last = self._shown if self._shown is not None else picture
        ts = _moved(last.frame.ts, self._interval or Fraction(0))
        frame = replace(
            picture.frame,
            seq=last.seq + 1,
            ts=ts,
            captured_ns=now_ns,
            epoch=self._epoch,
            trace=FrameTrace(),
        )
        self._shown = make(replace(picture, frame=frame, stands_in=True))
        self._stands_in = True
        # A sink that was slow gets no burst of repeats to make up for it.
        self._due_ns = max(self._due_ns, now_ns - self._interval_ns) + self._interval_ns
        if self._due_ns <= now_ns:
            self._due_ns = now_ns + self._interval_ns
        self.issue = issue
        return self._shown

    def _slate_for(self, item: RenderedFrame) -> RenderedFrame | None:
        if self._slate is None:
            return None
        slate = self._slate(item)
        self.issue = Issue.SLATE
        frame = replace(slate.frame, seq=item.seq, ts=item.frame.ts, epoch=item.epoch)
        return replace(slate, frame=frame, stands_in=True)

    def _note(self, event: Event) -> None:
        if isinstance(event, Flush):
            self._epoch = max(self._epoch, event.epoch)
        if isinstance(event, Flush | Discontinuity):
            self._jumped = True
        if isinstance(event, FormatChange):
            # What was shown has another size now; it still tells the slate what to look like.
            self._repeatable = False
            if self._like is not None:
                frame = replace(self._like.frame, size=event.size, color=event.color)
                self._like = replace(self._like, frame=frame)

    def _drop(self, cause: str) -> None:
        self._drops.add(self._mailbox.name, cause)


def _seconds(ts: Timestamp) -> Fraction:
    return ts.pts * ts.time_base


def _moment(ts: Timestamp) -> Fraction:
    return Fraction(ts.time_base)


def _moved(ts: Timestamp, seconds: Fraction) -> Timestamp:
    later = ts + seconds
    return later if later.pts > ts.pts else Timestamp(ts.pts + 1, ts.time_base)
