"""An authenticator in software: makes passkeys and signs with them, rightly or however a test bends it."""

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from os import urandom

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

ORIGIN = "http://localhost:8080"
PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def encoded(data):
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text):
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Authenticator:
    """One passkey, and the browser in front of it.

    Attributes:
        origin: of the page, as the browser says.
        host: what the passkey is for.
        counter: of signatures.
        flags: what the device says of its user.
    """

    origin: str = ORIGIN
    host: str = "localhost"
    counter: int = 0
    flags: int = PRESENT | VERIFIED
    user: bytes = b""
    credential_id: bytes = field(default_factory=lambda: urandom(16))
    key: object = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def make(self, asked):
        """Fields of the form after ``navigator.credentials.create``."""
        self.user = decoded(asked["user"]["id"])
        public = cbor2.dumps(self._public())
        named = bytes(16) + len(self.credential_id).to_bytes(2) + self.credential_id
        attestation = {"fmt": "none", "attStmt": {}, "authData": self._data(ATTESTED) + named + public}
        return {
            "challenge": asked["challenge"],
            "client_data": self._client_data("create", asked),
            "attestation": encoded(cbor2.dumps(attestation)),
            "transport": "internal",
        }

    def sign(self, asked):
        """Fields of the form after ``navigator.credentials.get``."""
        client_data, data = self._client_data("get", asked), self._data()
        signed = data + hashlib.sha256(decoded(client_data)).digest()
        return {
            "challenge": asked["challenge"],
            "credential_id": encoded(self.credential_id),
            "user": encoded(self.user),
            "client_data": client_data,
            "authenticator_data": encoded(data),
            "signature": encoded(self._signature(signed)),
        }

    def _public(self):
        """The public key in COSE form."""
        public = self.key.public_key()
        if isinstance(public, ed25519.Ed25519PublicKey):
            return {1: 1, 3: -8, -1: 6, -2: public.public_bytes_raw()}
        numbers = public.public_numbers()
        if isinstance(public, rsa.RSAPublicKey):
            return {1: 3, 3: -257, -1: numbers.n.to_bytes(256), -2: numbers.e.to_bytes(3)}
        return {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}

    def _signature(self, data):
        if isinstance(self.key, ed25519.Ed25519PrivateKey):
            return self.key.sign(data)
        if isinstance(self.key, rsa.RSAPrivateKey):
            return self.key.sign(data, padding.PKCS1v15(), hashes.SHA256())
        return self.key.sign(data, ec.ECDSA(hashes.SHA256()))

    def _client_data(self, ceremony, asked):
        said = {"type": f"webauthn.{ceremony}", "challenge": asked["challenge"], "origin": self.origin}
        return encoded(json.dumps(said).encode())

    def _data(self, flags=0):
        return (
            hashlib.sha256(self.host.encode()).digest()
            + bytes([self.flags | flags])
            + self.counter.to_bytes(4)
        )
