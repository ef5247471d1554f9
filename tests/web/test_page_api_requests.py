"""Requests that pages send to the API as whoever is signed in."""

import asyncio
from functools import partial

import pytest

from hosts.client_address import ClientAddressResolver
from hosts.composition.compose import Service
from hosts.web.concurrent_reads import gather_two_at_a_time
from hosts.web.page_context import PageContext
from hosts.web.workspace_view import WorkspaceView
from service_core.access.internal_callers import build_dashboard_caller_with_role_scopes

QUERY = {"metrics": ["visitors"], "date_range": {"preset": "last_7_days"}}


@pytest.fixture
async def member_view(shop_deployment):
    deployment = shop_deployment
    await deployment.enrol("ann", "viewer", deployment.gallery)
    account = await deployment.store.accounts.find_account_by_email("ann@example.com")
    ((workspace, member),) = await deployment.store.members.list_memberships(account.id)
    context = PageContext(deployment.service, ClientAddressResolver(()))
    caller = build_dashboard_caller_with_role_scopes(account, member, workspace, deployment.clock())
    return WorkspaceView(context, workspace, member, caller)


async def test_post_query_as_member_answers_as_the_api_does(member_view):
    answer = await member_view.post("/query", QUERY)
    assert (answer.status, answer.body["totals"]) == (200, {"visitors": 3})


async def test_error_of_a_posted_query_is_that_of_the_api(member_view):
    answer = await member_view.post("/query", QUERY | {"metrics": ["none"]})
    assert (answer.status, answer.problem.code) == (400, "unknown_metric")


async def test_requests_count_against_the_request_limit_of_the_account(member_view):
    answers = [await member_view.request_api("GET", "/workspace") for _ in range(2)]
    left = [int(answer.headers["X-RateLimit-Remaining"]) for answer in answers]
    assert left[1] == left[0] - 1


async def test_body_is_sent_as_json_whatever_other_headers_say(member_view, monkeypatch):
    sent = []
    dispatch = Service.dispatch
    monkeypatch.setattr(
        Service, "dispatch", lambda self, request: sent.append(request.headers) or dispatch(self, request)
    )
    await member_view.post_for_file("/query", QUERY, "text/csv")
    await member_view.send("POST", "/reports", {}, idempotency_key="key")
    json_type = {"content-type": "application/json"}
    assert sent == [json_type | {"accept": "text/csv"}, json_type | {"idempotency-key": "key"}]


async def test_no_more_than_two_reads_run_at_once_and_a_failed_one_ends_the_others():
    running, most, ended = set(), [], []

    async def read(number, *, fails=False):
        running.add(number)
        most.append(len(running))
        try:
            await asyncio.sleep(0)
            if fails:
                raise ValueError
        finally:
            running.discard(number)
            ended.append(number)
        return number

    assert await gather_two_at_a_time(partial(read, number) for number in range(5)) == (0, 1, 2, 3, 4)
    assert max(most) == 2
    ended.clear()
    with pytest.raises(ValueError):  # noqa: PT011 - raised above
        await gather_two_at_a_time(partial(read, number, fails=number == 0) for number in range(5))
    assert not running
    assert 4 not in ended
