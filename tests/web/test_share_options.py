"""Public pages with a choice of ranges, a password, or hosts that may embed them."""

import asyncio
import re
import struct
from urllib.parse import urlencode

import pytest

from hosts.web import public_pages
from hosts.web.cards.card import Card
from hosts.web.charts.number_format import ValueFormat
from hosts.web.charts.plot import build_plot
from hosts.web.charts.plot_model import Bucket, Series
from hosts.web.share_picture import draw_first_chart, has_chart
from tests.fixtures.composed_deployment import Deployment, ManualClock, compose_deployment, create_application
from tests.fixtures.shared_objects import AFTER_WEEK, SharedObjects

PASSWORD = "open sesame please"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
async def shared_objects(tmp_path):
    clock = ManualClock()
    clock.now = AFTER_WEEK
    service, letters = compose_deployment(
        tmp_path, clock=clock, settings={"storage": {"events": "memory://"}}
    )
    async with service:
        opened = await SharedObjects(service).open(clock.now)
        opened.clock = clock
        opened.deployment = Deployment(service, create_application(service), clock, letters, None, None)
        yield opened


def visible_words(answer):
    return " ".join(answer.text.split())


async def send_password(browser, link, password, network="203.0.113.9", query=""):
    return await browser.client.post(
        f"{link['path']}{query}",
        headers=FORM,
        data=urlencode({"password": password}),
        scope_base={"client": (network, 50_000)},
    )


async def test_reader_chooses_among_the_ranges_the_owner_allows(shared_objects):
    report = await shared_objects.report("Visitors of the week")
    link = await shared_objects.share("report", report, allowed_ranges=["last_7_days", "last_14_days"])
    reader = shared_objects.deployment.person()
    saved = await reader.get(link["path"])
    assert "Default Last 7 days Last 14 days" in visible_words(saved)
    assert "2 to 8 March 2026" in visible_words(saved)
    chosen = await reader.get(f"{link['path']}?range=last_7_days")
    assert "6 to 12 March 2026" in visible_words(chosen)
    assert '<a href="?range=last_7_days" aria-current="true">' in chosen.body
    for other in ("last_30_days", "7d", "nothing", "", "last_7_days%00"):
        refused = await reader.get(f"{link['path']}?range={other}")
        assert "2 to 8 March 2026" in visible_words(refused), other


