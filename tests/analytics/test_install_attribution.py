"""Matching of e-mail addresses and app installs to web touches."""

import asyncio
from datetime import timedelta

import orjson
import pytest

from service_core.access.api_keys import create_write_or_agent_key
from service_core.access.fixed_window import FixedWindowCounter
from service_core.access.models import CredentialKind
from service_core.analytics.ports import StoreUnavailable
from service_core.api.http_messages import ApiRequest
from service_core.changes.actor import Actor
from service_core.kernel.ids import new_id
from service_core.testing.event_builder import campaign_columns
from service_core.workspace.links.clicks import ClickEnricher, ClickRequest
from service_core.workspace.links.models import UTM_PARAMETERS, LinkDomain, TrackingLink
from service_core.workspace.links.ports import ClickCount
from service_core.workspace.links.redirect import Redirect

HOME, ELSEWHERE = "203.0.113.7", "198.51.100.1"
IDS = {"fbclid": "fb1", "gbraid": "gb1", "fbp": "fb.1.1", "fbc": "fb.1.fb1"}
NOTHING = {"found": False, "match": {"kind": "none", "guaranteed": True, "candidates": 0}}


class InstallAttributionClient:
    """A workspace whose app asks with the write key."""

    def __init__(self, served, client, key):
        self.served, self.client, self.key = served, client, key
        self.story = client.story

    async def ask(self, path, body, *, client=HOME, headers=None):
        sent = {"x-service-api-key": self.key} if headers is None else headers
        request = ApiRequest("POST", f"/attribution/{path}", "", sent, orjson.dumps(body), client_ip=client)
        response = await self.served.service.dispatch(request)
        return response.status, orjson.loads(response.body)

    async def lookup(self, email):
        status, answer = await self.ask("lookup", {"email": email})
        assert status == 200
        return answer

    async def deferred(self, client=HOME, **body):
        status, answer = await self.ask("deferred-lookup", {"platform": "ios", **body}, client=client)
        assert status == 200
        return answer

    def visit(self, visitor, minutes=10, *, ip=HOME, store=True, **columns):
        """A page view of a campaign and, usually, a click on the badge of an app store."""
        at = self.served.now - timedelta(minutes=minutes)
        came = campaign_columns("google", "cpc", visitor) | columns
        self.story.add_event("page_view", at=at, visitor=visitor, ip=ip, **came)
        if store:
            self.story.add_event(
                "click",
                at=at + timedelta(seconds=5),
                visitor=visitor,
                ip=ip,
                event_data={"href": "https://apps.apple.com/app/id1"},
            )

    def identify(self, visitor, email, user=None, minutes=5):
        at = self.served.now - timedelta(minutes=minutes)
        self.story.add_event(
            "$identify", at=at, visitor=visitor, strong_id=user or f"u-{visitor}", event_data={"email": email}
        )


@pytest.fixture
async def install_client(served):
    client = await served.workspace()
    minted = await create_write_or_agent_key(
        served.service.ports.workspace.credentials, client.workspace, CredentialKind.WRITE, served.now
    )
    return InstallAttributionClient(served, client, minted.secret)


async def test_email_lookup_returns_the_latest_touch_that_is_not_direct(install_client):
    install_client.visit("A", 300, store=False, **IDS)
    install_client.story.add_event(
        "page_view", at=install_client.served.now - timedelta(hours=1), visitor="A", session="s2"
    )
    install_client.identify("A", "Ann@Example.com")
    await install_client.client.knows()
    answer = await install_client.lookup(" ann@example.COM ")
    assert answer == {
        "found": True,
        "attribution": {
            "visitor_id": "A", "user_id": "u-A", "fbclid": "fb1", "gclid": None, "ttclid": None,
            "gbraid": "gb1", "wbraid": None, "oppref": None, "fbp": "fb.1.1", "fbc": "fb.1.fb1",
            "lyr": None, "utm_source": "google", "utm_medium": "cpc", "utm_campaign": "A",
            "utm_content": None, "utm_term": None, "timestamp": "2026-07-08T10:00:00.000Z",
        },
        "match": {"kind": "email", "guaranteed": True, "candidates": 1},
    }  # fmt: skip


async def test_email_lookup_needs_the_exact_address(install_client):
    install_client.visit("A", store=False)
    install_client.identify("A", "ann@example.com.au")
    await install_client.client.knows()
    assert await install_client.lookup("ann@example.com") == NOTHING


