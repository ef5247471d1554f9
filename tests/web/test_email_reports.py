"""Scheduled e-mails of reports and dashboards: pages, sending, confirmation of addresses, unsubscribing."""

import json
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest

from hosts.worker.notifications import build_notifications
from service_core.access.email_sender import EmailSenderUnavailable

PAGE = "/app/w/k3Jx9QmZ2aPr/email-reports"
WEEKLY = {
    "frequency": "weekly",
    "weekday": "friday",
    "hour": "8",
    "day_of_month": "1",
    "name": "Weekly numbers",
}
FRIDAY_8 = datetime(2026, 3, 13, 12, 0, tzinfo=UTC)
"""Friday, 08:00 in New York, four hours behind UTC by then."""


@pytest.fixture
async def ann(shop_deployment):
    await shop_deployment.enrol("ann", "admin", shop_deployment.gallery)
    shop_deployment.messages.clear()
    return await shop_deployment.person().sign_in("ann@example.com")


@pytest.fixture
def notifications(shop_deployment):
    return build_notifications(shop_deployment.service.ports, shop_deployment.service.settings)


def visible_words(answer):
    return " ".join(answer.text.split())


async def schedule(shop_deployment, ann, kind="report", object_id=None, **fields):
    object_id = object_id or await shop_deployment.gallery.report("Visitors")
    wanted = WEEKLY | {"recipients": "ann@example.com", "object": f"{kind}:{object_id}"} | fields
    made = await ann.send(f"{PAGE}/new", PAGE, action="save", **wanted)
    assert made.status == 303, visible_words(made)
    return made.location.partition("?")[0]


async def run_at(shop_deployment, notifications, instant):
    """The messages that are sent at an instant."""
    shop_deployment.clock.now = instant
    shop_deployment.messages.clear()
    await notifications.run()
    return list(shop_deployment.messages)


async def test_email_is_previewed_created_and_listed(shop_deployment, ann):
    assert "No scheduled e-mails yet" in visible_words(await ann.get(PAGE))
    report = await shop_deployment.gallery.report("Visitors")
    form = await ann.get(f"{PAGE}/new?type=report&id={report}")
    assert f'value="report:{report}" selected' in form.body
    wanted = WEEKLY | {"recipients": "ann@example.com", "object": f"report:{report}"}
    preview = visible_words(await ann.send(f"{PAGE}/new", PAGE, action="preview", **wanted))
    assert "'Weekly numbers' is mailed to 1 recipient every week" in preview
    path = await schedule(shop_deployment, ann, object_id=report)
    page = visible_words(await ann.get(path))
    assert "Fridays at 08:00. Next: 13 March 2026, 08:00 (America/New_York)" in page
    assert "ann@example.com Member" in page
    assert "Weekly numbers Report Fridays at 08:00 1 13 March 2026, 08:00" in visible_words(
        await ann.get(PAGE)
    )


async def test_email_is_sent_once_when_it_is_due(shop_deployment, ann, notifications):
    path = await schedule(shop_deployment, ann)
    assert await run_at(shop_deployment, notifications, FRIDAY_8 - timedelta(seconds=1)) == []
    [message] = await run_at(shop_deployment, notifications, FRIDAY_8)
    assert (message.to, message.subject) == ("ann@example.com", "Weekly numbers")
    assert "2 to 8 March 2026, America/New_York" in message.text
    assert 'bgcolor="#276d92"' in message.html
    assert "style=" not in message.html
    assert await run_at(shop_deployment, notifications, FRIDAY_8 + timedelta(minutes=1)) == []
    assert len(await run_at(shop_deployment, notifications, FRIDAY_8 + timedelta(days=7))) == 1
    assert "ann@example.com 20 March 2026, 08:00 Sent" in visible_words(await ann.get(path))


