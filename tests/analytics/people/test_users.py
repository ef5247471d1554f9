"""`GET /users` and `GET /users/{userId}`."""

from datetime import timedelta
from decimal import Decimal

import pytest

from plugins.attribution_models.models import MODELS
from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.people.operations import UserPath, UserQuery, UsersQuery, get_user, list_users
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.kernel.errors import BadRequest, NotFound
from service_core.kernel.request_parsing import parse_query_parameters_leniently
from service_core.testing.event_builder import EventBuilder, campaign_columns, reported_touch_columns
from service_core.testing.memory.exchange_rates import converter_without_rates
from service_core.testing.memory.postbacks import NoPostbacks

JULY = {"start_date": "2026-07-01", "end_date": "2026-07-08"}


@pytest.fixture
def story(caller):
    return EventBuilder(caller.workspace.id)


@pytest.fixture
def make_store(story):
    async def make_store():
        events = MemoryEventStore()
        await events.append(story.events)
        return events

    return make_store


@pytest.fixture
def list_users_page(caller, queue, make_store):
    async def list_users_page(**parameters):
        query = parse_query_parameters_leniently(UsersQuery, (JULY | parameters).items())
        events = await make_store()
        return await list_users(
            query,
            caller=caller,
            people=events,
            converter=converter_without_rates(events),
            freshness=EventFreshness(queue),
            queries=MetricQueries(Catalog(), ()),
        )

    return list_users_page


@pytest.fixture
def read_user(caller, queue, make_store):
    async def read_user(any_id, **parameters):
        events = await make_store()
        return await get_user(
            parse_query_parameters_leniently(UserQuery, parameters.items()), UserPath(userId=any_id),
            caller=caller, people=events, activity_reader=events, models=AttributionModels.index_by_unique_id(MODELS), freshness=EventFreshness(queue),
            postbacks=NoPostbacks(), converter=converter_without_rates(events),
        )  # fmt: skip

    return read_user


def add_identify_event(story, at, visitor, user_id, **traits):
    story.add_event(
        "$identify",
        at=at,
        visitor=visitor,
        anonymous_id=visitor,
        strong_id=user_id,
        event_data={"traits": traits},
    )


class TestIdentityGoldenCases:
    async def test_visitor_who_identifies_is_one_person_with_both_events(self, story, list_users_page):
        story.add_event("page_view", at="2026-07-01T12:00", visitor="A1")
        add_identify_event(story, "2026-07-02", "A1", "U1")
        (row,) = (await list_users_page()).users
        assert (row.user_id, row.visitor_ids, row.events) == ("U1", ["A1"], 2)

    async def test_shared_computer_is_two_persons(self, story, list_users_page):
        add_identify_event(story, "2026-07-02", "A1", "U1")
        add_identify_event(story, "2026-07-03", "A1", "U2")
        story.add_event("page_view", at="2026-07-04", visitor="A1")
        rows = {row.user_id: row.events for row in (await list_users_page()).users}
        assert rows == {"U1": 1, "U2": 2}

    async def test_two_devices_of_one_user_are_one_person(self, story, list_users_page):
        add_identify_event(story, "2026-07-02", "A1", "U1")
        add_identify_event(story, "2026-07-03", "A2", "U1")
        (row,) = (await list_users_page()).users
        assert (row.user_id, sorted(row.visitor_ids)) == ("U1", ["A1", "A2"])

    async def test_alias_merges_two_users_under_the_new_id(self, story, list_users_page):
        add_identify_event(story, "2026-07-02", "A1", "U1")
        story.add_event(
            "$alias", at="2026-07-03", visitor="A1", strong_id="U2",
            event_data={"previous_id": "U1", "user_id": "U2"},
        )  # fmt: skip
        (row,) = (await list_users_page()).users
        assert row.user_id == "U2"

    async def test_placeholder_ids_merge_no_persons(self, story, list_users_page):
        for visitor in ("A1", "A2"):
            story.add_event("page_view", at="2026-07-02", visitor=visitor, anonymous_id=visitor)
        assert [row.user_id for row in (await list_users_page()).users] == [None, None]


