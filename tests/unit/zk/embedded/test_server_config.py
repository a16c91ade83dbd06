from pathlib import Path

import pytest

from kafkalike.config.sources import parse_properties
from kafkalike.zk.embedded.errors import EmbeddedZooKeeperError
from kafkalike.zk.embedded.server_config import (
    SERVER_COUNTS,
    EnsembleConfig,
    ServerPorts,
    check_server_count,
    read_zoo_cfgs,
    zoo_cfg,
)


@pytest.mark.parametrize("servers", [2, 4, 6, 8])
def test_even_number_is_refused_with_the_reason(servers: int) -> None:
    """M73: an even number of servers tolerates no more failures than one less."""
    reason = f"{servers} ZooKeeper servers tolerate no more failures than {servers - 1}"
    with pytest.raises(EmbeddedZooKeeperError, match=reason):
        check_server_count(servers)


@pytest.mark.parametrize("servers", [-1, 0, 9, 11])
def test_other_numbers_are_refused(servers: int) -> None:
    with pytest.raises(EmbeddedZooKeeperError, match=f"1, 3, 5 or 7 servers, not {servers}"):
        check_server_count(servers)


def test_tolerated_failures_in_the_reason_are_right() -> None:
    for servers, text in [(2, "none may fail"), (4, "one may fail"), (6, "2 may fail")]:
        with pytest.raises(EmbeddedZooKeeperError, match=text):
            check_server_count(servers)


def test_ports_are_the_usual_ones() -> None:
    config = EnsembleConfig.at(2181, 3)
    assert [ports.client for ports in config.ports] == [2181, 2182, 2183]
    assert [ports.quorum for ports in config.ports] == [2888, 2889, 2890]
    assert [ports.election for ports in config.ports] == [3888, 3889, 3890]
    assert config.connect_string == "127.0.0.1:2181,127.0.0.1:2182,127.0.0.1:2183"


def test_all_ports_of_an_ensemble_differ() -> None:
    ports = [port for of_server in EnsembleConfig.at(3000, 7).ports for port in of_server.all()]
    assert len(set(ports)) == 21


def test_lone_server_has_one_port() -> None:
    (ports,) = EnsembleConfig.at(65_535, 1).ports
    assert ports.all() == [65_535]


def test_port_out_of_range_is_refused_with_the_highest_that_will_do() -> None:
    with pytest.raises(EmbeddedZooKeeperError, match="choose one from 1 to 63826") as caught:
        EnsembleConfig.at(64_000, 3)
    assert "port 64000" in str(caught.value)
    assert EnsembleConfig.at(63_826, 3).ports[2].election == 65_535
    with pytest.raises(EmbeddedZooKeeperError, match="port 0"):
        EnsembleConfig.at(0, 1)


def test_zoo_cfg_of_a_member_lists_all_members() -> None:
    settings = parse_properties(zoo_cfg(EnsembleConfig.at(2181, 3), 2, Path("/d/server-2/data")))
    assert settings["clientPort"] == "2182"
    assert settings["clientPortAddress"] == "127.0.0.1"
    assert settings["dataDir"] == "/d/server-2/data"
    assert settings["server.1"] == "127.0.0.1:2888:3888"
    assert settings["server.3"] == "127.0.0.1:2890:3890"
    assert settings["admin.enableServer"] == "false"
    assert settings["maxClientCnxns"] == "0"
    assert {"srvr", "ruok"} <= set(settings["4lw.commands.whitelist"].split(","))
    assert settings["autopurge.purgeInterval"] == "24"


def test_lone_server_is_no_member_of_anything() -> None:
    assert "server.1" not in parse_properties(zoo_cfg(EnsembleConfig.at(2181, 1), 1, Path("/d")))


def test_session_of_kafkas_default_length_fits_any_tick() -> None:
    config = EnsembleConfig(ports=(ServerPorts(client=1),), tick_time_ms=100)
    settings = parse_properties(zoo_cfg(config, 1, Path("/d")))
    assert int(settings["maxSessionTimeout"]) >= 18_000


def test_odd_folder_names_survive_the_properties_syntax() -> None:
    folder = Path("/tmp/a b/c\\d/é=:#")
    settings = parse_properties(zoo_cfg(EnsembleConfig.at(2181, 1), 1, folder))
    assert settings["dataDir"] == str(folder)


@pytest.mark.parametrize("servers", SERVER_COUNTS)
def test_ensemble_is_read_back_from_its_files(servers: int) -> None:
    """M73: an ensemble has 1, 3, 5 or 7 servers."""
    config = EnsembleConfig(
        ports=EnsembleConfig.at(4000, servers).ports,
        tick_time_ms=500,
        init_limit_ticks=7,
        sync_limit_ticks=6,
        max_session_timeout_ms=33_000,
        is_synced_to_disk=False,
    )
    texts = [zoo_cfg(config, number, Path("/d")) for number in range(1, servers + 1)]
    assert read_zoo_cfgs(texts) == config


def test_locked_ensemble_wants_a_login_and_is_known_as_locked_again() -> None:
    config = EnsembleConfig(ports=(ServerPorts(client=2181),), is_locked=True)
    text = zoo_cfg(config, 1, Path("data"))
    assert parse_properties(text)["enforce.auth.schemes"] == "sasl"
    assert read_zoo_cfgs([text]) == config
    open_one = zoo_cfg(EnsembleConfig(ports=config.ports), 1, Path("data"))
    assert "enforce" not in open_one
