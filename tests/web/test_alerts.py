"""Alerts: pages, checks of metrics, e-mails and signed webhooks."""

import asyncio
import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import count

import pytest
import time_machine
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from hosts.composition.compose import load_installed_registry_once
from hosts.worker.notifications import build_notifications
from service_core.analytics.ports import StoreUnavailable
from service_core.delivery.notifications.alert_text import format_value_of_metric
from service_core.delivery.notifications.signed_webhooks import WebhookUnavailable
from service_core.testing.event_builder import EventBuilder
from service_core.workspace.notifications.models import NotificationStatus

PAGE = "/app/w/k3Jx9QmZ2aPr/alerts"
HOOK = "https://hooks.example.com/touchpoint?a=1"
BELOW = {"name": "Few visitors", "metric_id": "visitors", "period": "day", "condition": "below", "value": "5"}
NOON = datetime(2026, 3, 9, 16, 0, tzinfo=UTC)
"""Monday, 12:00 in New York; the standard world ends the day before."""


NUMBERS = count()


class RecordedWebhooks:
    def __init__(self):
        self.sent, self.status, self.fault = [], 200, None

    async def post(self, url, headers, body):
        if self.fault:
            raise WebhookUnavailable(self.fault)
        self.sent.append((url, headers, body))
        return self.status


@pytest.fixture
def webhooks():
    return RecordedWebhooks()


@pytest.fixture
async def ann(shop_deployment):
    shop_deployment.clock.now = NOON
    await shop_deployment.enrol("ann", "admin", shop_deployment.gallery)
    shop_deployment.messages.clear()
    return await shop_deployment.person().sign_in("ann@example.com")


@pytest.fixture
def notifications(shop_deployment, webhooks):
    return build_notifications(shop_deployment.service.ports, shop_deployment.service.settings, webhooks)


def visible_words(answer):
    return " ".join(answer.text.split())


async def save_alert(ann, **fields):
    wanted = BELOW | {"recipients": "ann@example.com"} | fields
    made = await ann.send(f"{PAGE}/new", PAGE, action="save", **wanted)
    assert made.status == 303, visible_words(made)
    return made.location.partition("?")[0]


async def run_at(shop_deployment, notifications, instant):
    """The messages that are sent at an instant."""
    shop_deployment.clock.now = instant
    shop_deployment.messages.clear()
    await notifications.run()
    return list(shop_deployment.messages)


async def add_visitors(shop_deployment, day, visitors):
    story = EventBuilder(shop_deployment.gallery.workspace.id)
    for _ in range(visitors):
        story.add_event("page_view", at=f"{day}T15:00", visitor=f"alert{next(NUMBERS)}", page_path="/")
    await shop_deployment.service.ports.events.append(story.events)


async def test_alert_is_previewed_created_and_listed(shop_deployment, ann):
    assert "No alerts yet" in visible_words(await ann.get(PAGE))
    wanted = BELOW | {"recipients": "ann@example.com"}
    preview = visible_words(await ann.send(f"{PAGE}/new", PAGE, action="preview", **wanted))
    assert "'Few visitors' is sent to 1 target" in preview
    path = await save_alert(ann)
    page = visible_words(await ann.get(path))
    assert "Daily visitors below 5" in page
    assert "Not checked yet" in page
    assert "Few visitors Daily visitors below 5 Not checked yet" in visible_words(await ann.get(PAGE))


async def test_alert_is_sent_once_while_it_lasts_and_again_after_it_was_over(
    shop_deployment, ann, notifications
):
    await save_alert(ann)
    [message] = await run_at(shop_deployment, notifications, NOON)
    assert (message.to, message.subject) == ("ann@example.com", "Alert: Few visitors")
    assert "Visitors was 1 on 2026-03-08" in message.text
    assert "The alert is sent when it is below 5." in message.text
    assert "/email/unsubscribe?" in message.unsubscribe_url
    assert await run_at(shop_deployment, notifications, NOON + timedelta(hours=1)) == []
    assert await run_at(shop_deployment, notifications, NOON + timedelta(days=1)) == []
    await add_visitors(shop_deployment, "2026-03-10", 9)
    [resolved] = await run_at(shop_deployment, notifications, NOON + timedelta(days=2))
    assert (resolved.to, resolved.subject) == ("ann@example.com", "Resolved: Few visitors")
    assert " on 2026-03-10.\n\nThat is what the alert expects again." in resolved.text
    assert await run_at(shop_deployment, notifications, NOON + timedelta(days=2, hours=1)) == []
    assert len(await run_at(shop_deployment, notifications, NOON + timedelta(days=3))) == 1