async def test_preview_of_the_link_shows_the_first_chart_without_counting_a_view(shared_objects):
    drawn = {"source": "catalog", "metric_id": "visitors", "chart": "line"}
    link = await shared_objects.share("report", await shared_objects.report("Drawn", **drawn))
    reader = shared_objects.deployment.person()
    page = (await reader.get(link["path"])).body
    [address] = re.findall(r'property="og:image" content="([^"]+)"', page)
    assert address.endswith(f"{link['path']}/picture")
    views = await shared_objects.views(link)
    answer = await reader.client.get(f"{link['path']}/picture")
    picture = await answer.get_data()
    assert (answer.status_code, answer.mimetype, picture[:8]) == (200, "image/png", b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", picture[16:24]) == (1200, 630)
    assert b"Example Shop" not in picture
    assert len(picture) < 60_000
    assert await shared_objects.views(link) == views


async def test_picture_is_drawn_once_for_all_who_ask_within_a_minute(shared_objects, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        public_pages, "draw_first_chart", lambda cards: drawn.append(cards) or draw_first_chart(cards)
    )
    link = await shared_objects.share("report", await shared_objects.report())
    reader = shared_objects.deployment.person()
    for _ in range(3):
        assert (await reader.client.get(f"{link['path']}/picture")).status_code == 200
    assert len(drawn) == 1


def test_picture_has_no_line_across_days_without_a_measurement():
    buckets = [Bucket(str(day), f"Day {day}") for day in range(3)]
    values = {(1, None, 2): False, (1, 2, None): True}
    for measured, is_drawn in values.items():
        plot = build_plot("x", buckets, [Series("a", measured)], unit=ValueFormat(), style="line")
        assert has_chart([Card("x", "plot", plot)]) is is_drawn


async def test_pages_without_a_chart_or_with_a_password_have_no_picture(shared_objects):
    report = await shared_objects.report()
    numbers = {"source": "catalog", "metric_id": "visitors", "chart": "number"}
    closed = await shared_objects.share("report", report, password="a long enough one")
    plain = await shared_objects.share("report", await shared_objects.report("Number", **numbers))
    revoked = await shared_objects.share("report", report)
    await shared_objects.revoke(revoked)
    reader = shared_objects.deployment.person()
    for link, status in ((closed, 404), (plain, 404), (revoked, 410)):
        assert (await reader.get(f"{link['path']}/picture")).status == status
        assert "og:image" not in (await reader.get(link["path"])).body


async def test_dashboard_and_analysis_are_run_over_the_chosen_range(shared_objects):
    report = await shared_objects.report("Embedded")
    body = f"Text\n\n::report[{report}]"
    for kind, object_id in (
        ("dashboard", await shared_objects.dashboard([report])),
        ("analysis", await shared_objects.analysis(body, [report])),
    ):
        link = await shared_objects.share(kind, object_id, allowed_ranges=["last_7_days"])
        page = await shared_objects.deployment.person().get(f"{link['path']}?range=last_7_days")
        assert "6 to 12 March 2026" in visible_words(page), kind


async def test_links_of_one_object_have_their_own_ranges(shared_objects):
    report = await shared_objects.report()
    wide = await shared_objects.share("report", report, allowed_ranges=["last_7_days"])
    plain = await shared_objects.share("report", report)
    reader = shared_objects.deployment.person()
    for _ in range(2):
        assert "Default" in visible_words(await reader.get(wide["path"]))
        assert "Default" not in visible_words(await reader.get(f"{plain['path']}?range=last_7_days"))


async def test_page_with_a_password_tells_nothing_until_it_is_entered(shared_objects):
    report = await shared_objects.report("Secret numbers")
    link = await shared_objects.share("report", report, password=PASSWORD, show_workspace_name=True)
    reader = shared_objects.deployment.person()
    closed = await reader.get(link["path"])
    assert closed.status == 401
    assert "Secret numbers" not in closed.body
    assert "Example Shop" not in closed.body
    assert "form-action 'self'" in closed.headers["Content-Security-Policy"]
    assert "script-src" not in closed.headers["Content-Security-Policy"]
    assert closed.headers["Referrer-Policy"] == "no-referrer"
    assert closed.headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in closed.headers
    wrong = await send_password(reader, link, "not it at all")
    assert wrong.status_code == 401
    assert "Wrong password" in await wrong.get_data(as_text=True)
    assert "Set-Cookie" not in wrong.headers
    opened = await send_password(reader, link, PASSWORD)
    assert (opened.status_code, opened.headers["Location"]) == (303, link["path"])
    cookie = opened.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert f"Path={link['path']}" in cookie
    page = await reader.get(link["path"])
    assert (page.status, "Secret numbers" in page.body) == (200, True)
    assert (await shared_objects.deployment.person().get(link["path"])).status == 401


@pytest.mark.parametrize(
    ("query", "kept"),
    [("?range=last_7_days", "?range=last_7_days"), ("?range=last_30_days", ""), ("?x=1", "")],
)
async def test_password_leads_to_the_range_of_the_opened_link(shared_objects, query, kept):
    report = await shared_objects.report()
    link = await shared_objects.share("report", report, password=PASSWORD, allowed_ranges=["last_7_days"])
    opened = await send_password(shared_objects.deployment.person(), link, PASSWORD, query=query)
    assert opened.headers["Location"] == f"{link['path']}{kept}"


async def test_views_count_only_after_the_password(shared_objects):
    link = await shared_objects.share("report", await shared_objects.report(), password=PASSWORD)
    agent = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36"}
    reader = shared_objects.deployment.person()
    await reader.get(link["path"], **agent)
    assert await shared_objects.views(link) == 0
    await send_password(reader, link, PASSWORD)
    await reader.get(link["path"], **agent)
    assert await shared_objects.views(link) == 1


async def test_proof_of_a_password_expires_and_opens_no_other_page(shared_objects):
    report = await shared_objects.report()
    links = [await shared_objects.share("report", report, password=PASSWORD) for _ in range(2)]
    reader = shared_objects.deployment.person()
    opened = await send_password(reader, links[0], PASSWORD)
    proof = opened.headers["Set-Cookie"].partition(";")[0].partition("=")[2]

    async def status_with(cookie, link):
        stranger = shared_objects.deployment.person()
        return (await stranger.get(link["path"], Cookie=f"touchpoint-share={cookie}")).status

    expiry, _, signature = proof.partition(".")
    assert await status_with(proof, links[0]) == 200
    assert await status_with(proof, links[1]) == 401
    for forged in (
        f"{int(expiry) + 1}.{signature}", f"{expiry}.{signature[:-1]}x", f".{signature}", signature, "", f"{expiry}.",
        f"{'9' * 400}.{signature}", "²." + signature,
    ):  # fmt: skip
        assert await status_with(forged, links[0]) == 401, forged
    shared_objects.clock.advance(hours=12)
    assert await status_with(proof, links[0]) == 401


async def test_password_attempts_are_limited_per_network(shared_objects):
    link = await shared_objects.share("report", await shared_objects.report(), password=PASSWORD)
    reader = shared_objects.deployment.person()
    statuses = [(await send_password(reader, link, "wrong one")).status_code for _ in range(11)]
    assert statuses == [401] * 10 + [429]
    refused = await send_password(reader, link, PASSWORD)
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "900")
    assert (await send_password(reader, link, PASSWORD, "198.51.100.7")).status_code == 303
    shared_objects.clock.advance(minutes=15)
    assert (await send_password(reader, link, PASSWORD)).status_code == 303


