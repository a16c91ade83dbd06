"""The log directories of a broker: which are online, and what happens when one fails.

Part of Kafka's `LogManager` and `LogDirFailureChannel`.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from twisted.logger import Logger

from kafkalike.log.log_dir import LogDir
from kafkalike.protocol.errors import InvalidConfigurationError, LogDirNotFoundError

logger = Logger()


class LogDirs:
    """The directories of `log.dirs`, each locked by this broker while it is online.

    A failure is told to `on_failure` once per directory, at once and from where it was seen.
    """

    def __init__(self, paths: Sequence[Path], on_failure: Callable[[Path], None]) -> None:
        if len({path.resolve() for path in paths}) < len(paths):
            raise InvalidConfigurationError(
                f"Duplicate log directory found: {', '.join(map(str, paths))}"
            )
        self.paths = tuple(paths)
        self._on_failure = on_failure
        self._online: dict[Path, LogDir] = {}
        self._failed: set[Path] = set()

    def open(self, initially_offline: Collection[Path] = ()) -> None:
        """Create and lock all that can be used; the others count as failed.

        Raises `LogDirLockedError` if another broker holds one, `OSError` if none can be used.
        """
        try:
            for path in self.paths:
                self._open(path, initially_offline)
        except BaseException:
            self.close()
            raise
        if not self._online:
            raise OSError(
                f"None of the specified log dirs {', '.join(map(str, self.paths))} can be created "
                "or validated; see the log for the reasons"
            )

    def _open(self, path: Path, initially_offline: Collection[Path]) -> None:
        try:
            if path in initially_offline:
                raise OSError(f"Failed to load {path} during broker startup")
            self._online[path] = LogDir(path)
        except OSError as error:
            self.report_failure(path, f"Failed to create or validate data directory {path}", error)

    def close(self) -> None:
        """Unlock all."""
        for log_dir in self._online.values():
            log_dir.unlock()
        self._online.clear()

    @property
    def online(self) -> list[LogDir]:
        """The directories in use, in the order of the configuration."""
        return list(self._online.values())

    @property
    def offline_paths(self) -> list[Path]:
        """The directories that failed."""
        return [path for path in self.paths if path not in self._online or path in self._failed]

    def is_online(self, path: Path) -> bool:
        """Whether a directory is in use; raises `LogDirNotFoundError` if it is not configured."""
        if path not in self.paths:
            raise LogDirNotFoundError(f"Log dir {path} is not found in the config.")
        return path in self._online and path not in self._failed

    def __getitem__(self, path: Path) -> LogDir:
        return self._online[path]

    def report_failure(self, path: Path, message: str, error: OSError) -> None:
        """Note that a disk failed; only the first failure of a directory is told."""
        if path in self._failed:
            return
        self._failed.add(path)
        logger.error("{message}: {error}", message=message, error=error)
        self._on_failure(path)

    def take_offline(self, path: Path) -> None:
        """Use a directory no more."""
        self._failed.add(path)
        log_dir = self._online.pop(path, None)
        if log_dir is not None:
            log_dir.unlock()