async def test_end_of_an_alert_is_a_signed_webhook_of_its_own(shop_deployment, ann, notifications, webhooks):
    await save_alert(ann, recipients="", webhook_url=HOOK)
    await run_at(shop_deployment, notifications, NOON)
    await add_visitors(shop_deployment, "2026-03-09", 40)
    await run_at(shop_deployment, notifications, NOON + timedelta(days=1))
    fired, resolved = (json.loads(body) for _, _, body in webhooks.sent)
    assert [fired["type"], resolved["type"]] == ["alert.fired", "alert.resolved"]
    assert [one["data"]["period_start"] for one in (fired, resolved)] == ["2026-03-08", "2026-03-09"]


async def test_filters_are_added_in_the_form_kept_while_checked_and_narrow_the_metric(
    shop_deployment, ann, notifications
):
    added = {"filter_dimension": "country", "filter_kind": "is", "filter_value": "JP"}
    path = await save_alert(ann, **added)
    page = await ann.get(path)
    assert "Daily visitors where Country is Japan, if below 5" in visible_words(page)
    assert 'name="f" value="country:is:JP" checked' in page.body
    rule = BELOW | {"recipients": "ann@example.com", "active": "1"}
    more = {
        "f": "country:is:JP",
        "filter_dimension": "channel",
        "filter_kind": "is_not",
        "filter_value": "email",
    }
    await ann.send(path, path, action="save", **rule, **more)
    page = visible_words(await ann.get(path))
    assert "where Country is Japan and Channel is not Email, if below 5" in page
    [message] = await run_at(shop_deployment, notifications, NOON)
    assert "Visitors was 0 on 2026-03-08" in message.text
    await ann.send(path, path, action="save", **rule)
    assert "Daily visitors below 5" in visible_words(await ann.get(path))


@pytest.mark.parametrize(
    "condition",
    [
        {"dimension": "country", "op": "is_set", "value": None},
        {"dimension": "property:plan", "op": "eq", "value": "pro"},
    ],
)
async def test_filters_that_the_form_cannot_show_stay(shop_deployment, ann, condition):
    path = await save_alert(ann, metric_id="pageviews")
    alert = f"/alerts/{path.rpartition('/')[2]}"
    filters = [condition]
    await shop_deployment.gallery.send("PATCH", alert, {"alert": {"filters": filters}, "dry_run": False})
    page = await ann.get(path)
    assert "were set with the API and stay as they are" in visible_words(page)
    assert "Open in Explore" not in page.body
    rule = BELOW | {"recipients": "ann@example.com", "active": "1", "keeps_filters": "1"}
    edited = await ann.send(path, path, action="edit", **rule)
    assert 'name="keeps_filters" value="1"' in edited.body
    await ann.send(path, path, action="save", **rule)
    assert (await shop_deployment.gallery.send("GET", alert))["filters"] == filters


async def test_day_is_checked_an_hour_after_its_end_in_the_zone_of_the_workspace(
    shop_deployment, ann, notifications
):
    path = await save_alert(ann)
    await run_at(shop_deployment, notifications, NOON)
    assert "(8 March 2026)" in visible_words(await ann.get(path))
    midnight = datetime(2026, 3, 10, 4, 0, tzinfo=UTC)
    await run_at(shop_deployment, notifications, midnight + timedelta(minutes=59))
    assert "(8 March 2026)" in visible_words(await ann.get(path))
    await run_at(shop_deployment, notifications, midnight + timedelta(minutes=60))
    assert "Alert (9 March 2026): 1, expected at least 5" in visible_words(await ann.get(path))


async def test_unusual_value_names_the_expected_range(shop_deployment, ann, notifications):
    for week in range(1, 9):
        day = date(2026, 5, 4) - timedelta(weeks=week)
        await add_visitors(shop_deployment, day.isoformat(), 20)
    await add_visitors(shop_deployment, "2026-05-04", 40)
    await save_alert(ann, condition="unusual")
    [message] = await run_at(shop_deployment, notifications, datetime(2026, 5, 5, 16, tzinfo=UTC))
    assert "Visitors was 40 on 2026-05-04" in message.text
    assert (
        "Expected: 6.58 to 33.42. That is the median of the same weekday of the last 8 weeks" in message.text
    )


