import subprocess
import sys

from click.testing import CliRunner

from kafkalike.cli.main import main


def test_help_lists_the_commands() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert "broker " in result.output
    assert "cluster " in result.output
    assert "zookeeper " in result.output


def test_every_command_of_the_table_is_there() -> None:
    for name in main.list_commands(None):  # type: ignore[arg-type]  # it needs no context
        result = CliRunner().invoke(main, [name, "--help"])
        assert result.exit_code == 0, result.output
        assert result.output.startswith(f"Usage: kafkalike {name}")


def test_unknown_command_is_refused() -> None:
    result = CliRunner().invoke(main, ["bakery"])
    assert result.exit_code == 2
    assert "No such command 'bakery'" in result.output


def test_version_is_told() -> None:
    result = CliRunner().invoke(main, ["--version"], prog_name="kafkalike")
    assert result.output.startswith("kafkalike 0.")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from kafkalike.cli.main import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "heavy = {'twisted', 'kazoo', 'pyspark', 'kafkalike.protocol', 'kafkalike.zk'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
