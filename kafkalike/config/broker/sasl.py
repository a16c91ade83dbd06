"""Keys about SASL; a listener prefix sets them for one listener (and one mechanism)."""

from kafkalike.config.definition import CLASS, LONG, PASSWORD, PER_BROKER, SHORT, Config, key
from kafkalike.config.value_types import Password


class SaslKeys(Config):
    """Mechanisms, credentials, Kerberos and the refresh of logins."""

    connections_max_reauth_ms: int = key(
        "connections.max.reauth.ms",
        0,
        "Session lifetime told to SASL clients, which must authenticate again before it ends; 0 is "
        "none.",
        type=LONG,
    )
    sasl_server_max_receive_size: int = key(
        "sasl.server.max.receive.size",
        524288,
        "Largest message accepted during authentication.",
    )
    sasl_mechanism_inter_broker_protocol: str = key(
        "sasl.mechanism.inter.broker.protocol",
        "GSSAPI",
        "SASL mechanism between brokers.",
        dynamic=PER_BROKER,
    )
    sasl_jaas_config: Password | None = key(
        "sasl.jaas.config",
        None,
        "JAAS login context: loginModuleClass controlFlag (optionName=optionValue)*; for brokers, "
        "with listener and mechanism as prefix.",
        type=PASSWORD,
        dynamic=PER_BROKER,
    )
    sasl_enabled_mechanisms: tuple[str, ...] = key(
        "sasl.enabled.mechanisms",
        ("GSSAPI",),
        "SASL mechanisms the broker offers.",
        dynamic=PER_BROKER,
    )
    sasl_server_callback_handler_class: str | None = key(
        "sasl.server.callback.handler.class",
        None,
        "Class that answers the server side of a mechanism (AuthenticateCallbackHandler).",
        type=CLASS,
    )
    sasl_client_callback_handler_class: str | None = key(
        "sasl.client.callback.handler.class",
        None,
        "Class that answers the client side of a mechanism (AuthenticateCallbackHandler).",
        type=CLASS,
    )
    sasl_login_class: str | None = key(
        "sasl.login.class", None, "Class that logs in (Login).", type=CLASS
    )
    sasl_login_callback_handler_class: str | None = key(
        "sasl.login.callback.handler.class",
        None,
        "Class that answers a login (AuthenticateCallbackHandler).",
        type=CLASS,
    )
    sasl_kerberos_service_name: str | None = key(
        "sasl.kerberos.service.name",
        None,
        "Kerberos principal name that Kafka runs as.",
        dynamic=PER_BROKER,
    )
    sasl_kerberos_kinit_cmd: str = key(
        "sasl.kerberos.kinit.cmd",
        "/usr/bin/kinit",
        "Path of Kerberos' kinit.",
        dynamic=PER_BROKER,
    )
    sasl_kerberos_ticket_renew_window_factor: float = key(
        "sasl.kerberos.ticket.renew.window.factor",
        0.8,
        "Part of a ticket's lifetime after which it is renewed.",
        dynamic=PER_BROKER,
    )
    sasl_kerberos_ticket_renew_jitter: float = key(
        "sasl.kerberos.ticket.renew.jitter",
        0.05,
        "Random part added to the renewal time.",
        dynamic=PER_BROKER,
    )
    sasl_kerberos_min_time_before_relogin: int = key(
        "sasl.kerberos.min.time.before.relogin",
        60000,
        "Shortest time between two Kerberos logins.",
        type=LONG,
        dynamic=PER_BROKER,
    )
    sasl_kerberos_principal_to_local_rules: tuple[str, ...] = key(
        "sasl.kerberos.principal.to.local.rules",
        ("DEFAULT",),
        "Rules that make a short name of a Kerberos principal; the first match counts.",
        dynamic=PER_BROKER,
    )
    sasl_login_refresh_window_factor: float = key(
        "sasl.login.refresh.window.factor",
        0.8,
        "Part of a credential's lifetime (0.5 to 1.0) after which it is refreshed (OAUTHBEARER).",
        dynamic=PER_BROKER,
    )
    sasl_login_refresh_window_jitter: float = key(
        "sasl.login.refresh.window.jitter",
        0.05,
        "Random part (0 to 0.25) added to the refresh time (OAUTHBEARER).",
        dynamic=PER_BROKER,
    )
    sasl_login_refresh_min_period_seconds: int = key(
        "sasl.login.refresh.min.period.seconds",
        60,
        "Shortest time (0 to 900 s) before a credential is refreshed (OAUTHBEARER).",
        type=SHORT,
        dynamic=PER_BROKER,
    )
    sasl_login_refresh_buffer_seconds: int = key(
        "sasl.login.refresh.buffer.seconds",
        300,
        "Time (0 to 3600 s) that a credential is refreshed before it expires (OAUTHBEARER).",
        type=SHORT,
        dynamic=PER_BROKER,
    )