class TestUsersPage:
    @pytest.mark.parametrize(
        ("limit", "offset", "refused"),
        [
            (1, 4999, False),
            (1, 5000, True),
            (5001, 0, True),
            (10_000, 0, True),
            (1000, 4000, False),
            (50, -9, False),
        ],
    )
    async def test_offset_plus_limit_as_sent_may_not_exceed_5000(
        self, list_users_page, limit, offset, refused
    ):
        if not refused:
            assert (await list_users_page(limit=str(limit), offset=str(offset))).users == []
            return
        with pytest.raises(BadRequest, match=r"^offset plus limit must not exceed 5000$") as fault:
            await list_users_page(limit=str(limit), offset=str(offset))
        assert fault.value.code == "window_exceeded"

    async def test_limit_is_clamped_after_the_offset_check(self, list_users_page):
        answer = await list_users_page(limit="2000", offset="-4")
        assert (answer.limit, answer.offset) == (1000, 0)

    async def test_consecutive_pages_equal_one_large_page(self, story, list_users_page):
        for n in range(7):
            story.add_event("page_view", at=f"2026-07-0{n % 3 + 2}", visitor=f"V{n}")
        whole = (await list_users_page()).users
        pages = [await list_users_page(limit="3", offset=str(offset)) for offset in (0, 3, 6)]
        assert [row for page in pages for row in page.users] == whole
        assert [page.has_more for page in pages] == [True, True, False]
        assert {page.total_count for page in pages} == {7}

    async def test_currency_is_returned_without_rows(self, list_users_page):
        found = await list_users_page()
        assert (found.users, found.currency) == ([], "USD")

    async def test_both_dates_are_needed(self, list_users_page):
        with pytest.raises(BadRequest, match=r"^start_date and end_date required \(ISO 8601\)$"):
            await list_users_page(start_date="")

    async def test_attribution_columns_show_the_first_touch_of_all_time(self, story, list_users_page):
        story.add_event(
            "page_view",
            at="2026-06-01",
            visitor="A1",
            session="s0",
            **campaign_columns("google", "cpc", "spring"),
        )
        story.add_event("page_view", at="2026-07-02", visitor="A1", country="DE", browser="Firefox")
        story.add_event(
            "purchase", at="2026-07-02", visitor="A1", revenue=1_999, country="DE", browser="Firefox"
        )
        (row,) = (await list_users_page()).users
        assert (row.attribution_source, row.utm_source, row.utm_medium, row.utm_campaign) == (
            "google", "google", "cpc", "spring",
        )  # fmt: skip
        assert row.first_seen.isoformat() == "2026-06-01T00:00:00+00:00"
        assert (row.sessions, row.pageviews, row.events, row.conversions) == (1, 1, 2, 1)
        assert (row.revenue, row.currency, row.country, row.browser) == (
            Decimal("19.99"),
            "USD",
            "DE",
            "Firefox",
        )

    async def test_foreign_currency_revenue_is_null(self, story, list_users_page):
        story.add_event("purchase", at="2026-07-02", visitor="A1", revenue=1_999, currency="EUR")
        assert (await list_users_page()).users[0].revenue is None

    async def test_search_matches_prefixes_of_email_user_or_visitor_ignoring_case(
        self, story, list_users_page
    ):
        add_identify_event(story, "2026-07-02", "A1", "U1", email="Ada@example.com")
        add_identify_event(story, "2026-07-02", "B1", "U2", email="bo@example.com")
        for text in ("ada@", "u1", "a1"):
            assert [row.user_id for row in (await list_users_page(search=text)).users] == ["U1"]
        assert (await list_users_page(search="example")).users == []

    async def test_filters_apply_and_an_unknown_value_returns_no_rows(self, story, list_users_page):
        add_identify_event(story, "2026-07-02", "A1", "U1")
        story.add_event("page_view", at="2026-07-02", visitor="B1", country="DE")
        assert [row.visitor_id for row in (await list_users_page(identified="false")).users] == ["B1"]
        assert [row.visitor_id for row in (await list_users_page(country="DE")).users] == ["B1"]
        assert (await list_users_page(country="XX")).total_count == 0
        assert [row.visitor_id for row in (await list_users_page(country="(not set)")).users] == ["A1"]

    async def test_rows_are_sorted_in_descending_order(self, story, list_users_page):
        story.add_event("purchase", at="2026-07-02", visitor="A1", revenue=100)
        story.add_event("purchase", at="2026-07-03", visitor="B1", revenue=50)
        assert [row.visitor_id for row in (await list_users_page()).users] == ["B1", "A1"]
        assert [row.visitor_id for row in (await list_users_page(sort="revenue")).users] == ["A1", "B1"]
        with pytest.raises(BadRequest):
            await list_users_page(sort="name")

    async def test_bots_are_left_out_unless_asked_for(self, story, list_users_page):
        story.add_event("page_view", at="2026-07-02", visitor="R1", is_bot=True)
        assert (await list_users_page()).users == []
        assert [row.visitor_id for row in (await list_users_page(include_bots="true")).users] == ["R1"]


