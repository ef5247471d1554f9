"""Passkeys behind every store: who gets in, and how often somebody may try."""

import json
from dataclasses import fields, replace

import pytest

from plugins.passkeys_webauthn.adapter import WebAuthnPasskeys
from service_core.access.members.model import Account
from service_core.access.passkeys.ceremonies import Browser, Locksmith
from service_core.access.passkeys.model import Asserted, Attested, relying_party
from service_core.kernel.errors import Conflict, TooMany, Unauthorized, Unavailable503
from service_core.kernel.ids import new_id, new_token
from tests.web.authenticator import ORIGIN, Authenticator, decoded

PASSWORD = "correct horse battery"
BROWSER = Browser(new_token(), "203.0.113.7")


@pytest.fixture
def locksmith(house):
    return Locksmith(
        house.store,
        house.store,
        house.store,
        doorkeeper=house.doorkeeper,
        limiter=house.limiter,
        clock=house.clock,
        webauthn=WebAuthnPasskeys(),
        party=relying_party(ORIGIN),
    )


@pytest.fixture
async def ann(house):
    account = Account(new_id(), "ann@example.com", "Ann", house.clock())
    hashed = await house.passwords.hash(PASSWORD)
    await house.store.save_account(account := replace(account, password=hashed))
    return account


async def make(locksmith, account, device):
    asked = json.loads(await locksmith.ask_to_make(account, PASSWORD, BROWSER))
    made = device.make(asked)
    attested = Attested(decoded(made["client_data"]), decoded(made["attestation"]), frozenset({"usb"}))
    return await locksmith.make(account, " Key ", asked["challenge"], attested, BROWSER)


async def enter(locksmith, device, browser=BROWSER):
    asked = json.loads(await locksmith.ask_to_sign(browser))
    signed = device.sign(asked)
    asserted = Asserted(**{field.name: decoded(signed[field.name]) for field in fields(Asserted)})
    return await locksmith.sign_in(asked["challenge"], asserted, browser)


async def test_a_passkey_opens_a_session_until_it_is_removed(house, locksmith, ann, clock):
    device = Authenticator(counter=1)
    made = await make(locksmith, ann, device)
    assert (made.name, made.transports) == ("Key", {"usb"})
    assert await house.store.passkeys(ann.id) == [made]
    with pytest.raises(Conflict):
        await make(locksmith, ann, device)
    clock.advance(minutes=1)
    device.counter = 2
    opened = await enter(locksmith, device)
    assert (await house.doorkeeper.find(opened.secret))[1] == ann
    assert await house.store.passkeys(ann.id) == [replace(made, counter=2, used_at=clock())]
    with pytest.raises(Unauthorized):
        await enter(locksmith, device)
    assert not await house.store.remove_passkey(new_id(), made.id)
    assert await house.store.remove_passkey(ann.id, made.id)
    device.counter = 3
    with pytest.raises(Unauthorized):
        await enter(locksmith, device)


async def test_a_challenge_is_for_one_browser(locksmith, ann):
    device = Authenticator()
    await make(locksmith, ann, device)
    asked = json.loads(await locksmith.ask_to_sign(BROWSER))
    signed = device.sign(asked)
    asserted = Asserted(**{field.name: decoded(signed[field.name]) for field in fields(Asserted)})
    for browser in (replace(BROWSER, secret=new_token()), BROWSER):
        with pytest.raises(Unauthorized):
            await locksmith.sign_in(asked["challenge"], asserted, browser)


async def test_a_client_asks_thirty_times_in_a_quarter_of_an_hour(locksmith, clock):
    for _ in range(30):
        await locksmith.ask_to_sign(BROWSER)
    with pytest.raises(TooMany):
        await locksmith.ask_to_sign(BROWSER)
    await locksmith.ask_to_sign(replace(BROWSER, client="198.51.100.1"))
    clock.advance(minutes=16)
    await locksmith.ask_to_sign(BROWSER)


async def test_without_the_limit_store_no_passkey_opens_anything(house, locksmith, ann):
    device = Authenticator()
    await make(locksmith, ann, device)
    house.limiter.down = True
    for refused in (make(locksmith, ann, Authenticator()), enter(locksmith, device)):
        with pytest.raises(Unavailable503):
            await refused
    with pytest.raises(Unavailable503):
        await enter(locksmith, device, replace(BROWSER, client=None))
