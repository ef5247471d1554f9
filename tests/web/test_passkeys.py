"""Passkeys: made on the account page, used to sign in, refused when anything about them is off."""

import asyncio
import json
import re
from copy import copy
from dataclasses import replace

import pytest

from service_core.kernel.ids import new_id
from tests.fixtures.composed_deployment import PASSWORD, running_deployment
from tests.fixtures.software_authenticator import ORIGIN, PRESENT, VERIFIED, SoftwareAuthenticator

ACCOUNT, SIGN_IN = "/app/account", "/app/sign-in"
REFUSED = "This passkey is not registered here."


@pytest.fixture
async def deployment(workspace_url, tmp_path):
    settings = {"http": {"root_url": ORIGIN}, "storage": {"events": "memory://", "workspace": workspace_url}}
    async with running_deployment(tmp_path, settings) as deployment:
        yield deployment


async def asked_to_make(person, password=PASSWORD):
    answer = await person.send(ACCOUNT, f"{ACCOUNT}/passkeys/options", password=password)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


async def asked_to_sign(person):
    answer = await person.send(SIGN_IN, f"{SIGN_IN}/passkey/options")
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


async def added(person, authenticator, name="Laptop"):
    made = authenticator.create_credential(await asked_to_make(person))
    async with person.deployment.app.test_app():
        return await person.send(ACCOUNT, f"{ACCOUNT}/passkeys", name=name, **made)


async def entered(person, fields, **more):
    return await person.send(SIGN_IN, f"{SIGN_IN}/passkey", **fields, **more)


def words(answer):
    return " ".join(answer.text.split())


@pytest.fixture
async def owner(deployment):
    return await deployment.signed_in("ann", "owner")


@pytest.fixture
async def authenticator(owner):
    """A device with a passkey of ann's."""
    authenticator = SoftwareAuthenticator()
    assert (await added(owner, authenticator)).status == 303
    return authenticator


async def test_a_passkey_opens_a_session_like_a_password(deployment, authenticator):
    person = deployment.person()
    answer = await entered(
        person, authenticator.sign_challenge(await asked_to_sign(person)), next="/workspaces?x=1"
    )
    assert (answer.status, answer.location) == (303, "/app/workspaces?x=1")
    assert "ann@example.com" in (await person.get("/app/workspaces")).text
    await deployment.person().sign_in("ann@example.com")


async def test_the_account_page_lists_passkeys_and_takes_them_away(deployment, owner, authenticator):
    assert "Laptop since 8 July 2026 · not used yet" in words(await owner.get(ACCOUNT))
    deployment.clock.advance(days=2)
    person = deployment.person()
    await entered(person, authenticator.sign_challenge(await asked_to_sign(person)))
    listed = await person.get(ACCOUNT)
    assert "last used 10 July 2026" in words(listed)
    [path] = re.findall(r'action="(/app/account/passkeys/[0-9a-f-]{36})"', listed.body)
    await deployment.enrol("bob", "viewer")
    bob = await deployment.person().sign_in("bob@example.com")
    assert (await bob.send(ACCOUNT, path)).status == 404
    assert (await person.send(ACCOUNT, path)).status == 303
    assert (await person.send(ACCOUNT, path)).status == 404
    assert "Laptop" not in (await person.get(ACCOUNT)).text
    stranger = deployment.person()
    assert (
        await entered(stranger, authenticator.sign_challenge(await asked_to_sign(stranger)))
    ).status == 403


async def test_removing_a_passkey_ends_the_sessions_it_opened_and_keeps_the_one_that_asks(
    deployment, owner, authenticator
):
    lost = deployment.person()
    await entered(lost, authenticator.sign_challenge(await asked_to_sign(lost)))
    bob = await deployment.signed_in("bob", "viewer")
    [path] = re.findall(r'action="(/app/account/passkeys/[0-9a-f-]{36})"', (await owner.get(ACCOUNT)).body)
    await owner.send(ACCOUNT, path)
    assert (await lost.get(ACCOUNT)).location.startswith("/app/sign-in")
    assert {(await person.get(ACCOUNT)).status for person in (owner, bob)} == {200}


async def test_a_passkey_that_is_not_ones_own_ends_no_session(deployment, owner, authenticator):
    elsewhere = await deployment.person().sign_in("ann@example.com")
    assert (await owner.send(ACCOUNT, f"{ACCOUNT}/passkeys/{new_id()}")).status == 404
    assert (await elsewhere.get(ACCOUNT)).status == 200