async def test_two_processes_send_an_email_once(shop_deployment, ann, notifications):
    await schedule(shop_deployment, ann)
    shop_deployment.clock.now = FRIDAY_8
    other = build_notifications(shop_deployment.service.ports, shop_deployment.service.settings)
    assert await notifications.email_reports.queue_due_emails(FRIDAY_8) == 1
    assert await other.email_reports.queue_due_emails(FRIDAY_8) == 0
    sent = await notifications.worker.send_due_notifications() + await other.worker.send_due_notifications()
    assert (sent, len(shop_deployment.messages)) == (1, 1)


async def test_email_that_was_due_long_ago_is_not_sent(shop_deployment, ann, notifications):
    await schedule(shop_deployment, ann)
    assert await run_at(shop_deployment, notifications, FRIDAY_8 + timedelta(days=3)) == []
    assert len(await run_at(shop_deployment, notifications, FRIDAY_8 + timedelta(days=8))) == 1


async def test_refused_email_is_tried_again_and_recorded(shop_deployment, ann, notifications, monkeypatch):
    path = await schedule(shop_deployment, ann)
    mail = shop_deployment.service.ports.mail
    send = mail.send

    async def refuse(_):
        raise EmailSenderUnavailable("SMTPServerDisconnected")

    monkeypatch.setattr(mail, "send", refuse)
    await run_at(shop_deployment, notifications, FRIDAY_8)
    assert "Retrying: The mail server did not take it" in visible_words(await ann.get(path))
    monkeypatch.setattr(mail, "send", send)
    assert await run_at(shop_deployment, notifications, FRIDAY_8 + timedelta(seconds=30)) == []
    assert len(await run_at(shop_deployment, notifications, FRIDAY_8 + timedelta(minutes=2))) == 1


async def test_stranger_gets_emails_after_confirming_and_none_after_unsubscribing(
    shop_deployment, ann, notifications
):
    path = await schedule(shop_deployment, ann, recipients="Bob@elsewhere.example\nann@example.com")
    before = shop_deployment.clock.now
    [request] = await run_at(shop_deployment, notifications, before)
    assert (request.to, request.html) == ("bob@elsewhere.example", None)
    assert await run_at(shop_deployment, notifications, before + timedelta(minutes=1)) == []
    assert "bob@elsewhere.example Waiting for confirmation" in visible_words(await ann.get(path))
    bob = shop_deployment.person()
    link = local_address(request.text)
    assert "Confirm your address" in (await bob.get(link)).text
    assert [one.to for one in await run_at(shop_deployment, notifications, FRIDAY_8)] == ["ann@example.com"]
    answer = await bob.client.post(link)
    assert answer.status_code == 200
    later = FRIDAY_8 + timedelta(days=7)
    sent = {one.to: one for one in await run_at(shop_deployment, notifications, later)}
    assert set(sent) == {"ann@example.com", "bob@elsewhere.example"}
    leave = local_address(sent["bob@elsewhere.example"].unsubscribe_url)
    assert (await bob.get(leave)).status == 200
    assert (await bob.client.post(leave)).status_code == 200
    last = await run_at(shop_deployment, notifications, later + timedelta(days=7))
    assert [one.to for one in last] == ["ann@example.com"]
    known = await shop_deployment.gallery.send("GET", f"/email-reports/{path.rpartition('/')[2]}/deliveries")
    assert {one["email"]: one["status"] for one in known["recipients"]} == {
        "bob@elsewhere.example": "unsubscribed",
        "ann@example.com": "member",
    }


def local_address(text):
    url = re.search(r"http\S+/email/\S+", text).group()
    parts = urlsplit(url)
    return f"/app/email/{parts.path.rpartition('/')[2]}?{parts.query}"


async def test_link_with_another_address_or_signature_is_not_found(shop_deployment, ann, notifications):
    await schedule(shop_deployment, ann, recipients="bob@elsewhere.example")
    [request] = await run_at(shop_deployment, notifications, shop_deployment.clock.now)
    link, bob = local_address(request.text), shop_deployment.person()
    for forged in (
        link.replace("bob%40", "eve%40"),
        link[:-3] + "abc",
        link.replace("/confirm", "/unsubscribe"),
    ):
        assert forged != link
        assert (await bob.get(forged)).status == 404
        assert (await bob.client.post(forged)).status_code == 404


