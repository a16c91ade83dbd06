"""Long work in slices: each about as long as it may be, and nothing lost between them."""

from collections.abc import Generator

from kafkalike.utils.slices import advance


class Ticks:
    """A clock that is a second further at each look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def work(*amounts: int) -> Generator[int, None, None]:
    yield from amounts


def test_slice_ends_when_its_time_is_over() -> None:
    job = work(1, 2, 3, 4, 5)
    assert advance(job, 3, Ticks()) == (6, False)
    assert advance(job, 3, Ticks()) == (9, True)


def test_slice_makes_some_progress_however_short_it_is() -> None:
    job = work(1, 2)
    assert advance(job, 0, Ticks()) == (1, False)
    assert advance(job, 0, Ticks()) == (2, False)
    assert advance(job, 0, Ticks()) == (0, True)
    assert advance(job, 0, Ticks()) == (0, True)
