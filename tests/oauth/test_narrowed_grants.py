"""A consent takes back what the same person gave the same client before and leaves out now."""

import pytest

from tests.oauth.oauth_client import LINKS, READ, REPORTS, register_client

TOTALS = "service:read:aggregates"
WIDE = f"{READ} {REPORTS} {LINKS}"


async def granted(deployment):
    """Scopes and demand for plans of each active grant, oldest first."""
    grants = await deployment.store.oauth_grants.list_active_grants(deployment.workspace.id)
    return [({scope.value for scope in grant.scopes}, grant.requires_plan) for grant in grants]


@pytest.mark.parametrize(
    ("chosen", "remaining"),
    [([READ], {READ}), ([READ, LINKS], {READ, LINKS}), ([TOTALS, REPORTS], {TOTALS, REPORTS})],
)
async def test_narrower_consent_narrows_the_earlier_grant_of_the_client(deployment, chosen, remaining):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    earlier = await helper.tokens(person, scope=WIDE)
    await helper.tokens(person, scope=WIDE, chosen_scopes=chosen)
    assert await granted(deployment) == [(remaining, False), (remaining, False)]
    assert await helper.works(earlier["access_token"])
    status, renewed = await helper.refresh(earlier["refresh_token"])
    assert (status, set(renewed["scope"].split())) == (200, remaining)


async def test_wider_consent_leaves_the_earlier_grant_as_it_is(deployment):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    await helper.tokens(person, scope=READ)
    await helper.tokens(person, scope=WIDE)
    assert await granted(deployment) == [({READ}, False), ({READ, REPORTS, LINKS}, False)]


async def test_consent_without_any_earlier_scope_ends_the_earlier_grant(deployment):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    earlier = await helper.tokens(person, scope=WIDE, chosen_scopes=[LINKS])
    await helper.tokens(person, scope=WIDE, chosen_scopes=[READ])
    assert await granted(deployment) == [({READ}, False)]
    assert not await helper.works(earlier["access_token"])


async def test_other_clients_and_persons_keep_their_grants(deployment):
    ann, ben = await deployment.signed_in("ann", "owner"), await deployment.signed_in("ben", "owner")
    helper, other = await register_client(deployment), await register_client(deployment)
    await helper.tokens(ben, scope=WIDE)
    await other.tokens(ann, scope=WIDE)
    await helper.tokens(ann, scope=READ)
    assert [scopes for scopes, _ in await granted(deployment)] == [{READ, REPORTS, LINKS}] * 2 + [{READ}]


async def test_demand_for_plans_holds_for_all_grants_of_the_client(deployment):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    await helper.tokens(person, scope=WIDE)
    await helper.tokens(person, scope=WIDE, requires_plan=True)
    assert [requires_plan for _, requires_plan in await granted(deployment)] == [True, True]
