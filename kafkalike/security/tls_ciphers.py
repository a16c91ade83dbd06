"""Java's names of cipher suites as OpenSSL wants them: `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` is
`ECDHE-RSA-AES128-GCM-SHA256`. Suites of TLS 1.3 have one name everywhere."""

import re
from collections.abc import Iterable

_JAVA = re.compile(r"TLS_(\w+)_WITH_(\w+)")


def cipher_list(suites: Iterable[str]) -> str:
    """Return the OpenSSL list of these suites; names that are OpenSSL's own stay."""
    names = [_openssl_name(suite) for suite in suites]
    # TLS 1.3 suites are always on and are no part of this list, which may not be empty.
    return ":".join(name for name in names if not name.startswith("TLS_")) or "DEFAULT"


def _openssl_name(suite: str) -> str:
    match = _JAVA.fullmatch(suite)
    if match is None:
        return suite
    exchange = "" if match[1] == "RSA" else match[1].replace("_", "-") + "-"
    cipher = re.sub(r"AES_(\d+)_", r"AES\1_", match[2]).replace("_CBC_", "_")
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    return exchange + cipher.replace("_", "-")
