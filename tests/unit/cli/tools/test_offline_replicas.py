"""What a failed disk looks like in the tools, as recorded from Kafka with one."""

import json
from typing import Any

from kafkalike.cli.tools.log_dirs import as_document
from kafkalike.cli.tools.topic_description import PartitionDescription
from kafkalike.protocol.error_code import ErrorCode
from tests.support.cli_golden import Recorded


def _partition(number: int, size: int) -> dict[str, Any]:
    return {
        "partition_index": number,
        "partition_size": size,
        "offset_lag": 0,
        "is_future_key": False,
    }


def test_directory_that_failed_is_named_with_its_error() -> None:
    """M84: `log-dirs-describe-offline`, from the answer of such a broker."""
    recorded = Recorded.load("log-dirs-describe-offline").outcome.stdout.splitlines()
    plain = {"name": "plain", "partitions": [_partition(2, 91), _partition(1, 334)]}
    error = int(ErrorCode.KAFKA_STORAGE_ERROR)
    answer = [
        {"log_dir": "/var/lib/kafka/data-2b", "error_code": error, "topics": []},
        {"log_dir": "/var/lib/kafka/data-2a", "error_code": 0, "topics": [plain]},
    ]
    assert as_document({2: answer}, {"plain"}) == json.loads(recorded[-1])


def test_offline_replica_changes_nothing_in_the_description() -> None:
    """M84: `topics-describe-offline-replica`: Kafka's tool does not tell of it, nor does ours."""
    _, line = Recorded.load("topics-describe-offline-replica").outcome.stdout.splitlines()
    partition = PartitionDescription(
        topic="codec-gzip", partition=0, leader=2, replicas=[2, 1, 3], isr=[2, 3, 1]
    )
    assert partition.line() == line
