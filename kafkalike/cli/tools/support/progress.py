"""A progress bar on standard error for long work; silent when nobody looks at a terminal."""

import sys
from typing import Final, TextIO

_WIDTH: Final = 30


class Progress:
    """`with Progress("reassigning", total) as bar: bar.update(done)`."""

    def __init__(self, what: str, total: int, stream: TextIO | None = None) -> None:
        self._what = what
        self._total = total
        self._stream = stream or sys.stderr
        self._is_shown = self._stream.isatty()
        self._last = ""

    def __enter__(self) -> "Progress":
        self.update(0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown and self._last:
            self._stream.write("\n")

    def update(self, done: int, note: str = "") -> None:
        """Show how much is done, if that differs from what is shown."""
        if not self._is_shown:
            return
        share = min(1.0, done / self._total) if self._total > 0 else 0.0
        full = round(share * _WIDTH)
        line = f"{self._what} [{'#' * full}{'.' * (_WIDTH - full)}] {share:4.0%} {note}".rstrip()
        if line != self._last:
            self._stream.write(f"\r{line:<{len(self._last)}}")
            self._stream.flush()
            self._last = line