async def test_email_lookup_of_a_person_with_direct_visits_only_is_empty(install_client):
    install_client.story.add_event(
        "page_view", at=install_client.served.now - timedelta(hours=1), visitor="A"
    )
    install_client.identify("A", "ann@example.com")
    await install_client.client.knows()
    assert await install_client.lookup("ann@example.com") == {
        "found": False,
        "match": {"kind": "none", "guaranteed": True, "candidates": 1},
    }


async def test_email_lookup_is_limited_to_the_workspace(install_client, served):
    other = await served.workspace()
    minted = await create_write_or_agent_key(
        served.service.ports.workspace.credentials, other.workspace, CredentialKind.WRITE, served.now
    )
    install_client.visit("A", store=False)
    install_client.identify("A", "ann@example.com")
    await install_client.client.knows()
    assert await InstallAttributionClient(served, other, minted.secret).lookup("ann@example.com") == NOTHING


@pytest.mark.parametrize(
    ("path", "body", "code", "field"),
    [
        ("lookup", {"email": "nobody"}, "invalid_email", "email"),
        ("lookup", {}, "missing_field", "email"),
        ("lookup", {"email": "a@example.com", "x": 1}, "unknown_field", "x"),
        ("deferred-lookup", {"platform": "windows"}, "invalid_parameter", "platform"),
        ("deferred-lookup", {}, "missing_field", "platform"),
    ],
)
async def test_invalid_lookup_body_returns_400(install_client, path, body, code, field):
    status, answer = await install_client.ask(path, body)
    assert (status, answer["code"], answer["field"]) == (400, code, field)


async def test_missing_write_key_returns_the_error_of_ingest(install_client):
    missing = "Missing API key. Please provide X-API-Key header or Authorization Bearer token."
    body = {"email": "ann@example.com"}
    assert await install_client.ask("lookup", body, headers={}) == (401, {"error": missing})
    bearer = {"authorization": f"Bearer {install_client.key}"}
    assert await install_client.ask("lookup", body, headers=bearer) == (401, {"error": missing})
    for key in ("dk_" + "0" * 32, install_client.client.key, "x" * 300):
        assert await install_client.ask("lookup", body, headers={"x-api-key": key}) == (
            401,
            {"error": "Invalid API key"},
        )
    await install_client.client.changes(active=False)
    assert (await install_client.ask("lookup", body))[0] == 401


async def test_lookups_are_limited_to_60_per_minute_and_key(install_client, monkeypatch):
    windows = FixedWindowCounter(lambda: install_client.served.now)

    async def spend(key, limit, seconds):
        return windows.consume(key, limit, seconds)

    monkeypatch.setattr(install_client.served.service.ports.limits, "consume", spend)
    statuses = [(await install_client.ask("lookup", {"email": "a@example.com"}))[0] for _ in range(61)]
    assert statuses == [200] * 60 + [429]


async def test_install_is_matched_once_to_the_visit_from_the_same_network(install_client):
    install_client.visit("A", 59)
    await install_client.client.knows()
    first = await install_client.deferred()
    assert (first["found"], first["attribution"]["utm_campaign"]) == (True, "A")
    assert first["match"] == {"kind": "ip", "guaranteed": False, "candidates": 1}
    assert await install_client.deferred() == NOTHING


@pytest.mark.parametrize(
    "visit",
    [{"minutes": 61}, {"ip": ELSEWHERE}, {"store": False}, {"ip": None}, {"is_bot": True}],
    ids=["too long ago", "another network", "not at a store", "no address", "a bot"],
)
async def test_unrelated_visits_are_not_matched(install_client, visit):
    install_client.visit("A", **visit)
    await install_client.client.knows()
    assert (await install_client.deferred())["found"] is False


async def test_visits_of_several_visitors_of_one_network_are_ambiguous(install_client):
    for visitor in "ABC":
        install_client.visit(visitor)
    await install_client.client.knows()
    answer = await install_client.deferred()
    assert answer == {"found": False, "match": {"kind": "ip", "guaranteed": False, "candidates": 3}}


async def test_two_visits_of_one_visitor_are_one_candidate_and_each_is_claimed_once(install_client):
    badge = {"href": "https://apps.apple.com/app/id1"}
    for session, minutes in (("first", 50), ("second", 10)):
        install_client.visit("A", minutes, store=False, session=session)
        at = install_client.served.now - timedelta(minutes=minutes - 1)
        install_client.story.add_event(
            "click", at=at, visitor="A", session=session, ip=HOME, event_data=badge
        )
    await install_client.client.knows()
    answers = [await install_client.deferred() for _ in range(3)]
    assert [answer["found"] for answer in answers] == [True, True, False]
    assert answers[0]["match"] == {"kind": "ip", "guaranteed": False, "candidates": 1}


