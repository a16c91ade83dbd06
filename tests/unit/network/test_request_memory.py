from kafkalike.network.request_memory import RequestMemory


class FakeSender:
    """A connection that receives what the test says."""

    def __init__(self, memory: RequestMemory) -> None:
        self._memory = memory
        self.awaited_bytes = 0
        self.is_busy = False
        self.is_held = False

    def hold(self) -> None:
        self.is_held = True

    def let_go(self) -> None:
        self.is_held = False

    def begin(self, size: int) -> None:
        """The first bytes of a request come."""
        self.awaited_bytes = size
        self._memory.received(self)

    def complete(self) -> None:
        """The rest comes, and the request is in hand."""
        self.awaited_bytes, self.is_busy = 0, True
        self._memory.received(self)

    def answer(self) -> None:
        self.is_busy = False
        self._memory.answered(self)


def senders(memory: RequestMemory, count: int) -> list[FakeSender]:
    return [FakeSender(memory) for _ in range(count)]


def test_request_has_its_place_until_it_is_answered() -> None:
    memory = RequestMemory(100)
    (one,) = senders(memory, 1)
    one.begin(60)
    assert memory.used_bytes == 60
    one.complete()
    assert memory.used_bytes == 60
    one.answer()
    assert memory.used_bytes == 0


def test_who_begins_while_there_is_no_place_waits_for_its_turn() -> None:
    memory = RequestMemory(100)
    one, two, three = senders(memory, 3)
    one.begin(100)
    two.begin(100)
    three.begin(100)
    assert [sender.is_held for sender in (one, two, three)] == [False, True, True]
    one.complete()
    one.answer()
    assert [sender.is_held for sender in (one, two, three)] == [False, False, True]
    assert memory.used_bytes == 100


def test_last_place_may_be_too_small_for_who_gets_it() -> None:
    memory = RequestMemory(100)
    one, two = senders(memory, 2)
    one.begin(99)
    two.begin(1000)
    assert not two.is_held
    assert memory.used_bytes == 1099


def test_next_request_that_came_with_the_last_one_gets_its_place_after_it() -> None:
    memory = RequestMemory(100)
    (one,) = senders(memory, 1)
    one.begin(50)
    one.is_busy = True
    one.begin(70)
    assert memory.used_bytes == 50
    one.answer()
    assert memory.used_bytes == 70


def test_connection_that_is_gone_leaves_its_place_to_others() -> None:
    memory = RequestMemory(100)
    one, two, three = senders(memory, 3)
    for sender in (one, two, three):
        sender.begin(100)
    memory.forget(two)
    memory.forget(one)
    assert not three.is_held
    memory.forget(three)
    assert memory.used_bytes == 0
