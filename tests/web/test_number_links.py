"""No dead number: each number of a page leads to a page that shows the same number and lists as many records."""

import html
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from service_core.access.api_keys import create_workspace_with_keys
from service_core.kernel.ids import new_id
from service_core.testing.event_builder import EventBuilder
from tests.analytics.golden_week import ITEMS, add_week_of_visits, connect_all_sources
from tests.fixtures.composed_deployment import Deployment, ManualClock, compose_deployment, create_application
from tests.fixtures.shared_objects import AFTER_WEEK, SharedObjects, hostile_events
from tests.web.unlinked_numbers import find_unlinked_numbers

LINK = re.compile(r'<a href="([^"]*)" data-number>([^<]+)</a>')
COUNTED = re.compile(r"<span data-counted>([^<]+)</span>")
PART = re.compile(r"data-part-of-count>([^<]+)<")
TERM = re.compile(r'data-term="([^"]+)">([^<]+)<')
PART_OF_TERM = re.compile(r'data-part-of="([^"]+)">([^<]+)<')
NEXT_PAGE = re.compile(r'rel="next" href="([^"]+)"')
DURATION = re.compile(r"(?:(\d+)h )?(?:(\d+)m )?(\d+)s")
SECTION = re.compile(r"(?:/[a-z]+)?")
MOST_PAGES = 80
NONE = {"No", "Nobody", "No sessions"}
NOON = datetime(2026, 7, 15, 12, 0, tzinfo=UTC)

FUNNELS = {
    "/funnels?step1=page_view&step2=add_to_cart&step3=purchase": 5,
    "/funnels?step1=page_view&step2=purchase&unit=session&order=any": 3,
    "/funnels?step1=page_view&step2=purchase&f=channel:is:paid_search": 3,
}
PATHS = {
    "/paths?start=page_view&by=event": 4,
    "/paths?start=purchase&by=event&direction=previous": 4,
}
CREDITS = {
    "/attribution?metric=conversions": 6,
    "/attribution?metric=conversions&group_by=campaign&m_linear=1": 6,
    "/attribution": 6,
}
VISITS = {
    "": 6,
    "?f=channel:is:paid_search": 6,
    "?f=country:is:DE": 6,
    "/explore?metrics=visitors&metrics=conversion_rate&metrics=avg_session_duration": 3,
    "/explore?metrics=visitors&metrics=sessions&dimensions=channel&dimensions=device_type&chart=table": 8,
    "/goals": 4,
}
MONEY = {
    "/revenue": 6,
    "/revenue?refund_basis=order": 6,
    "/explore?metrics=revenue&metrics=orders&dimensions=provider&chart=table": 2,
}
SAVED = {"/reports/PLAN": 4, "/reports/METRIC": 1, "/reports/FUNNEL": 3, "/dashboards/BOARD": 6}
WORLDS = {
    "standard": {
        **VISITS,
        **MONEY,
        **FUNNELS,
        **PATHS,
        **CREDITS,
        **SAVED,
        "/people": 0,
        "/explain?metric=visitors": 5,
        "/profit": 1,
    },
    "golden": {
        "": 7,
        "/goals": 5,
        "/profit": 5,
        "/people": 0,
        "/explain?metric=pageviews": 5,
        "/explore?metrics=pageviews&interval=day&chart=table": 1,
        "/realtime": 0,
        "/explore?metrics=revenue&interval=hour&chart=line": 2,
        "/retention": 0,
        "/retention?view=ltv": 0,
        "/subscriptions": 0,
        "/revenue": 10,
        "/ads": 7,
        "/crawlers": 9,
        "/attribution?metric=conversions": 6,
    },
    "hostile": {
        "": 7,
        "/explore?metrics=visitors&metrics=revenue&dimensions=utm_campaign&chart=table&f=utm_campaign:contains:onerror": 10,
        "/goals?f=event_name:contains:onerror": 10,
        "/revenue": 5,
    },
}
"""World -> address of a page -> how many numbers it has at least."""

MOST_FOLLOWED = 12
"""Numbers of one page that are followed; of more, every second, third or so on."""

