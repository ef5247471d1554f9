"""The example shop of the demo: the same each time, through the ways of every deployment, with something on each page."""

import json
import re
from datetime import UTC, date, datetime, timedelta
from html import unescape
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from hosts.composition.compose import load_installed_registry_once
from hosts.demo.shop.ad_accounts import ExampleAdPlatform, account_of_platform
from hosts.demo.shop.catalog import ADS, DAYS, LINKS
from hosts.demo.shop.create_shop import create_example_shop
from hosts.demo.shop.subscriptions import Subscriber, subscription_deliveries
from hosts.demo.shop.visits import VisitGenerator
from hosts.demo.sign_in_link import is_loopback_address, serve_one_time_sign_in_link
from hosts.worker.consumer import build_ingest_pipeline, process_batches_until_queue_is_empty
from plugins.revenue_stripe.mapping import map_message
from service_core.access.api_keys import create_workspace_with_keys
from service_core.access.internal_callers import build_dashboard_caller_with_role_scopes
from service_core.access.members.sign_in import SignIn
from service_core.access.models import AuthContext
from service_core.api.http_messages import ApiRequest
from service_core.commerce.ads.models import AdLevel
from tests.fixtures.composed_deployment import compose_deployment, create_application
from tests.fixtures.port_stubs import ManualClock
from tests.fixtures.waiting import GUARD_SECONDS
from tests.screenshot import HEADINGS, MAX_BYTES, PICTURES, ROOT

NOON = datetime(2026, 7, 15, 12, 0, tzinfo=UTC)
TAGS = {str(link["name"]): f"tag-{number}" for number, link in enumerate(LINKS)}
RANGE = "start_date=2026-06-16&end_date=2026-07-15"


def generate_bodies(now):
    return [entry.body for entry in VisitGenerator(now, TAGS).events()]


def test_events_are_the_same_for_the_same_time_and_none_is_later():
    first, second = generate_bodies(NOON), generate_bodies(NOON)
    assert first == second
    times = [datetime.fromisoformat(body["timestamp"]) for body in first]
    assert max(times) <= NOON
    assert NOON - min(times) > timedelta(days=DAYS - 2)
    assert NOON - max(times) < timedelta(minutes=5)
    ids = [body["event_id"] for body in first]
    assert len(ids) == len(set(ids))


def test_each_ad_brings_visits_that_name_it_by_the_id_of_its_platform():
    named = {body["properties"].get("utm_id") for body in generate_bodies(NOON)} - {None}
    assert named == {ad.ad[0] for ad in ADS}


def test_every_message_of_the_payment_provider_is_mapped_and_none_is_later():
    subscribers = [Subscriber(100 + n, f"s{n}@example.com", NOON - timedelta(days=5 * n)) for n in range(9)]
    messages = [json.loads(sent.body) for sent in subscription_deliveries(subscribers, NOON)]
    mapped = [map_message(message, "") for message in messages]
    assert max(message.occurred_at for message in mapped) <= NOON
    names = {message.event_name for message in mapped}
    assert {
        "subscription_started",
        "subscription_changed",
        "subscription_cancelled",
        "trial_started",
    } <= names
    assert {"purchase", "billing_failed", "payment_fee"} <= names


async def test_spend_of_a_campaign_is_the_sum_of_its_ads():
    platform = ExampleAdPlatform(load_installed_registry_once().ad_platforms["google"], NOON)
    account, today = account_of_platform("google"), NOON.date()
    sums = {}
    for level in AdLevel:
        rows = await platform.fetch_daily_spend(account, level, today - timedelta(days=6), today, {})
        for row in rows:
            key = level, row.entity.campaign_id
            sums[key] = sums.get(key, 0) + row.spend
    assert sums[AdLevel.CAMPAIGN, "7002"] == sums[AdLevel.GROUP, "7002"] == sums[AdLevel.AD, "7002"] > 0
    tomorrow = today + timedelta(days=1)
    later = await platform.fetch_daily_spend(account, AdLevel.AD, tomorrow, date(2026, 7, 20), {})
    assert {row.spend for row in later} == {0}


class ShopReader:
    """Reads the shop as its owner, and keeps the answers of the API."""

    def __init__(self, service, shop):
        self.service, self.shop = service, shop

    async def get(self, path, query=""):
        session, account = await self.service.component(SignIn).find_unexpired_session(
            self.shop.session_secret
        )
        assert session.account_id == account.id
        memberships = await self.service.ports.workspace.members.list_memberships(account.id)
        workspace, member = next(pair for pair in memberships if pair[0].id == self.shop.workspace.id)
        caller = build_dashboard_caller_with_role_scopes(
            account, member, workspace, self.service.ports.clock()
        )
        context = AuthContext(caller.credential, workspace, caller.acting_user)
        answer = await self.service.dispatch(ApiRequest("GET", f"/v1{path}", query, auth_context=context))
        body = json.loads(answer.body)
        assert answer.status == 200, (path, body)
        return body