async def test_a_new_passkey_is_told_by_mail(deployment, authenticator):
    [letter] = deployment.messages
    assert letter.to == "ann@example.com"
    assert f"{ORIGIN}/app/account" in letter.text


async def test_adding_a_passkey_takes_the_password(owner):
    answer = await owner.send(ACCOUNT, f"{ACCOUNT}/passkeys/options", password="not the password")
    assert (answer.status, json.loads(answer.body)) == (403, {"error": "This is not your password."})


async def test_what_is_asked_names_the_host_the_person_and_what_is_known(owner, authenticator):
    asked = await asked_to_make(owner)
    assert asked["rp"] == {"name": "Touchpoint", "id": "localhost"}
    assert asked["user"]["name"] == "ann@example.com"
    assert [known["transports"] for known in asked["excludeCredentials"]] == [["internal"]]
    wanted = asked["authenticatorSelection"]
    assert (wanted["residentKey"], wanted["userVerification"]) == ("required", "required")
    assert asked["attestation"] == "none"


async def refusals(person, tries):
    """What is said of answers sent a quarter of an hour apart, each way of saying it once."""
    said = set()
    for answered in tries:
        answer = await entered(person, answered(await asked_to_sign(person)))
        said.add((answer.status, words(answer)))
        person.deployment.clock.advance(minutes=16)
    assert (await person.get("/app/workspaces")).status == 303
    return said


async def test_an_answer_that_says_anything_else_is_refused(deployment, authenticator):
    bob = await deployment.enrol("bob", "viewer")
    bent = (
        {"origin": "https://localhost"},
        {"origin": "http://evil.example"},
        {"host": "evil.example"},
        {"flags": PRESENT},
        {"flags": VERIFIED},
        {"user": b""},
        {"user": bob.id.bytes},
    )
    [(status, text)] = await refusals(
        deployment.person(), [replace(authenticator, **wrong).sign_challenge for wrong in bent]
    )
    assert status == 403
    assert REFUSED in text


async def test_an_unknown_passkey_is_refused_as_a_wrong_one_is(deployment, authenticator):
    unknown = SoftwareAuthenticator(user=authenticator.user)
    wrong = SoftwareAuthenticator(user=authenticator.user, credential_id=authenticator.credential_id)
    spoilt = (
        lambda asked, name=name: authenticator.sign_challenge(asked) | {name: "\u00e9"}
        for name in ("credential_id", "client_data", "authenticator_data", "signature", "challenge")
    )
    [(status, text)] = await refusals(
        deployment.person(), [unknown.sign_challenge, wrong.sign_challenge, *spoilt]
    )
    assert status == 403
    assert REFUSED in text


async def test_only_what_this_browser_was_asked_to_sign_in_counts(deployment, owner, authenticator):
    other = await asked_to_sign(deployment.person())
    adding = await asked_to_make(owner)
    asked = (other, adding, {"challenge": "A" * 43}, {"challenge": "short"})
    tries = [lambda _, one=one: authenticator.sign_challenge(one) for one in asked]
    [(status, text)] = await refusals(deployment.person(), tries)
    assert status == 403
    assert REFUSED in text


async def test_an_answer_counts_once(deployment, authenticator):
    person = deployment.person()
    fields = authenticator.sign_challenge(await asked_to_sign(person)) | {"csrf": await person.token(SIGN_IN)}
    tabs = [deployment.person() for _ in range(10)]
    for tab in tabs:
        tab.client.cookie_jar = copy(person.client.cookie_jar)
    answers = await asyncio.gather(*(tab.post(f"{SIGN_IN}/passkey", fields) for tab in tabs))
    assert sorted(answer.status for answer in answers) == [303, *[403] * 9]


async def test_an_answer_counts_for_five_minutes(deployment, authenticator):
    person = deployment.person()
    signed = authenticator.sign_challenge(await asked_to_sign(person))
    deployment.clock.advance(minutes=5)
    assert (await entered(person, signed)).status == 403


async def test_a_counter_that_does_not_rise_is_refused(deployment, authenticator):
    person = deployment.person()

    async def tried(counter):
        authenticator.counter = counter
        answer = await entered(person, authenticator.sign_challenge(await asked_to_sign(person)))
        await person.send(ACCOUNT, "/app/sign-out") if answer.status == 303 else None
        return answer.status

    tries = (0, 0, 7, 7, 6, 0, 8)
    assert [await tried(counter) for counter in tries] == [303, 303, 303, 403, 403, 403, 303]


