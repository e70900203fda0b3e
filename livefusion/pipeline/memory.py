"""How much memory the process has used at most."""

import psutil


class MemoryGauge:
    """The highest resident set size of the samples, in MiB. The highest is what fills a machine."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self.peak_mb = 0.0
        self.sample()

    def sample(self) -> float:
        """Look now; gives the present size in MiB."""
        now = float(self._process.memory_info().rss) / 2**20
        self.peak_mb = max(self.peak_mb, now)
        return now
