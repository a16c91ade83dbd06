"""The figures of a run: gathered over rounds, written as JSON, printed as tables with ratios."""

import json
import os
import platform
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

# metric -> (heading, format)
_METRICS = {
    "records_per_s": ("records/s", ",.0f"),
    "mb_per_s": ("MB/s", ",.1f"),
    "records_per_cpu_s": ("records/CPU s", ",.0f"),
    "cpu_s_per_gb": ("CPU s/GB", ".2f"),
    "requests_per_s": ("requests/s", ",.0f"),
    "cpu_s_per_1000_requests": ("CPU s/1000 req.", ".4f"),
    "p50_ms": ("p50 ms", ".2f"),
    "p99_ms": ("p99 ms", ".2f"),
    "p999_ms": ("p99.9 ms", ".2f"),
    "rss_mb": ("RSS MB", ".0f"),
    "start_s": ("start s", ".2f"),
    "settled_s": ("settled s", ".2f"),
    "cleaned_s": ("cleaned s", ".1f"),
}


class Report:
    """target -> label -> metric -> one value a round."""

    def __init__(self, targets: Iterable[str]) -> None:
        self.targets = list(targets)
        self._values: dict[str, dict[str, dict[str, list[float]]]] = {
            target: defaultdict(lambda: defaultdict(list)) for target in self.targets
        }

    def add(self, target: str, label: str, figures: dict[str, float]) -> None:
        """Take the figures of one measurement."""
        for metric, value in figures.items():
            self._values[target][label][metric].append(value)

    @property
    def labels(self) -> list[str]:
        """All that was measured, in order."""
        return list(dict.fromkeys(label for values in self._values.values() for label in values))

    def value(self, target: str, label: str, metric: str) -> float | None:
        """The median over all rounds, None if that was not measured."""
        values = self._values[target].get(label, {}).get(metric)
        return median(values) if values else None

    def ratios(self, label: str, metric: str) -> list[float | None]:
        """The first target's value over that of each other one."""
        ours, *others = (self.value(target, label, metric) for target in self.targets)
        return [ours / theirs if ours is not None and theirs else None for theirs in others]

    def rows(self) -> list[list[str]]:
        """The table: one row a label and metric, medians of the targets, their ratios."""
        others = self.targets[1:]
        names = ["ratio"] if len(others) == 1 else [f"x {name}" for name in others]
        heading = ["", "", *self.targets, *names]
        rows = [heading]
        for label in self.labels:
            shown = label
            for metric, (name, form) in _METRICS.items():
                values = [self.value(target, label, metric) for target in self.targets]
                if all(value is None for value in values):
                    continue
                row = [shown, name, *("-" if v is None else format(v, form) for v in values)]
                ratios = self.ratios(label, metric)
                row += ["-" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
                rows.append(row)
                shown = ""
        return rows

    def table(self) -> str:
        """The table as text."""
        rows = self.rows()
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = []
        for row in rows:
            left = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
            right = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
            lines.append("  ".join(left + right).rstrip())
        return "\n".join(lines)

    def write_json(self, path: Path, **about: Any) -> None:
        """Write all values of all rounds with their medians."""
        document = {
            "machine": {
                "cpus": os.cpu_count(),
                "python": platform.python_version(),
                "kernel": platform.release(),
            },
            **about,
            "results": {
                target: {
                    label: {
                        metric: {"median": median(values), "rounds": values}
                        for metric, values in metrics.items()
                    }
                    for label, metrics in labels.items()
                }
                for target, labels in self._values.items()
            },
        }
        path.write_text(json.dumps(document, indent=1) + "\n")
