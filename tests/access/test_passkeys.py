"""Passkeys behind every store: who gets in, and how often somebody may try."""

import json
from dataclasses import fields, replace

import pytest

from plugins.passkeys_webauthn.adapter import WebAuthnPasskeys
from service_core.access.members.models import Account
from service_core.access.passkeys.ceremonies import BrowserContext, PasskeySignIn
from service_core.access.passkeys.models import (
    AuthenticationResponse,
    RegistrationResponse,
    relying_party_unless_insecure_or_bare_ip,
)
from service_core.kernel.errors import Conflict, ServiceUnavailable, TooManyRequests, Unauthorized
from service_core.kernel.ids import new_id, new_token
from tests.fixtures.software_authenticator import ORIGIN, SoftwareAuthenticator, base64url_decode

PASSWORD = "correct horse battery"
FORM_NAMES = {"user_handle": "user"}
BROWSER = BrowserContext(new_token(), "203.0.113.7")


@pytest.fixture
def passkey_sign_in(deployment):
    return PasskeySignIn(
        deployment.store.accounts,
        deployment.store.passkeys,
        deployment.store.passkey_challenges,
        sign_in=deployment.sign_in,
        limiter=deployment.limiter,
        clock=deployment.clock,
        webauthn=WebAuthnPasskeys(),
        party=relying_party_unless_insecure_or_bare_ip(ORIGIN),
    )


@pytest.fixture
async def account(deployment):
    account = Account(new_id(), "ann@example.com", "Ann", deployment.clock())
    hashed = await deployment.passwords.hash(PASSWORD)
    await deployment.store.accounts.save_account_unless_email_taken(
        account := replace(account, password=hashed)
    )
    return account


async def register_passkey(passkey_sign_in, account, device):
    request = json.loads(
        await passkey_sign_in.check_password_and_begin_registration(account, PASSWORD, BROWSER)
    )
    made = device.create_credential(request)
    attested = RegistrationResponse(
        base64url_decode(made["client_data"]), base64url_decode(made["attestation"]), frozenset({"usb"})
    )
    return await passkey_sign_in.verify_and_add_passkey(
        account, " Key ", request["challenge"], attested, BROWSER
    )


async def sign_in_with_passkey(passkey_sign_in, device, browser=BROWSER):
    request = json.loads(await passkey_sign_in.count_attempt_and_begin_sign_in(browser))
    signed = device.sign_challenge(request)
    asserted = AuthenticationResponse(
        **{
            field.name: base64url_decode(signed[FORM_NAMES.get(field.name, field.name)])
            for field in fields(AuthenticationResponse)
        }
    )
    return await passkey_sign_in.sign_in_with_passkey(request["challenge"], asserted, browser)


async def test_passkey_opens_a_session_until_it_is_removed(deployment, passkey_sign_in, account, clock):
    device = SoftwareAuthenticator(counter=1)
    made = await register_passkey(passkey_sign_in, account, device)
    assert (made.name, made.transports) == ("Key", {"usb"})
    assert await deployment.store.passkeys.list_passkeys(account.id) == [made]
    with pytest.raises(Conflict):
        await register_passkey(passkey_sign_in, account, device)
    clock.advance(minutes=1)
    device.counter = 2
    opened = await sign_in_with_passkey(passkey_sign_in, device)
    assert (await deployment.sign_in.find_unexpired_session(opened.secret))[1] == account
    assert await deployment.store.passkeys.list_passkeys(account.id) == [
        replace(made, counter=2, used_at=clock())
    ]
    with pytest.raises(Unauthorized):
        await sign_in_with_passkey(passkey_sign_in, device)
    assert not await deployment.store.passkeys.remove_passkey(new_id(), made.id)
    assert await deployment.store.passkeys.remove_passkey(account.id, made.id)
    device.counter = 3
    with pytest.raises(Unauthorized):
        await sign_in_with_passkey(passkey_sign_in, device)


async def test_passkey_challenge_is_bound_to_one_browser(passkey_sign_in, account):
    device = SoftwareAuthenticator()
    await register_passkey(passkey_sign_in, account, device)
    request = json.loads(await passkey_sign_in.count_attempt_and_begin_sign_in(BROWSER))
    signed = device.sign_challenge(request)
    asserted = AuthenticationResponse(
        **{
            field.name: base64url_decode(signed[FORM_NAMES.get(field.name, field.name)])
            for field in fields(AuthenticationResponse)
        }
    )
    for browser in (replace(BROWSER, secret=new_token()), BROWSER):
        with pytest.raises(Unauthorized):
            await passkey_sign_in.sign_in_with_passkey(request["challenge"], asserted, browser)


async def test_passkey_challenges_are_limited_to_30_per_15_minutes_and_client(passkey_sign_in, clock):
    for _ in range(30):
        await passkey_sign_in.count_attempt_and_begin_sign_in(BROWSER)
    with pytest.raises(TooManyRequests):
        await passkey_sign_in.count_attempt_and_begin_sign_in(BROWSER)
    await passkey_sign_in.count_attempt_and_begin_sign_in(replace(BROWSER, client="198.51.100.1"))
    clock.advance(minutes=16)
    await passkey_sign_in.count_attempt_and_begin_sign_in(BROWSER)


async def test_passkey_sign_in_fails_without_the_limit_store(deployment, passkey_sign_in, account):
    device = SoftwareAuthenticator()
    await register_passkey(passkey_sign_in, account, device)
    deployment.limiter.down = True
    for refused in (
        register_passkey(passkey_sign_in, account, SoftwareAuthenticator()),
        sign_in_with_passkey(passkey_sign_in, device),
    ):
        with pytest.raises(ServiceUnavailable):
            await refused
    with pytest.raises(ServiceUnavailable):
        await sign_in_with_passkey(passkey_sign_in, device, replace(BROWSER, client=None))
