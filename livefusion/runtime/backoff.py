"""When a part that failed may try again."""

from collections import deque
from dataclasses import dataclass

from livefusion.core.timing import NANOSECONDS


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """Delays between restarts, and when a part counts as degraded.

    The numbers are those that frigate's watchdog proved in the field; after 0.1 s a stage resumes within
    300 ms.
    """

    first_ns: int = NANOSECONDS // 10
    longest_ns: int = 5 * NANOSECONDS
    failures: int = 5
    window_ns: int = 60 * NANOSECONDS


class FailureLog:
    """The failures of one part: gives the delay before the next try, which doubles from 0.1 s up to 5 s.

    A minute without a failure forgives all of them. Kept across instances of the part.
    """

    def __init__(self, policy: RestartPolicy) -> None:
        self._policy = policy
        self._times: deque[int] = deque()

    def failed(self, now_ns: int) -> int:
        """Note a failure; gives the instant of the next try."""
        self._forget(now_ns)
        self._times.append(now_ns)
        if len(self._times) >= self._policy.failures:
            return now_ns + self._policy.longest_ns
        return now_ns + min(self._policy.longest_ns, self._policy.first_ns << (len(self._times) - 1))

    def degraded(self, now_ns: int) -> bool:
        """True while as many failures lie within the window as make a part degraded."""
        self._forget(now_ns)
        return len(self._times) >= self._policy.failures

    def _forget(self, now_ns: int) -> None:
        while self._times and now_ns - self._times[0] > self._policy.window_ns:
            self._times.popleft()
