"""A picture of a run: one panel a metric, one bar a target and scenario."""

from pathlib import Path

import matplotlib

from scripts.benchmark.report import Report

matplotlib.use("svg")

import matplotlib.pyplot as plt

_PANELS = {
    "records_per_s": "records/s (more is better)",
    "cpu_s_per_gb": "broker CPU seconds per GB (less is better)",
    "p99_ms": "end-to-end p99, ms (less is better)",
    "rss_mb": "RSS, MB (less is better)",
}


def plot(report: Report, path: Path) -> None:
    """Write the picture as SVG or PNG, as the name of the file says."""
    panels = {
        metric: [
            label
            for label in report.labels
            if any(report.value(target, label, metric) is not None for target in report.targets)
        ]
        for metric in _PANELS
    }
    heights = [max(1, len(labels)) + 1 for labels in panels.values()]
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(10, 0.35 * sum(heights)), height_ratios=heights
    )
    bar = 0.8 / len(report.targets)
    for axis, (metric, labels) in zip(axes, panels.items(), strict=True):
        for number, target in enumerate(report.targets):
            values = [report.value(target, label, metric) or 0.0 for label in labels]
            places = [index + number * bar for index in range(len(labels))]
            axis.barh(places, values, height=bar, label=target)
        centre = 0.4 - bar / 2
        axis.set_yticks([index + centre for index in range(len(labels))], labels, fontsize=7)
        axis.invert_yaxis()
        axis.set_title(_PANELS[metric], fontsize=9)
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
