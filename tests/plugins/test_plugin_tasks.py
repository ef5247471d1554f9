"""The conformance kits on the built-in event reaction and job, and what they send."""

from datetime import timedelta

import pytest

from plugins import job_silence_email, reaction_email
from plugins.job_silence_email.settings import SilenceSettings
from plugins.reaction_email.settings import EventEmailSettings
from service_core.testing.ingestion_stubs import NOON, make_workspace
from service_core.testing.plugin_task import (
    EventReactionConformance,
    JobHarness,
    ReactionHarness,
    ScheduledJobConformance,
)

RULES = {"rules": [{"events": ["lead"], "to": ["sales@example.com"], "properties": ["plan", "message"]}]}
(REACTION,) = reaction_email.event_reactions()
(JOB,) = job_silence_email.scheduled_jobs()


class StubSender:
    def __init__(self):
        self.sent = []

    async def send(self, message):
        self.sent.append(message)


class StubReader:
    def __init__(self, latest):
        self.latest = latest

    async def first_and_last_event_time(self, _workspace_id):
        return self.latest and (self.latest, self.latest)


class TestEventEmail(EventReactionConformance):
    @pytest.fixture
    def harness(self):
        settings = EventEmailSettings.model_validate(RULES)
        body = {"properties": {"plan": "gold", "message": "call me", "url": "https://example.com/contact"}}
        return ReactionHarness(REACTION, {"email_sender": StubSender(), "settings": settings}, body, settings)

    async def test_email_has_the_page_and_the_named_properties(self, harness):
        await REACTION.react(workspace=make_workspace(), event=harness.event(), **harness.arguments)
        (message,) = harness.arguments["email_sender"].sent
        assert (message.to, message.subject) == ("sales@example.com", "lead · Example Shop")
        assert message.text == (
            "Event: lead\nTime: 2026-07-01T12:00:00+00:00\nPage: https://example.com/contact\n"
            "plan: gold\nmessage: call me\n"
        )

    async def test_rule_of_another_workspace_sends_nothing(self, harness):
        rule = RULES["rules"][0] | {"workspace": "other"}
        other = EventEmailSettings.model_validate({"rules": [rule]})
        arguments = harness.arguments | {"settings": other}
        await REACTION.react(workspace=make_workspace(), event=harness.event(), **arguments)
        assert harness.arguments["email_sender"].sent == []


class TestSilenceWarning(ScheduledJobConformance):
    @pytest.fixture
    def harness(self):
        return JobHarness(JOB, arguments_after(timedelta(hours=30)))

    @pytest.mark.parametrize(
        ("silence", "mails"),
        [(23.9, 0), (24.1, 1), (25.1, 0), (48.5, 1), (24 * 7 + 0.5, 1), (24 * 8 + 0.5, 0)],
    )
    async def test_email_comes_once_a_day_for_a_week(self, silence, mails):
        arguments = arguments_after(timedelta(hours=silence))
        await JOB.run(workspace=make_workspace(), **arguments)
        assert len(arguments["email_sender"].sent) == mails

    async def test_email_comes_when_the_run_begins_later_than_the_one_before(self):
        arguments = arguments_after(timedelta(hours=24, seconds=-2))
        for runs_at, mails in [(timedelta(seconds=1), 0), (timedelta(hours=1, seconds=4), 1)]:
            at = NOON + runs_at
            await JOB.run(workspace=make_workspace(), **arguments | {"clock": lambda at=at: at})
            assert len(arguments["email_sender"].sent) == mails

    async def test_workspace_without_events_or_that_is_not_named_is_not_warned(self):
        for changed in (
            {"event_reader": StubReader(None)},
            {"settings": SilenceSettings(to=("a@b.example",), workspaces=("x",))},
        ):
            arguments = arguments_after(timedelta(hours=24.5)) | changed
            await JOB.run(workspace=make_workspace(), **arguments)
            assert arguments["email_sender"].sent == []


def arguments_after(silence):
    return {
        "event_reader": StubReader(NOON - silence),
        "email_sender": StubSender(),
        "clock": lambda: NOON,
        "settings": SilenceSettings(to=("web@example.com",)),
    }
