"""The security settings of clients: kafka-python's names, and those of Kafka's Java clients.

security_protocol="SASL_SSL", ssl_cafile="ca.pem",
sasl_mechanism="SCRAM-SHA-512", sasl_plain_username="alice", sasl_plain_password="…"

security.protocol=SASL_SSL
ssl.truststore.location=ca.pem
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username=…;
"""

from dataclasses import dataclass, field
from typing import Any, Final

SECURITY_WITHOUT_EFFECT: Final = frozenset(
    {
        "sasl_client_callback_handler_class",
        "sasl_kerberos_domain_name",
        "sasl_kerberos_kinit_cmd",
        "sasl_kerberos_min_time_before_relogin",
        "sasl_kerberos_name",
        "sasl_kerberos_service_name",
        "sasl_kerberos_ticket_renew_jitter",
        "sasl_kerberos_ticket_renew_window_factor",
        "sasl_login_class",
        "sasl_login_refresh_buffer_seconds",
        "sasl_login_refresh_min_period_seconds",
        "sasl_login_refresh_window_factor",
        "sasl_login_refresh_window_jitter",
        "security_providers",
        "ssl_engine_factory_class",
        "ssl_keymanager_algorithm",
        "ssl_protocol",
        "ssl_provider",
        "ssl_secure_random_implementation",
        "ssl_trustmanager_algorithm",
    }
)
"""Settings of Java, Kerberos and OpenSSL's wrappers that mean nothing here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSecurityConfig:
    """How a client proves who it is, and whom it believes; secrets are not printed."""

    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str | None = None
    sasl_plain_username: str | None = None
    sasl_plain_password: str | None = field(default=None, repr=False)
    sasl_jaas_config: str | None = field(default=None, repr=False)
    sasl_oauth_token_provider: Any = None
    sasl_login_callback_handler_class: str | None = None
    ssl_cafile: str | None = None
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    ssl_password: str | None = field(default=None, repr=False)
    ssl_check_hostname: bool = True
    ssl_ciphers: str | None = None
    ssl_truststore_location: str | None = None
    ssl_truststore_password: str | None = field(default=None, repr=False)
    ssl_truststore_type: str = "JKS"
    ssl_truststore_certificates: str | None = None
    ssl_keystore_location: str | None = None
    ssl_keystore_password: str | None = field(default=None, repr=False)
    ssl_keystore_type: str = "JKS"
    ssl_keystore_key: str | None = field(default=None, repr=False)
    ssl_keystore_certificate_chain: str | None = None
    ssl_key_password: str | None = field(default=None, repr=False)
    ssl_endpoint_identification_algorithm: str = "https"
    ssl_enabled_protocols: str = "TLSv1.2,TLSv1.3"
    ssl_cipher_suites: str = ""
