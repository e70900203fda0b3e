"""The one slot between two stages.

A mailbox keeps items and events in the order in which they were put. What happens when there is no room is
its policy. Events are in band and are never dropped; when an item is displaced, its place vanishes and the
events round it stay before or after the items that remain.

With stages of 4, 20, 10 and 5 ms at 60 fps, one newest-wins slot between all of them gave 48 ms at 49.5 fps,
queues of two 128 ms, and queues without a bound 670 ms and growing.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar

from livefusion.core.events import Event
from livefusion.core.timing import Clock
from livefusion.runtime.counters import DropCounters

T = TypeVar("T")


class Shelf:
    """What lies in a mailbox, oldest first; ``broken`` is True while packets wait for the next key frame."""

    __slots__ = ("broken", "entries")

    def __init__(self) -> None:
        self.entries: deque[Any] = deque()
        self.broken = False

    def items(self) -> list[Any]:
        """The entries that are not events."""
        return [entry for entry in self.entries if not isinstance(entry, Event)]

    def remove(self, items: list[Any]) -> None:
        """Take items out and leave all else in its order."""
        gone = {id(item) for item in items}
        kept = [entry for entry in self.entries if id(entry) not in gone]
        self.entries.clear()
        self.entries.extend(kept)


class Policy(Protocol):
    """What becomes of an item that finds no room. Stateless: one policy may serve many mailboxes."""

    @property
    def cause(self) -> str:
        """What the displaced items are counted under."""
        ...

    def admit(self, shelf: Shelf, item: Any) -> tuple[Any, ...] | None:
        """Shelve ``item`` and give what was displaced for it (maybe itself); None if its putter must wait."""
        ...


class Latest:
    """One item; a newer one replaces it, and putting never blocks. For live pictures."""

    cause = "newest-wins"

    def admit(self, shelf: Shelf, item: Any) -> tuple[Any, ...]:
        """Replace the item that is there."""
        displaced = shelf.items() if shelf.entries else []
        if displaced:
            shelf.remove(displaced)
        shelf.entries.append(item)
        return tuple(displaced)


class Wait:
    """One item; whoever brings another waits until there is room, and nothing is dropped. For files."""

    cause = "never"

    def admit(self, shelf: Shelf, item: Any) -> tuple[Any, ...] | None:
        """Shelve the item if no other is there."""
        if shelf.entries and shelf.items():
            return None
        shelf.entries.append(item)
        return ()


class Ring:
    """At most ``size`` encoded packets, which say whether they are a key frame (``is_keyframe``).

    When it is full, the oldest packets go, up to the next key frame; if there is none, new packets go too
    until a key frame comes, since a decoder could not use them.
    """

    cause = "behind"

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a ring holds at least one packet, not {size}")
        self._size = size

    def admit(self, shelf: Shelf, item: Any) -> tuple[Any, ...]:
        """Shelve a packet, at the cost of the oldest group of pictures."""
        if shelf.broken and not item.is_keyframe:
            return (item,)
        shelf.broken = False
        packets = shelf.items()
        if len(packets) < self._size:
            shelf.entries.append(item)
            return ()
        keys = (index for index, packet in enumerate(packets) if index and packet.is_keyframe)
        cut = next(keys, len(packets))
        shelf.remove(packets[:cut])
        if cut == len(packets) and not item.is_keyframe:
            shelf.broken = True
            return (*packets, item)
        shelf.entries.append(item)
        return tuple(packets[:cut])


class Span:
    """Items up to ``seconds`` of media time; then their putter waits, and nothing is dropped. For audio.

    ``seconds_of`` gives the media time of an item.
    """

    cause = "never"

    def __init__(self, seconds: float, seconds_of: Callable[[Any], float]) -> None:
        self._seconds = seconds
        self._seconds_of = seconds_of

    def admit(self, shelf: Shelf, item: Any) -> tuple[Any, ...] | None:
        """Shelve the item if it lies less than the span after the oldest one."""
        items = shelf.items()
        if items and self._seconds_of(item) - self._seconds_of(items[0]) >= self._seconds:
            return None
        shelf.entries.append(item)
        return ()


LATEST: Final[Policy] = Latest()
WAIT: Final[Policy] = Wait()


class Mailbox(Generic[T]):
    """A slot with a policy, between one putting and one getting thread.

    ``name`` is the edge (``decode→analyse``) under which drops are counted. All waiting is on one condition.
    """

    def __init__(self, policy: Policy, clock: Clock, name: str, drops: DropCounters | None = None) -> None:
        self.name = name
        self._policy = policy
        self._clock = clock
        self._drops = drops if drops is not None else DropCounters()
        self._changed = threading.Condition(threading.Lock())
        self._shelf = Shelf()
        self._closed = ""
        self._woken = False

    @property
    def closed(self) -> bool:
        """True once nothing more will come out."""
        return bool(self._closed)

    def put(self, entry: T | Event) -> tuple[T, ...]:
        """Put an item or event; gives the items that were displaced, already counted.

        Into a closed mailbox nothing can be put: an item is counted under the cause of ``close`` and comes
        back.
        """
        if isinstance(entry, Event):
            self._put_event(entry)
            return ()
        with self._changed:
            while not self._closed:
                displaced = self._policy.admit(self._shelf, entry)
                if displaced is not None:
                    self._changed.notify_all()
                    break
                self._clock.wait(self._changed, None)
            else:
                self._drops.add(self.name, self._closed)
                return (entry,)
        if displaced:
            self._drops.add(self.name, self._policy.cause, len(displaced))
        return displaced

    def get(self, timeout_ns: int | None = None) -> T | Event | None:
        """The oldest item or event; None when the time ran out, or after ``wake``, or once it is closed."""
        deadline = None if timeout_ns is None else self._clock.now_ns() + timeout_ns
        with self._changed:
            while not self._shelf.entries:
                left = None if deadline is None else deadline - self._clock.now_ns()
                if self._closed or self._woken or (left is not None and left <= 0):
                    self._woken = False
                    return None
                self._clock.wait(self._changed, left)
            entry: T | Event = self._shelf.entries.popleft()
            self._changed.notify_all()
            return entry

    def wake(self) -> None:
        """Make the ``get`` that waits now, or the next one that would wait, return None at once."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def close(self, cause: str = "stopped") -> tuple[T, ...]:
        """Let every wait end; gives the items that were left, counted under ``cause``, as all later ones."""
        with self._changed:
            self._closed = self._closed or cause
            left = tuple(self._shelf.items())
            self._shelf.entries.clear()
            self._changed.notify_all()
        if left:
            self._drops.add(self.name, cause, len(left))
        return left

    def _put_event(self, event: Event) -> None:
        with self._changed:
            if not self._closed:
                self._shelf.entries.append(event)
                self._changed.notify_all()