class TestPersonProfile:
    async def test_unknown_id_is_not_found(self, read_user):
        with pytest.raises(NotFound):
            await read_user("nobody")

    @pytest.mark.parametrize("any_id", ["U1", "A1"])
    async def test_person_is_found_by_any_id(self, story, read_user, any_id):
        add_identify_event(story, "2026-07-02", "A1", "U1", email="ada@example.com", plan="pro")
        detail = (await read_user(any_id)).user
        assert (detail.user_id, detail.visitor_id, detail.email) == ("U1", "A1", "ada@example.com")
        assert detail.traits == {"email": "ada@example.com", "plan": "pro"}
        assert detail.anonymous_ids == ["A1"]

    async def test_person_without_events_in_the_range_has_empty_lists(self, story, read_user):
        story.add_event("page_view", at="2026-01-02", visitor="A1", **campaign_columns("google", "cpc"))
        story.add_event("purchase", at="2026-01-02", visitor="A1", revenue=500)
        answer = await read_user("A1")
        assert (answer.sessions, answer.conversions, answer.window_days) == ([], [], 90)
        assert (answer.user.events, answer.user.revenue, answer.user.last_seen) == (0, 0, None)
        assert answer.user.lifetime.model_dump() == {
            "revenue": 5, "orders": 1, "conversions": 1, "sessions": 1, "events": 2,
        }  # fmt: skip
        assert answer.user.first_touch.source == "google"

    async def test_sessions_are_sorted_newest_first(self, story, read_user):
        story.add_event(
            "page_view", at="2026-07-02T10:00", visitor="A1", session="s1", page_path="/a", landing_page="/a"
        )
        story.add_event(
            "page_view", at="2026-07-02T10:01", visitor="A1", session="s1", page_path="/b", landing_page="/a"
        )
        story.add_event("purchase", at="2026-07-02T10:01:30", visitor="A1", session="s1", revenue=4_200)
        story.add_event("page_view", at="2026-07-03", visitor="A1", session="s2", page_path="/c")
        second, first = (await read_user("A1")).sessions
        assert (second.session_id, first.session_id) == ("s2", "s1")
        assert (first.pageviews, first.events, first.duration_seconds) == (2, 3, 90)
        assert (first.landing_page, first.exit_page, first.revenue) == ("/a", "/b", 42)
        assert second.revenue == 0

    async def test_conversions_show_their_touch_path_with_default_model_weights(self, story, read_user):
        story.add_event(
            "page_view",
            at="2026-07-01",
            visitor="A1",
            session="s1",
            **campaign_columns("google", "cpc", "spring"),
        )
        story.add_event("page_view", at="2026-07-02", visitor="A1", session="s2")
        story.add_event("purchase", at="2026-07-03", visitor="A1", session="s2", revenue=4_200, order_id="o1")
        story.add_event("page_view", at="2026-07-04", visitor="A1", session="s3")
        (conversion,) = (await read_user("A1")).conversions
        assert (conversion.event_name, conversion.revenue, conversion.order_id) == ("purchase", 42, "o1")
        assert (conversion.attribution.model, conversion.attribution.window_days) == ("last_non_direct", 30)
        assert [(t.channel, t.campaign, t.weight) for t in conversion.attribution.touches] == [
            ("paid_search", "spring", 1), ("direct", None, 0),
        ]  # fmt: skip
        assert conversion.postbacks == []

    async def test_repeat_of_an_order_is_one_conversion_even_from_before_the_window(
        self, story, read_user, caller
    ):
        for days in (93, 88, 1):
            story.add_event(
                "purchase", at=caller.now - timedelta(days=days), visitor="A1", revenue=100, order_id="o1"
            )
        answer = await read_user("A1")
        assert [c.timestamp for c in answer.conversions] == [caller.now - timedelta(days=1)]
        assert answer.user.conversions == 1
        assert answer.user.lifetime.conversions == 2

    async def test_reported_touch_is_the_path_of_a_person_without_visits(self, story, read_user):
        first = reported_touch_columns("first", "2026-06-20", "bing", "cpc", "paid_search")
        last = reported_touch_columns("last", "2026-06-30", "(direct)", "(none)", "direct")
        story.add_event(
            "purchase", at="2026-07-03", visitor="A1", revenue=4_200, reported_touches=first | last
        )
        answer = await read_user("A1")
        (conversion,) = answer.conversions
        assert [(t.channel, t.weight) for t in conversion.attribution.touches] == [
            ("paid_search", 1), ("direct", 0),
        ]  # fmt: skip
        assert (answer.user.first_touch, answer.user.last_touch) == (None, None)

    async def test_touch_path_over_200_is_cut_and_marked_incomplete(self, story, read_user, caller):
        for n in range(201):
            at = caller.now - timedelta(minutes=n + 1)
            story.add_event(
                "page_view", at=at, visitor="A1", session=f"s{n}", **campaign_columns(f"c{n}", "cpc")
            )
        story.add_event("signup", at=caller.now, visitor="A1", session="s0")
        answer = await read_user("A1")
        (conversion,) = answer.conversions
        shown = conversion.attribution.touches
        assert (len(shown), shown[0].source, shown[-1].source) == (200, "c199", "c0")
        assert (sum(touch.weight for touch in shown), answer.complete) == (1, False)
        assert answer.user.last_touch.source == "c0"
        assert answer.user.first_touch.source == "c200"

    async def test_order_paid_again_counts_in_one_session(self, story, read_user):
        for hour, session in ((10, "s1"), (12, "s2")):
            story.add_event(
                "purchase",
                at=f"2026-07-02T{hour}:00",
                visitor="A1",
                session=session,
                revenue=100,
                order_id="o1",
            )
        assert [(s.session_id, s.revenue) for s in (await read_user("A1")).sessions] == [("s2", 0), ("s1", 1)]

    async def test_more_than_1000_ids_are_cut_and_marked_incomplete(self, story, read_user, caller):
        for number in range(1000):
            day = f"2026-07-0{1 + number % 5}"
            story.add_event("page_view", at=day, visitor=f"A{number:04}", strong_id="U1")
            if number == 998:
                assert (await read_user("U1")).complete
        found = await read_user("U1")
        assert (len(found.user.visitor_ids), found.complete) == (1000, False)

    async def test_lists_are_cut_at_200(self, story, read_user, caller):
        for n in range(205):
            at = caller.now - timedelta(hours=n)
            story.add_event("signup", at=at, visitor="A1", session=f"s{n}")
        answer = await read_user("A1")
        assert (len(answer.sessions), len(answer.conversions)) == (200, 200)
        assert answer.sessions[0].started_at == answer.conversions[0].timestamp == caller.now
