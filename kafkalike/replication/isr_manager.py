"""Asks the controller to change ISRs: one AlterIsr at a time, with all that has gathered (KIP-497).

Kafka's `AlterIsrManager`.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping

from twisted.internet.defer import CancelledError
from twisted.internet.error import ConnectError, DNSLookupError
from twisted.logger import Logger

from kafkalike.model.leader_and_isr import LeaderAndIsr
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaError, ProtocolError
from kafkalike.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrRequestPartitionData,
    AlterIsrRequestTopicData,
    AlterIsrResponse,
)
from kafkalike.utils.background import Background
from kafkalike.utils.time import Time

log = Logger()

RETRY_MS = 50
_NETWORK_ERRORS = (KafkaError, ProtocolError, ConnectError, DNSLookupError, OSError)
# After these the next LeaderAndIsr tells what holds: asking again would be refused again.
_FINAL = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
    }
)

Send = Callable[[AlterIsrRequest], Awaitable[AlterIsrResponse]]
Wanted = Mapping[TopicPartition, LeaderAndIsr]
OnAltered = Callable[[TopicPartition, LeaderAndIsr], None]


class IsrManager:
    """Gathers wanted ISRs while a request is under way; what fails is asked again."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        send: Send,
        on_altered: OnAltered,
        time: Time,
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._send = send
        self._on_altered = on_altered
        self._time = time
        self._unsent: dict[TopicPartition, LeaderAndIsr] = {}
        self._background = Background()
        self._is_sending = False

    def submit(self, tp: TopicPartition, wanted: LeaderAndIsr) -> None:
        """Ask for an ISR as soon as possible."""
        self._unsent[tp] = wanted
        if not self._is_sending:
            self._is_sending = True
            self._background.start(self._drain(), "AlterIsr")

    def clear(self, tp: TopicPartition) -> None:
        """Forget what was to be asked for a partition: it has got another leader or epoch."""
        self._unsent.pop(tp, None)

    def shutdown(self) -> None:
        """Ask no more."""
        self._unsent.clear()
        self._background.stop()

    async def _drain(self) -> None:
        try:
            while self._unsent:
                asked, self._unsent = self._unsent, {}
                refused = await self._ask(asked)
                if refused:
                    # What was submitted meanwhile is newer.
                    self._unsent = {**refused, **self._unsent}
                    await self._time.sleep_ms(RETRY_MS)
        finally:
            self._is_sending = False

    async def _ask(self, asked: Wanted) -> Wanted:
        """Send one request and hand out what it brought; return what must be asked again."""
        try:
            response = await self._send(self._request(asked))
        except CancelledError:
            raise
        except _NETWORK_ERRORS as error:
            log.warn("AlterIsr failed, is sent again: {error}", error=error)
            return asked
        if response.error_code != ErrorCode.NONE:
            code = ErrorCode(response.error_code)
            log.warn("AlterIsr was answered with {code}, is sent again", code=code.name)
            return asked
        again = {}
        for topic in response.topics:
            for answer in topic.partitions:
                tp = TopicPartition(topic.name, answer.partition_index)
                code = ErrorCode(answer.error_code)
                if code is ErrorCode.NONE:
                    isr = tuple(answer.isr)
                    self._on_altered(
                        tp,
                        LeaderAndIsr(
                            answer.leader_id, answer.leader_epoch, isr, answer.current_isr_version
                        ),
                    )
                elif code in _FINAL:
                    log.info("{tp}: the ISR is not changed: {code}", tp=tp, code=code.name)
                elif tp in asked:
                    again[tp] = asked[tp]
        return again

    def _request(self, asked: Wanted) -> AlterIsrRequest:
        topics: dict[str, list[AlterIsrRequestPartitionData]] = defaultdict(list)
        for tp, wanted in asked.items():
            topics[tp.topic].append(
                AlterIsrRequestPartitionData(
                    partition_index=tp.partition,
                    leader_epoch=wanted.leader_epoch,
                    new_isr=list(wanted.isr),
                    current_isr_version=wanted.zk_version,
                )
            )
        return AlterIsrRequest(
            broker_id=self._broker_id,
            broker_epoch=self._broker_epoch(),
            topics=[
                AlterIsrRequestTopicData(name=topic, partitions=partitions)
                for topic, partitions in topics.items()
            ],
        )