_RATIO = "follows from the linked counts beside it"
_COMPARED = "is of the other period, which the range menu opens"
_NO_RECEIPT = "its metric has no receipt yet"
_NO_LIST = "no read lists the people or subscriptions behind it yet"
WITHOUT_RECORDS = {
    ("", "Compared with"): _COMPARED,
    ("/explore", "Compared with"): _COMPARED,
    ("/explore", "Before"): _COMPARED,
    ("/explore", "Change"): _RATIO,
    ("/explain", "Contribution"): _RATIO,
    ("/explain", "Expected"): "is computed from the same weekday in earlier weeks",
    **{
        (page, name): _RATIO
        for page in ("/funnels", "/reports", "/dashboards")
        for name in (
            "Average time", "Median time", "Median time from previous step", "Conversion", "Of step 1", "Of previous step",
        )
    },
    ("/paths", "Share"): _RATIO,
    ("/goals", "Conversion rate"): _RATIO,
    ("/goals", "Attributed revenue"): _NO_RECEIPT,
    ("/ads", "Credited revenue"): _NO_RECEIPT,
    ("/ads", "Credited ROAS"): _NO_RECEIPT,
    ("/profit", ""): _NO_RECEIPT,
    ("/profit", "Profit"): _NO_RECEIPT,
    ("/profit", "Margin"): _NO_RECEIPT,
    ("/profit", "ROAS"): _NO_RECEIPT,
    ("/revenue", "New subscriptions"): _NO_RECEIPT,
    **{("/people", name): "the person's page has it" for name in ("Sessions", "Events", "Conversions", "Revenue")},
    **{("/retention", name): _NO_LIST for name in ("People", *(f"Day {number}" for number in range(13)))},
    **{
        ("/subscriptions", name): _NO_LIST
        for name in (
            "MRR", "ARR", "Active", "Canceled", "New", "Churn rate", "Trials that converted", "Price", "amount",
        )
    },
}  # fmt: skip
"""Page and name of a number without a link -> why it has none. The list only shrinks."""

READS_BY_ONE_PERSON = 20
"""Requests count against the limit of an account; then another member goes on."""


@dataclass
class World:
    """A deployment with the events of a workspace, whose pages its members read."""

    deployment: Deployment
    opened: object
    dates: str
    saved: dict = field(default_factory=dict)
    person: object = None
    reads: int = 0

    @property
    def pages(self):
        return f"/app/w/{self.opened.workspace.public_id}"

    def address_of(self, path):
        for placeholder, id_ in self.saved.items():
            path = path.replace(f"/{placeholder}", f"/{id_}")
        return f"{self.pages}{path}{'&' if '?' in path else '?'}{self.dates}"

    async def get(self, address):
        if self.reads % READS_BY_ONE_PERSON == 0:
            name = f"reader-{self.reads}"
            await self.deployment.enrol(name, "viewer", self.opened)
            self.person = await self.deployment.person().sign_in(f"{name}@example.com")
        self.reads += 1
        return await self.person.get(address)


async def open_standard_world(service, clock):
    gallery = await SharedObjects(service).open(clock.now)
    return gallery, "from=2026-03-02&to=2026-03-12"


async def save_reports(gallery):
    """Placeholder in the addresses of pages -> id of a saved object."""
    plan = {
        "metrics": ["visitors", "pageviews"],
        "dimensions": ["channel"],
        "filters": [{"dimension": "device_type", "value": "desktop"}],
    }
    reports = {
        "PLAN": await gallery.report("Desktop", source="query", plan=plan),
        "METRIC": await gallery.report(),
        "FUNNEL": await gallery.report("Funnel", source="query", steps=["page_view", "purchase"]),
    }
    return reports | {"BOARD": await gallery.dashboard(reports.values())}


async def open_hostile_world(service, clock):
    gallery = await SharedObjects(service).open(clock.now, events=hostile_events)
    return gallery, "range=last_7_days"


async def open_golden_world(service, clock):
    """A workspace with visits, ad spend, subscriptions and a crawler, each number of which was worked out by hand."""
    shop = SharedObjects(service)
    created = await create_workspace_with_keys(service.ports.workspace.credentials, clock.now, name="Shop")
    shop.workspace = created.workspace
    await service.ports.events.append(add_week_of_visits(EventBuilder(shop.workspace.id), ITEMS).events)
    await connect_all_sources(shop)
    return shop, "from=2026-07-01&to=2026-07-07"


OPENERS = {"standard": open_standard_world, "golden": open_golden_world, "hostile": open_hostile_world}


@pytest.fixture
async def world(request, tmp_path):
    clock = ManualClock()
    clock.now = NOON if request.param == "golden" else AFTER_WEEK
    service, letters = compose_deployment(
        tmp_path, clock=clock, settings={"storage": {"events": "memory://"}}
    )
    async with service:
        opened, dates = await OPENERS[request.param](service, clock)
        deployment = Deployment(service, create_application(service), clock, letters, None, None)
        saved = await save_reports(opened) if request.param == "standard" else {}
        yield World(deployment, opened, dates, saved)


def to_number(text):
    """The number that a text shows; a duration in seconds."""
    if text in NONE:
        return 0.0
    if parts := DURATION.fullmatch(text):
        hours, minutes, seconds = (int(part or 0) for part in parts.groups())
        return 3600.0 * hours + 60 * minutes + seconds
    digits = re.sub(r"[^\d.\-−]", "", text).replace("−", "-")  # noqa: RUF001 - as pages write it
    return float(digits) / unit_of(text)


