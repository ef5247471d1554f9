"""Whatever happens, a rule and an event end in exactly one state, and nothing sends them twice on purpose."""

from collections import Counter
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.composition.providers import build_rule_trigger
from service_core.delivery.postbacks.models import Accepted, Deferred, Rejected
from service_core.ingestion.pipeline import RuleCandidate
from service_core.kernel.settings import PostbacksSettings
from tests.delivery.postbacks.deployment import CREDENTIALS_ERROR, UNAVAILABLE_ERROR, run_postback_deployment

FINAL = {"sent", "failed", "skipped"}
ANSWERS = st.sampled_from(
    [Accepted(200), Deferred("busy"), Rejected("bad", 400), UNAVAILABLE_ERROR, CREDENTIALS_ERROR]
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("sell"), st.integers(0, 3)),
        st.tuples(st.just("again"), st.integers(0, 9)),
        st.tuples(st.just("send"), ANSWERS),
        st.tuples(st.just("wait"), st.sampled_from([1, 10, 60, 60 * 50])),
        st.tuples(st.sampled_from(["delete", "undo", "pause", "resume", "connect"]), st.none()),
    ),
    max_size=14,
)
NUMBERS = count()


@pytest.fixture
async def postback_workspace(tmp_path):
    async with run_postback_deployment(tmp_path) as postback_workspace:
        yield postback_workspace


class RuleModel:
    """One rule, and what the model says its rows are."""

    def __init__(self, postback_workspace):
        self.shop, self.number, self.deleted = postback_workspace, next(NUMBERS), None
        self.live, self.expected, self.seen = True, [], []

    async def begin(self):
        self.rule = await self.shop.rule(
            trigger_event=f"sale {self.number}", custom_event_name=f"{self.number}", platform_event="custom"
        )
        return self

    async def sell(self, order):
        event = f"{self.number}-{len(self.seen)}"
        await self.shop.sells(f"{self.number}-{order}", name=f"sale {self.number}", event_id=event)
        self.seen.append((event, self.live))
        self.expected += [event] if self.live else []

    async def again(self, which):
        """A batch of events comes again, as after a crash before it was settled."""
        fired = [event for event, was_live in self.seen if was_live]
        if fired and self.live:
            event = fired[which % len(fired)]
            stored = await self.shop.stored(event)
            await build_rule_trigger(self.shop.ports, PostbacksSettings(settle_seconds=0)).enqueue_postbacks(
                [RuleCandidate(one, None) for one in stored]
            )

    async def send(self, answer):
        self.shop.sender.outcomes = [answer]
        await self.shop.send()
        self.shop.sender.outcomes = []

    async def wait(self, minutes):
        self.shop.later(minutes=minutes)

    async def delete(self, _):
        if self.deleted is None:
            self.deleted = (await self.shop.write("DELETE", f"/rules/{self.rule}", {}))["audit_id"]
            self.was_live, self.live = self.live, False

    async def undo(self, _):
        if self.deleted is not None:
            await self.shop.write("POST", f"/audit/{self.deleted}/undo", {})
            self.deleted, self.live = None, self.was_live

    async def pause(self, _, *, active=False):
        if self.deleted is None:
            await self.shop.write("PATCH", f"/rules/{self.rule}", {"rule": {"active": active}})
            self.live = active

    async def resume(self, _):
        await self.pause(_, active=True)

    async def connect(self, _):
        await self.shop.connect()


@settings(max_examples=15)
@given(steps=STEPS)
async def test_each_rule_and_event_ends_in_one_final_state(postback_workspace, steps):
    await postback_workspace.connect()
    story = await RuleModel(postback_workspace).begin()
    for step, value in steps:
        await getattr(story, step)(value)
    await postback_workspace.connect()
    for minutes in (1, 10, 60, 60 * 9, 60 * 30):
        postback_workspace.later(minutes=minutes)
        await postback_workspace.send()
    rows = [row for row in await postback_workspace.rows() if str(row["rule_id"]) == story.rule]
    assert Counter(row["event_id"] for row in rows) == Counter(story.expected)
    assert {row["status"] for row in rows} <= FINAL
    calls = Counter(one.id for _, some in postback_workspace.sender.calls for one in some)
    for row in rows:
        assert row["user_agent"] is None
        assert (row["sent_at"] is not None) == (row["status"] == "sent")
        assert calls[row["id"]] >= row["attempts"]
    sent = [row["platform_event_id"] for row in rows if row["status"] == "sent"]
    assert len(sent) == len(set(sent)) or 60 * 50 in {value for step, value in steps if step == "wait"}
