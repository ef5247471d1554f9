"""Passkeys: an answer of a browser holds, or proves nothing; the library waits for the first of them."""

import json
import subprocess
import sys
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given
from hypothesis import strategies as some

from plugins import passkeys_webauthn
from service_core.access.members.models import Account
from service_core.access.passkeys.models import (
    AuthenticationResponse,
    Passkey,
    RegistrationResponse,
    relying_party_unless_insecure_or_bare_ip,
)
from service_core.access.passkeys.ports import InvalidPasskeyResponse
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.ids import new_id
from tests.fixtures.software_authenticator import ORIGIN, SoftwareAuthenticator, base64url_decode

NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
ANN = Account(new_id(), "ann@example.com", "Ann", NOW)
PARTY = relying_party_unless_insecure_or_bare_ip(f"{ORIGIN}/app")
CHALLENGE = "A" * 43
WEBAUTHN = collect_plugins_into_registry(
    [("webauthn", passkeys_webauthn)], discover_entry_points=False
).open_adapter("passkeys", "webauthn://", base_folder=Path())


def verify_response(kind, form):
    """Fields of a form as the value the port takes."""
    named = {"user_handle": "user"}
    return kind(
        **{
            field.name: base64url_decode(form[named.get(field.name, field.name)])
            for field in fields(kind)
            if named.get(field.name, field.name) in form
        }
    )


async def registration_of(device, **bent):
    form = (
        device.create_credential(json.loads(await WEBAUTHN.registration_options(PARTY, CHALLENGE, ANN, [])))
        | bent
    )
    sent = RegistrationResponse(
        base64url_decode(form["client_data"]),
        base64url_decode(form["attestation"]),
        frozenset({"usb", "rumour"}),
    )
    made = await WEBAUTHN.verify_registration(PARTY, CHALLENGE, sent)
    kept = (made.credential_id, made.public_key, made.counter, made.transports)
    return Passkey(new_id(), ANN.id, "Key", *kept, NOW)


async def assertion_of(device, passkey, **bent):
    form = device.sign_challenge(json.loads(await WEBAUTHN.authentication_options(PARTY, CHALLENGE))) | bent
    return await WEBAUTHN.verify_authentication(
        PARTY, CHALLENGE, verify_response(AuthenticationResponse, form), passkey
    )


@pytest.mark.parametrize(
    "new_key",
    [
        lambda: ec.generate_private_key(ec.SECP256R1()),
        ed25519.Ed25519PrivateKey.generate,
        lambda: rsa.generate_private_key(65537, 2048),
    ],
    ids=["ES256", "EdDSA", "RS256"],
)
async def test_every_requested_key_type_can_sign_in(new_key):
    device = SoftwareAuthenticator(key=new_key(), counter=4)
    passkey = await registration_of(device)
    assert (passkey.counter, passkey.transports) == (4, {"usb"})
    device.counter = 2**32 - 1
    assert await assertion_of(device, passkey) == 2**32 - 1


async def test_unreadable_key_is_not_stored():
    device = SoftwareAuthenticator()
    device._public = lambda: {1: 2, 3: -7, -1: 1, -2: bytes(32), -3: bytes(32)}
    with pytest.raises(InvalidPasskeyResponse):
        await registration_of(device)


async def test_overlong_credential_id_is_not_stored():
    assert (
        len((await registration_of(SoftwareAuthenticator(credential_id=bytes(1023)))).credential_id) == 1023
    )
    with pytest.raises(InvalidPasskeyResponse):
        await registration_of(SoftwareAuthenticator(credential_id=bytes(1024)))


@given(some.one_of(some.binary(), some.recursive(some.none() | some.binary(), some.lists).map(cbor2.dumps)))
async def test_random_input_never_verifies(sent):
    client_data = base64url_decode(SoftwareAuthenticator()._client_data("create", {"challenge": CHALLENGE}))
    for attested in (
        RegistrationResponse(client_data, sent, frozenset()),
        RegistrationResponse(sent, sent, frozenset()),
    ):
        with pytest.raises(InvalidPasskeyResponse):
            await WEBAUTHN.verify_registration(PARTY, CHALLENGE, attested)
    client_data = base64url_decode(SoftwareAuthenticator()._client_data("get", {"challenge": CHALLENGE}))
    passkey = Passkey(new_id(), ANN.id, "Key", b"id", sent, 0, frozenset(), NOW)
    data = SoftwareAuthenticator()._data()
    for asserted in (
        AuthenticationResponse(b"id", b"", client_data, data, sent),
        AuthenticationResponse(b"id", b"", client_data, sent, sent),
        AuthenticationResponse(b"id", b"", sent, data, sent),
    ):
        with pytest.raises(InvalidPasskeyResponse):
            await WEBAUTHN.verify_authentication(PARTY, CHALLENGE, asserted, passkey)


@pytest.mark.parametrize(
    ("address", "host", "origin"),
    [
        ("https://t.example/app", "t.example", "https://t.example"),
        ("https://T.Example:443/app", "t.example", "https://t.example"),
        ("https://t.example:8443", "t.example", "https://t.example:8443"),
        ("http://localhost:8080/app", "localhost", "http://localhost:8080"),
        ("http://app.localhost", "app.localhost", "http://app.localhost"),
    ],
)
def test_passkeys_are_bound_to_the_public_address(address, host, origin):
    party = relying_party_unless_insecure_or_bare_ip(address)
    assert (party.id, party.origin) == (host, origin)


@pytest.mark.parametrize(
    "address", ["http://t.example", "https://127.0.0.1", "https://[::1]:8080/app", "http://localhost.example"]
)
def test_passkeys_need_tls_and_a_host_name(address):
    assert relying_party_unless_insecure_or_bare_ip(address) is None


def test_opening_the_port_loads_no_library():
    code = (
        "import sys; from pathlib import Path; from plugins import passkeys_webauthn as own;"
        "from service_core.extensions.registry import collect_plugins_into_registry;"
        "collect_plugins_into_registry([('own', own)], discover_entry_points=False).open_adapter('passkeys', 'webauthn://', base_folder=Path());"
        "print('webauthn' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
