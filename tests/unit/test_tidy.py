"""The house rules that need a tool of their own; lint-imports holds the layers, ruff the style."""

import ast
import re
from collections.abc import Iterator

import pytest

from kafkalike.protocol.api_keys import ApiKey
from tests.support.source_tree import ROOT, Module, modules, text_files

MODULES = modules()
CODE = [module for module in MODULES if module.path.name != "__init__.py"]

# Decisions only: these neither touch the reactor nor a socket, and time is an argument.
PURE_LAYERS = {"model", "protocol", "log", "cluster", "replication", "controller", "coordinator"}

# The only doors to threads: two of the broker, one of the client library, which has one to asyncio.
THREAD_DOORS = {"zk/bridge.py", "utils/blocking.py", "client/threads.py"}
ASYNCIO_DOORS = {"client/aio.py", "client/asyncio_calls.py"}
THREAD_NAMES = {"callFromThread", "callInThread", "deferToThread", "deferToThreadPool"}
THREAD_MODULES = {"threading", "concurrent.futures", "_thread", "twisted.internet.threads"}

# Where a process is put together, beside the commands.
REACTOR_PLACES = {"server/kafka_server.py", "testing/network_process.py"}

# Callbacks stand only where a Deferred and a coroutine meet.
CALLBACK_NAMES = {"addCallback", "addCallbacks", "addErrback", "addBoth"}
CALLBACK_PLACES = {"utils/background.py", "utils/blocking.py", "server/api/dispatcher.py"}

# What starts with every test run of a user, or as a process of its own.
QUICK_TO_START = {"testing/pytest_plugin.py", "testing/network_process.py"}

# A file near 400 lines holds two ideas, unless it is a table.
MAX_LINES = 400
TABLES = {"protocol/errors.py"}
MAX_FUNCTION_LINES = 60

FOUND_BY_NAME = ("protocol/messages/", "server/api/")  # imported when a key or folder names them
USED_FROM_OUTSIDE = {
    "kafkalike.cli.main",  # the console entry point
    "kafkalike.client.aio",  # for users
    "kafkalike.client.errors",
    "kafkalike.client.simple_client",  # for users, tests and the quickstart
    "kafkalike.client.twisted",
    "kafkalike.config.docs",  # scripts/config-docs
    "kafkalike.testing.pytest_plugin",  # the entry point of pytest
}


def _dead_modules(found: list[Module]) -> set[str]:
    """Modules that no other module of the package imports or names."""
    used = set(USED_FROM_OUTSIDE)
    for module in found:
        used |= {name for name, _ in module.imports() if name != module.name}
        used |= {text for text in module.strings() if text.startswith("kafkalike.")}
    return {
        module.name
        for module in found
        if module.path.name not in {"__init__.py", "__main__.py"}
        and module.name not in used
        and not module.place.startswith(FOUND_BY_NAME)
        and "__main__" not in set(module.strings())
    }


def _uses(module: Module, banned: set[str]) -> list[str]:
    """Places of `module` that use a banned name, whole or as the last part of a dotted one."""
    return [
        f"{module.place}:{line}: {name}"
        for name, line in module.names()
        if name in banned or name.rpartition(".")[2] in banned
    ]


def _imports(module: Module, banned: set[str]) -> list[str]:
    return [
        f"{module.place}:{node.lineno}: {name}"
        for name, node in module.imports()
        if any(name == ban or name.startswith(f"{ban}.") for ban in banned)
    ]


def test_threads_are_reached_through_their_doors_only() -> None:
    for module in CODE:
        if module.place not in THREAD_DOORS:
            assert not _uses(module, THREAD_NAMES)
            assert not _imports(module, THREAD_MODULES)


def test_coroutines_are_written_with_async_and_await() -> None:
    for module in CODE:
        if module.place not in ASYNCIO_DOORS:
            assert not _imports(module, {"asyncio"})
        assert not _uses(module, {"inlineCallbacks"})
        if module.place not in CALLBACK_PLACES:
            assert not _uses(module, CALLBACK_NAMES)


