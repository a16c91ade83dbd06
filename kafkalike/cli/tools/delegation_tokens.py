"""`kafka-delegation-tokens`: create, renew, expire and describe tokens."""

import base64
import binascii
import time
from typing import TYPE_CHECKING, Any, Final

from kafkalike.cli.tools.support.checks import check_excluded, check_required, count
from kafkalike.cli.tools.support.client import client_settings, with_admin
from kafkalike.cli.tools.support.errors import IllegalArgumentError, JavaError, UsageError
from kafkalike.cli.tools.support.listing import OUTPUT, output_format, print_json
from kafkalike.cli.tools.support.options import Option, Parsed, long, switch
from kafkalike.cli.tools.support.tool import Tool, print_line

if TYPE_CHECKING:
    from kafkalike.client.admin.admin_client import Admin

_ACTIONS: Final = ("create", "renew", "expire", "describe")
_ROW: Final = "{:<15} {:<30} {:<15} {:<25} {:<15} {:<15} {:<15}"


def _period(name: str, help: str) -> Option:
    return Option(name, help, "", kind=long, kind_name="Long", value_is_optional=True)


OPTIONS: Final = (
    Option("bootstrap-server", "REQUIRED: The brokers to begin with.", ""),
    Option(
        "command-config",
        "REQUIRED: A properties file with settings of the client, those of its login above all:"
        " tokens are for the user who asks.",
        "",
    ),
    switch("create", "Create a token."),
    switch("renew", "Let a token live longer."),
    switch("expire", "Let a token end."),
    switch("describe", "Show tokens."),
    Option("owner-principal", "Whose tokens: User:alice.", "", value_is_optional=True),
    Option("renewer-principal", "Who else may renew it: User:bob.", "", value_is_optional=True),
    _period("max-life-time-period", "How many ms it may live at most; -1: as the brokers have it."),
    _period("renew-time-period", "By how many ms; -1: as the brokers have it."),
    _period("expiry-time-period", "After how many ms; -1: now."),
    Option("hmac", "The HMAC of the token.", "", value_is_optional=True),
    OUTPUT,
)


def check_arguments(parsed: Parsed) -> str:
    """Refuse options that do not fit together; return the action."""
    if count(parsed, _ACTIONS) != 1:
        raise UsageError(
            "Command must include exactly one action: --create, --renew, --expire or --describe"
        )
    action = next(name for name in _ACTIONS if parsed.has(name))
    check_required(parsed, "bootstrap-server", "command-config", *_NEEDED[action])
    check_excluded(parsed, action, _EXCLUDED[action])
    return action


_NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "create": ("max-life-time-period",),
    "renew": ("hmac", "renew-time-period"),
    "expire": ("hmac", "expiry-time-period"),
    "describe": (),
}
_EXCLUDED: Final = {
    "create": ("hmac", "renew-time-period", "expiry-time-period", "owner-principal"),
    "renew": ("renewer-principal", "max-life-time-period", "expiry-time-period", "owner-principal"),
    "expire": ("renew", "max-life-time-period", "renew-time-period", "owner-principal"),
    "describe": ("renew-time-period", "max-life-time-period", "hmac", "expiry-time-period"),
}


def run(parsed: Parsed) -> int:
    """Do what the options say."""
    action = check_arguments(parsed)
    from kafkalike.cli.tools.support.java_names import java_text
    from kafkalike.cli.tools.support.log4j import log_error
    from kafkalike.protocol.errors import KafkaError

    work = {"create": _create, "renew": _renew, "expire": _expire, "describe": _describe}[action]
    try:
        with_admin(client_settings(parsed), lambda admin: work(admin, parsed))
    except (KafkaError, JavaError) as error:
        text = java_text(error)
        print_line(f"Error while executing delegation token command : {text}")
        wrapper = "java.util.concurrent.ExecutionException: " * isinstance(error, KafkaError)
        log_error(f"{wrapper}{text}\n", "kafka.admin.DelegationTokenCommand$")
        return 1
    return 0