async def test_metric_that_cannot_be_read_is_no_alert_and_no_all_clear(
    shop_deployment, ann, notifications, monkeypatch
):
    path = await save_alert(ann)
    checker = notifications.alerts
    read = type(checker)._read_values

    async def fail(*_):
        raise StoreUnavailable

    assert len(await run_at(shop_deployment, notifications, NOON)) == 1
    monkeypatch.setattr(type(checker), "_read_values", fail)
    assert await run_at(shop_deployment, notifications, NOON + timedelta(days=1)) == []
    assert "Could not be checked (9 March 2026)" in visible_words(await ann.get(path))
    monkeypatch.setattr(type(checker), "_read_values", read)
    assert await run_at(shop_deployment, notifications, NOON + timedelta(days=1, hours=1)) == []
    assert "Alert (9 March 2026)" in visible_words(await ann.get(path))


async def test_metric_without_a_source_could_not_be_checked(shop_deployment, ann, notifications):
    path = await save_alert(ann, metric_id="ad_spend")
    assert await run_at(shop_deployment, notifications, NOON) == []
    assert "Could not be checked" in visible_words(await ann.get(path))


async def test_webhook_is_signed_with_the_secret_that_was_shown_once(
    shop_deployment, ann, notifications, webhooks
):
    path = await save_alert(ann, recipients="", webhook_url=HOOK)
    shown = await ann.send(path, f"{path}/secret")
    secret = re.search(r"whsec_[A-Za-z0-9+/=]+", (await ann.get(shown.location)).body).group()
    assert secret not in (await ann.get(path)).body
    assert await run_at(shop_deployment, notifications, NOON) == []
    [(url, headers, body)] = webhooks.sent
    assert url == HOOK
    with time_machine.travel(NOON, tick=False):
        sent = Webhook(secret).verify(body, headers)
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body + b" ", headers)
    with time_machine.travel(NOON + timedelta(minutes=6)), pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body, headers)
    assert (sent["type"], sent["data"]["metric_id"], sent["data"]["expected"]) == (
        "alert.fired", "visitors", {"low": 5.0, "high": None},
    )  # fmt: skip
    assert f"{HOOK} 9 March 2026, 12:00 Sent".replace("&", "&amp;") in visible_words(await ann.get(path))


@pytest.mark.parametrize(
    ("status", "fault"), [(500, None), (302, None), (200, "its host has no public address")]
)
async def test_refused_webhook_is_tried_again_with_its_id(
    shop_deployment, ann, notifications, webhooks, status, fault
):
    path = await save_alert(ann, recipients="", webhook_url=HOOK)
    webhooks.status, webhooks.fault = status, fault
    await run_at(shop_deployment, notifications, NOON)
    assert "Retrying" in visible_words(await ann.get(path))
    webhooks.status, webhooks.fault = 204, None
    await run_at(shop_deployment, notifications, NOON + timedelta(minutes=2))
    assert len({headers["webhook-id"] for _, headers, _ in webhooks.sent}) == 1
    assert "Sent" in visible_words(await ann.get(path))
    count_before = len(webhooks.sent)
    await run_at(shop_deployment, notifications, NOON + timedelta(minutes=9))
    assert len(webhooks.sent) == count_before


async def test_replaced_secret_does_not_come_back_by_undo(shop_deployment, ann):
    path = (await save_alert(ann, webhook_url=HOOK)).rpartition("/")[2]
    gallery = shop_deployment.gallery
    rotated = await gallery.send("POST", f"/alerts/{path}/webhook-secret", {"dry_run": False})
    assert rotated["reversibility"] == "irreversible"
    refused = await gallery.request("POST", f"/audit/{rotated['audit_id']}/undo", {"dry_run": False})
    assert (refused.status, json.loads(refused.body)["code"]) == (409, "not_undoable")
    assert (await gallery.send("GET", f"/alerts/{path}"))["webhook_version"] == 2


async def test_stranger_who_does_not_confirm_is_asked_once(shop_deployment, ann, notifications):
    await save_alert(ann, recipients="bob@elsewhere.example")
    [request] = await run_at(shop_deployment, notifications, NOON)
    assert request.subject == "Confirm alerts from Example Shop"
    for days in (91, 182):
        assert await run_at(shop_deployment, notifications, NOON + timedelta(days=days)) == []