async def read_pictured_pages(service, shop, dashboard_id):
    """The pages on the pictures of the README, by the name of the picture."""
    client = create_application(service).test_client()
    client.set_cookie("localhost", "touchpoint", shop.session_secret)
    pages = {}
    for picture in PICTURES:
        path = f"{picture.path}/{dashboard_id}" if picture.opens else picture.path
        answer = await client.get(f"/app/w/{shop.workspace.public_id}{path}")
        assert answer.status_code == 200, picture
        pages[picture.name] = await answer.get_data(as_text=True)
    return pages


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the owner reads of the shop, by path: one shop for all tests."""
    import asyncio  # noqa: PLC0415 - one loop for the module, whatever loops its tests have

    async def read_shop():
        clock = ManualClock()
        clock.now = NOON
        service, _ = compose_deployment(
            tmp_path_factory.mktemp("shop"), clock=clock, settings={"storage": {"events": "memory://"}}
        )
        async with service:
            log = await create_workspace_with_keys(service.ports.workspace.credentials, NOON, name="Log")
            shop = await create_example_shop(service, owned_too=log.workspace)
            pipeline = build_ingest_pipeline(service.ports, service.settings)
            await process_batches_until_queue_is_empty(pipeline, lambda _: None)
            reader = ShopReader(service, shop)
            paths = {
                "/revenue": RANGE, "/subscriptions": RANGE, "/ads": f"{RANGE}&level=ad", "/commerce-metrics": RANGE,
                "/locations": f"{RANGE}&type=city", "/users": f"{RANGE}&identified=true",
                "/funnel": f"{RANGE}&steps=product_viewed,add_to_cart,checkout_started,purchase",
                "/traffic": f"{RANGE}&type=campaign", "/tags": RANGE, "/reports": "", "/dashboards": "", "/analyses": "",
                "/segments": "", "/links": "", "/rules": "", "/annotations": RANGE, "/ledger": RANGE, "/realtime": "", "/onboarding": "",
            }  # fmt: skip
            read = {path: await reader.get(path, query) for path, query in paths.items()}
            pages = await read_pictured_pages(service, shop, read["/dashboards"]["dashboards"][0]["id"])
            secrets = await service.ports.connection_secrets.list_connections_with_secrets()
            accounts = await service.ports.workspace.members.list_members(log.workspace.id)
            return read | {"secrets": secrets, "owners of the log": len(accounts), "pages": pages}

    return asyncio.run(read_shop())


def test_each_page_has_something_to_show(answers):
    assert {row["platform"] for row in answers["/revenue"]["platforms"]} >= {"stripe", "tracked"}
    combined = answers["/revenue"]["combined"]
    assert combined["refund_count"] > 0
    assert combined["orders"] > 30
    assert len(answers["/locations"]["data"]) > 5
    assert answers["/realtime"]["active_visitors"] > 0
    steps = [step["count"] for step in answers["/funnel"]["steps"]]
    assert steps == sorted(steps, reverse=True)
    assert steps[-1] > 10
    for path, key in (
        ("/reports", "reports"), ("/dashboards", "dashboards"), ("/analyses", "analyses"), ("/segments", "segments"),
        ("/links", "links"), ("/rules", "rules"), ("/annotations", "annotations"),
    ):  # fmt: skip
        assert answers[path][key], path
    assert {row["tag"] for row in answers["/tags"]["data"]}
    assert {"Brand search", "Autumn sale"} <= {row["name"] for row in answers["/traffic"]["data"]}


def test_no_credential_is_kept_so_no_platform_is_asked(answers):
    assert answers["secrets"] == []


def test_owner_of_the_shop_owns_the_workspace_of_the_log_too(answers):
    assert answers["owners of the log"] == 1


def test_readme_pictures_show_the_headings_of_the_pages(answers):
    shown = {}
    for name, page in answers["pages"].items():
        main = re.search(
            "<main.*</main>", re.sub("<dialog.*?</dialog>", "", page, flags=re.DOTALL), re.DOTALL
        )[0]
        texts = re.findall(r"<h[12]\b[^>]*>(.*?)</h[12]>", main, re.DOTALL)
        shown[name] = [unescape(re.sub("<[^>]+>", "", text)).strip() for text in texts]
    assert shown == json.loads(HEADINGS.read_text()), "take them again: nox -s screenshot -- --write"


def test_readme_shows_small_pictures():
    for picture in PICTURES:
        image = picture.file.read_bytes()
        assert (image[:4], image[8:12]) == (b"RIFF", b"WEBP")
        assert len(image) < MAX_BYTES
        assert f"]({picture.file.relative_to(ROOT)})" in (ROOT / "README.md").read_text()


def request_path(link, path=None, method="GET"):
    parts = urlsplit(link)
    connection = HTTPConnection(parts.netloc, timeout=GUARD_SECONDS)
    connection.request(method, path or parts.path)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_sign_in_link_sets_the_session_cookie_once(host):
    page = f"http://{host}:1/app/w/abc"
    with serve_one_time_sign_in_link(page, "the-secret") as link:
        assert link.startswith(f"http://{host}:")
        assert request_path(link, "/").status == 404
        assert request_path(link, method="HEAD").status == 501
        first = request_path(link)
        assert (first.status, first.headers["Location"]) == (303, page)
        assert first.headers["Set-Cookie"].startswith("touchpoint=the-secret; ")
        assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(first.headers["Set-Cookie"].split("; "))
        second = request_path(link)
        assert (second.status, second.headers["Set-Cookie"]) == (410, None)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1:8080", True), ("http://127.0.0.1:8080", True), ("localhost:0", True), ("[::1]:8080", True),
        ("0.0.0.0:8080", False), ("http://192.0.2.7:8080", False), ("[::]:8080", False), ("shop.example:80", False),
        (":8080", False),
    ],
)  # fmt: skip
def test_only_addresses_of_this_machine_have_a_sign_in_link(address, expected):
    assert is_loopback_address(address) is expected
    if not expected:
        page = address if "//" in address else f"http://{address}"
        with (
            pytest.raises(ValueError, match="not on a loopback address"),
            serve_one_time_sign_in_link(page, "s"),
        ):
            pass
