"""Which configuration keys the code reads: those it does not read have no effect.

A key counts as read where an attribute of something called "config" has its name outside of
`kafkalike/config`, or has the name of a property that is made of it. `scripts/config-docs` writes
what it finds; a unit test keeps it true.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafkalike.config import docs, topic_config
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.definition import Config
from kafkalike.config.topic_config import TopicConfig
from tests.support.source_tree import PACKAGE, ROOT, Module, modules

DOCUMENT = ROOT / "docs/configs.md"
LIST = PACKAGE / "config/ineffective_keys.py"

_HOLDS_CONFIG = re.compile(r"config$|^current$|^for_listener$|^for_mechanism$|^keys$")
_HEAD = '''\
"""Keys that are accepted and checked but that no code reads yet: setting one changes nothing.

Written by `scripts/config-docs` from the code itself; `server` logs the ones that are set.
"""

from collections.abc import Iterable
from typing import Final

'''
_TAIL = '''

def ineffective_settings(names: Iterable[str]) -> list[str]:
    """Return those of a broker's settings that have no effect, sorted."""
    return sorted(INEFFECTIVE_BROKER_KEYS.intersection(names))
'''


def read_attributes(found: Sequence[Module]) -> set[str]:
    """Return the attributes of configurations that the modules outside `config` read."""
    outside = [module.tree for module in found if module.layer != "config"]
    return {name for tree in outside for name in _attributes(tree, _HOLDS_CONFIG)} | {
        name for tree in outside for name in _named_keys(tree)
    }


def _attributes(tree: ast.AST, holder: re.Pattern[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and holder.search(_last_name(node.value)):
            yield node.attr


def _named_keys(tree: ast.AST) -> Iterator[str]:
    """Yield keys that are asked for by name: `config.value("a.b")`, `read(config, "a.b")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            parts = [*node.args, node.func.value if isinstance(node.func, ast.Attribute) else node]
            if any(_HOLDS_CONFIG.search(_last_name(part)) for part in parts):
                for argument in node.args:
                    if isinstance(argument, ast.Constant) and argument.value in BrokerConfig.KEYS:
                        yield BrokerConfig.KEYS[argument.value].attribute


def _last_name(node: ast.expr) -> str:
    """Return the last name of an expression: `b` of `a.b`, `a.b()` and `b`."""
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _derived(found: Sequence[Module]) -> dict[str, set[str]]:
    """Return what each property of the configuration classes is made of."""
    return {
        function.name: set(_attributes(function, re.compile("^self$|^for_listener$")))
        for module in found
        if module.layer == "config"
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
        for function in node.body
        if isinstance(function, ast.FunctionDef)
    }


def ineffective(found: Sequence[Module]) -> tuple[list[str], list[str]]:
    """Return the broker keys and the topic keys that nothing reads."""
    derived = _derived(found)
    read = read_attributes(found)
    topic_keys = [key for key in TopicConfig.KEYS.values() if key.attribute in read]
    read |= {
        topic_config.BROKER_ATTRIBUTES[key.attribute] for key in topic_keys if key.server_default
    }
    pending = list(read)
    while pending:
        new = derived.get(pending.pop(), set()) - read
        read |= new
        pending += new
    return _unread(BrokerConfig, read), _unread(TopicConfig, read)


def _unread(cls: type[Config], read: set[str]) -> list[str]:
    return sorted(key.name for key in cls.KEYS.values() if key.attribute not in read)


def list_source(broker_keys: Sequence[str], topic_keys: Sequence[str]) -> str:
    """Return the source of `kafkalike/config/ineffective_keys.py`."""
    body = _assignment("INEFFECTIVE_BROKER_KEYS", broker_keys)
    body += _assignment("INEFFECTIVE_TOPIC_KEYS", topic_keys)
    return _HEAD + body + _TAIL


def _assignment(name: str, keys: Sequence[str]) -> str:
    if not keys:
        return f"{name}: Final[frozenset[str]] = frozenset()\n"
    lines = "".join(f'        "{key}",\n' for key in keys)
    return f"{name}: Final = frozenset(\n    {{\n{lines}    }}\n)\n"


def main() -> None:
    """Write the list and the documentation."""
    broker_keys, topic_keys = ineffective(modules())
    _write(LIST, list_source(broker_keys, topic_keys))
    _write(DOCUMENT, docs.document(frozenset(broker_keys), frozenset(topic_keys)))
    print(f"{len(broker_keys)} broker keys and {len(topic_keys)} topic keys have no effect")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
