"""Which waits a simulated device has been asked to leave out, and which it has seen."""

from collections import Counter

from livefusion.testing.wait_sites import FOREIGN, calling_site, sites_in_source


class Mutation:
    """Counts the waits of one run by the place they come from, and says which of them is left out.

    ``wait`` leaves out the one with that number, of those that order anything; ``site`` all of one place.
    """

    def __init__(self, wait: int | None = None, site: str | None = None) -> None:
        sites_in_source()
        self._wait = wait
        self._site = site
        self.count = 0
        """Waits that order something."""
        self.seen: Counter[str] = Counter()
        """Waits by place, whether they order anything or not."""
        self.ordering: Counter[str] = Counter()
        """Waits by place that order something."""
        self.left_out = ""
        """The place of the last wait that was left out."""

    def skips(self, *, orders: bool) -> bool:
        """Note a wait of whoever calls now; whether it is left out. Stand-ins for libraries keep theirs."""
        site = calling_site()
        if site.endswith(FOREIGN):
            return False
        self.seen[site] += 1
        if orders:
            self.ordering[site] += 1
            self.count += 1
        skipped = site == self._site or (orders and self.count - 1 == self._wait)
        if skipped:
            self.left_out = site
        return skipped
