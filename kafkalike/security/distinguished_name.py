"""The name in a certificate, written as Java writes it (RFC 2253): most specific part first."""

import re
from collections.abc import Mapping
from typing import Any, Final

# What Python's `ssl` calls the attributes, and the letters that RFC 2253 has for them.
_LETTERS: Final = {
    "commonName": "CN",
    "countryName": "C",
    "domainComponent": "DC",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "userId": "UID",
}
# Java has no letters for it there: an IA5String in hexadecimal.
_EMAIL: Final = "emailAddress"
_EMAIL_OID: Final = "1.2.840.113549.1.9.1"
_SPECIAL: Final = re.compile(r'([,+"\\<>;])|^([ #])|( )$')


def distinguished_name(certificate: Mapping[str, Any]) -> str:
    """Return the name of a certificate, given as Python's `getpeercert` returns it."""
    parts = ["+".join(map(_attribute, rdn)) for rdn in reversed(certificate["subject"])]
    return ",".join(parts)


def _attribute(attribute: tuple[str, str]) -> str:
    kind, value = attribute
    if kind == _EMAIL:
        data = value.encode()
        return f"{_EMAIL_OID}=#16{len(data):02x}{data.hex()}"
    return f"{_LETTERS.get(kind, kind)}={_SPECIAL.sub(_escaped, value)}"


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match[0]}"
