import asyncio
import ssl
from datetime import timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from remit.core.desired import Tls
from remit.core.live import Unreachable, UnreachableReason
from tests.servers.http_server import HttpServer
from tests.upstream.support import NOON, listing_of, names


def certificate(folder: Path, name: str) -> tuple[str, str]:
    """A self-signed certificate for a name, as the paths of certificate and key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    built = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(NOON - timedelta(days=3650))
        .not_valid_after(NOON + timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / f"{name}.pem", folder / f"{name}.key"
    paths[0].write_bytes(built.public_bytes(Encoding.PEM))
    paths[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return str(paths[0]), str(paths[1])


def test_a_server_is_verified_by_its_name_against_the_given_ca(tmp_path: Path):
    chain = certificate(tmp_path, "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*chain)
    with HttpServer(tls=context) as it:
        assert names(asyncio.run(listing_of(it.secure_url, tls=Tls(ca_file=chain[0])))) == ["echo"]
        for url, tls in (
            (it.secure_url, None),
            (it.secure_url.replace("localhost", "127.0.0.1"), Tls(ca_file=chain[0])),
        ):
            found = asyncio.run(listing_of(url, tls=tls))
            assert isinstance(found, Unreachable)
            assert found.reason is UnreachableReason.REFUSED
            assert "certificate verify failed" in found.detail


def test_a_client_certificate_is_presented(tmp_path: Path):
    chain, client = certificate(tmp_path, "localhost"), certificate(tmp_path, "client")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*chain)
    context.load_verify_locations(client[0])
    context.verify_mode = ssl.CERT_REQUIRED
    with HttpServer(tls=context) as it:
        tls = Tls(ca_file=chain[0], client_cert=client[0], client_key=client[1])
        assert names(asyncio.run(listing_of(it.secure_url, tls=tls))) == ["echo"]


def test_a_missing_tls_file_is_reported_before_anything_is_sent(tmp_path: Path):
    with HttpServer() as it:
        found = asyncio.run(listing_of(it.url, tls=Tls(ca_file=str(tmp_path / "none.pem"))))
        assert it.seen == []
    assert found == Unreachable(
        reason=UnreachableReason.REFUSED, detail="the files under tls cannot be used (FileNotFoundError)"
    )
