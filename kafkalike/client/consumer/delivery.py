"""From fetched records to what the program gets: deserialised, and one by one for iteration."""

from collections.abc import Iterator
from typing import Any

from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.consumer.consumer_record import ConsumerRecord, Records
from kafkalike.client.consumer.subscription_state import SubscriptionState
from kafkalike.client.serializers import Deserialize, SerializationError, make_deserializer


class Deserializers:
    """Applies the deserialisers of a consumer; runs in the program's own thread."""

    def __init__(self, config: ConsumerConfig, subscription: SubscriptionState) -> None:
        self._key = make_deserializer(config.key_deserializer)
        self._value = make_deserializer(config.value_deserializer)
        self._subscription = subscription

    def apply(self, records: Records) -> Records:
        """Return the records with objects as keys and values.

        The first that cannot be read ends the result, and the position goes back to it. If it is
        the very first, that is an error which names it; `seek` past it to go on.
        """
        if self._key is None and self._value is None:
            return records
        done: Records = {}
        problem: SerializationError | None = None
        for tp, found in records.items():
            if problem is not None:
                self._go_back(found[0])
                continue
            good = done[tp] = []
            for record in found:
                try:
                    good.append(_deserialize(record, self._key, self._value))
                except SerializationError as error:
                    problem = SerializationError(f"{tp} at offset {record.offset}: {error}")
                    self._go_back(record)
                    break
        done = {tp: found for tp, found in done.items() if found}
        if problem is not None and not done:
            raise problem
        return done

    def _go_back(self, record: ConsumerRecord) -> None:
        state = self._subscription.partitions.get(record.topic_partition)
        if state is not None:
            state.seek(record.offset)


def _deserialize(
    record: ConsumerRecord, key: Deserialize | None, value: Deserialize | None
) -> ConsumerRecord:
    topic = record.topic
    return record._replace(
        key=record.key if key is None else key(topic, record.key),
        value=record.value if value is None else value(topic, record.value),
    )


class RecordQueue:
    """Records that were polled for iteration; each counts as consumed when it is given out.

    So a commit in the middle of a loop says how far the loop is, and not how far the poll was.
    """

    def __init__(self, subscription: SubscriptionState) -> None:
        self._subscription = subscription
        self._rest: Iterator[ConsumerRecord] = iter(())

    def put(self, records: Records) -> None:
        """Give these out next."""
        self._rest = self._in_turn(records)

    def take(self) -> ConsumerRecord | None:
        """Return the next record; None if there are no more."""
        return next(self._rest, None)

    def _in_turn(self, records: Records) -> Iterator[ConsumerRecord]:
        for tp, found in records.items():
            state = self._subscription.partitions.get(tp)
            if state is None:
                continue
            seeks = state.seeks
            for record in found:
                if not state.is_assigned or state.seeks != seeks:
                    break  # The program has sought, or the group has taken the partition away.
                epoch: Any = record.leader_epoch
                state.consumed = record.offset + 1
                state.leader_epoch = -1 if epoch is None else epoch
                yield record
