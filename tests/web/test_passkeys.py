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


async def request_creation_options(person, password=PASSWORD):
    answer = await person.send(ACCOUNT, f"{ACCOUNT}/passkeys/options", password=password)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


async def request_sign_in_options(person):
    answer = await person.send(SIGN_IN, f"{SIGN_IN}/passkey/options")
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


async def add_passkey(person, authenticator, name="Laptop"):
    made = authenticator.create_credential(await request_creation_options(person))
    async with person.deployment.app.test_app():
        return await person.send(ACCOUNT, f"{ACCOUNT}/passkeys", name=name, **made)


async def submit_sign_in(person, fields, **more):
    return await person.send(SIGN_IN, f"{SIGN_IN}/passkey", **fields, **more)


def visible_words(answer):
    return " ".join(answer.text.split())


@pytest.fixture
async def owner(deployment):
    return await deployment.signed_in("ann", "owner")


@pytest.fixture
async def authenticator(owner):
    """A device with a passkey of ann's."""
    authenticator = SoftwareAuthenticator()
    assert (await add_passkey(owner, authenticator)).status == 303
    return authenticator


async def test_passkey_opens_a_session_like_a_password(deployment, authenticator):
    person = deployment.person()
    answer = await submit_sign_in(
        person, authenticator.sign_challenge(await request_sign_in_options(person)), next="/workspaces?x=1"
    )
    assert (answer.status, answer.location) == (303, "/app/workspaces?x=1")
    assert "ann@example.com" in (await person.get("/app/workspaces")).text
    await deployment.person().sign_in("ann@example.com")


async def test_account_page_lists_and_removes_passkeys(deployment, owner, authenticator):
    assert "Laptop added 8 July 2026 · not used yet" in visible_words(await owner.get(ACCOUNT))
    deployment.clock.advance(days=2)
    person = deployment.person()
    await submit_sign_in(person, authenticator.sign_challenge(await request_sign_in_options(person)))
    listed = await person.get(ACCOUNT)
    assert "last used 10 July 2026" in visible_words(listed)
    [path] = re.findall(r'action="(/app/account/passkeys/[0-9a-f-]{36})"', listed.body)
    await deployment.enrol("bob", "viewer")
    bob = await deployment.person().sign_in("bob@example.com")
    assert (await bob.send(ACCOUNT, path)).status == 404
    assert (await person.send(ACCOUNT, path)).status == 303
    assert (await person.send(ACCOUNT, path)).status == 404
    assert "Laptop" not in (await person.get(ACCOUNT)).text
    stranger = deployment.person()
    assert (
        await submit_sign_in(stranger, authenticator.sign_challenge(await request_sign_in_options(stranger)))
    ).status == 403


async def test_removing_a_passkey_ends_its_sessions_except_the_current_one(deployment, owner, authenticator):
    lost = deployment.person()
    await submit_sign_in(lost, authenticator.sign_challenge(await request_sign_in_options(lost)))
    bob = await deployment.signed_in("bob", "viewer")
    [path] = re.findall(r'action="(/app/account/passkeys/[0-9a-f-]{36})"', (await owner.get(ACCOUNT)).body)
    await owner.send(ACCOUNT, path)
    assert (await lost.get(ACCOUNT)).location.startswith("/app/sign-in")
    assert {(await person.get(ACCOUNT)).status for person in (owner, bob)} == {200}


async def test_removing_a_passkey_of_another_account_is_refused(deployment, owner, authenticator):
    elsewhere = await deployment.person().sign_in("ann@example.com")
    assert (await owner.send(ACCOUNT, f"{ACCOUNT}/passkeys/{new_id()}")).status == 404
    assert (await elsewhere.get(ACCOUNT)).status == 200


async def test_new_passkey_is_announced_by_mail(deployment, authenticator):
    [letter] = deployment.messages
    assert letter.to == "ann@example.com"
    assert f"{ORIGIN}/app/account" in letter.text


async def test_adding_a_passkey_needs_the_password(owner):
    answer = await owner.send(ACCOUNT, f"{ACCOUNT}/passkeys/options", password="not the password")
    assert (answer.status, json.loads(answer.body)) == (403, {"error": "This is not your password."})


