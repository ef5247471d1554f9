"""Contract 2.3, 2.11, 7.3: how keys are made and what they may do."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.access.api_keys import (
    create_named_key_clamping_rate_limit_to_plan,
    create_workspace_with_keys,
    revoke_key_if_active,
)
from service_core.access.billing_plans import BILLING_PLANS
from service_core.access.models import AuthContext, CredentialKind
from service_core.access.scopes import parse_scopes_rejecting_unknown, require_active_workspace, require_scope
from service_core.kernel.errors import BadRequest, Forbidden, NotFound
from service_core.kernel.ids import new_id, sha256_hex
from service_core.kernel.operations import Scope


@pytest.fixture
async def initialized_deployment(directory, clock):
    return await create_workspace_with_keys(
        directory, clock(), name=" Example Shop ", timezone="Europe/Berlin", currency="eur"
    )


async def test_new_workspace_has_a_public_id_a_secret_and_two_keys(directory, initialized_deployment):
    assert re.fullmatch("[A-Za-z0-9]{12}", initialized_deployment.workspace.public_id)
    assert len(initialized_deployment.workspace.secret) == 32
    assert (initialized_deployment.workspace.name, initialized_deployment.workspace.currency) == (
        "Example Shop",
        "EUR",
    )
    assert re.fullmatch("dk_[0-9a-f]{32}", initialized_deployment.write_key.secret)
    assert re.fullmatch("dk_agent_[A-Za-z0-9_-]{43}", initialized_deployment.agent_key.secret)
    kinds = [credential.kind for credential in await directory.list_keys(initialized_deployment.workspace.id)]
    assert kinds == [CredentialKind.WRITE, CredentialKind.AGENT]


async def test_only_digests_are_stored_and_reprs_hide_secrets(directory, initialized_deployment):
    secrets = initialized_deployment.write_key.secret, initialized_deployment.agent_key.secret
    assert set(directory.digests) == {sha256_hex(secret) for secret in secrets}
    assert not any(secret in repr((initialized_deployment, directory.credentials)) for secret in secrets)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", " "),
        ("timezone", "Mars/Olympus"),
        ("timezone", "../etc"),
        ("timezone", ""),
        ("currency", "EURO"),
        ("plan", "gold"),
    ],
)
async def test_invalid_workspace_error_names_the_field(directory, clock, field, value):
    with pytest.raises(BadRequest) as caught:
        await create_workspace_with_keys(directory, clock(), **{"name": "Example Shop", field: value})
    assert caught.value.field == field
    assert directory.owners == {}


@pytest.mark.parametrize(
    ("plan", "asked", "given"),
    [
        ("starter", 500, 100),
        ("growth", 500, 300),
        ("scale", 5000, 600),
        ("performance", 5000, 1000),
        ("enterprise", 5000, 1000),
        ("unlimited", 5000, 5000),
        ("growth", 0, 1),
    ],
)
async def test_named_keys_limit_is_clamped_to_the_cap_of_the_plan(directory, clock, plan, asked, given):
    initialized_deployment = await create_workspace_with_keys(
        directory, clock(), name="Example Shop", plan=plan
    )
    minted = await create_named_key_clamping_rate_limit_to_plan(
        directory, initialized_deployment.workspace, clock(), name="Reader", requested_rate_limit=asked
    )
    assert minted.credential.rate_limit == given


async def test_named_key_defaults_to_read_scope_and_100_requests(directory, initialized_deployment, clock):
    minted = await create_named_key_clamping_rate_limit_to_plan(
        directory, initialized_deployment.workspace, clock(), name="Reader"
    )
    assert minted.credential.rate_limit == 100
    assert minted.credential.scopes == {Scope.READ}
    assert minted.credential.hint == "…" + minted.secret[-4:]


async def test_key_without_a_scope_is_refused(directory, initialized_deployment, clock):
    with pytest.raises(BadRequest):
        await create_named_key_clamping_rate_limit_to_plan(
            directory, initialized_deployment.workspace, clock(), name="Nothing", scopes=()
        )


async def test_key_of_another_workspace_cannot_be_revoked(directory, initialized_deployment, clock):
    other = await create_workspace_with_keys(directory, clock(), name="Other")
    with pytest.raises(NotFound):
        await revoke_key_if_active(
            directory, other.workspace, initialized_deployment.agent_key.credential.id, clock()
        )
    with pytest.raises(NotFound):
        await revoke_key_if_active(directory, initialized_deployment.workspace, new_id(), clock())


async def test_second_revocation_keeps_the_first_revocation_time(directory, initialized_deployment, clock):
    first = await revoke_key_if_active(
        directory, initialized_deployment.workspace, initialized_deployment.agent_key.credential.id, clock()
    )
    clock.advance(hours=1)
    assert await revoke_key_if_active(directory, initialized_deployment.workspace, first.id, clock()) == first


def test_missing_scope_error_names_the_scope(initialized_deployment):
    identity = AuthContext(initialized_deployment.agent_key.credential, initialized_deployment.workspace)
    require_scope(identity, Scope.READ)
    require_active_workspace(identity)
    with pytest.raises(Forbidden) as caught:
        require_scope(identity, Scope.WRITE_LINKS)
    assert caught.value.body() == {
        "error": "Missing scope service:write:links",
        "code": "insufficient_scope",
        "required_scope": "service:write:links",
    }


def test_unknown_scope_error_lists_the_known_scopes():
    assert parse_scopes_rejecting_unknown(["service:read", "service:read"]) == {Scope.READ}
    with pytest.raises(BadRequest) as caught:
        parse_scopes_rejecting_unknown(["service:read", "service:write:everything"])
    assert caught.value.code == "unknown_scope"
    assert "service:propose:scripts" in caught.value.hint


def test_plans_have_the_limits_of_the_contract():
    assert {
        plan.id: (plan.events_limit, plan.postbacks_limit, plan.max_key_rate_limit)
        for plan in BILLING_PLANS.values()
    } == {
        "starter": (250_000, 25_000, 100),
        "growth": (1_500_000, 125_000, 300),
        "scale": (5_000_000, 500_000, 600),
        "performance": (15_000_000, 1_500_000, 1_000),
        "enterprise": (None, None, 1_000),
        "unlimited": (None, None, None),
    }


@given(st.sampled_from(sorted(BILLING_PLANS)), st.integers(-10, 100_000))
def test_clamped_limit_is_positive_and_never_over_the_cap(plan, asked):
    given_limit = BILLING_PLANS[plan].clamp_rate_limit_to_1_and_plan_maximum(asked)
    assert 1 <= given_limit <= (BILLING_PLANS[plan].max_key_rate_limit or max(1, asked))