async def test_ten_attempts_on_a_passkey_are_enough(deployment, authenticator):
    person, stranger = (
        deployment.person(),
        SoftwareAuthenticator(user=authenticator.user, credential_id=authenticator.credential_id),
    )
    for _ in range(10):
        assert (await entered(person, stranger.sign_challenge(await asked_to_sign(person)))).status == 403
    answer = await entered(person, authenticator.sign_challenge(await asked_to_sign(person)))
    assert answer.status == 429
    assert "Try again in 15 minutes" in answer.text
    deployment.clock.advance(minutes=16)
    assert (await entered(person, authenticator.sign_challenge(await asked_to_sign(person)))).status == 303


async def refused_to_add(person, fields, status=403):
    answer = await person.send(ACCOUNT, f"{ACCOUNT}/passkeys", **{"name": "Laptop", **fields})
    assert answer.status == status, answer.text
    assert "not used yet" not in words(await person.get(ACCOUNT))
    return words(answer)


async def test_a_passkey_that_was_made_otherwise_is_not_added(deployment, owner):
    bob = await deployment.signed_in("bob", "viewer")
    for wrong in ({"origin": "http://evil.example"}, {"host": "evil.example"}, {"flags": PRESENT}):
        await refused_to_add(
            owner, SoftwareAuthenticator(**wrong).create_credential(await asked_to_make(owner))
        )
    await refused_to_add(bob, SoftwareAuthenticator().create_credential(await asked_to_make(owner)))
    await refused_to_add(
        owner, SoftwareAuthenticator().create_credential(await asked_to_make(owner)) | {"attestation": "AAAA"}
    )
    asked = await asked_to_make(owner)
    assert "A name" in await refused_to_add(
        owner, SoftwareAuthenticator().create_credential(asked) | {"name": " "}, 400
    )
    assert "A name" in await refused_to_add(
        owner, SoftwareAuthenticator().create_credential(asked) | {"name": "x" * 101}, 400
    )
    deployment.clock.advance(minutes=5)
    await refused_to_add(owner, SoftwareAuthenticator().create_credential(asked))


async def test_a_passkey_has_one_owner(deployment, owner, authenticator):
    bob = await deployment.signed_in("bob", "viewer")
    again = SoftwareAuthenticator(credential_id=authenticator.credential_id)
    for person in (owner, bob):
        assert (await added(person, again)).status == 409
    stranger = deployment.person()
    assert (
        await entered(stranger, authenticator.sign_challenge(await asked_to_sign(stranger)))
    ).status == 303


async def test_an_account_has_twenty_passkeys(deployment, owner):
    for _ in range(20):
        assert (await added(owner, SoftwareAuthenticator())).status == 303
        deployment.clock.advance(minutes=2)
    assert "you have 20 passkeys" in words(await added(owner, SoftwareAuthenticator()))


@pytest.mark.parametrize(
    "settings",
    [
        {"http": {"root_url": "http://127.0.0.1:8080"}},
        {"http": {"root_url": "http://t.example"}},
        {"http": {"root_url": ORIGIN}, "accounts": {"password_hashing": "plain://", "passkeys": ""}},
    ],
    ids=["address", "no TLS", "off"],
)
async def test_where_there_can_be_no_passkeys_none_are_offered(tmp_path, settings):
    async with running_deployment(tmp_path, {"storage": {"events": "memory://"}} | settings) as deployment:
        assert "passkey" not in (await deployment.person().get(SIGN_IN)).body
        ann = await deployment.signed_in("ann", "owner")
        assert "asskey" not in (page := await ann.get(ACCOUNT)).body
        assert page.status == 200
        token = {"csrf": await ann.token("/app/workspaces"), "password": PASSWORD}
        for path in (f"{ACCOUNT}/passkeys/options", f"{SIGN_IN}/passkey/options", f"{SIGN_IN}/passkey"):
            assert (await ann.post(path, token)).status == 404


async def test_signed_in_pages_are_for_who_is_signed_in(deployment):
    stranger = deployment.person()
    assert (await stranger.get(ACCOUNT)).location == "/app/sign-in?next=%2Faccount"
    for path in (f"{ACCOUNT}/passkeys", f"{ACCOUNT}/passkeys/options", f"{ACCOUNT}/passkeys/{new_id()}"):
        assert (await stranger.send(SIGN_IN, path)).location.startswith("/app/sign-in")