async def test_creation_options_name_host_account_and_existing_passkeys(owner, authenticator):
    request = await request_creation_options(owner)
    assert request["rp"] == {"name": "Touchpoint", "id": "localhost"}
    assert request["user"]["name"] == "ann@example.com"
    assert [known["transports"] for known in request["excludeCredentials"]] == [["internal"]]
    wanted = request["authenticatorSelection"]
    assert (wanted["residentKey"], wanted["userVerification"]) == ("required", "required")
    assert request["attestation"] == "none"


async def count_refusals(person, tries):
    """What is said of answers sent a quarter of an hour apart, each way of saying it once."""
    result = set()
    for answered in tries:
        answer = await submit_sign_in(person, answered(await request_sign_in_options(person)))
        result.add((answer.status, visible_words(answer)))
        person.deployment.clock.advance(minutes=16)
    assert (await person.get("/app/workspaces")).status == 303
    return result


async def test_altered_passkey_response_is_refused(deployment, authenticator):
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
    [(status, text)] = await count_refusals(
        deployment.person(), [replace(authenticator, **wrong).sign_challenge for wrong in bent]
    )
    assert status == 403
    assert REFUSED in text


async def test_unknown_and_wrong_passkeys_return_the_same_error(deployment, authenticator):
    unknown = SoftwareAuthenticator(user=authenticator.user)
    wrong = SoftwareAuthenticator(user=authenticator.user, credential_id=authenticator.credential_id)
    spoilt = (
        lambda request, name=name: authenticator.sign_challenge(request) | {name: "\u00e9"}
        for name in ("credential_id", "client_data", "authenticator_data", "signature", "challenge")
    )
    [(status, text)] = await count_refusals(
        deployment.person(), [unknown.sign_challenge, wrong.sign_challenge, *spoilt]
    )
    assert status == 403
    assert REFUSED in text


async def test_challenge_of_another_browser_is_refused(deployment, owner, authenticator):
    other = await request_sign_in_options(deployment.person())
    adding = await request_creation_options(owner)
    request = (other, adding, {"challenge": "A" * 43}, {"challenge": "short"})
    tries = [lambda _, one=one: authenticator.sign_challenge(one) for one in request]
    [(status, text)] = await count_refusals(deployment.person(), tries)
    assert status == 403
    assert REFUSED in text


async def test_passkey_response_can_be_used_once(deployment, authenticator):
    person = deployment.person()
    fields = authenticator.sign_challenge(await request_sign_in_options(person)) | {
        "csrf": await person.token(SIGN_IN)
    }
    tabs = [deployment.person() for _ in range(10)]
    for tab in tabs:
        tab.client.cookie_jar = copy(person.client.cookie_jar)
    answers = await asyncio.gather(*(tab.post(f"{SIGN_IN}/passkey", fields) for tab in tabs))
    assert sorted(answer.status for answer in answers) == [303, *[403] * 9]


async def test_passkey_challenge_expires_after_five_minutes(deployment, authenticator):
    person = deployment.person()
    signed = authenticator.sign_challenge(await request_sign_in_options(person))
    deployment.clock.advance(minutes=5)
    assert (await submit_sign_in(person, signed)).status == 403


async def test_signature_counter_must_increase(deployment, authenticator):
    person = deployment.person()

    async def tried(counter):
        authenticator.counter = counter
        answer = await submit_sign_in(
            person, authenticator.sign_challenge(await request_sign_in_options(person))
        )
        await person.send(ACCOUNT, "/app/sign-out") if answer.status == 303 else None
        return answer.status

    tries = (0, 0, 7, 7, 6, 0, 8)
    assert [await tried(counter) for counter in tries] == [303, 303, 303, 403, 403, 403, 303]


