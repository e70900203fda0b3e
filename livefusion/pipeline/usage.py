"""What a run takes of the machine: memory and processor cores."""

import time

import psutil

from livefusion.core.timing import Clock


class UsageGauge:
    """Processor time since it was made, and the highest resident memory of the samples.

    The highest is what fills a machine, so an average would hide what matters.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._process = psutil.Process()
        self._started_ns = clock.now_ns()
        self._busy_ns = time.process_time_ns()
        self._cores = 0.0
        self._peak_mb = 0.0
        self.sample()

    @property
    def rss_peak_mb(self) -> float:
        """Highest resident memory so far, in MiB."""
        return self._peak_mb

    @property
    def cores(self) -> float:
        """Processor cores that were busy on average until the last sample."""
        return self._cores

    def sample(self) -> None:
        """Look now."""
        self._peak_mb = max(self._peak_mb, float(self._process.memory_info().rss) / 2**20)
        elapsed_ns = self._clock.now_ns() - self._started_ns
        if elapsed_ns > 0:
            self._cores = (time.process_time_ns() - self._busy_ns) / elapsed_ns
