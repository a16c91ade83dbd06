import socket

from kafkalike.utils.tcp_port import can_listen


def test_a_port_is_taken_while_somebody_listens_and_free_after() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not can_listen("127.0.0.1", port)
    assert can_listen("127.0.0.1", port)


def test_an_address_of_another_machine_is_not_ours() -> None:
    assert not can_listen("192.0.2.1", 0)
