"""The commands of `zookeeper-shell`, in the words of ZooKeeper's own shell."""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from time import gmtime, strftime
from typing import Final

from kafkalike.cli.tools.support.tool import print_error, print_line
from kafkalike.cli.tools.support.zookeeper import zookeeper_session
from kafkalike.zk.bridge import ZkBridge
from kafkalike.zk.errors import NodeExistsError, NoNodeError, NotEmptyError, ZkError
from kafkalike.zk.ops import ADMIN, CREATE, DELETE, READ, WRITE, Stat

_PERMISSIONS: Final = ((CREATE, "c"), (DELETE, "d"), (READ, "r"), (WRITE, "w"), (ADMIN, "a"))
_HELP: Final = """\
\tcreate [-s] [-e] path [data]
\tdelete path
\tdeleteall path
\tget [-s] path
\tgetAcl path
\thelp
\tls [-s] [-R] path
\tquit
\tset path data
\tstat path"""


class UsageError(Exception):
    """A command that is not one, or lacks its path."""


def run_commands(
    connect: str, commands: Iterator[list[str]], tls_config_file: str | None = None
) -> int:
    """Run commands one after the other; 1 if one of them failed."""
    code = 0
    with zookeeper_session(connect, tls_config_file) as run:
        print_line("\nWATCHER::\n\nWatchedEvent state:SyncConnected type:None path:null")
        for words in commands:
            problem = run(partial(_try, words=words))
            if problem is not None:
                print_error(problem)
                code = 1
    return code


async def _try(bridge: ZkBridge, words: list[str]) -> str | None:
    name, *rest = words
    options = {word for word in rest if word.startswith("-")}
    arguments = [word for word in rest if word not in options]
    command = _COMMANDS.get(name)
    if command is None:
        return f"Command not found: {name} (help lists them)"
    path = arguments[0] if arguments else ""
    try:
        await command(bridge, arguments, options)
    except UsageError as error:
        return str(error)
    except NoNodeError:
        return f"Node does not exist: {path}"
    except NodeExistsError:
        return f"Node already exists: {path}"
    except NotEmptyError:
        return f"Node not empty: {path}"
    except ZkError as error:
        return str(error)
    return None


async def _ls(bridge: ZkBridge, arguments: list[str], options: set[str]) -> None:
    path = _path(arguments)
    if "-R" in options:
        for found in await _tree(bridge, path):
            print_line(found)
        return
    children = await bridge.get_children(path, register_watch=False)
    print_line(f"[{', '.join(sorted(children))}]")
    if "-s" in options:
        await _stat(bridge, arguments, options)


async def _get(bridge: ZkBridge, arguments: list[str], options: set[str]) -> None:
    data, stat = await bridge.get(_path(arguments))
    print_line("null" if data is None else data.decode("utf-8", "backslashreplace"))
    if "-s" in options:
        print_line(stat_text(stat))


async def _stat(bridge: ZkBridge, arguments: list[str], options: set[str]) -> None:
    stat = await bridge.exists(_path(arguments))
    if stat is None:
        raise NoNodeError(path=_path(arguments))
    print_line(stat_text(stat))


async def _create(bridge: ZkBridge, arguments: list[str], options: set[str]) -> None:
    data = arguments[1].encode() if len(arguments) > 1 else None
    path = await bridge.create(
        _path(arguments), data, ephemeral="-e" in options, sequence="-s" in options
    )
    print_line(f"Created {path}")


async def _set(bridge: ZkBridge, arguments: list[str], options: set[str]) -> None:
    if len(arguments) < 2:
        raise UsageError("set path data")
    await bridge.set(_path(arguments), arguments[1].encode())


async def _delete(bridge: ZkBridge, arguments: list[str], options: set[str]) -> None:
    await bridge.delete(_path(arguments))


async def _delete_all(bridge: ZkBridge, arguments: list[str], options: set[str]) -> None:
    for path in reversed(await _tree(bridge, _path(arguments))):
        await bridge.delete(path)


async def _get_acl(bridge: ZkBridge, arguments: list[str], options: set[str]) -> None:
    for acl in await bridge.get_acl(_path(arguments)):
        letters = "".join(letter for bit, letter in _PERMISSIONS if acl.perms & bit)
        print_line(f"'{acl.scheme},'{acl.id}\n: {letters}")


async def _help(bridge: ZkBridge, arguments: list[str], options: set[str]) -> None:
    print_line(_HELP)


async def _tree(bridge: ZkBridge, path: str) -> list[str]:
    """Return a znode and all below it, parents first."""
    found = [path]
    for child in sorted(await bridge.get_children(path, register_watch=False)):
        found += await _tree(bridge, f"{path.rstrip('/')}/{child}")
    return found


def _path(arguments: list[str]) -> str:
    if not arguments or not arguments[0].startswith("/"):
        raise UsageError("Path must start with / character")
    return arguments[0]


def stat_text(stat: Stat) -> str:
    """Write a stat as ZooKeeper's shell does, in UTC."""
    return "\n".join(
        (
            f"cZxid = 0x{stat.czxid:x}",
            f"ctime = {_date(stat.ctime)}",
            f"mZxid = 0x{stat.mzxid:x}",
            f"mtime = {_date(stat.mtime)}",
            f"pZxid = 0x{stat.pzxid:x}",
            f"cversion = {stat.cversion}",
            f"dataVersion = {stat.version}",
            f"aclVersion = {stat.aversion}",
            f"ephemeralOwner = 0x{stat.ephemeral_owner:x}",
            f"dataLength = {stat.data_length}",
            f"numChildren = {stat.num_children}",
        )
    )


def _date(milliseconds: int) -> str:
    return strftime("%a %b %d %H:%M:%S UTC %Y", gmtime(milliseconds / 1000))


_COMMANDS: Final[dict[str, Callable[[ZkBridge, list[str], set[str]], Awaitable[None]]]] = {
    "ls": _ls,
    "get": _get,
    "stat": _stat,
    "create": _create,
    "set": _set,
    "delete": _delete,
    "deleteall": _delete_all,
    "rmr": _delete_all,
    "getAcl": _get_acl,
    "help": _help,
}
