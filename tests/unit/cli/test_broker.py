from pathlib import Path

from click.testing import CliRunner, Result

from kafkalike.cli.broker import broker


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(broker, [str(argument) for argument in arguments])


def test_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    result = _run(tmp_path / "server.properties")
    assert result.exit_code == 1
    assert result.output == (
        f"Error: cannot read {tmp_path}/server.properties: No such file or directory\n"
    )


def test_wrong_value_is_one_clear_line(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("zookeeper.connect=localhost:2181\nlog.segment.bytes=five\n")
    result = _run(file)
    assert result.exit_code == 1
    assert result.output.startswith("Error: Invalid value five for configuration log.segment.bytes")
    assert result.output.count("\n") == 1


def test_override_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("zookeeper.connect=localhost:2181\nlog.segment.bytes=1048576\n")
    result = _run(file, "--override", "log.segment.bytes=six")
    assert result.exit_code == 1
    assert "Invalid value six for configuration log.segment.bytes" in result.output


def test_override_without_equals_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("zookeeper.connect=localhost:2181\n")
    result = _run(file, "--override", "log.segment.bytes")
    assert result.exit_code == 1
    assert "expected key=value, but found 'log.segment.bytes'" in result.output
