"""The configuration of an ensemble, decided without touching anything: ports and zoo.cfg.

A server's zoo.cfg is the only record of what an ensemble looks like, so it can be read back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from kafkalike.config.sources import format_properties, parse_properties
from kafkalike.zk.embedded.errors import EmbeddedZooKeeperError

HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 2181
SERVER_COUNTS: Final = (1, 3, 5, 7)

# ZooKeeper's usual trio is 2181, 2888, 3888: the same distances from any other first port.
_QUORUM_OFFSET: Final = 2888 - DEFAULT_PORT
_ELECTION_OFFSET: Final = 3888 - DEFAULT_PORT

_LOCK: Final = {
    "authProvider.sasl": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
    "enforce.auth.enabled": "true",
    "enforce.auth.schemes": "sasl",
}
_FOUR_LETTER_WORDS: Final = "conf,cons,dump,isro,mntr,ruok,srvr,stat,wchs"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPorts:
    """The ports of one server: for clients, for the leader's followers, for elections.

    A server that is alone has the first one only.
    """

    client: int
    quorum: int | None = None
    election: int | None = None

    def all(self) -> list[int]:
        """Return the ports that the server listens on."""
        return [port for port in (self.client, self.quorum, self.election) if port is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleConfig:
    """Everything that the servers of one ensemble share; server ids count from 1.

    The limits are counted in ticks. Who believes to be elected while the others follow somebody
    else finds out after the init limit only, so it is short: on one machine all are near. Sessions
    may be as short as two ticks, as is ZooKeeper's default, and as long as Kafka's default whatever
    the tick.
    """

    ports: tuple[ServerPorts, ...]
    tick_time_ms: int = 2000
    init_limit_ticks: int = 5
    sync_limit_ticks: int = 5
    max_session_timeout_ms: int = 60_000
    is_synced_to_disk: bool = True  # False is for tests: a crash of the machine may lose writes
    is_locked: bool = False  # who does not log in (SASL) may not even look

    def __post_init__(self) -> None:
        check_server_count(len(self.ports))

    @property
    def connect_string(self) -> str:
        """All servers, as `zookeeper.connect` wants them."""
        return ",".join(f"{HOST}:{ports.client}" for ports in self.ports)

    @classmethod
    def at(cls, port: int, servers: int) -> Self:
        """Lay out an ensemble whose first server's clients use `port`, the next one's port + 1."""
        check_server_count(servers)
        last = port if servers == 1 else port + _ELECTION_OFFSET + servers - 1
        if port < 1 or last > 65_535:
            raise EmbeddedZooKeeperError(
                f"port {port} is out of range: {servers} servers use ports from {port} to {last};"
                f" choose one from 1 to {65_535 - last + port}"
            )
        if servers == 1:
            return cls(ports=(ServerPorts(client=port),))
        return cls(
            ports=tuple(
                ServerPorts(client=n, quorum=n + _QUORUM_OFFSET, election=n + _ELECTION_OFFSET)
                for n in range(port, port + servers)
            )
        )


def check_server_count(servers: int) -> None:
    """Refuse a number of servers that makes no sense, and say why."""
    if servers in SERVER_COUNTS:
        return
    if servers > 0 and servers % 2 == 0:
        raise EmbeddedZooKeeperError(
            f"{servers} ZooKeeper servers tolerate no more failures than {servers - 1}: a majority"
            f" of {servers} is {servers // 2 + 1}, so {_failures(servers)} may fail, as with"
            f" {servers - 1}. Choose an odd number: 1, 3, 5 or 7"
        )
    raise EmbeddedZooKeeperError(f"an ensemble has 1, 3, 5 or 7 servers, not {servers}")


def _failures(servers: int) -> str:
    tolerated = (servers - 1) // 2
    return {0: "none", 1: "one"}.get(tolerated, str(tolerated))


def zoo_cfg(config: EnsembleConfig, server_id: int, data_dir: Path) -> str:
    """Write the zoo.cfg of one server."""
    settings = {
        "tickTime": config.tick_time_ms,
        "initLimit": config.init_limit_ticks,
        "syncLimit": config.sync_limit_ticks,
        "maxSessionTimeout": config.max_session_timeout_ms,
        "dataDir": data_dir,
        "clientPortAddress": HOST,
        "clientPort": config.ports[server_id - 1].client,
        "maxClientCnxns": 0,
        "4lw.commands.whitelist": _FOUR_LETTER_WORDS,
        "autopurge.snapRetainCount": 3,
        "autopurge.purgeInterval": 24,
        "admin.enableServer": "false",
        "forceSync": "yes" if config.is_synced_to_disk else "no",
    }
    if config.is_locked:
        settings |= _LOCK
    # A lone server that is listed as a member would wait for an election: it has no such line.
    if len(config.ports) > 1:
        for number, ports in enumerate(config.ports, 1):
            settings[f"server.{number}"] = f"{HOST}:{ports.quorum}:{ports.election}"
    return format_properties((key, str(value)) for key, value in settings.items())


def read_zoo_cfgs(texts: Sequence[str]) -> EnsembleConfig:
    """Read back the ensemble whose servers have these zoo.cfg, in the order of their ids."""
    all_settings = [parse_properties(text) for text in texts]
    first = all_settings[0]
    return EnsembleConfig(
        ports=tuple(_ports(settings, number) for number, settings in enumerate(all_settings, 1)),
        tick_time_ms=int(first["tickTime"]),
        init_limit_ticks=int(first["initLimit"]),
        sync_limit_ticks=int(first["syncLimit"]),
        max_session_timeout_ms=int(first["maxSessionTimeout"]),
        is_synced_to_disk=first["forceSync"] == "yes",
        is_locked=_LOCK.keys() <= first.keys(),
    )


def _ports(settings: Mapping[str, str], server_id: int) -> ServerPorts:
    client = int(settings["clientPort"])
    member = settings.get(f"server.{server_id}")
    if member is None:
        return ServerPorts(client=client)
    _, quorum, election = member.split(":")
    return ServerPorts(client=client, quorum=int(quorum), election=int(election))
