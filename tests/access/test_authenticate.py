"""Contract 2.2 and 10: who is asking, and how little it takes to refuse."""

import asyncio
from dataclasses import replace

import pytest

from service_core.access.api_keys import (
    create_named_key_clamping_rate_limit_to_plan,
    create_workspace_with_keys,
    revoke_and_reissue_workspace_key,
    revoke_key_if_active,
)
from service_core.access.key_authentication import KeyAuthenticator
from service_core.access.models import CredentialKind
from service_core.kernel.errors import Unauthorized
from service_core.kernel.ids import new_agent_token, new_write_key
from service_core.kernel.operations import Scope


@pytest.fixture
async def initialized_deployment(directory, clock):
    return await create_workspace_with_keys(directory, clock(), name="Example Shop")


@pytest.fixture
def key_authenticator(directory, clock):
    return KeyAuthenticator(directory, clock)


async def authentication_error(key_authenticator, authorization):
    with pytest.raises(Unauthorized) as caught:
        await key_authenticator.authenticate(authorization)
    return caught.value


TOKEN = "dk_agent_" + "A" * 43
FIVE_CASES = {
    "no header": None,
    "one part": "Bearer",
    "an empty token": "Bearer ",
    "three parts": f"Bearer {TOKEN} more",
    "two spaces": f"Bearer  {TOKEN}",
    "another scheme": f"Basic {TOKEN}",
    "no agent prefix": "Bearer " + "A" * 43,
    "a write key": "Bearer " + new_write_key(),
    "a short token": "Bearer dk_agent_short",
    "a long token": f"Bearer {TOKEN}A",
    "a line break at the end": f"Bearer {TOKEN}\n",
    "a lone surrogate": "Bearer dk_agent_" + "\udc80" * 43,
}


@pytest.mark.parametrize("authorization", FIVE_CASES.values(), ids=FIVE_CASES)
async def test_malformed_header_returns_401_without_a_lookup(directory, key_authenticator, authorization):
    fault = await authentication_error(key_authenticator, authorization)
    assert fault.status == 401
    assert fault.body() == {"error": "Invalid or missing API key"}
    assert fault.headers == {"WWW-Authenticate": 'Bearer realm="Service Read API"'}
    assert directory.questions == 0


async def test_unknown_token_returns_the_same_401_as_a_malformed_header(directory, key_authenticator):
    fault = await authentication_error(key_authenticator, f"Bearer {new_agent_token()}")
    assert fault.body() == {"error": "Invalid or missing API key"}
    assert directory.questions == 1


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_authorization_scheme_is_case_insensitive(key_authenticator, initialized_deployment, scheme):
    identity = await key_authenticator.authenticate(f"{scheme} {initialized_deployment.agent_key.secret}")
    assert identity.workspace == initialized_deployment.workspace
    assert identity.credential == initialized_deployment.agent_key.credential


async def test_agent_key_has_only_the_read_scope(key_authenticator, initialized_deployment):
    identity = await key_authenticator.authenticate(f"Bearer {initialized_deployment.agent_key.secret}")
    assert identity.credential.scopes == {Scope.READ}


async def test_key_lookups_are_cached_for_300_seconds_including_misses(
    directory, key_authenticator, initialized_deployment, clock
):
    good, bad = f"Bearer {initialized_deployment.agent_key.secret}", f"Bearer {new_agent_token()}"
    for _ in range(3):
        await key_authenticator.authenticate(good)
        await authentication_error(key_authenticator, bad)
    assert directory.questions == 2
    clock.advance(seconds=299)
    await key_authenticator.authenticate(good)
    await authentication_error(key_authenticator, bad)
    assert directory.questions == 2
    clock.advance(seconds=1)
    await key_authenticator.authenticate(good)
    await authentication_error(key_authenticator, bad)
    assert directory.questions == 4


async def test_cached_lookup_expires_on_time_when_the_clock_is_set_back(
    directory, key_authenticator, initialized_deployment, clock
):
    await key_authenticator.authenticate(f"Bearer {initialized_deployment.agent_key.secret}")
    clock.advance(hours=-1)
    await key_authenticator.authenticate(f"Bearer {initialized_deployment.agent_key.secret}")
    assert directory.questions == 2


async def test_revoked_key_is_rejected_on_the_next_request(
    directory, key_authenticator, initialized_deployment, clock
):
    named = await create_named_key_clamping_rate_limit_to_plan(
        directory, initialized_deployment.workspace, clock(), name="Reader"
    )
    await key_authenticator.authenticate(f"Bearer {named.secret}")
    await revoke_key_if_active(directory, initialized_deployment.workspace, named.credential.id, clock())
    refused, unknown = (
        await authentication_error(key_authenticator, f"Bearer {named.secret}"),
        await authentication_error(key_authenticator, f"Bearer {TOKEN}"),
    )
    assert (refused.status, refused.code, refused.message) == (401, unknown.code, unknown.message)