async def test_password_of_a_revoked_link_is_not_verified(shared_objects, monkeypatch):
    link = await shared_objects.share("report", await shared_objects.report(), password=PASSWORD)
    await shared_objects.revoke(link)
    monkeypatch.setattr(shared_objects.service.ports.passwords, "verify", None)
    assert (await send_password(shared_objects.deployment.person(), link, PASSWORD)).status_code == 410


async def test_only_the_listed_hosts_may_embed_the_page(shared_objects):
    report = await shared_objects.report()
    link = await shared_objects.share(
        "report", report, embed_hosts=["blog.example.com", "*.partner.example"], password=PASSWORD
    )
    reader = shared_objects.deployment.person()
    closed = await reader.get(link["path"])
    await send_password(reader, link, PASSWORD)
    opened = await reader.get(link["path"])
    for answer in (closed, opened):
        policy = answer.headers["Content-Security-Policy"]
        assert policy.endswith("frame-ancestors blog.example.com *.partner.example")
        assert "X-Frame-Options" not in answer.headers
    plain = await reader.get((await shared_objects.share("report", report))["path"])
    assert plain.headers["Content-Security-Policy"].endswith("frame-ancestors 'none'")
    assert plain.headers["X-Frame-Options"] == "DENY"


async def test_member_creates_a_link_with_all_options_in_the_web_application(shared_objects):
    deployment, page = shared_objects.deployment, "/app/w/k3Jx9QmZ2aPr/shared"
    await deployment.enrol("ann", "member", shared_objects)
    ann = await deployment.person().sign_in("ann@example.com")
    report = await shared_objects.report("Weekly visitors")
    fields = {
        "object": f"report:{report}", "range": "last_7_days", "embed": "blog.example.com\r\n\r\nother.example",
        "password": PASSWORD,
    }  # fmt: skip
    made = await ann.follow(await ann.send(page, page, **fields))
    assert made.status == 200
    text = visible_words(made)
    assert "password-protected · selectable date range" in text
    assert "Can be embedded by blog.example.com, other.example" in text
    refused = await ann.send(page, page, **{**fields, "password": "short"})
    assert refused.status == 422
    assert "password has 8 to 256 characters" in visible_words(refused)


async def test_concurrent_attempts_do_not_exceed_the_limit(shared_objects):
    link = await shared_objects.share("report", await shared_objects.report(), password=PASSWORD)
    reader = shared_objects.deployment.person()
    answers = await asyncio.gather(*(send_password(reader, link, "wrong one") for _ in range(30)))
    assert sum(answer.status_code == 401 for answer in answers) == 10
