import pytest

from kafkalike.config.errors import ConfigError
from kafkalike.security.distinguished_name import distinguished_name
from kafkalike.security.principal import ANONYMOUS, KafkaPrincipal
from kafkalike.security.principal_builder import AuthenticationContext, principal_builder
from kafkalike.security.ssl_principal_mapper import NoMatchingRuleError, SslPrincipalMapper

NAME = "CN=Duke,OU=ServiceUsers,O=Org,C=US"


@pytest.mark.parametrize(
    ("rules", "name", "expected"),
    [
        ("DEFAULT", NAME, NAME),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", NAME, "Duke"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L", NAME, "duke"),
        ("RULE:^CN=(.*?),OU=(.*?),O=(.*?),C=(.*?)$/$1@$2/U", NAME, "DUKE@SERVICEUSERS"),
        ("RULE:^CN=(.*?),OU=Other.*$/$1/, DEFAULT", NAME, NAME),
        ("RULE:^OU=.*$/x/,RULE:^CN=(.*?),.*$/$1@$9/", NAME, "Duke@$9"),
        ("RULE:^cn=(.*?),.*$/$1/L,RULE:^CN=(.*?),OU=(.*?),O=.*$/$1 at $2/", NAME, None),
    ],
)
def test_the_first_rule_that_matches_makes_the_name(
    rules: str, name: str, expected: str | None
) -> None:
    assert SslPrincipalMapper(rules).name_of(name) == (expected or "Duke at ServiceUsers")


def test_a_name_without_a_rule_has_no_principal() -> None:
    with pytest.raises(NoMatchingRuleError, match="CN=Duke"):
        SslPrincipalMapper("RULE:^OU=(.*)$/$1/").name_of(NAME)


@pytest.mark.parametrize("rules", ["RULE:^CN=(.*/$1/", "RULE:abc", "deafult"])
def test_rules_that_are_none_are_an_error(rules: str) -> None:
    with pytest.raises(ConfigError, match=r"ssl\.principal\.mapping\.rules"):
        SslPrincipalMapper(rules).name_of(NAME)


def test_a_subject_is_written_as_java_writes_it() -> None:
    subject = (
        (("countryName", "US"),),
        (("organizationName", "Acme, Inc."),),
        (("organizationalUnitName", "R&D"), ("userId", "7")),
        (("emailAddress", "a@b"),),
        (("commonName", "#duke "),),
    )
    assert distinguished_name({"subject": subject}) == (
        "CN=\\#duke\\ ,1.2.840.113549.1.9.1=#1603614062,OU=R&D+UID=7,O=Acme\\, Inc.,C=US"
    )


def context(**known: object) -> AuthenticationContext:
    given = {"security_protocol": "SSL", "listener_name": "SSL", "client_host": "::1", **known}
    return AuthenticationContext(**given)  # type: ignore[arg-type]  # of the right kinds


def test_the_default_builder_knows_sasl_names_certificates_and_nobody() -> None:
    builder = principal_builder(None, "RULE:^CN=(.*?),.*$/$1/", {})
    assert builder.build(context()) == ANONYMOUS
    assert builder.build(context(peer_certificate_name=NAME)) == KafkaPrincipal("User", "Duke")
    both = context(
        peer_certificate_name=NAME, authorization_id="alice", is_token_authenticated=True
    )
    assert builder.build(both) == KafkaPrincipal("User", "alice")
    assert builder.build(both).is_token_authenticated


class OwnBuilder:
    """A site's own builder."""

    prefix = ""

    def configure(self, properties: dict[str, str]) -> None:
        """Take the prefix."""
        OwnBuilder.prefix = properties["own.prefix"]

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        """Name everybody by address."""
        return KafkaPrincipal("Host", OwnBuilder.prefix + context.client_host)


def test_a_python_class_can_build_principals() -> None:
    builder = principal_builder(f"{__name__}.OwnBuilder", "DEFAULT", {"own.prefix": "at-"})
    assert builder.build(context()) == KafkaPrincipal("Host", "at-::1")


def test_a_class_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"principal\.builder\.class"):
        principal_builder("com.example.Builder", "DEFAULT", {})