async def test_passkey_attempts_are_limited_to_ten(deployment, authenticator):
    person, stranger = (
        deployment.person(),
        SoftwareAuthenticator(user=authenticator.user, credential_id=authenticator.credential_id),
    )
    for _ in range(10):
        assert (
            await submit_sign_in(person, stranger.sign_challenge(await request_sign_in_options(person)))
        ).status == 403
    answer = await submit_sign_in(person, authenticator.sign_challenge(await request_sign_in_options(person)))
    assert answer.status == 429
    assert "Try again in 15 minutes" in answer.text
    deployment.clock.advance(minutes=16)
    assert (
        await submit_sign_in(person, authenticator.sign_challenge(await request_sign_in_options(person)))
    ).status == 303


async def assert_not_added(person, fields, status=403):
    answer = await person.send(ACCOUNT, f"{ACCOUNT}/passkeys", **{"name": "Laptop", **fields})
    assert answer.status == status, answer.text
    assert "not used yet" not in visible_words(await person.get(ACCOUNT))
    return visible_words(answer)


async def test_unsupported_passkey_is_not_added(deployment, owner):
    bob = await deployment.signed_in("bob", "viewer")
    for wrong in ({"origin": "http://evil.example"}, {"host": "evil.example"}, {"flags": PRESENT}):
        await assert_not_added(
            owner, SoftwareAuthenticator(**wrong).create_credential(await request_creation_options(owner))
        )
    await assert_not_added(
        bob, SoftwareAuthenticator().create_credential(await request_creation_options(owner))
    )
    await assert_not_added(
        owner,
        SoftwareAuthenticator().create_credential(await request_creation_options(owner))
        | {"attestation": "AAAA"},
    )
    request = await request_creation_options(owner)
    assert "A name" in await assert_not_added(
        owner, SoftwareAuthenticator().create_credential(request) | {"name": " "}, 400
    )
    assert "A name" in await assert_not_added(
        owner, SoftwareAuthenticator().create_credential(request) | {"name": "x" * 101}, 400
    )
    deployment.clock.advance(minutes=5)
    await assert_not_added(owner, SoftwareAuthenticator().create_credential(request))


async def test_passkey_has_one_owner(deployment, owner, authenticator):
    bob = await deployment.signed_in("bob", "viewer")
    again = SoftwareAuthenticator(credential_id=authenticator.credential_id)
    for person in (owner, bob):
        assert (await add_passkey(person, again)).status == 409
    stranger = deployment.person()
    assert (
        await submit_sign_in(stranger, authenticator.sign_challenge(await request_sign_in_options(stranger)))
    ).status == 303


async def test_account_has_at_most_twenty_passkeys(deployment, owner):
    for _ in range(20):
        assert (await add_passkey(owner, SoftwareAuthenticator())).status == 303
        deployment.clock.advance(minutes=2)
    assert "you have 20 passkeys" in visible_words(await add_passkey(owner, SoftwareAuthenticator()))


@pytest.mark.parametrize(
    "settings",
    [
        {"http": {"root_url": "http://127.0.0.1:8080"}},
        {"http": {"root_url": "http://t.example"}},
        {"http": {"root_url": ORIGIN}, "accounts": {"password_hashing": "plain://", "passkeys": ""}},
    ],
    ids=["address", "no TLS", "off"],
)
async def test_passkeys_are_not_offered_when_unsupported(tmp_path, settings):
    async with running_deployment(tmp_path, {"storage": {"events": "memory://"}} | settings) as deployment:
        assert "passkey" not in (await deployment.person().get(SIGN_IN)).body
        ann = await deployment.signed_in("ann", "owner")
        assert "asskey" not in (page := await ann.get(ACCOUNT)).body
        assert page.status == 200
        token = {"csrf": await ann.token("/app/workspaces"), "password": PASSWORD}
        for path in (f"{ACCOUNT}/passkeys/options", f"{SIGN_IN}/passkey/options", f"{SIGN_IN}/passkey"):
            assert (await ann.post(path, token)).status == 404


async def test_passkey_pages_need_a_session(deployment):
    stranger = deployment.person()
    assert (await stranger.get(ACCOUNT)).location == "/app/sign-in?next=%2Faccount"
    for path in (f"{ACCOUNT}/passkeys", f"{ACCOUNT}/passkeys/options", f"{ACCOUNT}/passkeys/{new_id()}"):
        assert (await stranger.send(SIGN_IN, path)).location.startswith("/app/sign-in")
