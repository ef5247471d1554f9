"""Which stored events rules send, and why some are skipped."""

from datetime import timedelta

import pytest

from service_core.analytics.connections.models import ConnectionStatus
from service_core.analytics.ports import StoreUnavailable
from tests.delivery.postbacks.deployment import run_postback_deployment


@pytest.fixture
async def postback_workspace(tmp_path):
    async with run_postback_deployment(tmp_path) as postback_workspace:
        yield postback_workspace


async def test_purchase_is_sent_to_the_platform_and_recorded_once(postback_workspace):
    rule = await postback_workspace.rule()
    event = await postback_workspace.happens(
        order_id="o1",
        revenue=12.5,
        currency="EUR",
        email="ada@example.com",
        url="https://shop.example.com/thanks",
    )
    assert (await postback_workspace.outcome()) == ("queued", None)
    await postback_workspace.send()
    ((to, (sent,)),) = postback_workspace.sender.calls
    assert (to.account_id, to.asset_id, to.asset_name, to.test) == ("act_1", "p1", "Shop pixel", False)
    assert (sent.event, sent.event_id, sent.order_id, sent.value, sent.currency) == (
        "Buy",
        "o1",
        "o1",
        1250,
        "EUR",
    )
    assert (sent.occurred_at, sent.action_source, sent.source_url) == (
        postback_workspace.now,
        "website",
        "https://shop.example.com/thanks",
    )
    assert (sent.customer.email, sent.customer.ip) == ("ada@example.com", "203.0.113.9")
    assert "Firefox" in sent.customer.user_agent
    row = await postback_workspace.row()
    assert (str(row["rule_id"]), row["event_id"], row["status"], row["attempts"], row["http_status"]) == (
        rule,
        event,
        "sent",
        1,
        200,
    )
    assert row["sent_at"] == row["done_at"] == postback_workspace.now
    await postback_workspace.send()
    assert len(postback_workspace.sender.calls) == 1


async def rule_names_that_fire(postback_workspace, rules, **event):
    """Which of some rules fire for one event, by their positions."""
    for position, rule in enumerate(rules):
        usual = {"platform_event": "custom", "custom_event_name": str(position), "value_type": "none"}
        await postback_workspace.rule(**usual | rule)
    await postback_workspace.happens(**event)
    return {int(row["platform_event"]) for row in await postback_workspace.rows()}


async def test_rule_fires_by_the_exact_name_and_the_source(postback_workspace):
    rules = [
        {},
        {"trigger_event": "Purchase"},
        {"trigger_event": "order_completed"},
        {"trigger_event_source": "browser"},
        {"trigger_event_source": "api"},
        {"active": False},
    ]
    assert await rule_names_that_fire(postback_workspace, rules) == {0, 3}


async def test_server_and_browser_are_different_sources(postback_workspace):
    sources = [{}, {"trigger_event_source": "api"}, {"trigger_event_source": "browser"}]
    assert await rule_names_that_fire(postback_workspace, sources, agent="curl/8") == {0, 1}
    assert [row["user_agent"] for row in await postback_workspace.rows()] == [None, None]


async def test_system_event_fires_the_rule_that_names_it(postback_workspace):
    assert await rule_names_that_fire(
        postback_workspace, [{}, {"trigger_event": "$identify"}], name="$identify"
    ) == {1}


@pytest.mark.parametrize("mark", ["test", "bot"])
async def test_bots_and_tests_fire_nothing(postback_workspace, mark):
    assert await rule_names_that_fire(postback_workspace, [{}], **{mark: True}) == set()


MATCHING_CONDITIONS = [
    {"property": "revenue", "op": "gte", "value": 12.5},
    {"property": "plan.name", "value": "gold"},
    {"property": "plan.seats", "op": "between", "value": [2, 4]},
    {"property": "coupon", "op": "is_not_set"},
    {"property": "coupon", "op": "neq", "value": "X"},
    {"property": "browser", "op": "in", "value": ["Firefox", "Safari"]},
    {"property": "currency", "op": "contains", "value": "eu"},
    {"property": "timestamp", "op": "starts_with", "value": "2026-07-08"},
]
FAILING_CONDITIONS = [
    {"property": "revenue", "op": "gt", "value": 12.5},
    {"property": "plan.name", "value": "Gold"},
    {"property": "plan", "value": "gold"},
    {"property": "coupon", "op": "is_set"},
    {"property": "plan.seats.left", "op": "lt", "value": 9},
]


async def test_rule_fires_when_every_condition_matches(postback_workspace):
    named = {"property": "event_name", "value": "purchase"}
    rules = [{"conditions": [named, one]} for one in (*MATCHING_CONDITIONS, *FAILING_CONDITIONS)]
    sold = {"revenue": 12.5, "currency": "EUR", "plan": {"name": "gold", "seats": 3}}
    assert await rule_names_that_fire(postback_workspace, rules, **sold) == set(
        range(len(MATCHING_CONDITIONS))
    )


REASONS = [
    ({}, {"revenue": None}, "missing_value"),
    ({"value_type": "none"}, {}, "missing_value"),
    ({"value_path": "total"}, {}, "missing_value"),
    ({}, {"revenue": -12.5}, "missing_value"),
    ({"currency_path": "money.code"}, {}, "missing_currency"),
    ({}, {"consent": "denied"}, "consent_denied"),
    ({}, {"ago": timedelta(days=7, seconds=1)}, "too_old"),
    ({}, {"ago": timedelta(days=7)}, None),
    ({"platform_event": "Look", "value_type": "none"}, {}, None),
    ({"platform_event": "Look"}, {"revenue": None}, None),
]


