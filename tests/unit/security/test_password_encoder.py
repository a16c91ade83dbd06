"""Secrets for ZooKeeper: Kafka reads what we write, and we what Kafka wrote."""

import pytest

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.config.value_types import Password
from kafkalike.security.password_encoder import PasswordEncoder
from tests.support.admin_broker import PROPERTIES

SECRET = "the encoder secret"
# Written by Kafka 2.8.2's ConfigCommand with the secret above.
BY_KAFKA_CBC = (
    "encryptedPassword:V9ERbTi/NfqYgccXHPf5bA==,keyLength:128,cipherAlgorithm:AES/CBC/PKCS5Padding,"
    "initializationVector:uGpOKEqqwp+XJbYSQBnfdA==,keyFactoryAlgorithm:PBKDF2WithHmacSHA512,"
    "passwordLength:10,salt:bqBJdQgATEKvZNvDLMMMdgg06pyvyIQtrn1L8jctOv088EPpAd8tCHEH1Al5YRiIjLiHzi8"
    "BFQQUW/nQSy5qTHhpdb9xLZp2ndqkQFz1sZrKO7OX9QQP0CgtMBqam1KlDXgm4abltmIAGFacZGPRVZQrGJqzCo6DNDxi1"
    "VPaRrNM0J5OoSwx0ziPhbOyFEqpiUqsWPein1GNZEipg64v9bG5vT89MJyJhgdzQKnUShQ77Veiib1CpczSNMGyGoPjF5x"
    "SzKPxfnvZ5jiO48gHFoT27a7qSh/wQaoETvl8VgBoSED04hmJbnOOfZ0K13YJk5dsk2ArXICldT36oXD3Hw==,"
    "iterations:4096"
)
BY_KAFKA_GCM = (
    "encryptedPassword:M0c2LxOdUcoy3Xh9j5AQqAjk2pa8eBlkEGTE,keyLength:256,cipherAlgorithm:AES/GCM/No"
    "Padding,initializationVector:FsbKVukllhSLZ7pN,keyFactoryAlgorithm:PBKDF2WithHmacSHA512,password"
    "Length:10,authenticationTagLength:128,salt:yNDB616YN/kPjLh/oPL3ZnBKIEwSLCgttAifGIKCEIROpVkVpQ18"
    "3Px7P0qYLlowgtv1zm409o/Jx7GuY7gQVRGxoYn4BOm+zXyql8pEXAujhNUFtpPzzXLyrTnaDFZkttuot18mBBWsuJonAdZ"
    "nB9Whouk4/mMHtbR2YBS8Zq6ahVUpL7GP+TDxEUQ0K+hbAf6ONFS443Qjr+Ktf+BOz5SX6IJF9P/1xwkWj+GZuU0b2VthAF"
    "o8PqLXc9GJAMp3KOISq4koSH4xYVHQ8iWbopmrlRACBzL3+8H5Ly665M5SNpwDBV51NEUAhCS+1HlBWAgcFpyklK7ctYqXq"
    "fDtUA==,iterations:1024"
)


def an_encoder(secret: str = SECRET, **properties: str) -> PasswordEncoder:
    given = {f"password.encoder.{name.replace('_', '.')}": v for name, v in properties.items()}
    config = BrokerConfig.from_properties({**PROPERTIES, **given})
    encoder = PasswordEncoder.of(config, Password(secret))
    assert encoder is not None
    return encoder


@pytest.mark.parametrize("encoded", [BY_KAFKA_CBC, BY_KAFKA_GCM], ids=["CBC", "GCM"])
def test_password_that_kafka_encoded_is_decoded(encoded: str) -> None:
    """Encrypted secrets in Kafka's format."""
    assert an_encoder().decode(encoded) == "kéy-secret"


@pytest.mark.parametrize("cipher", ["AES/CBC/PKCS5Padding", "AES/GCM/NoPadding"])
@pytest.mark.parametrize("key_length", ["128", "256"])
def test_encoded_password_comes_back(cipher: str, key_length: str) -> None:
    encoder = an_encoder(cipher_algorithm=cipher, key_length=key_length, iterations="2000")
    encoded = encoder.encode("päss,word:")
    assert "päss" not in encoded
    assert an_encoder().decode(encoded) == "päss,word:"


def test_same_password_is_never_encoded_the_same_way_twice() -> None:
    assert an_encoder().encode("p") != an_encoder().encode("p")


@pytest.mark.parametrize("encoded", [BY_KAFKA_CBC, BY_KAFKA_GCM, "plain text", ""])
def test_password_of_another_secret_or_none_at_all_is_refused(encoded: str) -> None:
    with pytest.raises(ConfigError, match="could not be decoded"):
        an_encoder("another secret").decode(encoded)


def test_unknown_algorithms_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="DES/CBC"):
        an_encoder(cipher_algorithm="DES/CBC/PKCS5Padding").encode("p")
    with pytest.raises(ConfigError, match="keyfactory"):
        an_encoder(keyfactory_algorithm="PBEWithMD5AndDES").encode("p")


def test_without_a_secret_there_is_no_encoder() -> None:
    assert PasswordEncoder.of(BrokerConfig.from_properties(PROPERTIES), None) is None
