"""Keys about TLS, which Kafka calls SSL; a listener prefix sets them for one listener."""

from kafkalike.config.checks import one_of
from kafkalike.config.definition import CLASS, LOW, PASSWORD, PER_BROKER, Config, key
from kafkalike.config.value_types import Password


class TlsKeys(Config):
    """Certificates, keys, protocol versions and client authentication."""

    principal_builder_class: str | None = key(
        "principal.builder.class",
        None,
        "Class that builds the principal of a connection (KafkaPrincipalBuilder).",
        type=CLASS,
        dynamic=PER_BROKER,
    )
    ssl_protocol: str = key(
        "ssl.protocol",
        "TLSv1.3",
        "TLS version to begin with; ssl.enabled.protocols says what may be negotiated.",
        dynamic=PER_BROKER,
    )
    ssl_provider: str | None = key(
        "ssl.provider", None, "Security provider for TLS.", dynamic=PER_BROKER
    )
    ssl_enabled_protocols: tuple[str, ...] = key(
        "ssl.enabled.protocols",
        ("TLSv1.2", "TLSv1.3"),
        "TLS versions that may be negotiated.",
        dynamic=PER_BROKER,
    )
    ssl_keystore_type: str = key(
        "ssl.keystore.type", "JKS", "Format of the key store file.", dynamic=PER_BROKER
    )
    ssl_keystore_location: str | None = key(
        "ssl.keystore.location", None, "The key store file.", dynamic=PER_BROKER
    )
    ssl_keystore_password: Password | None = key(
        "ssl.keystore.password",
        None,
        "Password of the key store file; PEM needs none.",
        type=PASSWORD,
        dynamic=PER_BROKER,
    )
    ssl_key_password: Password | None = key(
        "ssl.key.password",
        None,
        "Password of the private key in the key store or in ssl.keystore.key.",
        type=PASSWORD,
        dynamic=PER_BROKER,
    )
    ssl_keystore_key: Password | None = key(
        "ssl.keystore.key", None, "Private key, in PEM.", type=PASSWORD, dynamic=PER_BROKER
    )
    ssl_keystore_certificate_chain: Password | None = key(
        "ssl.keystore.certificate.chain",
        None,
        "Certificate chain, in PEM.",
        type=PASSWORD,
        dynamic=PER_BROKER,
    )
    ssl_truststore_type: str = key(
        "ssl.truststore.type", "JKS", "Format of the trust store file.", dynamic=PER_BROKER
    )
    ssl_truststore_location: str | None = key(
        "ssl.truststore.location", None, "The trust store file.", dynamic=PER_BROKER
    )
    ssl_truststore_password: Password | None = key(
        "ssl.truststore.password",
        None,
        "Password of the trust store file; without it the file is used unchecked.",
        type=PASSWORD,
        dynamic=PER_BROKER,
    )
    ssl_truststore_certificates: Password | None = key(
        "ssl.truststore.certificates",
        None,
        "Trusted certificates, in PEM.",
        type=PASSWORD,
        dynamic=PER_BROKER,
    )
    ssl_keymanager_algorithm: str = key(
        "ssl.keymanager.algorithm",
        "SunX509",
        "Algorithm of the Java key manager.",
        dynamic=PER_BROKER,
    )
    ssl_trustmanager_algorithm: str = key(
        "ssl.trustmanager.algorithm",
        "PKIX",
        "Algorithm of the Java trust manager.",
        dynamic=PER_BROKER,
    )
    ssl_endpoint_identification_algorithm: str = key(
        "ssl.endpoint.identification.algorithm",
        "https",
        "How a server's host name is checked against its certificate; empty does not check.",
        importance=LOW,
        dynamic=PER_BROKER,
    )
    ssl_secure_random_implementation: str | None = key(
        "ssl.secure.random.implementation",
        None,
        "Random generator for TLS.",
        importance=LOW,
        dynamic=PER_BROKER,
    )
    ssl_client_auth: str = key(
        "ssl.client.auth",
        "none",
        "Whether clients must (required), may (requested) or need not (none) show a certificate.",
        check=one_of("required", "requested", "none"),
        dynamic=PER_BROKER,
    )
    ssl_cipher_suites: tuple[str, ...] = key(
        "ssl.cipher.suites",
        (),
        "Cipher suites that may be negotiated; empty means all there are.",
        dynamic=PER_BROKER,
    )
    ssl_principal_mapping_rules: str = key(
        "ssl.principal.mapping.rules",
        "DEFAULT",
        "Rules for a short name from a certificate's distinguished name; the first match holds.",
        importance=LOW,
    )
    ssl_engine_factory_class: str | None = key(
        "ssl.engine.factory.class",
        None,
        "Class that makes TLS engines (SslEngineFactory).",
        type=CLASS,
        importance=LOW,
        dynamic=PER_BROKER,
    )
