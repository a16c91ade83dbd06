"""Keys about authorisation, delegation tokens and the encoding of stored passwords."""

from kafkalike.config.checks import at_least
from kafkalike.config.definition import LONG, LOW, PASSWORD, Config, key
from kafkalike.config.value_types import Password


class SecurityKeys(Config):
    """Who may do what, and the secrets behind tokens and dynamic passwords."""

    authorizer_class_name: str = key(
        "authorizer.class.name",
        "",
        "Class that authorises requests (Authorizer); none if empty.",
        importance=LOW,
    )
    security_providers: str | None = key(
        "security.providers",
        None,
        "Classes that create security providers (SecurityProviderCreator).",
        importance=LOW,
    )
    delegation_token_master_key: Password | None = key(
        "delegation.token.master.key",
        None,
        "DEPRECATED: another name for delegation.token.secret.key.",
        type=PASSWORD,
    )
    delegation_token_secret_key: Password | None = key(
        "delegation.token.secret.key",
        None,
        "Secret that makes and checks delegation tokens, the same on all brokers; without it there "
        "are no tokens.",
        type=PASSWORD,
    )
    delegation_token_max_lifetime_ms: int = key(
        "delegation.token.max.lifetime.ms",
        604800000,
        "Time after which a token cannot be renewed any more.",
        type=LONG,
        check=at_least(1),
    )
    delegation_token_expiry_time_ms: int = key(
        "delegation.token.expiry.time.ms",
        86400000,
        "Time after which a token must be renewed.",
        type=LONG,
        check=at_least(1),
    )
    delegation_token_expiry_check_interval_ms: int = key(
        "delegation.token.expiry.check.interval.ms",
        3600000,
        "How often expired tokens are removed.",
        type=LONG,
        check=at_least(1),
        importance=LOW,
    )
    password_encoder_secret: Password | None = key(
        "password.encoder.secret",
        None,
        "Secret that encodes this broker's dynamic passwords in ZooKeeper.",
        type=PASSWORD,
    )
    password_encoder_old_secret: Password | None = key(
        "password.encoder.old.secret",
        None,
        "The former secret, when it changes: passwords are encoded anew at start.",
        type=PASSWORD,
    )
    password_encoder_keyfactory_algorithm: str | None = key(
        "password.encoder.keyfactory.algorithm",
        None,
        "Algorithm that derives the key of encoded passwords; PBKDF2WithHmacSHA512 if not set.",
        importance=LOW,
    )
    password_encoder_cipher_algorithm: str = key(
        "password.encoder.cipher.algorithm",
        "AES/CBC/PKCS5Padding",
        "Cipher that encodes passwords.",
        importance=LOW,
    )
    password_encoder_key_length: int = key(
        "password.encoder.key.length",
        128,
        "Key length for encoded passwords.",
        check=at_least(8),
        importance=LOW,
    )
    password_encoder_iterations: int = key(
        "password.encoder.iterations",
        4096,
        "Iterations that derive the key of encoded passwords.",
        check=at_least(1024),
        importance=LOW,
    )
