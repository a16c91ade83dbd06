"""`kafkalike completion bash|zsh|fish`: what a shell needs to complete `kafkalike` and the tools.

`kafkalike` itself is completed by click, which asks the program; the options of the tools do not
change, so they are written out and cost the shell nothing.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

import click
from click.shell_completion import get_completion_class

from kafkalike.cli.tools.names import MODULES
from kafkalike.cli.tools.support.argument_tool import ArgumentTool
from kafkalike.cli.tools.support.tool import HELP, VERSION, Tool

_VARIABLE: Final = "_KAFKALIKE_COMPLETE"


class _Known(NamedTuple):
    """An option of a tool, as shells want it."""

    name: str
    help: str
    takes_value: bool


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Write the completion for a shell; to have it in every new one:

    \b
    bash  echo 'eval "$(kafkalike completion bash)"' >> ~/.bashrc
    zsh   echo 'eval "$(kafkalike completion zsh)"' >> ~/.zshrc
    fish  kafkalike completion fish > ~/.config/fish/completions/kafkalike.fish
    """
    tools = {name: list(_options(name)) for name in MODULES}
    click.echo(_of_kafkalike(shell))
    click.echo("\n".join(_WRITERS[shell](tools)))


def _of_kafkalike(shell: str) -> str:
    """Return what click has for its own commands."""
    found = get_completion_class(shell)
    assert found is not None, "click has all three"
    # The main command is not needed to write the script, only to answer it later.
    made = found(click.Command("kafkalike"), {}, "kafkalike", _VARIABLE)
    return made.source_template % made.source_vars()


def _options(name: str) -> Iterator[_Known]:
    tool = importlib.import_module(MODULES[name]).main
    if isinstance(tool, Tool):
        for option in (*tool.options, HELP, VERSION):
            for spelled in option.names:
                yield _Known(spelled, option.help, option.takes_value)
    elif isinstance(tool, ArgumentTool):
        for action in tool.parser().declared:
            for text in action.option_strings:
                if text.startswith("--"):
                    yield _Known(text[2:], action.help or "", action.nargs != 0)
    else:
        yield _Known("help", "Show how it is used.", takes_value=False)
        yield _Known("version", "Show the version.", takes_value=False)


def _bash(tools: Mapping[str, list[_Known]]) -> Iterator[str]:
    yield "_kafka_tools() {\n  local words=''\n  case ${COMP_WORDS[0]##*/} in"
    for name, options in tools.items():
        yield f"    {name}) words='{_words(options)}' ;;"
    yield "  esac"
    yield '  [[ ${COMP_WORDS[COMP_CWORD]} == -* ]] || words=""'
    yield '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))\n}'
    yield f"complete -o default -F _kafka_tools {' '.join(tools)}"


def _zsh(tools: Mapping[str, list[_Known]]) -> Iterator[str]:
    yield "_kafka_tools() {\n  local -a options\n  case ${words[1]:t} in"
    for name, options in tools.items():
        yield f"    {name}) options=({_words(options)}) ;;"
    yield "  esac"
    yield "  if [[ $PREFIX == -* ]]; then compadd -- $options; else _files; fi\n}"
    yield f"compdef _kafka_tools {' '.join(tools)}"


def _fish(tools: Mapping[str, list[_Known]]) -> Iterator[str]:
    for name, options in tools.items():
        for option in options:
            value = " -r" if option.takes_value else ""
            first = option.help.splitlines()[0] if option.help else ""
            text = first.replace("\\", "\\\\").replace("'", "\\'")
            yield f"complete -c {name} -l {option.name}{value} -d '{text}'"


def _words(options: list[_Known]) -> str:
    return " ".join(f"--{option.name}" for option in options)


_WRITERS: Final[Mapping[str, Callable[[Mapping[str, list[_Known]]], Iterator[str]]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
