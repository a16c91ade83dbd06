"""Connect strings and paths."""

import pytest

from kafkalike.zk.paths import ConnectString, parent_path, with_chroot, without_chroot


@pytest.mark.parametrize(
    ("text", "hosts", "chroot"),
    [
        ("h:2181", "h:2181", ""),
        (" h:2181/ ", "h:2181", ""),
        ("h1:1,h2:2,h3:3/kafka/a", "h1:1,h2:2,h3:3", "/kafka/a"),
        ("[::1]:2181/kafka/", "[::1]:2181", "/kafka"),
    ],
)
def test_connect_string_is_hosts_and_chroot(text: str, hosts: str, chroot: str) -> None:
    assert ConnectString.parse(text) == (hosts, chroot)


@pytest.mark.parametrize("text", ["", "/kafka", "h:1/a//b"])
def test_connect_string_without_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"zookeeper\.connect"):
        ConnectString.parse(text)


def test_parents() -> None:
    assert [parent_path(path) for path in ("/a/b", "/a")] == ["/a", ""]
    with pytest.raises(ValueError, match="'a' is not"):
        parent_path("a")


@pytest.mark.parametrize(
    ("chroot", "path", "absolute"),
    [("", "/", "/"), ("", "/a", "/a"), ("/k", "/", "/k"), ("/k", "/a/b", "/k/a/b")],
)
def test_chroot_goes_on_and_off(chroot: str, path: str, absolute: str) -> None:
    assert with_chroot(chroot, path) == absolute
    assert without_chroot(chroot, absolute) == path


def test_path_outside_of_the_chroot_is_refused() -> None:
    with pytest.raises(ValueError, match="not below the chroot"):
        without_chroot("/k", "/other")
