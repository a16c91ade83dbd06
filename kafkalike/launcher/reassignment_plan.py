"""Where replicas shall go when brokers leave or have come: decided from numbers alone.

Both plans move as little as they can. The first of a partition's replicas is its preferred leader.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from kafkalike.launcher.errors import ClusterError
from kafkalike.model.topic_partition import TopicPartition

Replicas = tuple[int, ...]
Assignment = Mapping[TopicPartition, Replicas]

_NAMED_TOPICS = 5


class Load:
    """How many replicas each broker holds and how many partitions prefer it as their leader."""

    def __init__(self, brokers: Iterable[int], assignment: Assignment) -> None:
        self.replicas = Counter(dict.fromkeys(brokers, 0))
        self.leaders = Counter(dict.fromkeys(self.replicas, 0))
        for replicas in assignment.values():
            self.add(replicas)

    def add(self, replicas: Sequence[int]) -> None:
        """Count a partition."""
        self.replicas.update(replicas)
        self.leaders.update(replicas[:1])

    def remove(self, replicas: Sequence[int]) -> None:
        """Do not count a partition any more."""
        self.replicas.subtract(replicas)
        self.leaders.subtract(replicas[:1])


def plan_departure(
    assignment: Assignment,
    leaving: Collection[int],
    staying: Mapping[int, str | None],
) -> dict[TopicPartition, Replicas]:
    """Give new replicas to every partition that has some on a leaving broker.

    The other replicas keep their place. `staying` has the rack of each broker that stays;
    ClusterError if they are too few for some topic.
    """
    check_enough_brokers(assignment, leaving, len(staying))
    load = Load(staying, assignment)
    plan = {}
    for tp, replicas in sorted(assignment.items()):
        if not set(replicas) & set(leaving):
            continue
        load.remove(replicas)
        plan[tp] = _without(replicas, leaving, staying, load)
        load.add(plan[tp])
    return plan


def check_enough_brokers(assignment: Assignment, leaving: Collection[int], staying: int) -> None:
    """Refuse a departure that some topic's replication factor does not allow, and name it."""
    too_many = {
        tp.topic: len(replicas)
        for tp, replicas in assignment.items()
        if len(replicas) > staying and set(replicas) & set(leaving)
    }
    if not too_many:
        return
    topics = sorted(too_many)
    named = ", ".join(f"{topic} ({too_many[topic]})" for topic in topics[:_NAMED_TOPICS])
    more = f" and {len(topics) - _NAMED_TOPICS} more" if len(topics) > _NAMED_TOPICS else ""
    names = f"broker{'s' if len(leaving) > 1 else ''} {', '.join(map(str, sorted(leaving)))}"
    raise ClusterError(
        f"{names} cannot leave: {staying} would stay, but these topics have a larger replication"
        f" factor: {named}{more}. Add brokers first, or lower the replication factor"
    )


def plan_balance(
    assignment: Assignment, brokers: Mapping[int, str | None]
) -> dict[TopicPartition, Replicas]:
    """Even out replicas and preferred leaders over the brokers; only what changes is in the plan.

    No broker then has two replicas more than another, if the replication factors allow it, and the
    preferred leaders are as even as swaps within the partitions can make them.
    """
    new = dict(assignment)
    load = Load(brokers, new)
    while _move_one_replica(new, brokers, load):
        pass
    while _hand_one_leadership_on(new, load):
        pass
    return {tp: replicas for tp, replicas in new.items() if replicas != assignment[tp]}


def _without(
    replicas: Replicas, leaving: Collection[int], staying: Mapping[int, str | None], load: Load
) -> Replicas:
    kept = [broker for broker in replicas if broker not in leaving]
    new = list(replicas)
    for place, broker in enumerate(replicas):
        if broker in leaving:
            new[place] = _least_loaded(staying, kept, load)
            kept.append(new[place])
    if replicas[0] in leaving:
        # Those that hold the data already come first where it makes no difference.
        alive = [broker for broker in kept if broker in staying]
        leader = min(alive, key=lambda broker: load.leaders[broker])
        new.remove(leader)
        new.insert(0, leader)
    return tuple(new)


def _least_loaded(staying: Mapping[int, str | None], taken: Collection[int], load: Load) -> int:
    """Choose where one more replica goes: another rack, fewest replicas, fewest leaders."""
    racks = {staying.get(broker) for broker in taken} - {None}
    return min(
        (broker for broker in staying if broker not in taken),
        key=lambda broker: (
            staying[broker] in racks,
            load.replicas[broker],
            load.leaders[broker],
            broker,
        ),
    )


def _move_one_replica(
    assignment: dict[TopicPartition, Replicas], brokers: Mapping[int, str | None], load: Load
) -> bool:
    """Move a replica from a broker that has many to one with at least two fewer."""
    by_load = sorted(brokers, key=lambda broker: (load.replicas[broker], broker))
    for target in by_load:
        for source in reversed(by_load):
            if load.replicas[source] < load.replicas[target] + 2:
                break
            tp = _movable(assignment, source, target, brokers)
            if tp is not None:
                replicas = assignment[tp]
                moved = tuple(target if broker == source else broker for broker in replicas)
                _replace(assignment, load, tp, moved)
                return True
    return False


def _movable(
    assignment: Assignment, source: int, target: int, brokers: Mapping[int, str | None]
) -> TopicPartition | None:
    """Find a partition whose replica may go, preferably one that does not lead."""
    found = None
    for tp, replicas in assignment.items():
        if source not in replicas or target in replicas:
            continue
        others = {brokers.get(broker) for broker in replicas if broker != source} - {None}
        if brokers[target] in others and brokers[source] not in others:
            continue  # it would put two replicas into one rack
        if replicas[0] != source:
            return tp
        found = found or tp
    return found


def _hand_one_leadership_on(assignment: dict[TopicPartition, Replicas], load: Load) -> bool:
    """Let another replica of some partition be preferred that has at least two fewer."""
    for tp, replicas in assignment.items():
        fewest = min(replicas, key=lambda broker: load.leaders[broker])
        if load.leaders[replicas[0]] >= load.leaders[fewest] + 2:
            others = tuple(broker for broker in replicas if broker != fewest)
            _replace(assignment, load, tp, (fewest, *others))
            return True
    return False


def _replace(
    assignment: dict[TopicPartition, Replicas], load: Load, tp: TopicPartition, new: Replicas
) -> None:
    load.remove(assignment[tp])
    assignment[tp] = new
    load.add(new)
