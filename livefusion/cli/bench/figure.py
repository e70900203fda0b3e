"""A measured figure, and the bar it is held against."""

from dataclasses import asdict, dataclass
from operator import eq, ge, gt, le, lt
from typing import Any

_COMPARE = {"≤": le, "<": lt, "≥": ge, ">": gt, "=": eq}


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table; ``bar`` is a relation and a number (``≤ 20``), empty for what is only told."""

    scenario: str
    name: str
    value: float
    unit: str = ""
    bar: str = ""

    @property
    def passed(self) -> bool | None:
        """Whether the value meets the bar; None without a bar."""
        if not self.bar:
            return None
        relation, number = self.bar.split()
        return bool(_COMPARE[relation](self.value, float(number)))

    def to_json(self) -> dict[str, Any]:
        """The row as JSON."""
        return {**asdict(self), "passed": self.passed}


def table(figures: list[Figure]) -> str:
    """The figures as aligned text, grouped by scenario."""
    if not figures:
        return "nothing was measured"
    rows = [(f.scenario, f.name, f"{f.value:.6g} {f.unit}".strip(), f.bar, _verdict(f)) for f in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines, previous = [], ""
    for scenario, name, value, bar, verdict in rows:
        shown = scenario if scenario != previous else ""
        previous = scenario
        told = f"{shown:<{widths[0]}}  {name:<{widths[1]}}  {value:>{widths[2]}}"
        lines.append(f"{told}  {bar:<{widths[3]}}  {verdict}".rstrip())
    return "\n".join(lines)


def _verdict(figure: Figure) -> str:
    return {None: "", True: "met", False: "MISSED"}[figure.passed]
