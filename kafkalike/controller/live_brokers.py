"""Which brokers the controller takes for alive, in which epoch, and which replicas they can serve.

Part of Kafka's `ControllerContext`.
"""

from collections.abc import Iterable, Mapping

from kafkalike.model.broker import Broker
from kafkalike.model.topic_partition import TopicPartition


class LiveBrokers:
    """Registered brokers with their epochs; those that are shutting down still answer requests."""

    def __init__(self) -> None:
        self._brokers: dict[int, Broker] = {}
        self._epochs: dict[int, int] = {}
        self.shutting_down_broker_ids: set[int] = set()
        self.replicas_on_offline_dirs: dict[int, set[TopicPartition]] = {}

    def clear_brokers(self) -> None:
        """Forget all brokers."""
        self._brokers.clear()
        self._epochs.clear()
        self.shutting_down_broker_ids.clear()
        self.replicas_on_offline_dirs.clear()

    def set_live_brokers(self, brokers_and_epochs: Mapping[Broker, int]) -> None:
        """Replace all brokers."""
        self._brokers.clear()
        self._epochs.clear()
        self.add_live_brokers(brokers_and_epochs)

    def add_live_brokers(self, brokers_and_epochs: Mapping[Broker, int]) -> None:
        """Add brokers that registered."""
        for broker, epoch in brokers_and_epochs.items():
            self._brokers[broker.id] = broker
            self._epochs[broker.id] = epoch

    def remove_live_brokers(self, broker_ids: Iterable[int]) -> None:
        """Remove brokers whose registration is gone."""
        for broker_id in broker_ids:
            self._brokers.pop(broker_id, None)
            self._epochs.pop(broker_id, None)

    def update_broker(self, broker: Broker) -> None:
        """Note other end points or features of a live broker; its epoch stays."""
        if broker.id in self._brokers:
            self._brokers[broker.id] = broker

    @property
    def live_broker_ids(self) -> list[int]:
        """The brokers that may lead: alive and not shutting down."""
        return [i for i in self._epochs if i not in self.shutting_down_broker_ids]

    @property
    def live_or_shutting_down_broker_ids(self) -> list[int]:
        """The brokers that requests can be sent to."""
        return list(self._epochs)

    @property
    def live_or_shutting_down_brokers(self) -> list[Broker]:
        """The brokers that requests can be sent to, with their end points."""
        return list(self._brokers.values())

    def live_broker(self, broker_id: int) -> Broker | None:
        """Give a broker that is alive or shutting down."""
        return self._brokers.get(broker_id)

    def broker_epoch(self, broker_id: int) -> int | None:
        """Give the epoch in which a broker registered."""
        return self._epochs.get(broker_id)

    @property
    def broker_epochs(self) -> Mapping[int, int]:
        """The epoch of each live broker."""
        return self._epochs

    def is_replica_online(
        self, broker_id: int, tp: TopicPartition, *, include_shutting_down_brokers: bool = False
    ) -> bool:
        """Whether a broker is alive and has the directory in which it holds this partition."""
        return (
            broker_id in self._epochs
            and (include_shutting_down_brokers or broker_id not in self.shutting_down_broker_ids)
            and tp not in self.replicas_on_offline_dirs.get(broker_id, ())
        )