async def test_new_key_is_accepted_after_a_cached_miss(
    directory, key_authenticator, initialized_deployment, clock
):
    door_asked = f"Bearer {new_agent_token()}"
    await authentication_error(key_authenticator, door_asked)
    named = await create_named_key_clamping_rate_limit_to_plan(
        directory, initialized_deployment.workspace, clock(), name="Reader"
    )
    assert (await key_authenticator.authenticate(f"Bearer {named.secret}")).credential.name == "Reader"


async def test_regenerated_key_invalidates_the_old_secret_immediately(
    directory, key_authenticator, initialized_deployment, clock
):
    await key_authenticator.authenticate(f"Bearer {initialized_deployment.agent_key.secret}")
    fresh = await revoke_and_reissue_workspace_key(
        directory, initialized_deployment.workspace, CredentialKind.AGENT, clock()
    )
    assert (
        await authentication_error(key_authenticator, f"Bearer {initialized_deployment.agent_key.secret}")
    ).status == 401
    assert (
        await key_authenticator.authenticate(f"Bearer {fresh.secret}")
    ).workspace == initialized_deployment.workspace


async def test_lookup_started_before_a_revocation_is_not_cached(
    directory, key_authenticator, initialized_deployment, clock
):
    answered, hold = asyncio.Event(), asyncio.Event()
    ask = directory.find_auth_context

    async def slow(digest):
        identity = await ask(digest)
        answered.set()
        await hold.wait()
        return identity

    directory.find_auth_context = slow
    early = asyncio.create_task(
        key_authenticator.authenticate(f"Bearer {initialized_deployment.agent_key.secret}")
    )
    await answered.wait()
    await revoke_key_if_active(
        directory, initialized_deployment.workspace, initialized_deployment.agent_key.credential.id, clock()
    )
    hold.set()
    assert (await early).workspace == initialized_deployment.workspace
    assert (
        await authentication_error(key_authenticator, f"Bearer {initialized_deployment.agent_key.secret}")
    ).status == 401


async def test_concurrent_cache_misses_share_one_lookup(directory, key_authenticator, initialized_deployment):
    token = f"Bearer {initialized_deployment.agent_key.secret}"
    await asyncio.gather(*(key_authenticator.authenticate(token) for _ in range(50)))
    assert directory.questions == 1


async def test_cancelled_caller_does_not_cancel_a_shared_lookup(
    directory, key_authenticator, initialized_deployment
):
    token = f"Bearer {initialized_deployment.agent_key.secret}"
    callers = [asyncio.create_task(key_authenticator.authenticate(token)) for _ in range(3)]
    await asyncio.sleep(0)
    callers[0].cancel()
    outcomes = await asyncio.gather(*callers, return_exceptions=True)
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert {outcome.workspace.name for outcome in outcomes[1:]} == {"Example Shop"}


async def test_failed_lookup_is_not_cached_as_a_miss(directory, key_authenticator, initialized_deployment):
    ask = directory.find_auth_context

    async def broken(digest):
        raise ConnectionError

    directory.find_auth_context = broken
    with pytest.raises(ConnectionError):
        await key_authenticator.authenticate(f"Bearer {initialized_deployment.agent_key.secret}")
    directory.find_auth_context = ask
    await key_authenticator.authenticate(f"Bearer {initialized_deployment.agent_key.secret}")


async def test_lookup_cache_is_bounded_and_evicts_the_least_recently_used(
    directory, clock, initialized_deployment
):
    authenticator = KeyAuthenticator(directory, clock, capacity=10)
    token = f"Bearer {initialized_deployment.agent_key.secret}"
    await authenticator.authenticate(token)
    for _ in range(50):
        await authentication_error(authenticator, f"Bearer {new_agent_token()}")
        await authenticator.authenticate(token)
    assert directory.questions == 51
    assert len(authenticator._cache._entries) == 10


async def test_write_key_is_looked_up_once(directory, key_authenticator, initialized_deployment):
    identity = await key_authenticator.find_write_key_of_active_workspace(
        initialized_deployment.write_key.secret
    )
    assert identity is not None
    assert (
        await key_authenticator.find_write_key_of_active_workspace(initialized_deployment.write_key.secret)
        == identity
    )
    assert directory.questions == 1


@pytest.mark.parametrize("key", ["", "dk_", "dk_" + "g" * 32, TOKEN, "x" * 257, "dk_" + "0" * 254, "ключ"])
async def test_malformed_write_key_is_rejected_without_a_lookup(directory, key_authenticator, key):
    assert await key_authenticator.find_write_key_of_active_workspace(key) is None
    assert directory.questions == 0


async def test_unknown_write_key_is_cached_as_a_miss(directory, key_authenticator):
    key = new_write_key()
    assert await key_authenticator.find_write_key_of_active_workspace(key) is None
    assert await key_authenticator.find_write_key_of_active_workspace(key) is None
    assert directory.questions == 1


async def test_inactive_workspace_is_rejected_by_ingest_and_can_still_read(
    directory, key_authenticator, initialized_deployment
):
    await directory.create_workspace(replace(initialized_deployment.workspace, active=False))
    assert (
        await key_authenticator.find_write_key_of_active_workspace(initialized_deployment.write_key.secret)
        is None
    )
    assert not (
        await key_authenticator.authenticate(f"Bearer {initialized_deployment.agent_key.secret}")
    ).workspace.active
