"""Certificates for tests: an authority, and what it signs, as PEM files."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

_NOW = datetime.now(UTC)
_LOCAL = ("localhost", "127.0.0.1")


@dataclass(frozen=True)
class Certificate:
    """A key and a certificate."""

    key: Any
    certificate: Any

    @property
    def certificate_pem(self) -> str:
        """The certificate alone."""
        return str(self.certificate.public_bytes(Encoding.PEM).decode())

    def key_pem(self, password: str | None = None) -> str:
        """The key, as PKCS8."""
        how = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        return str(self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how).decode())

    def write(self, path: Path, password: str | None = None) -> Path:
        """Write key and certificate into one file, as `ssl.keystore.location` takes it."""
        path.write_text(self.key_pem(password) + self.certificate_pem)
        return path


class Authority(Certificate):
    """Signs certificates."""

    @classmethod
    def new(cls, name: str = "test authority") -> "Authority":
        """Make an authority that trusts itself."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _builder(subject, subject, key.public_key(), timedelta(days=1)).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        return cls(key, builder.sign(key, hashes.SHA256()))

    def issue(
        self,
        common_name: str,
        *,
        hosts: tuple[str, ...] = _LOCAL,
        organisation: str | None = None,
        lifetime: timedelta = timedelta(days=1),
    ) -> Certificate:
        """Sign a certificate; a negative lifetime makes one that has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
        if organisation is not None:
            names.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation))
        builder = _builder(x509.Name(names), self.certificate.subject, key.public_key(), lifetime)
        if hosts:
            names_of = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            builder = builder.add_extension(names_of, critical=False)
        return Certificate(key, builder.sign(self.key, hashes.SHA256()))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: Any, lifetime: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOW - timedelta(days=2))
        .not_valid_after(_NOW + lifetime)
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
