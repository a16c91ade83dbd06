"""KafkaController: one broker is elected and decides for the cluster, one event at a time.

Every broker has one; that of the broker in `/controller` is active. Events come from watches, from
answers of brokers and from requests; what they do is in the modules by subject (`topic_changes`,
`broker_changes`, `reassignment` …). Every write is fenced by the version of `/controller_epoch`.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.controller.channel_manager import BrokerSender, ControllerChannelManager
from kafkalike.controller.controller_api import ControllerApi
from kafkalike.controller.dispatch import EventHandlers
from kafkalike.controller.events import (
    Ask,
    AutoPreferredReplicaLeaderElection,
    ControllerChange,
    ControllerEvent,
    Expire,
    Reelect,
    RegisterBrokerAndReelect,
    Startup,
)
from kafkalike.controller.parts import build_parts
from kafkalike.model.broker import Broker
from kafkalike.protocol.errors import ControllerMovedError, KafkaError, UnknownServerError
from kafkalike.utils.event_queue import EventQueue
from kafkalike.utils.time import Time, Timer
from kafkalike.zk.client.kafka_zk_client import KafkaZkClient
from kafkalike.zk.errors import SessionExpiredError, ZkError
from kafkalike.zk.session import StateChangeHandler
from kafkalike.zk.znodes import ControllerZNode

log = Logger()

NOBODY = -1
FIRST_REBALANCE_CHECK_MS = 5000
# After a start in office that failed: others get their chance, and we do not try in a tight loop.
ELECTION_BACKOFF_MS = 1000
LAST_WORDS_MS = 1000
"""So long does a controller that stops wait until brokers have heard its last decisions."""
_STATE_CHANGE_HANDLER = "controller-state-change-handler"


class KafkaController(ControllerApi):
    """The controller of one broker. `startup` begins to take part in elections.

    `config` gives the broker's current configuration; `connect` makes a way to a broker;
    `register_broker` writes the broker's registration anew once a ZooKeeper session was lost;
    `supported_features` (name: lowest and highest level) become final in a new cluster.
    """

    def __init__(
        self,
        *,
        broker_id: int,
        zk: KafkaZkClient,
        config: Callable[[], BrokerConfig],
        time: Time,
        connect: Callable[[Broker], BrokerSender],
        register_broker: Callable[[], Awaitable[Any]],
        new_topic_id: Callable[[], bytes],
        supported_features: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        self._broker_id = broker_id
        self._zk = zk
        self._config = config
        self._time = time
        self._register_broker = register_broker
        self._active_controller_id = NOBODY
        self._is_in_office = False
        self._is_shut_down = False
        self._expired_sessions = 0
        self._failed_at_start = False
        self._rebalance_timer: Timer | None = None
        self._queue: EventQueue[ControllerEvent] = EventQueue(self._process, "controller")
        super().__init__(self._put)
        channels = ControllerChannelManager(connect, time)
        self.parts = build_parts(broker_id, zk, config, channels, self._put)
        self.context = self.parts.context
        self._watches = self.parts.watches
        self._subjects = EventHandlers.build(self.parts, new_topic_id, supported_features or {})

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller, as far as it knows."""
        return self._is_in_office

    @property
    def active_controller_id(self) -> int:
        """Who is the controller, as far as this broker knows; -1 is nobody."""
        return self._active_controller_id

    @property
    def epoch(self) -> int:
        """The controller epoch; 0 while this broker is not the controller."""
        return self.context.epoch

    def startup(self) -> None:
        """Take part in elections from now on; the broker must have registered."""
        self._zk.register_state_change_handler(
            StateChangeHandler(
                name=_STATE_CHANGE_HANDLER,
                before_initializing_session=self._on_session_expired,
                after_initializing_session=lambda: self._put(RegisterBrokerAndReelect()),
            )
        )
        self._put(Startup())

    async def settle(self) -> None:
        """Let brokers answer what was decided last, before this one stops: soon, or never."""
        await self.parts.channels.settle(LAST_WORDS_MS)

    def shutdown(self) -> None:
        """Stop; what was asked and not answered is answered with NOT_CONTROLLER.

        `/controller` vanishes with the session, so the broker should close that soon.
        """
        self._is_shut_down = True
        self._zk.unregister_state_change_handler(_STATE_CHANGE_HANDLER)
        self._watches.unwatch_controller()
        _preempt(self._queue.stop())
        self._resign()

    def _put(self, event: ControllerEvent) -> None:
        if self._is_shut_down:
            _preempt([event])
        else:
            self._queue.put(event)

    def _on_session_expired(self) -> None:
        # Another may be elected from this moment on, so answer nobody as controller any more; the
        # event that runs ends by itself, its writes being fenced.
        self._expired_sessions += 1
        self._is_in_office = False
        self._active_controller_id = NOBODY
        _preempt(self._queue.put_first(Expire()))

    async def _process(self, event: ControllerEvent) -> None:
        try:
            await self._dispatch(event)
        except ControllerMovedError as error:
            log.info("the controller moved while {event} was handled: {e}", event=event, e=error)
            await self._maybe_resign()
            if self._is_in_office:
                # `/controller` says us, but in an epoch that is not ours.
                self._resign()
                self._put(Reelect())
        except SessionExpiredError as error:
            log.info("{event} was not finished: {error}", event=event, error=error)
        except ZkError as error:
            log.error("{event} failed: {error}", event=event, error=error)

    async def _dispatch(self, event: ControllerEvent) -> None:
        match event:
            case Startup():
                await self._watches.watch_controller()
                await self._elect()
            case ControllerChange():
                await self._maybe_resign()
            case Reelect():
                await self._maybe_resign()
                await self._elect()
            case RegisterBrokerAndReelect():
                await self._register_broker()
                await self._maybe_resign()
                await self._elect()
            case Expire():
                self._resign()
            case Ask():
                await self._handle_ask(event)
            case AutoPreferredReplicaLeaderElection() if self.is_active:
                interval_s = self._config().leader_imbalance_check_interval_seconds
                self._schedule_rebalance(interval_s * 1000)
                await self._subjects.handle(event)
            case _ if self.is_active:
                await self._subjects.handle(event)

    async def _handle_ask(self, event: Ask[Any]) -> None:
        """Handle what a caller waits for: it is answered whatever happens."""
        if not self.is_active:
            event.preempt()
            return
        try:
            await self._subjects.handle(event)
        except ControllerMovedError:
            event.preempt()
            raise
        except KafkaError as error:
            event.fail(error)
        except CancelledError:
            event.preempt()
            raise
        except Exception as error:
            event.fail(UnknownServerError(str(error)))
            raise

    async def _elect(self) -> None:
        """Become the controller if nobody is."""
        if self._failed_at_start:
            self._failed_at_start = False
            await self._time.sleep_ms(ELECTION_BACKOFF_MS)
        await self._give_back_lost_office()
        await self._learn_controller()
        if self._active_controller_id != NOBODY:
            return
        try:
            if await self._register():
                await self._on_controller_failover()
        except ControllerMovedError as error:
            log.info("not elected: {error}", error=error)
            await self._maybe_resign()
        except CancelledError:
            raise
        except SessionExpiredError as error:
            log.info("not in office: {error}", error=error)  # the event for that waits already
        except Exception:  # noqa: BLE001 (whatever it is, another broker must get its chance)
            log.failure("taking office as controller failed; another election follows")
            self._failed_at_start = True
            await self._trigger_controller_move()

    async def _register(self) -> bool:
        """Write `/controller`; False if the session expired meanwhile: it may be gone again."""
        expired_sessions = self._expired_sessions
        elected = await self._zk.register_controller_and_increment_controller_epoch(
            self._broker_id, self._time.now_ms()
        )
        if self._expired_sessions != expired_sessions:
            return False
        self.context.epoch, self.context.epoch_zk_version = elected
        self._active_controller_id = self._broker_id
        self._is_in_office = True
        log.info("elected controller, epoch {epoch}", epoch=elected.epoch)
        return True

    async def _give_back_lost_office(self) -> None:
        """Delete a `/controller` that this session holds while we are not in office.

        A request to write it may outlive the session for which it was meant.
        """
        if self._is_in_office:
            return
        epoch = await self._zk.get_controller_epoch()
        _, stat = await self._zk.get_data_and_stat(ControllerZNode.PATH)
        if epoch is None or stat is None or stat.ephemeral_owner != self._zk.session_id:
            return
        log.warn("{path} is ours, though we are not in office", path=ControllerZNode.PATH)
        await self._zk.delete_controller(epoch.zk_version)

    async def _on_controller_failover(self) -> None:
        """Read the cluster from ZooKeeper and put it in order; the order of steps is Kafka's."""
        parts, context = self.parts, self.context
        await self._subjects.features.set_up()
        await self._watches.watch_cluster()
        await self._zk.delete_log_dir_event_notifications(context.epoch_zk_version)
        await self._zk.delete_isr_change_notifications(context.epoch_zk_version)
        await self._subjects.brokers.load()
        await self._subjects.topics.load()
        await self._subjects.isrs.load()
        for broker in context.live_or_shutting_down_brokers:
            parts.channels.add_broker(broker)
        await self._take_over_deletions()
        # Brokers must know each other before they hear whom to follow.
        parts.send_update_metadata_to_all()
        await parts.replica_state_machine.startup()
        await parts.partition_state_machine.startup()
        log.info("in office as controller, epoch {epoch}", epoch=context.epoch)
        await self._subjects.reassignments.load()
        await parts.topic_deletion.try_topic_deletion()
        await self._subjects.elections.load()
        if self._config().auto_leader_rebalance_enable:
            self._schedule_rebalance(FIRST_REBALANCE_CHECK_MS)

    async def _take_over_deletions(self) -> None:
        context = self.context
        with_offline_replicas = {
            replica.topic
            for replica in context.replicas_of(context.all_partitions)
            if not context.is_replica_online(replica.replica, replica.tp)
        }
        wanted = sorted(await self._zk.get_topic_deletions())
        await self.parts.topic_deletion.init(wanted, with_offline_replicas)
        await self._subjects.reassignments.abandon(context.topics_to_be_deleted)

    async def _learn_controller(self) -> None:
        holder = await self._zk.get_controller_id()
        self._active_controller_id = NOBODY if holder is None else holder

    async def _maybe_resign(self) -> None:
        """Find out who is the controller; resign if it was this broker."""
        await self._watches.watch_controller()
        await self._learn_controller()
        if self._is_in_office and self._active_controller_id != self._broker_id:
            self._resign()

    async def _trigger_controller_move(self) -> None:
        """Give the office back, so that somebody is elected."""
        await self._learn_controller()
        epoch_zk_version = self.context.epoch_zk_version
        is_ours = self._is_in_office and self._active_controller_id == self._broker_id
        self._resign()
        if not is_ours:
            log.warn("the controller has moved already")
            return
        try:
            await self._zk.delete_controller(epoch_zk_version)
        except ControllerMovedError:
            log.warn("the controller has moved already")

    def _resign(self) -> None:
        """Stop to watch, to send and to remember."""
        self._is_in_office = False
        if self._active_controller_id == self._broker_id:
            self._active_controller_id = NOBODY
        self._watches.unwatch_all()
        if self._rebalance_timer is not None and self._rebalance_timer.active():
            self._rebalance_timer.cancel()
        self._rebalance_timer = None
        self.parts.channels.shutdown()
        self.parts.batch.clear()
        self.context.reset()

    def _schedule_rebalance(self, delay_ms: int) -> None:
        event = AutoPreferredReplicaLeaderElection()
        self._rebalance_timer = self._time.call_later_ms(delay_ms, self._put, event)


def _preempt(forgotten: list[ControllerEvent]) -> None:
    for event in forgotten:
        if isinstance(event, Ask):
            event.preempt()
