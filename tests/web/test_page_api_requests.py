"""Requests that pages send to the API as whoever is signed in."""

import json

import pytest

from hosts.client_address import ClientAddressResolver
from hosts.web.page_context import PageContext
from service_core.access.internal_callers import build_dashboard_caller_with_role_scopes

QUERY = {"metrics": ["visitors"], "date_range": {"preset": "last_7_days"}}


@pytest.fixture
async def member_request(shop_deployment):
    deployment = shop_deployment
    await deployment.enrol("ann", "viewer", deployment.gallery)
    account = await deployment.store.accounts.find_account_by_email("ann@example.com")
    ((workspace, member),) = await deployment.store.members.list_memberships(account.id)
    context = PageContext(deployment.service, ClientAddressResolver(()))
    caller = build_dashboard_caller_with_role_scopes(account, member, workspace, deployment.clock())
    return context, caller


async def test_post_query_as_member_answers_as_the_api_does(member_request):
    context, caller = member_request
    answer = await context.post_api_as_member(caller, "/query", QUERY)
    assert (answer.status, json.loads(answer.body)["totals"]) == (200, {"visitors": 3})


async def test_error_of_a_posted_query_is_that_of_the_api(member_request):
    context, caller = member_request
    answer = await context.post_api_as_member(caller, "/query", QUERY | {"metrics": ["none"]})
    assert (answer.status, json.loads(answer.body)["code"]) == (400, "unknown_metric")


async def test_posts_count_against_the_request_limit_of_the_account(member_request):
    context, caller = member_request
    answers = [await context.post_api_as_member(caller, "/query", QUERY) for _ in range(2)]
    left = [int(answer.headers["X-RateLimit-Remaining"]) for answer in answers]
    assert left[1] == left[0] - 1
