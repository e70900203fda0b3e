"""Which processor time goes where, while something is measured."""

from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class CoreUse:
    """Seconds of processor time so far: of this process, of another with its children, and of all others.

    What the hypervisor gave to other machines is in ``others``.
    """

    ours: float
    theirs: float
    others: float

    @staticmethod
    def now(pid: int) -> "CoreUse":
        """Up to now; ``pid`` is the other process, which lives."""
        machine = psutil.cpu_times()
        idle = machine.idle + getattr(machine, "iowait", 0.0)
        # Linux counts what its guests take under user, too.
        busy = sum(machine) - idle - getattr(machine, "guest", 0.0) - getattr(machine, "guest_nice", 0.0)
        ours = _seconds(psutil.Process())
        process = psutil.Process(pid)
        theirs = sum(_seconds(one) for one in (process, *process.children(recursive=True)))
        return CoreUse(ours, theirs, busy - ours - theirs)

    def since(self, before: "CoreUse", seconds: float) -> "CoreUse":
        """The mean number of cores that each took since then, so many seconds ago; never below 0."""
        pairs = zip(
            (self.ours, self.theirs, self.others),
            (before.ours, before.theirs, before.others),
            strict=True,
        )
        return CoreUse(*(max(0.0, (after - earlier) / seconds) for after, earlier in pairs))


def _seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:  # it ended since it was listed
        return 0.0
    return float(times.user + times.system)
