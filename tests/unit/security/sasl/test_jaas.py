import pytest

from kafkalike.config.errors import ConfigError
from kafkalike.security.sasl.jaas import parse_jaas, parse_jaas_file

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_a_login_module_with_its_options_is_read() -> None:
    text = f"""{PLAIN} required
        username="admin" // who we are
        password='it"s; = secret' /* and
        why */ user_alice="a\\"b" retries=3;"""
    (entry,) = parse_jaas(text)
    assert entry.login_module == PLAIN
    assert entry.options == {
        "username": "admin",
        "password": 'it"s; = secret',
        "user_alice": 'a"b',
        "retries": "3",
    }


def test_a_module_may_have_no_options() -> None:
    assert parse_jaas(f"{PLAIN} optional ;")[0].options == {}


def test_a_semicolon_or_comment_sign_within_quotes_is_text() -> None:
    (entry,) = parse_jaas(f'{PLAIN} required password="a;b//c";')
    assert entry.options["password"] == "a;b//c"


def test_several_modules_follow_each_other() -> None:
    assert len(parse_jaas(f"{PLAIN} required a=1; {PLAIN} sufficient b=2;")) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Login module not specified in JAAS config"),
        (PLAIN, "Login module control flag not specified in JAAS config"),
        (f"{PLAIN} always a=1;", "Invalid login module control flag 'always' in JAAS config"),
        (f"{PLAIN} required a;", "Value not specified for key 'a' in JAAS config"),
        (f"{PLAIN} required a=;", "Value not specified for key 'a' in JAAS config"),
        (f'{PLAIN} required a="secret"', "JAAS config entry not terminated by semi-colon"),
    ],
)
def test_what_cannot_be_read_is_an_error_in_kafkas_words(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_jaas(text)


def test_passwords_are_not_printed() -> None:
    (entry,) = parse_jaas(f'{PLAIN} required password="secret";')
    assert "secret" not in repr(entry)


def test_a_file_has_sections() -> None:
    text = 'Client { Digest required username="kafka" password="x"; };\nServer { A required; };'
    sections = parse_jaas_file(text)
    assert sections["Client"][0].options["username"] == "kafka"
    assert sections["Server"][0].login_module == "A"