async def test_skipped_conversion_has_a_reason(postback_workspace):
    for position, (rule, event, _) in enumerate(REASONS):
        name = f"sale {position}"
        await postback_workspace.rule(trigger_event=name, **rule)
        result = dict(event)
        ago = result.pop("ago", timedelta())
        await postback_workspace.sells(f"o{position}", name=name, at=postback_workspace.now - ago, **result)
    rows = await postback_workspace.rows()
    assert [row["reason"] for row in rows] == [reason for _, _, reason in REASONS]
    for row in rows:
        done = row["reason"] is not None
        assert row["status"] == ("skipped" if done else "queued")
        assert (row["user_agent"] is None, row["next_attempt_at"] is None) == (done, done)
        assert (row["done_at"] is not None) is done


async def test_platform_that_is_not_connected_is_sent_nothing(postback_workspace):
    await postback_workspace.rule()
    await postback_workspace.connect(status=ConnectionStatus.DISCONNECTED)
    await postback_workspace.sells("o1")
    assert await postback_workspace.outcome() == ("skipped", "not_connected")


async def test_pending_conversion_of_a_disconnected_platform_is_skipped(postback_workspace):
    await postback_workspace.rule()
    await postback_workspace.sells("o1")
    await postback_workspace.store.connections.remove_connection_if_present(postback_workspace.id, "adhub")
    await postback_workspace.send()
    assert (await postback_workspace.outcome(), postback_workspace.sender.calls) == (
        ("skipped", "not_connected"),
        [],
    )


async def test_conversion_without_a_match_key_is_skipped(postback_workspace):
    await postback_workspace.rule()
    await postback_workspace.sells("o1", email=None)
    await postback_workspace.send()
    assert (await postback_workspace.outcome(), postback_workspace.sender.calls) == (
        ("skipped", "no_match_key"),
        [],
    )


async def test_order_is_sent_once_within_the_window_of_its_rule(postback_workspace):
    await postback_workspace.rule()
    noon = postback_workspace.now - timedelta(days=3)
    for hours in (0, 0.1, 47.9, 48, -47, -49):
        await postback_workspace.sells("o1", at=noon + timedelta(hours=hours))
    await postback_workspace.sells("o2", at=noon)
    duplicate, waits = ("skipped", "duplicate"), ("queued", None)
    assert [(row["status"], row["reason"]) for row in await postback_workspace.rows()] == [
        waits, duplicate, duplicate, waits, duplicate, waits, waits,
    ]  # fmt: skip


async def test_order_that_was_skipped_or_failed_makes_no_duplicate(postback_workspace):
    await postback_workspace.rule()
    await postback_workspace.sells("o1", consent="denied")
    await postback_workspace.sells("o1")
    assert [row["reason"] for row in await postback_workspace.rows()] == ["consent_denied", None]


async def test_batch_that_comes_again_makes_no_second_row(postback_workspace, monkeypatch):
    await postback_workspace.rule()
    await postback_workspace.rule(asset_id="p2")
    settle, faults = postback_workspace.ports.queue.acknowledge, [OSError("the disk is full")]

    async def settling(stored, quarantined, ignored, dropped):
        if faults:
            raise faults.pop()
        await settle(stored, quarantined, ignored, dropped)

    monkeypatch.setattr(postback_workspace.ports.queue, "acknowledge", settling)
    with pytest.raises(OSError, match="full"):
        await postback_workspace.sells("o1")
    rows = await postback_workspace.rows()
    assert len(rows) == 2
    assert await postback_workspace.pipeline.process_batch() == 1
    assert await postback_workspace.rows() == rows


async def test_events_stay_queued_when_the_outbox_fails(postback_workspace, monkeypatch):
    await postback_workspace.rule()
    with monkeypatch.context() as broken:

        async def refuse(*_):
            raise StoreUnavailable

        broken.setattr(postback_workspace.store.postback_outbox, "add_postbacks_skipping_duplicates", refuse)
        with pytest.raises(StoreUnavailable):
            await postback_workspace.sells("o1")
    assert await postback_workspace.rows() == []
    assert await postback_workspace.pipeline.process_batch() == 1
    assert await postback_workspace.outcome() == ("queued", None)


async def test_two_rules_send_one_event_to_two_destinations(postback_workspace):
    await postback_workspace.rule()
    await postback_workspace.rule(asset_id="p2", platform_event="custom", custom_event_name="Sale")
    await postback_workspace.sells("o1")
    await postback_workspace.send()
    assert sorted(
        (to.asset_id, sent.event, sent.is_custom) for to, (sent,) in postback_workspace.sender.calls
    ) == [
        ("p1", "Buy", False),
        ("p2", "Sale", True),
    ]


CONVERSION_VALUES = [
    ({}, {}, (1250, "EUR")),
    ({"value_path": "cart.net"}, {"cart": {"net": "7.255"}}, (726, "EUR")),
    (
        {"value_path": "cart.net", "currency_path": "cart.code"},
        {"cart": {"net": 7, "code": "jpy"}},
        (7, "JPY"),
    ),
    ({"value_type": "static", "static_value": 49.9, "currency": "KWD"}, {}, (49_900, "KWD")),
    ({"value_type": "static", "static_value": 0, "currency": "EUR"}, {}, (0, "EUR")),
    ({"platform_event": "Look", "value_type": "none"}, {}, (None, None)),
]


async def test_conversion_value_follows_the_rule(postback_workspace):
    for position, (rule, properties, _) in enumerate(CONVERSION_VALUES):
        await postback_workspace.rule(trigger_event=f"sale {position}", **rule)
        await postback_workspace.sells(f"o{position}", name=f"sale {position}", **properties)
    assert [(row["value"], row["currency"]) for row in await postback_workspace.rows()] == [
        worth for _, _, worth in CONVERSION_VALUES
    ]
