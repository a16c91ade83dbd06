from pathlib import Path

import pytest

from kafkalike.zk.session_file import KeptSession, forget_session, read_session, write_session

SESSION = KeptSession(
    session_id=0x100002FBE9D0000,
    password=bytes(range(16)),
    connect="zoo1:2181,zoo2:2181/chroot",
    timeout_ms=18_000,
    pid=4711,
)


def test_session_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write_session(tmp_path, SESSION)
    assert read_session(tmp_path) == SESSION


def test_file_is_for_the_owners_eyes_only(tmp_path: Path) -> None:
    write_session(tmp_path, SESSION)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_password_is_not_shown() -> None:
    assert str(SESSION) == "session 0x100002fbe9d0000"


def test_forgotten_session_is_none(tmp_path: Path) -> None:
    write_session(tmp_path, SESSION)
    forget_session(tmp_path)
    assert read_session(tmp_path) is None
    forget_session(tmp_path)  # twice does no harm


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"session_id": 1, "password": "zz"}'])
def test_half_of_a_file_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "zookeeper-session").write_text(text)
    assert read_session(tmp_path) is None


def test_folder_that_is_not_there_is_an_error_of_the_disk(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        write_session(tmp_path / "gone", SESSION)
