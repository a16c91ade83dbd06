import pytest

from kafkalike.client.config import ClientConfig, ConfigError, make_config, parse_addresses
from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.producer.producer_config import ProducerConfig
from kafkalike.protocol.records.compression import CompressionType


def test_addresses_are_text_or_a_list() -> None:
    expected = [("a", 1), ("b", 9092), ("::1", 3)]
    assert parse_addresses("a:1, b,[::1]:3") == expected
    assert parse_addresses(["a:1", "b:9092", "PLAINTEXT://[::1]:3"]) == expected


@pytest.mark.parametrize("bad", ["", " , ", "a:b", "a:0", "a:70000"])
def test_bad_address_is_refused(bad: str) -> None:
    with pytest.raises(ConfigError, match="bootstrap_servers"):
        parse_addresses(bad)


def test_names_with_dots_and_text_values_are_taken() -> None:
    config = make_config(
        ProducerConfig, {"linger.ms": "5", "enable.idempotence": "true", "acks": "all"}
    )
    assert (config.linger_ms, config.enable_idempotence, config.required_acks) == (5, True, -1)


def test_unknown_name_says_which_may_be_meant() -> None:
    with pytest.raises(ConfigError, match="linger_ms"):
        make_config(ProducerConfig, {"lingerms": 5})


def test_what_kafka_python_has_and_means_nothing_here_is_ignored() -> None:
    assert make_config(ClientConfig, {"api_version": (2, 8)}) == ClientConfig()


def test_text_that_is_no_number_is_refused() -> None:
    with pytest.raises(ConfigError, match="linger_ms"):
        make_config(ProducerConfig, {"linger.ms": "soon"})


def test_acks_is_one_unless_the_producer_is_idempotent() -> None:
    assert ProducerConfig().required_acks == 1
    assert ProducerConfig(enable_idempotence=True).required_acks == -1
    assert ProducerConfig(transactional_id="t").is_idempotent
    assert ProducerConfig(acks="0").required_acks == 0


@pytest.mark.parametrize(
    "settings",
    [
        {"acks": 2},
        {"compression_type": "rar"},
        {"enable_idempotence": True, "acks": 1},
        {"enable_idempotence": True, "retries": 0},
        {"enable_idempotence": True, "max_in_flight_requests_per_connection": 6},
        {"security_protocol": "SASL_TLS"},
    ],
)
def test_producer_refuses_what_cannot_be(settings: dict) -> None:
    with pytest.raises(ConfigError):
        make_config(ProducerConfig, settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"auto_offset_reset": "middle"},
        {"isolation_level": "serializable"},
        {"heartbeat_interval_ms": 10_000},
    ],
)
def test_consumer_refuses_what_cannot_be(settings: dict) -> None:
    with pytest.raises(ConfigError):
        make_config(ConsumerConfig, settings)


def test_codec_follows_the_name() -> None:
    assert ProducerConfig(compression_type="zstd").codec is CompressionType.ZSTD
    assert ProducerConfig().codec is CompressionType.NONE