async def test_dashboard_email_shows_every_card_and_escapes_names(shop_deployment, ann, notifications):
    gallery = shop_deployment.gallery
    reports = [
        await gallery.report("Visitors <b>"),
        await gallery.report(
            "By country", source="query", plan={"metrics": ["visitors"], "dimensions": ["country"]}
        ),
    ]
    await schedule(shop_deployment, ann, "dashboard", await gallery.dashboard(reports))
    [message] = await run_at(shop_deployment, notifications, FRIDAY_8)
    assert "Visitors &lt;b&gt;" in message.html
    assert "Germany" in message.html
    assert "Germany: " in message.text


async def test_email_of_a_breakdown_over_time_has_a_chart_per_series(shop_deployment, ann, notifications):
    plan = {"metrics": ["visitors"], "dimensions": ["country"], "interval": "day"}
    report = await shop_deployment.gallery.report("By country", source="query", plan=plan)
    await schedule(shop_deployment, ann, object_id=report)
    [message] = await run_at(shop_deployment, notifications, FRIDAY_8)
    assert "<b>Germany</b>" in message.html
    assert message.html.count('height="120"') >= 14
    assert "  Germany\n  Mon 2 March 2026: " in message.text


async def test_preview_shows_the_email_under_the_policy_of_the_pages(shop_deployment, ann):
    path = await schedule(shop_deployment, ann)
    preview = await ann.get(f"{path}/preview")
    assert "Weekly numbers" in preview.text
    assert 'bgcolor="#276d92"' in preview.body
    assert "style-src 'self'" in preview.headers["Content-Security-Policy"]


async def test_test_email_goes_to_the_person_who_asks(shop_deployment, ann, notifications):
    path = await schedule(shop_deployment, ann, recipients="bob@elsewhere.example")
    sent = await ann.send(path, f"{path}/test", once="a")
    assert "A test e-mail is on its way" in visible_words(await ann.get(sent.location))
    messages = await run_at(shop_deployment, notifications, shop_deployment.clock.now)
    assert sorted((one.to, one.subject) for one in messages) == [
        ("ann@example.com", "[Test] Weekly numbers"),
        ("bob@elsewhere.example", "Confirm e-mails from Example Shop"),
    ]


async def test_test_email_is_refused_to_unsubscribed_members_and_to_strangers(
    shop_deployment, ann, notifications
):
    path = await schedule(shop_deployment, ann)
    [message] = await run_at(shop_deployment, notifications, FRIDAY_8)
    await shop_deployment.person().client.post(local_address(message.unsubscribe_url))
    for email, reason in (("ann@example.com", "unsubscribed"), ("bob@elsewhere.example", "member")):
        own = f"/email-reports/{path.rpartition('/')[2]}/test"
        answer = await shop_deployment.gallery.request("POST", own, {"to": email})
        assert answer.status == 422
        assert reason in json.loads(answer.body)["error"]


async def test_paused_or_deleted_email_is_not_sent(shop_deployment, ann, notifications):
    path = await schedule(shop_deployment, ann)
    paused = await ann.send(path, path, **WEEKLY, recipients="ann@example.com")
    assert "Fridays at 08:00. Paused" in visible_words(await ann.get(paused.location))
    assert await run_at(shop_deployment, notifications, FRIDAY_8) == []
    await ann.send(path, f"{path}/delete", action="save")
    assert await run_at(shop_deployment, notifications, FRIDAY_8 + timedelta(days=7)) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"recipients": "no address"},
        {"recipients": ""},
        {"object": "report:01a00000-0000-7000-8000-000000000000"},
    ],
)
async def test_email_that_could_not_be_sent_is_refused(shop_deployment, ann, fields):
    report = await shop_deployment.gallery.report("Visitors")
    wanted = WEEKLY | {"recipients": "ann@example.com", "object": f"report:{report}"} | fields
    answer = await ann.send(f"{PAGE}/new", PAGE, action="save", **wanted)
    assert answer.status == 422
    assert 'role="alert"' in answer.body