async def test_request_to_confirm_that_was_skipped_is_sent_after_the_pause(
    shop_deployment, ann, notifications
):
    path = f"/alerts/{(await save_alert(ann, recipients='bob@elsewhere.example')).rpartition('/')[2]}"
    gallery = shop_deployment.gallery
    await notifications.alerts.check_due_alerts(NOON)
    await gallery.send("PATCH", path, {"alert": {"active": False}, "dry_run": False})
    assert await run_at(shop_deployment, notifications, NOON) == []
    [skipped] = (await gallery.send("GET", f"{path}/deliveries"))["deliveries"]
    assert skipped["status"] == "skipped"
    await gallery.send("PATCH", path, {"alert": {"active": True}, "dry_run": False})
    assert len(await run_at(shop_deployment, notifications, NOON)) == 1
    assert await run_at(shop_deployment, notifications, NOON) == []


async def test_request_to_confirm_that_failed_is_sent_again_after_a_day(shop_deployment, ann, notifications):
    await save_alert(ann, recipients="bob@elsewhere.example")
    await notifications.alerts.check_due_alerts(NOON)
    outbox = notifications.worker.outbox
    [queued] = await outbox.list_due_notifications(NOON, 10)
    failed = replace(queued, status=NotificationStatus.FAILED, next_attempt_at=None, done_at=NOON)
    await outbox.save_result(failed)
    assert await run_at(shop_deployment, notifications, NOON + timedelta(hours=23)) == []
    assert len(await run_at(shop_deployment, notifications, NOON + timedelta(hours=25))) == 1


async def test_stored_notifications_are_not_written_again(shop_deployment, ann, notifications, monkeypatch):
    await save_alert(ann, recipients="bob@elsewhere.example")
    await run_at(shop_deployment, notifications, NOON)
    outbox = notifications.worker.outbox

    def refuse_to_write():
        raise AssertionError("nothing is missing")

    monkeypatch.setattr(outbox._database, "write", refuse_to_write)
    await notifications.alerts.check_due_alerts(NOON + timedelta(minutes=1))


async def test_old_results_are_deleted_once_an_hour(shop_deployment, notifications, monkeypatch):
    deleted_before = []

    async def record(worker, before):
        deleted_before.append(before)

    monkeypatch.setattr(type(notifications.worker), "delete_old_results", record)
    for minutes in (0, 1, 59, 60, 61):
        await run_at(shop_deployment, notifications, NOON + timedelta(minutes=minutes))
    assert deleted_before == [NOON - timedelta(days=90), NOON - timedelta(days=90) + timedelta(hours=1)]


async def test_slow_webhooks_are_sent_eight_at_a_time(
    shop_deployment, ann, notifications, webhooks, monkeypatch
):
    running, most = 0, 0

    async def send_slowly(url, headers, body):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1
        return 200

    for number in range(10):
        await save_alert(ann, recipients="", webhook_url=f"{HOOK}&n={number}")
    monkeypatch.setattr(webhooks, "post", send_slowly)
    await notifications.alerts.check_due_alerts(NOON)
    assert await notifications.worker.send_due_notifications() == 10
    assert 1 < most <= 8


async def test_amounts_are_compared_in_major_units(shop_deployment, ann, notifications):
    story = EventBuilder(shop_deployment.gallery.workspace.id)
    story.add_event("purchase", at="2026-06-08T15:00", visitor="buyer", revenue=12_00, order_id="o1")
    await shop_deployment.service.ports.events.append(story.events)
    path = await save_alert(ann, metric_id="revenue", condition="above", value="10")
    assert "above $10.00" in visible_words(await ann.get(path))
    [message] = await run_at(shop_deployment, notifications, datetime(2026, 6, 9, 16, tzinfo=UTC))
    assert "Revenue was 12.00 USD on 2026-06-08" in message.text
    assert "The alert is sent when it is above 10.00 USD." in message.text


async def test_threshold_with_many_digits_is_saved_unchanged(shop_deployment, ann):
    path = await save_alert(ann, value="1234567.25")
    assert 'name="value" value="1234567.25"' in (await ann.get(path)).body


@pytest.mark.parametrize(
    ("value", "metric_id", "text"),
    [
        (1250.5, "revenue", "1,250.50 USD"),
        (0.62, "bounce_rate", "62 %"),
        (2.5, "roas", "2.5x"),
        (95.0, "avg_session_duration", "95 seconds"),
        (40.0, "visitors", "40"),
        (None, "visitors", "unknown"),
        (40.0, "removed_metric", "40"),
    ],
)
def test_alert_email_names_the_unit(value, metric_id, text):
    metric = load_installed_registry_once().catalog.metrics.get(metric_id)
    assert format_value_of_metric(value, metric, "USD") == text
