"""What was counted of faults until now, in a file: a measurement of an hour goes on where it was ended."""

import json
from collections import Counter
from pathlib import Path

from livefusion.core.frame import Outcome
from livefusion.testing.court import ChaosResult

NAME = "faults.jsonl"


class FaultTally:
    """One line a run, by its seed. Pictures are not kept: those of earlier runs are missing in the sheets."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.total = ChaosResult()
        self.raw = 0
        self._done: set[str] = set()
        for line in path.read_text(encoding="utf-8").splitlines() if path and path.exists() else ():
            self._take(json.loads(line))

    def has(self, run: str) -> bool:
        """Whether that run is counted already."""
        return run in self._done

    def add(self, run: str, result: ChaosResult) -> None:
        """Count a run, and note it if there is a file."""
        self.total.add(result)
        self.raw += len(result.raw)
        self._done.add(run)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(_document(run, result)) + "\n")

    def _take(self, line: dict[str, object]) -> None:
        fields = dict(line)
        self._done.add(str(fields.pop("run")))
        self.raw += int(str(fields.pop("raw")))
        struck, outcomes = fields.pop("struck"), fields.pop("outcomes")
        assert isinstance(struck, dict)
        assert isinstance(outcomes, dict)
        counts = Counter({Outcome(name): count for name, count in outcomes.items()})
        self.total.add(ChaosResult(struck=Counter(struck), outcomes=counts, **fields))  # type: ignore[arg-type]


def _document(run: str, result: ChaosResult) -> dict[str, object]:
    return {
        "run": run,
        "raw": len(result.raw),
        "struck": dict(result.struck),
        "outcomes": {outcome.value: count for outcome, count in result.outcomes.items()},
        "pictures": result.pictures,
        "largest_share": result.largest_share,
        "out_of_order": result.out_of_order,
        "threads_left": result.threads_left,
        "resumed_ms": result.resumed_ms,
        "gap_ms": result.gap_ms,
        "errors": result.errors,
        "unrecovered": result.unrecovered,
    }
