"""Record batches for consumers that do not know the format in which they are stored."""

from kafkalike.config.api_version import api_version
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.file_records import FileSlice
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, UnsupportedCompressionTypeError
from kafkalike.protocol.messages.fetch import FetchablePartitionResponse
from kafkalike.protocol.records.conversion import down_convert
from kafkalike.protocol.records.record_batch import MAGIC_V0, MAGIC_V1, iter_batches
from kafkalike.server.api.context import RequestContext

_LAST_VERSION_WITH_MAGIC_V0 = 1
_LAST_VERSION_WITH_MAGIC_V1 = 3
LAST_VERSION_TO_CONVERT = 9
"""From the next version on every format and codec is known to the client."""


def convert(
    context: RequestContext,
    tp: TopicPartition,
    answer: FetchablePartitionResponse,
    fetch_offset: int,
    *,
    is_follower: bool,
) -> None:
    """Rewrite the records of an answer in a format that this version of Fetch knows."""
    if answer.error_code:
        return
    log = context.broker.replica_manager.get_log(tp)
    if log is None:
        return
    if log.config.compression_type == "zstd":
        _refuse(answer, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        return
    magic = _magic(context.api_version, log.config)
    if magic is None or not answer.record_set:
        return
    if not is_follower and not log.config.message_downconversion_enable:
        _refuse(answer, ErrorCode.UNSUPPORTED_VERSION)
        return
    stored = answer.record_set
    data = stored.read() if isinstance(stored, FileSlice) else bytes(stored)
    # Half a batch stays as it is: to an old client that is a message which does not fit.
    if all(header.magic <= magic for _, header in iter_batches(data)):
        return
    try:
        answer.record_set = down_convert(data, magic, fetch_offset).data
    except UnsupportedCompressionTypeError:
        _refuse(answer, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


def _magic(version: int, config: TopicConfig) -> int | None:
    """Return the newest format that the client knows, None if nothing can be newer."""
    stored = api_version(config.message_format_version).record_version
    if version <= _LAST_VERSION_WITH_MAGIC_V0 and stored > MAGIC_V0:
        return MAGIC_V0
    if version <= _LAST_VERSION_WITH_MAGIC_V1 and stored > MAGIC_V1:
        return MAGIC_V1
    return None


def _refuse(answer: FetchablePartitionResponse, code: ErrorCode) -> None:
    answer.error_code = code
    answer.high_watermark = answer.last_stable_offset = answer.log_start_offset = -1
    answer.aborted_transactions = None
    answer.record_set = b""