@pytest.mark.parametrize("client", [None, "unknown"])
async def test_install_without_a_network_address_is_not_matched(install_client, client):
    install_client.visit("A")
    await install_client.client.knows()
    assert await install_client.deferred(client=client) == NOTHING


async def test_match_precedence_is_link_tag_referrer_click_id_network(install_client):
    install_client.visit("L", 900, ip=ELSEWHERE, lyr="k7m2q9xa")
    install_client.visit("R", 800, ip=ELSEWHERE, lyr="r7m2q9xa")
    install_client.visit("C", 700, ip=ELSEWHERE, click_id="Cj0", click_id_type="gclid", gclid="Cj0")
    install_client.visit("N")
    await install_client.client.knows()
    everything = {
        "lyr": "k7m2q9xa",
        "install_referrer_url": "https://play.google.com/?referrer=lyr%3Dr7m2q9xa%26utm_source%3Dx",
        "click_id": "Cj0",
    }
    answers = [await install_client.deferred(**everything) for _ in range(5)]
    assert [(each["match"]["kind"], each.get("attribution", {}).get("visitor_id")) for each in answers] == [
        ("link", "L"), ("install_referrer", "R"), ("click_id", "C"), ("ip", "N"), ("none", None),
    ]  # fmt: skip
    assert [each["match"]["guaranteed"] for each in answers] == [True, True, True, False, True]


@pytest.mark.parametrize(
    "referrer",
    [
        "tp_click_id=Cj0&tp_click_id_type=gclid",
        "?tp_click_id=Cj0",
        "https://x.example/?referrer=tp_click_id%3DCj0",
    ],
)
async def test_install_referrer_may_carry_the_click_id(install_client, referrer):
    install_client.visit("C", 700, ip=ELSEWHERE, click_id="Cj0", click_id_type="gclid", gclid="Cj0")
    await install_client.client.knows()
    answer = await install_client.deferred(platform="android", install_referrer_url=referrer)
    assert (answer["match"]["kind"], answer["attribution"]["gclid"]) == ("click_id", "Cj0")


@pytest.mark.parametrize(
    "referrer", ["", "http://[", "utm_source=google-play", "&".join("a=1" for _ in range(300))]
)
async def test_empty_install_referrer_is_accepted(install_client, referrer):
    await install_client.client.knows()
    assert await install_client.deferred(client=ELSEWHERE, install_referrer_url=referrer) == NOTHING


async def test_one_of_20_concurrent_installs_claims_the_visit(install_client):
    install_client.visit("A")
    await install_client.client.knows()
    answers = await asyncio.gather(*(install_client.deferred() for _ in range(20)))
    assert sum(each["found"] for each in answers) == 1


async def test_visit_claim_is_stored_across_processes(install_client):
    install_client.visit("A")
    await install_client.client.knows()
    assert (await install_client.deferred())["found"]
    claims = install_client.served.service.ports.workspace.matched_visits
    assert not await claims.mark_visit_matched_unless_already(
        install_client.client.workspace.id, "A\x1fs1", install_client.served.now
    )
    assert await claims.select_matched_visits(install_client.client.workspace.id, ["A\x1fs1", "B\x1fs1"]) == {
        "A\x1fs1"
    }


async def test_ipv6_address_is_compared_in_its_short_form(install_client):
    install_client.visit("A", ip="2001:db8::1")
    await install_client.client.knows()
    assert (await install_client.deferred(client="2001:DB8:0:0::1"))["found"]


async def test_store_that_cannot_be_read_is_503(install_client, monkeypatch):
    async def away(*_):
        raise StoreUnavailable

    monkeypatch.setattr(install_client.served.service.ports.events, "list_people_and_total", away)
    assert (await install_client.ask("lookup", {"email": "ann@example.com"}))[0] == 503


