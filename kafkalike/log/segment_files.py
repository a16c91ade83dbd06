"""The files in a log's directory before its segments are opened: what is stale, what is whole.

Part of Kafka's `Log` (`removeTempFilesAndCollectSwapFiles`, `loadSegmentFiles`).
"""

from collections.abc import Iterator
from pathlib import Path

from twisted.logger import Logger

from kafkalike.log.log_file_names import (
    CLEANED_FILE_SUFFIX,
    DELETED_FILE_SUFFIX,
    INDEX_FILE_SUFFIX,
    INDEX_SUFFIXES,
    SWAP_FILE_SUFFIX,
    TIME_INDEX_FILE_SUFFIX,
    is_index_file,
    is_log_file,
    offset_from_file,
    segment_file,
)

logger = Logger()


def remove_temporary_files(directory: Path) -> list[int]:
    """Delete what an interrupted deletion, cleaning or split left, and return what can be finished.

    These are the base offsets of `.swap` segments. From the first `.cleaned` file on none of them
    is valid: a split renames from the last to the first, so it had not renamed all.
    """
    files = list(_files(directory))
    for file in files:
        if file.name.endswith(DELETED_FILE_SUFFIX):
            file.unlink(missing_ok=True)
    cleaned = [file for file in files if file.name.endswith(CLEANED_FILE_SUFFIX)]
    swapped = [file for file in files if file.name.endswith(SWAP_FILE_SUFFIX)]
    first_cleaned = min(map(offset_from_file, cleaned), default=None)
    valid = sorted(
        offset_from_file(file)
        for file in swapped
        if is_log_file(file.with_suffix(""))
        and (first_cleaned is None or offset_from_file(file) < first_cleaned)
    )
    for file in swapped:
        logger.info("Found file {file} from interrupted swap operation.", file=file)
        # The indexes are of the old or of the new segment, who knows: they are rebuilt.
        _delete_indexes(directory, offset_from_file(file))
        if offset_from_file(file) not in valid:
            file.unlink(missing_ok=True)
    for file in cleaned:
        file.unlink(missing_ok=True)
    return valid


def find_segments(directory: Path) -> list[int]:
    """Return the base offsets of all segments, and delete indexes that belong to none."""
    base_offsets = {offset_from_file(file) for file in _files(directory) if is_log_file(file)}
    for file in _files(directory):
        if is_index_file(file) and offset_from_file(file) not in base_offsets:
            logger.warn(
                "Found an orphaned index file {file}, with no corresponding log file.", file=file
            )
            file.unlink(missing_ok=True)
    return sorted(base_offsets)


def has_indexes(directory: Path, base_offset: int) -> bool:
    """Whether a segment has an offset index and a time index."""
    return all(
        segment_file(directory, base_offset, kind).exists()
        for kind in (INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX)
    )


def _files(directory: Path) -> Iterator[Path]:
    return (file for file in sorted(directory.iterdir()) if file.is_file())


def _delete_indexes(directory: Path, base_offset: int) -> None:
    for kind in INDEX_SUFFIXES:
        segment_file(directory, base_offset, kind).unlink(missing_ok=True)
