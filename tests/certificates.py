"""Certificates for a server of the tests, which prove who it is."""

import datetime
import ipaddress
import os

import postgres

DAY = datetime.timedelta(days=1)


def certificate(address: str, begins: datetime.datetime, *names: str) -> tuple[bytes, bytes]:
    """Return a certificate, valid for a day, which has signed itself, and its key.

    It is one of an address, and of `names`.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "the queue's server")])
    known = [x509.IPAddress(ipaddress.ip_address(address)), *map(x509.DNSName, names)]
    alternative = x509.SubjectAlternativeName(known)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + DAY)
        .add_extension(alternative, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = (
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return made.public_bytes(serialization.Encoding.PEM), key.private_bytes(*form)


def show(server: postgres.Server, shown: bytes, key: bytes) -> None:
    """Have a server show another certificate to whoever connects from soon on."""
    import psycopg

    data = server.folder / "data"
    owner = data.stat()
    for name, text in (("server.crt", shown), ("server.key", key)):
        file = data / name
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        file.write_bytes(text)
        os.chown(file, owner.st_uid, owner.st_gid)
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("alter system set ssl = on")
        connection.execute("select pg_reload_conf()")