class LinkClicks:
    """Trackable links of a shop, and clicks on them."""

    def __init__(self, install_client):
        self.shop, self.store = install_client, install_client.served.service.ports.workspace
        self.workspace_id = install_client.client.workspace.id

    async def make(self, lyr, target="app"):
        now = self.shop.served.now
        link = TrackingLink(
            id=new_id(), workspace_id=self.workspace_id, name=lyr, domain_id=LinkDomain("go.example.com").id,
            destination_url="https://example.com/", tracking_identifier=lyr, slug=lyr, target=target,
            ios_url="https://apps.apple.com/app/id1", android_url=None, **dict.fromkeys(UTM_PARAMETERS), created_at=now,
            updated_at=now, created_via="api", created_by=Actor(type="key", id=new_id(), client_id=None),
        )  # fmt: skip
        async with self.store.transactions.write(self.workspace_id) as unit:
            await unit.resources.save(link)
        return link

    async def click(self, link, minutes=10, *, ip=HOME, agent=None, workspace_id=None):
        route = Redirect.from_link(
            link.model_copy(update={"workspace_id": workspace_id or self.workspace_id})
        )
        enricher = ClickEnricher(self.shop.served.service.ports.devices, self.shop.served.service.ports.geo)
        at = self.shop.served.now - timedelta(minutes=minutes)
        await self.store.clicks.record_clicks([enricher.build_click(route, ClickRequest("", agent, ip), at)])


@pytest.fixture
def link_clicks(install_client):
    return LinkClicks(install_client)


async def test_visit_from_an_app_link_is_matched(install_client, link_clicks):
    await link_clicks.make("app00001")
    await link_clicks.make("web00001", "web")
    install_client.visit("A", store=False, lyr="app00001")
    install_client.visit("B", store=False, lyr="web00001")
    await install_client.client.knows()
    answer = await install_client.deferred()
    assert (answer["match"], answer["attribution"]["lyr"]) == (
        {"kind": "ip", "guaranteed": False, "candidates": 1},
        "app00001",
    )
    assert await install_client.deferred() == NOTHING


async def test_visit_from_a_deleted_app_link_is_matched(install_client, link_clicks):
    link = await link_clicks.make("app00001")
    async with link_clicks.store.transactions.write(link_clicks.workspace_id) as unit:
        await unit.resources.remove(link, install_client.served.now)
    install_client.visit("A", store=False, lyr="app00001")
    await install_client.client.knows()
    assert (await install_client.deferred())["found"]


async def test_visit_ending_with_an_app_link_click_is_matched(install_client, link_clicks):
    await link_clicks.click(await link_clicks.make("app00001"), 8)
    install_client.visit("A", 10, store=False)
    install_client.visit("B", 5, store=False)
    await install_client.client.knows()
    answer = await install_client.deferred()
    assert answer["attribution"]["visitor_id"] == "A"


BOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


@pytest.mark.parametrize(
    "click",
    [{"minutes": 61}, {"ip": ELSEWHERE}, {"agent": BOT}],
    ids=["too long ago", "another network", "a bot"],
)
async def test_unrelated_click_is_not_matched(install_client, link_clicks, click):
    await link_clicks.click(await link_clicks.make("app00001"), **click)
    install_client.visit("A", 55, store=False)
    await install_client.client.knows()
    assert not (await install_client.deferred())["found"]


async def test_clicks_on_web_links_and_of_other_workspaces_are_not_matched(
    install_client, link_clicks, served
):
    await link_clicks.click(await link_clicks.make("web00001", "web"), 8)
    other = await served.workspace()
    await link_clicks.click(await link_clicks.make("app00001"), 8, workspace_id=other.workspace.id)
    install_client.visit("A", 10, store=False)
    await install_client.client.knows()
    assert not (await install_client.deferred())["found"]


async def test_ip_address_of_a_click_is_deleted_after_seven_days(install_client, link_clicks):
    link = await link_clicks.make("app00001")
    await link_clicks.click(link, 30)
    await link_clicks.click(link, 8)
    await link_clicks.store.clicks.purge_click_ips(install_client.served.now - timedelta(minutes=20))
    since = install_client.served.now - timedelta(hours=1)
    clicked = await link_clicks.store.recent_link_clicks.latest_human_click_by_tag(
        link_clicks.workspace_id, HOME, since
    )
    assert clicked == {"app00001": install_client.served.now - timedelta(minutes=8)}
    await link_clicks.store.clicks.purge_click_ips(install_client.served.now)
    assert (
        await link_clicks.store.recent_link_clicks.latest_human_click_by_tag(
            link_clicks.workspace_id, HOME, since
        )
        == {}
    )
    assert await link_clicks.store.clicks.count_clicks(link_clicks.workspace_id) == {
        link.id: ClickCount(2, 1)
    }
