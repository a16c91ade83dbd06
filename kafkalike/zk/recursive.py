"""Creating a znode with its parents, in Kafka's order of writes.

A sequence of single requests, as in Kafka: another client may see (or disturb) the middle.
"""

from collections.abc import Awaitable, Callable

from kafkalike.zk.errors import NodeExistsError, NoNodeError
from kafkalike.zk.paths import parent_path


async def create_with_parents(
    path: str, create: Callable[[], Awaitable[str]], create_empty: Callable[[str], Awaitable[str]]
) -> str:
    """Try `create`; if a parent is missing, make the parents with `create_empty` and try again.

    The optimistic first try costs a refused request on a fresh ensemble and saves many later.
    """
    try:
        return await create()
    except NoNodeError:
        await _make_sure_it_exists(parent_path(path), path, create_empty)
        return await create()


async def _make_sure_it_exists(
    path: str, for_path: str, create_empty: Callable[[str], Awaitable[str]]
) -> None:
    if not path:
        raise NoNodeError(f"the root for {for_path} does not exist", path=for_path)
    try:
        await create_empty(path)
        return
    except NodeExistsError:
        return
    except NoNodeError:
        await _make_sure_it_exists(parent_path(path), for_path, create_empty)
    try:
        await create_empty(path)
    except NodeExistsError:
        return