def unit_of(text):
    """What the last digit before the decimals counts: a hundredth in per cent."""
    return 100 if text.endswith("%") else 1


def shown_precision(text):
    """Half of the last digit that a text shows."""
    decimals = len(text.partition(".")[2].rstrip(" %x"))
    return 0.5 * 10**-decimals / unit_of(text) + 1e-9


async def collect_records(world, page):
    """The number of records on all pages of a list, the sum of their parts, and the sums by term of a receipt."""
    records, parts, by_term = 0, [], {}
    for _ in range(MOST_PAGES):
        records += page.body.count("data-record>")
        parts += map(to_number, PART.findall(page.body))
        for term, text in PART_OF_TERM.findall(page.body):
            by_term[term] = by_term.get(term, 0.0) + float(text.replace(",", ""))
        following = NEXT_PAGE.search(page.body)
        if following is None:
            return records, parts, by_term
        page = await world.get(html.unescape(following[1]))
    raise AssertionError("The list does not end")


async def find_fault(world, address, text):
    """Says what is wrong with the page of a number; nothing if it shows and lists what it says."""
    listed = await world.get(address)
    if listed.status != 200:
        return f"status {listed.status}"
    shown = COUNTED.findall(listed.body) or ["No"]
    if len(shown) != 1 or abs(to_number(shown[0]) - to_number(text)) > max(
        shown_precision(text), shown_precision(shown[0])
    ):
        return f"shows {shown}"
    records, parts, by_term = await collect_records(world, listed)
    terms = dict(TERM.findall(listed.body))
    if terms:
        wrong = {
            term: (total, by_term.get(term, 0.0))
            for term, total in terms.items()
            if by_term.get(term, 0.0) != pytest.approx(float(total.replace(",", "")), abs=0.02)
        }
        return f"terms {wrong}" if wrong else None
    total = sum(parts) if parts else records
    return None if total == pytest.approx(to_number(text), abs=0.02) else f"lists {total}"


def choose_followed(numbers):
    """The numbers of a page that are followed, spread over all of them."""
    return sorted(numbers)[:: -(-len(numbers) // MOST_FOLLOWED) or 1]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("world", WORLDS, indirect=True)
async def test_each_number_leads_to_the_same_number_of_records(request, world):
    faults, checked = [], set()
    for path, least in WORLDS[request.node.callspec.params["world"]].items():
        page = await world.get(world.address_of(path))
        assert page.status == 200, path
        numbers = {(html.unescape(address), text) for address, text in LINK.findall(page.body)}
        if len(numbers) < least:
            faults.append((path, f"{len(numbers)} numbers"))
        faults += [
            (path, "no link", name, text)
            for name, text in sorted(find_unlinked_numbers(page.body))
            if (SECTION.match(path)[0], name) not in WITHOUT_RECORDS
        ]
        for address, text in choose_followed(numbers - checked):
            if fault := await find_fault(world, address, text):
                faults.append((path, text, address, fault))
        checked |= numbers

    assert faults == []


@pytest.mark.parametrize("path", ["/revenue", "/crawlers"])
async def test_numbers_that_no_segment_narrows_lead_to_receipts_without_one(shop, path):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}{path}?segment={new_id()}&{shop.dates}")
    links = [address for address, _ in LINK.findall(page.body)]
    assert links
    assert [address for address in links if "segment" in address] == []


async def test_rows_below_the_chart_lead_to_their_days(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}?{shop.dates}&compare=none")
    rows = re.findall(
        r'<th scope="row"><a href="(\?from=[^"]+)">[^<]+</a></th><td[^>]*>(?:<a[^>]*>)?([^<]+)<', page.body
    )
    assert len(rows) == 11
    for link, text in rows[:4]:
        day = await person.get(f"{shop.pages}{html.unescape(link)}")
        tile = re.search(r">Visitors</a>\s*<strong>(?:<a[^>]*>)?([^<]+)", day.body)
        assert tile[1] == text, link


async def test_rows_of_cut_weeks_lead_to_the_days_within_the_range(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}?from=2026-02-25&to=2026-03-11&interval=week&compare=none")
    links = [
        html.unescape(link) for link in re.findall(r'<th scope="row"><a href="(\?from=[^"]+)">', page.body)
    ]
    days = [re.search(r"from=([0-9-]+)&to=([0-9-]+)", link).groups() for link in links]
    assert (days[0][0], days[-1][1]) == ("2026-02-25", "2026-03-11")
    assert 'data-first-day="2026-02-25" data-last-day="2026-03-11"' in page.body
