"""Tools that log in: `--command-config` with SASL PLAIN, and tokens as recorded."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.broker import Broker
from tests.support.cli_golden import GoldenCommands, Outcome, Recorded, run_tool
from tests.support.new_broker import STARTED
from tests.support.ports import free_port

pytestmark = pytest.mark.ensemble

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
TOKEN_ID = (r"(tokenId : )\S{22}|^\S{22}(?= )", r"\1ID")
HMAC = (r"[\w+/]{86}==", "HMAC")
FOREVER = [TOKEN_ID, HMAC]


@pytest.fixture(scope="module")
def login(broker_factory: Callable[..., Broker], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `sasl.props` for alice, and the address of a broker that wants to know her."""
    port = free_port()
    broker = broker_factory(is_started=False)
    broker.properties |= {
        "listeners": f"PLAINTEXT://127.0.0.1:{broker.port},SASL_PLAINTEXT://127.0.0.1:{port}",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
            f'{LOGIN} user_alice="alice-secret";'
        ),
        "delegation.token.master.key": "secret",
    }
    broker.start()
    broker.wait_for_log(STARTED)
    directory = tmp_path_factory.mktemp("login")
    for name, password in (("sasl", "alice-secret"), ("wrong", "guessed")):
        (directory / f"{name}.props").write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            f'sasl.jaas.config={LOGIN} username="alice" password="{password}";\n'
        )
    (directory / "address").write_text(f"127.0.0.1:{port}")
    return directory


@pytest.fixture
def commands(login: Path) -> Iterator[GoldenCommands]:
    """The recorded commands, run against that broker."""
    return GoldenCommands(login, {"127.0.0.1:19301": (login / "address").read_text()})


def _tool(login: Path, tool: str, config: str, *arguments: str) -> Outcome:
    server = (login / "address").read_text()
    shared = ["--bootstrap-server", server, "--command-config", str(login / config)]
    return run_tool(tool, [*shared, *arguments])


def test_command_config_logs_in_with_sasl_plain(login: Path) -> None:
    made = _tool(login, "kafka-topics", "sasl.props", "--create", "--topic", "hers")
    assert made == Outcome("Created topic hers.\n", "", 0)
    listed = _tool(login, "kafka-topics", "sasl.props", "--list")
    assert listed == Outcome("hers\n", "", 0)


def test_wrong_password_is_an_error_that_says_so(login: Path) -> None:
    found = _tool(login, "kafka-topics", "wrong.props", "--list")
    assert found.exit == 1
    assert "SaslAuthenticationException" in found.stdout + found.stderr


def test_command_config_that_is_not_there_is_an_error(login: Path) -> None:
    found = _tool(login, "kafka-topics", "missing.props", "--list")
    assert found.exit == 1
    assert "java.nio.file.NoSuchFileException" in found.stderr
    assert "missing.props" in found.stderr


def test_tokens_are_made_renewed_shown_and_ended_as_recorded(
    login: Path, commands: GoldenCommands
) -> None:
    """M84: a token's whole life."""
    made = commands.compare("delegation-token-create", masks=FOREVER)
    hmac = re.search(HMAC[0], made.stdout)
    assert hmac is not None
    commands.compare("delegation-token-describe", masks=FOREVER)
    for name in ("delegation-token-renew", "delegation-token-expire"):
        recorded = Recorded.load(name)
        theirs = recorded.args[recorded.args.index("--hmac") + 1]
        with_ours = GoldenCommands(
            login, {"127.0.0.1:19301": (login / "address").read_text(), theirs: hmac[0]}
        )
        with_ours.compare(name)
