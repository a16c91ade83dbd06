"""How the tap writes down a frame: a line for people, or a JSON object for programs."""

import json
import time
from collections.abc import Callable
from typing import Any, Final

from kafkalike.cli.wire.conversation import Said

# Passwords, keys and what proves their possession; shown only when asked for.
_SECRETS: Final = frozenset({"authBytes", "saltedPassword", "salt", "hmac"})
_HIDDEN: Final = "(hidden)"


def line(number: int, said: Said, fields: Any, width: int | None) -> str:
    """Return one line; the fields are cut off at `width` characters in all."""
    clock = time.strftime("%H:%M:%S", time.localtime(said.at_ms / 1000))
    name = "?" if said.api_key is None else f"{said.api_key.api_name} v{said.version}"
    parts = [
        f"{clock}.{said.at_ms % 1000:03}",
        f"#{number}",
        ">" if said.is_request else "<",
        name,
        f"id={said.correlation_id}",
        f"{said.size} B",
    ]
    if said.is_request and said.client_id:
        parts.insert(5, said.client_id)
    if said.took_ms is not None:
        parts.append(f"{said.took_ms} ms")
    parts.append(said.error or json.dumps(fields, ensure_ascii=False, separators=(",", ":")))
    text = " ".join(parts)
    return text if width is None or len(text) <= width else f"{text[: width - 1]}…"


def json_row(
    number: int, said: Said, fields: Any, target: str, frame: bytes | None
) -> dict[str, Any]:
    """Return the object for `--json`; with `hex`, `kafkalike wire decode --jsonl` reads it."""
    row: dict[str, Any] = {
        "time_ms": said.at_ms,
        "connection": number,
        "target": target,
        "direction": "request" if said.is_request else "response",
        "api_key": None if said.api_key is None else int(said.api_key),
        "api_name": None if said.api_key is None else said.api_key.api_name,
        "version": said.version,
        "correlation_id": said.correlation_id,
        "client_id": said.client_id,
        "size": said.size,
        "took_ms": said.took_ms,
        "fields": fields,
    }
    if said.error:
        row["error"] = said.error
    if frame is not None:
        row["hex"] = frame.hex()
    return row


def size_only(records: memoryview) -> str:
    """Show records by their size."""
    return f"<{len(records)} bytes>"


def hide_secrets(value: Any) -> Any:
    """Return the fields without passwords and keys."""
    return _mapped(value, lambda name, inner: _HIDDEN if name in _SECRETS and inner else None)


def _mapped(value: Any, replace: Callable[[str, Any], Any]) -> Any:
    if isinstance(value, list):
        return [_mapped(item, replace) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _mapped(inner, replace) if (put := replace(name, inner)) is None else put
        for name, inner in value.items()
    }
