"""Whether a TCP port is free, asked before a process is started that would need it."""

import socket


def can_listen(host: str, port: int) -> bool:
    """Whether a server could listen there now; connections that just ended are no obstacle."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen()
        except OSError:
            return False
    return True