async def _create(admin: "Admin", parsed: Parsed) -> None:
    renewers = _principals(parsed, "renewer-principal") or []
    lifetime_ms = parsed.value("max-life-time-period")
    print_line(
        f"Calling create token operation with renewers :{_shown(renewers)} , "
        f"max-life-time-period :{lifetime_ms}"
    )
    token = await admin.create_delegation_token(renewers, lifetime_ms)
    token["renewers"] = [{"principal_type": kind, "principal_name": n} for kind, n in renewers]
    print_line(f"Created delegation token with tokenId : {token['token_id']}")
    _print_tokens(parsed, [token])


async def _renew(admin: "Admin", parsed: Parsed) -> None:
    hmac, period_ms = parsed.value("hmac"), parsed.value("renew-time-period")
    print_line(f"Calling renew token operation with hmac :{hmac} , renew-time-period :{period_ms}")
    expiry_ms = await admin.renew_delegation_token(_decoded(hmac), period_ms)
    print_line(f"Completed renew operation. New expiry date : {_date(expiry_ms)}")


async def _expire(admin: "Admin", parsed: Parsed) -> None:
    hmac, period_ms = parsed.value("hmac"), parsed.value("expiry-time-period")
    print_line(
        f"Calling expire token operation with hmac :{hmac} , expire-time-period : {period_ms}"
    )
    expiry_ms = await admin.expire_delegation_token(_decoded(hmac), period_ms)
    print_line(f"Completed expire operation. New expiry date : {_date(expiry_ms)}")


async def _describe(admin: "Admin", parsed: Parsed) -> None:
    owners = _principals(parsed, "owner-principal")
    if owners is None:
        print_line("Calling describe token operation for current user.")
    else:
        print_line(f"Calling describe token operation for owners :{_shown(owners)}")
    tokens = await admin.describe_delegation_token(owners)
    print_line(f"Total number of tokens : {len(tokens)}")
    _print_tokens(parsed, tokens)


def _print_tokens(parsed: Parsed, tokens: list[dict[str, Any]]) -> None:
    if output_format(parsed) == "json":
        print_json([token | {"hmac": _encoded(token["hmac"])} for token in tokens])
        return
    heads = ("TOKENID", "HMAC", "OWNER", "RENEWERS", "ISSUEDATE", "EXPIRYDATE", "MAXDATE")
    rows = [_ROW.format(*heads), *(_ROW.format(*_cells(token)) for token in tokens)]
    # Kafka ends the line of a token, but not that of the heads.
    print_line("\n" + "\n".join(rows))


def _cells(token: dict[str, Any]) -> tuple[str, ...]:
    renewers = [(r["principal_type"], r["principal_name"]) for r in token["renewers"]]
    return (
        token["token_id"],
        _encoded(token["hmac"]),
        f"{token['principal_type']}:{token['principal_name']}",
        _shown(renewers),
        *(_date(token.get(key) or token[f"{key}_ms"]) for key in _DATES),
    )


_DATES: Final = ("issue_timestamp", "expiry_timestamp", "max_timestamp")


def _shown(principals: list[tuple[str, str]]) -> str:
    return f"[{', '.join(f'{kind}:{name}' for kind, name in principals)}]"


def _principals(parsed: Parsed, option: str) -> list[tuple[str, str]] | None:
    if not parsed.has(option):
        return None
    found = []
    for text in parsed.values(option):
        kind, colon, name = text.strip().partition(":")
        if not kind or not colon:
            raise IllegalArgumentError(
                f"expected a string in format principalType:principalName but got {text}"
            )
        found.append((kind, name))
    return found


def _decoded(hmac: str) -> bytes:
    try:
        return base64.b64decode(hmac or "", validate=True)
    except binascii.Error as error:
        raise IllegalArgumentError(f"Illegal base64 character: {error}") from None


def _encoded(hmac: bytes) -> str:
    return base64.b64encode(hmac).decode("ascii")


def _date(milliseconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M", time.localtime(milliseconds / 1000))


main: Final = Tool(
    "kafka-delegation-tokens",
    "This tool helps to create, renew, expire, or describe delegation tokens.",
    OPTIONS,
    run,
)
