"""Public pages: what they show, to whom, and what they never tell."""

import asyncio
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product
from unittest.mock import patch

import pytest

from service_core.kernel.errors import ServiceUnavailable
from service_core.kernel.ids import new_token
from service_core.privacy.models import ErasureStatus, request_erasure
from service_core.testing.event_builder import EventBuilder
from service_core.workspace.reports.run_batch import ReportBatchRunner
from service_core.workspace.reports.run_report import CHARTED_GROUPS
from tests.fixtures.composed_deployment import Deployment, ManualClock, compose_deployment, create_application
from tests.fixtures.shared_objects import AFTER_WEEK, EVERY_KIND, SharedObjects

PERSON = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36"
}


class ElementCollector(HTMLParser):
    """Names of elements and attributes of a page."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.attributes = set(), set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}


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
        deployment = Deployment(service, create_application(service), clock, letters, None, None)
        opened.person = deployment.person
        yield opened


async def open_public_page(shared_objects, link, **headers):
    return await shared_objects.person().get(link["path"], **{**PERSON, **headers})


def visible_words(answer):
    return " ".join(answer.text.split())


async def test_report_shows_its_title_range_numbers_and_a_chart(shared_objects):
    link = await shared_objects.share("report", await shared_objects.report("Visitors of the week"))
    answer = await open_public_page(shared_objects, link)
    assert answer.status == 200
    text = visible_words(answer)
    assert "Visitors of the week" in text
    assert "2 to 8 March 2026, America/New_York" in text
    assert "Example Shop" not in text
    assert "Tue 3 March 2026" in text
    assert {"svg", "table", "th", "details"} <= ElementCollector(answer.body).elements


async def test_workspace_name_is_shown_on_request(shared_objects):
    link = await shared_objects.share("report", await shared_objects.report(), show_workspace_name=True)
    assert "Example Shop" in visible_words(await open_public_page(shared_objects, link))


async def test_every_report_kind_is_drawn(shared_objects):
    for definition in EVERY_KIND:
        link = await shared_objects.share("report", await shared_objects.report("Anything", **definition))
        answer = await open_public_page(shared_objects, link)
        assert answer.status == 200, definition
        assert not re.search(r"nan|None|inf\b", answer.body), definition


async def test_dashboard_shows_its_cards_and_says_which_were_deleted(shared_objects):
    reports = [await shared_objects.report(f"Card {index}", **one) for index, one in enumerate(EVERY_KIND)]
    link = await shared_objects.share("dashboard", await shared_objects.dashboard(reports, "Monday numbers"))
    await shared_objects.send("DELETE", f"/reports/{reports[1]}")
    answer = await open_public_page(shared_objects, link)
    text = visible_words(answer)
    assert "Monday numbers" in text
    for index in (0, *range(2, len(EVERY_KIND))):
        assert f"Card {index}" in text
    assert "This report was deleted." in text
    assert "Card 1 " not in text


async def test_analysis_shows_its_text_with_embedded_reports(shared_objects):
    report = await shared_objects.report("Embedded visitors")
    body = f"# Before\n\nIt *rose*.\n\n::report[{report}]\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    link = await shared_objects.share(
        "analysis", await shared_objects.analysis(body, [report], "Why it rose")
    )
    answer = await open_public_page(shared_objects, link)
    html, text = answer.body, visible_words(answer)
    assert text.index("Before") < text.index("Embedded visitors") < text.index("a b 1 2")
    assert "::report" not in text
    assert "Embedded visitors 2 to 8 March 2026, America/New_York" in text
    assert "<em>rose</em>" in html
    assert html.count("<h1") == 1


async def test_public_page_forbids_scripts_and_sends_no_referrer(shared_objects):
    link = await shared_objects.share("report", await shared_objects.report())
    answer = await open_public_page(shared_objects, link)
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; img-src data:; form-action 'none'")
    assert "script-src" not in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["X-Robots-Tag"] == "noindex"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in answer.headers
    tags = ElementCollector(answer.body)
    assert not tags.elements & {"script", "form", "iframe", "input", "button", "style"}
    assert not {name for name in tags.attributes if name.startswith("on")} | (tags.attributes & {"style"})


@pytest.mark.parametrize("named", [True, False])
async def test_public_page_describes_itself_for_previews_of_the_link(shared_objects, named):
    report = await shared_objects.report('Visitors "of" the week')
    link = await shared_objects.share("report", report, show_workspace_name=named)
    page = (await open_public_page(shared_objects, link)).body
    assert '<meta property="og:title" content="Visitors &#34;of&#34; the week">' in page
    owner = "Shared by Example Shop" if named else "Shared with Touchpoint"
    assert f'<meta property="og:description" content="{owner}: 2 to 8 March 2026, America/New_York">' in page
    assert ("Example Shop" in page) is named
    assert 'rel="icon" href="data:image/svg+xml,' in page


async def test_revoked_link_returns_410_and_unknown_tokens_404(shared_objects):
    report = await shared_objects.report()
    revoked, expired = [await shared_objects.share("report", report, expires_in_days=1) for _ in range(2)]
    dropped = await shared_objects.share("report", await shared_objects.report("Dropped"))
    await shared_objects.revoke(revoked)
    await shared_objects.send("DELETE", f"/reports/{dropped['object_id']}")
    shared_objects.clock.advance(days=1)
    closed = [await open_public_page(shared_objects, link) for link in (revoked, expired)]
    assert [answer.status for answer in closed] == [410, 410]
    assert closed[0].body == closed[1].body
    unknown = {"path": f"/app/share/{new_token()}"}
    near = {"path": revoked["path"][:-1] + ("A" if revoked["path"][-1] != "A" else "B")}
    missing = [
        await open_public_page(shared_objects, link)
        for link in (unknown, near, dropped, {"path": "/app/share/short"})
    ]
    assert [answer.status for answer in missing] == [404] * 4
    assert len({answer.body for answer in missing}) == 1
    for answer in (*closed, *missing):
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Set-Cookie" not in answer.headers


async def test_malformed_token_reaches_no_store(shared_objects, monkeypatch):
    requests = []
    monkeypatch.setattr(
        shared_objects.service.ports.workspace.unique_keys,
        "find_live_by_unique_key",
        lambda *one: requests.append(one),
    )
    for token in ("x", "x" * 42, "x" * 44, "é" * 43, "a.b"):
        assert (await open_public_page(shared_objects, {"path": f"/app/share/{token}"})).status == 404
    assert requests == []


async def test_revocation_applies_to_the_next_request_despite_caching(shared_objects):
    link = await shared_objects.share("report", await shared_objects.report())
    assert (await open_public_page(shared_objects, link)).status == 200
    await shared_objects.revoke(link)
    assert (await open_public_page(shared_objects, link)).status == 410


async def test_deleted_object_is_404_and_its_undo_brings_the_page_back(shared_objects):
    report = await shared_objects.report()
    link = await shared_objects.share("report", report)
    gone = await shared_objects.send("DELETE", f"/reports/{report}")
    assert (await open_public_page(shared_objects, link)).status == 404
    await shared_objects.send("POST", f"/audit/{gone['audit_id']}/undo")
    assert (await open_public_page(shared_objects, link)).status == 200


async def test_views_count_browsers_and_not_bots(shared_objects):
    link = await shared_objects.share("report", await shared_objects.report())
    for agent in (
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
        "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        "WhatsApp/2.23.20.0", "Twitterbot/1.0", "TelegramBot (like TwitterBot)", "curl/8.5.0",
        "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
        "LinkedInBot/1.0 (compatible; Mozilla/5.0)",
    ):  # fmt: skip
        assert (await open_public_page(shared_objects, link, **{"User-Agent": agent})).status == 200
    assert (
        await open_public_page(shared_objects, link, **{"Sec-Purpose": "prefetch;prerender"})
    ).status == 200
    head = await shared_objects.person().client.head(link["path"], headers=PERSON)
    assert head.status_code == 200
    assert await shared_objects.views(link) == 0
    for _ in range(3):
        await open_public_page(shared_objects, link)
    assert await shared_objects.views(link) == 3


async def test_public_pages_are_cached_for_a_minute(shared_objects):
    link = await shared_objects.share("report", await shared_objects.report("Visitors"))
    other = await shared_objects.share("report", link["object_id"])
    requests = []
    aggregate = shared_objects.service.ports.events.aggregate

    async def counted(*question):
        requests.append(question)
        return await aggregate(*question)

    shared_objects.service.ports.events.aggregate = counted
    await open_public_page(shared_objects, link)
    first = len(requests)
    assert first > 0
    shared_objects.clock.advance(seconds=59)
    await open_public_page(shared_objects, link)
    await open_public_page(shared_objects, other)
    assert len(requests) == first
    shared_objects.clock.advance(seconds=1)
    await open_public_page(shared_objects, link)
    assert len(requests) == 2 * first


async def test_erasure_shows_on_public_pages_at_once(shared_objects):
    link = await shared_objects.share("report", await shared_objects.report("Visitors"))
    ports, request = shared_objects.service.ports, []
    aggregate = ports.events.aggregate

    async def counted(*question):
        request.append(question)
        return await aggregate(*question)

    await open_public_page(shared_objects, link)
    ports.events.aggregate = counted
    await open_public_page(shared_objects, link)
    assert request == []
    (workspace, *_) = await ports.workspace.credentials.list_workspaces()
    erasure = request_erasure(workspace.id, "user-ada", "ann@example.com", shared_objects.clock())
    await ports.workspace.erasures.save_erasure(erasure)
    await open_public_page(shared_objects, link)
    assert request == []
    await ports.workspace.erasures.save_erasure(replace(erasure, status=ErasureStatus.COMPLETED))
    await open_public_page(shared_objects, link)
    assert request != []


async def test_requests_are_limited_per_network(shared_objects):
    client = shared_objects.person().client

    async def ask(network="203.0.113.9"):
        scope = {"client": (network, 50_000)}
        return await client.get(f"/app/share/{new_token()}", scope_base=scope)

    statuses = [(await ask()).status_code for _ in range(301)]
    assert statuses == [404] * 300 + [429]
    assert (await ask()).headers["Retry-After"] == "60"
    assert (await ask("198.51.100.7")).status_code == 404
    shared_objects.clock.advance(minutes=1)
    assert (await ask()).status_code == 404


async def test_unavailable_report_shows_its_reason(shared_objects):
    body = f"Text\n\n::report[{(report := await shared_objects.report())}]"
    link = await shared_objects.share("analysis", await shared_objects.analysis(body, [report]))
    await shared_objects.send("DELETE", f"/reports/{report}")
    assert "This report was deleted." in visible_words(await open_public_page(shared_objects, link))
    empty = await shared_objects.share("dashboard", await shared_objects.dashboard([]))
    assert "This page is empty" in visible_words(await open_public_page(shared_objects, empty))


async def test_dashboard_lists_its_filters_and_unfiltered_cards(shared_objects):
    plan = {"metrics": ["visitors"], "dimensions": ["browser"]}
    cards = [
        await shared_objects.report("Open"),
        await shared_objects.report("Narrow", source="query", plan=plan),
    ]
    filters = [{"dimension": "country", "value": "DE"}]
    link = await shared_objects.share("dashboard", await shared_objects.dashboard(cards, filters=filters))
    text = visible_words(await open_public_page(shared_objects, link))
    assert "Filtered by Country: DE." in text
    assert text.count("Not filtered by Country.") == 1


async def test_failed_card_shows_an_error_and_others_are_drawn(shared_objects):
    cards = [await shared_objects.report(name) for name in ("Broken", "Whole")]
    link = await shared_objects.share("dashboard", await shared_objects.dashboard(cards))
    runs = shared_objects.service.component(ReportBatchRunner).reports
    run = type(runs).run_with_supported_filters

    async def sometimes(self, caller, report, wanted):
        if report.name == "Broken":
            raise ServiceUnavailable("The data cannot be read", "query_timeout")
        return await run(self, caller, report, wanted)

    with patch.object(type(runs), "run_with_supported_filters", sometimes):
        text = visible_words(await open_public_page(shared_objects, link))
    assert "Broken The data cannot be read." in text
    assert "Tue 3 March 2026" in text


async def test_query_parameters_do_not_appear_on_the_page(shared_objects):
    link = await shared_objects.share("report", await shared_objects.report())
    plain = await open_public_page(shared_objects, link)
    assert (
        await open_public_page(shared_objects, {"path": f"{link['path']}?done=saved&x=1"})
    ).body == plain.body


async def test_each_link_has_its_own_workspace_name_setting(shared_objects):
    report = await shared_objects.report()
    quiet, named = [
        await shared_objects.share("report", report, show_workspace_name=one) for one in (False, True)
    ]
    for _ in range(2):
        assert "Example Shop" not in visible_words(await open_public_page(shared_objects, quiet))
        assert "Example Shop" in visible_words(await open_public_page(shared_objects, named))


async def test_fifty_concurrent_visitors_are_fifty_views_and_one_query(shared_objects):
    link = await shared_objects.share("report", await shared_objects.report())
    answers = await asyncio.gather(*(open_public_page(shared_objects, link) for _ in range(50)))
    assert {answer.status for answer in answers} == {200}
    assert await shared_objects.views(link) == 50


async def test_lines_of_a_shared_report_reach_its_last_day_with_many_groups(shared_objects):
    """Rows by day and group are more than a page of them holds; the largest groups are drawn whole."""
    story = EventBuilder(shared_objects.workspace.id)
    for day, number in product(range(2, 9), range(30)):
        for visit in range(3 if number < CHARTED_GROUPS else 1):
            visitor = f"{number}-{visit}-{day}"
            here = {"at": f"2026-03-{day:02d}T12:00:00Z", "visitor": visitor, "session": visitor}
            story.add_event("page_view", **here, source="browser", browser=f"Browser {number:02d}")
    await shared_objects.service.ports.events.append(story.events)
    plan = {"metrics": ["visitors"], "dimensions": ["browser"], "interval": "day", "limit": 100}
    report = await shared_objects.report("By browser", source="query", plan=plan)
    answer = await open_public_page(shared_objects, await shared_objects.share("report", report))
    words = " ".join(re.sub(r"<[^>]+>", " ", answer.text).split())
    for day, number in product(range(3, 9), range(CHARTED_GROUPS)):
        assert f"{day} March 2026 Browser {number:02d} 3" in words
    assert "Browser 20" not in words