def test_time_is_an_argument() -> None:
    for module in CODE:
        assert not _uses(module, {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow"})
        if module.layer in PURE_LAYERS:
            assert not _imports(module, {"time", "datetime"})


def test_chance_is_an_argument() -> None:
    allowed = {"random.Random", "random.SystemRandom"}
    for module in CODE:
        used = {name for name, _ in module.imports()}
        if any(isinstance(node, ast.Import) for name, node in module.imports() if name == "random"):
            used |= {name for name, _ in module.names()}
        assert {name for name in used if name.startswith("random.")} <= allowed, module.place


def test_reactor_is_an_argument() -> None:
    for module in CODE:
        for name, node in module.imports():
            if name == "twisted.internet.reactor":
                assert node not in module.tree.body, f"{module.place} imports it at module level"
                assert module.layer == "cli" or module.place in REACTOR_PLACES


def test_pure_layers_open_no_socket_and_start_no_process() -> None:
    banned = {"socket", "select", "subprocess", "signal", "twisted.internet.reactor"}
    for module in CODE:
        if module.layer in PURE_LAYERS:
            assert not _imports(module, banned)


def test_every_module_says_what_it_is_for() -> None:
    assert not [module.place for module in CODE if not ast.get_docstring(module.tree)]


def test_files_hold_one_idea() -> None:
    lines = {m.place: len(m.source.splitlines()) for m in CODE if m.place not in TABLES}
    assert not {place: count for place, count in lines.items() if count > MAX_LINES}


def _functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_functions_can_be_seen_at_a_glance() -> None:
    lines = {
        f"{module.place}: {function.name}": (function.end_lineno or 0) - function.lineno + 1
        for module in CODE
        for function in _functions(module)
    }
    assert not {place: count for place, count in lines.items() if count > MAX_FUNCTION_LINES}


def test_imports_stand_at_the_top() -> None:
    """An import inside a function hides a cycle; only the commands delay theirs, to start fast."""
    for module in CODE:
        if module.layer != "cli" and module.place not in QUICK_TO_START:
            assert "TYPE_CHECKING" not in {name for name, _ in module.names()}, module.place
            for function in _functions(module):
                for node in ast.walk(function):
                    assert not isinstance(node, ast.Import | ast.ImportFrom), (
                        f"{module.place}:{node.lineno}"
                    )


def test_no_error_is_passed_over_in_silence() -> None:
    """What is not expected is logged or raised again."""
    for module in CODE:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ExceptHandler):
                caught = "" if node.type is None else ast.unparse(node.type)
                is_wide = caught in {"", "Exception", "BaseException"}
                is_silent = all(isinstance(line, ast.Pass | ast.Continue) for line in node.body)
                assert not (is_wide and is_silent), f"{module.place}:{node.lineno}"


def test_init_modules_hold_no_logic() -> None:
    for module in MODULES:
        if module.path.name == "__init__.py":
            allowed = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign)
            assert all(isinstance(node, allowed) for node in module.tree.body), module.place


def test_no_module_is_dead() -> None:
    assert not _dead_modules(MODULES)


def test_dead_module_would_be_found() -> None:
    tree = ast.parse('"""Nobody imports this."""')
    path = MODULES[0].path.parent / "utils/dead.py"
    dead = Module(path=path, name="kafkalike.utils.dead", source="", tree=tree)
    assert "kafkalike.utils.dead" in _dead_modules([*MODULES, dead])


def _handlers() -> list[tuple[Module, str, str]]:
    """Each handler module with the ApiKey member and the versions that it registers for."""
    return [
        (module, argument.attr, ast.literal_eval(decorator.keywords[0].value))
        for module in CODE
        if module.place.startswith("server/api/")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "api"
        for argument in decorator.args[:1]
        if isinstance(argument, ast.Attribute)
    ]


HANDLERS = _handlers()


@pytest.mark.parametrize(
    ("module", "api_key", "versions"), HANDLERS, ids=[handler[1] for handler in HANDLERS]
)
def test_every_api_has_message_all_versions_and_a_test(
    module: Module, api_key: str, versions: str
) -> None:
    first, _, last = versions.partition("-")
    assert range(int(first), int(last or first) + 1) == ApiKey[api_key].versions
    assert module.path.stem == api_key.lower(), "a handler's file has the name of its API"
    message = ROOT / f"kafkalike/protocol/messages/{api_key.lower()}.py"
    assert message.exists()
    request = f"{api_key.title().replace('_', '')}Request"
    tests = list((ROOT / "tests").rglob("test_*.py"))
    assert any(
        path.name == f"test_{api_key.lower()}.py" or request in path.read_text() for path in tests
    ), f"no test for {request}"


def test_no_api_has_two_handlers() -> None:
    keys = [api_key for _, api_key, _ in HANDLERS]
    assert len(keys) == len(set(keys))


def test_no_file_names_a_machine() -> None:
    # Put together from parts, so that this file passes its own test.
    places = "|".join(["/" + name for name in ("work", "root", "home/[a-z]", "opt/wheels")])
    pattern = re.compile(rf"(?<![\w./-])({places})(/|\b)")
    bad = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in text_files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]
    assert not bad
