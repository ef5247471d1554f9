"""Event reactions and scheduled jobs that are wrong in one thing, and the promise that catches each."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar
from uuid import uuid4

import pytest

from service_core.plugin import EmailMessage, StartupError
from service_core.testing.plugin_task import JobHarness, ReactionHarness
from tests.plugin_kits.examples import load_example
from tests.plugin_kits.wrong_plugin import WrongPlugin

REACTION, REACTION_TESTS = load_example("event_reaction")
JOB, JOB_TESTS = load_example("scheduled_job")


class WrongReaction(WrongPlugin, REACTION_TESTS.TestRightEventReaction):
    """The right reaction with another function ``react``, or other ``changes`` of its declaration."""

    changes: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture
    def harness(self):
        react = vars(type(self)).get("react", staticmethod(REACTION.mail_lead)).__func__
        reaction = replace(REACTION.REACTION, **{"react": react, **self.changes})
        stubs = {"email_sender": REACTION_TESTS.StubSender()}
        return ReactionHarness(reaction, stubs, {"properties": {"plan": "gold"}})


class TestReactionHasNoEvents(WrongReaction, promise="declaration_is_possible", raises=StartupError):
    changes: ClassVar[Mapping[str, Any]] = {"event_names": ()}


class TestReactionIsNoCoroutine(WrongReaction, promise="declaration_is_possible"):
    @staticmethod
    def react(*, workspace, event, email_sender):
        return None


class TestReactionFailsForARepeatedEvent(WrongReaction, promise="event_may_come_twice", raises=KeyError):
    @staticmethod
    async def react(*, workspace, event, email_sender):
        if email_sender.sent:
            raise KeyError(event.event_id)
        await REACTION.mail_lead(workspace=workspace, event=event, email_sender=email_sender)


class TestEventIsChanged(WrongReaction, promise="event_may_come_twice"):
    @staticmethod
    async def react(*, workspace, event, email_sender):
        event.event_data["mailed"] = True


class TestPlanIsText(
    WrongReaction, promise="any_property_may_have_any_value", raises=(AttributeError, TypeError)
):
    @staticmethod
    async def react(*, workspace, event, email_sender):
        await email_sender.send(EmailMessage("a@b.example", event.event_data["plan"].title(), "", id="1"))


class TestReactionHoldsTheLoop(WrongReaction, promise="event_may_come_twice"):
    @staticmethod
    async def react(*, workspace, event, email_sender):
        time.sleep(0.6)  # noqa: ASYNC251 - it is wrong


class TestReactionNeverEnds(WrongReaction, promise="event_may_come_twice", raises=TimeoutError):
    changes: ClassVar[Mapping[str, Any]] = {"limit": timedelta(milliseconds=50)}

    @staticmethod
    async def react(*, workspace, event, email_sender):
        await asyncio.Event().wait()


class TestMailHasANewIdEachTime(WrongReaction, promise="repeated_event_repeats_its_calls_unchanged"):
    @staticmethod
    async def react(*, workspace, event, email_sender):
        await email_sender.send(EmailMessage("a@b.example", "Lead", "", id=str(uuid4())))


class TestLostMailIsASuccess(WrongReaction, promise="failed_call_is_raised_at_once"):
    @staticmethod
    async def react(*, workspace, event, email_sender):
        try:
            await REACTION.mail_lead(workspace=workspace, event=event, email_sender=email_sender)
        except OSError:
            return


class TestMailIsTriedAgainInside(WrongReaction, promise="failed_call_is_raised_at_once"):
    @staticmethod
    async def react(*, workspace, event, email_sender):
        for attempt in range(3):
            try:
                await REACTION.mail_lead(workspace=workspace, event=event, email_sender=email_sender)
            except OSError:
                if attempt == 2:
                    raise
            else:
                return


class WrongJob(WrongPlugin, JOB_TESTS.TestRightScheduledJob):
    """The right job with another function ``run``, or other ``changes`` of its declaration."""

    changes: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture
    def harness(self):
        run = vars(type(self)).get("run", staticmethod(JOB.log_latest_event)).__func__
        job = replace(JOB.JOB, **{"run": run, **self.changes})
        return JobHarness(job, {"event_reader": JOB_TESTS.StubReader()})


class TestJobRunsWithoutAPause(WrongJob, promise="declaration_is_possible", raises=StartupError):
    changes: ClassVar[Mapping[str, Any]] = {"every": timedelta(0)}


class TestJobTakesNoWorkspace(WrongJob, promise="declaration_is_possible"):
    @staticmethod
    async def run(*, event_reader):
        return None


class TestJobFailsTheSecondTime(WrongJob, promise="job_may_run_twice", raises=FileExistsError):
    @staticmethod
    async def run(*, workspace, event_reader):
        if hasattr(event_reader, "ran"):
            raise FileExistsError("report.csv")
        event_reader.ran = True


class TestJobHoldsTheLoop(WrongJob, promise="job_may_run_twice"):
    @staticmethod
    async def run(*, workspace, event_reader):
        time.sleep(0.6)  # noqa: ASYNC251 - it is wrong


class TestUnreadStoreIsASuccess(WrongJob, promise="failed_call_is_raised_at_once"):
    @staticmethod
    async def run(*, workspace, event_reader):
        try:
            await event_reader.first_and_last_event_time(workspace.id)
        except OSError:
            return


class TestJobReadsAgainInside(WrongJob, promise="failed_call_is_raised_at_once"):
    @staticmethod
    async def run(*, workspace, event_reader):
        try:
            await event_reader.first_and_last_event_time(workspace.id)
        except OSError:
            await event_reader.first_and_last_event_time(workspace.id)
