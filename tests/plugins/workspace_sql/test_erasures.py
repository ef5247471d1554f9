"""Records about persons on each database: found, erased, and nobody else's touched."""

import json
from dataclasses import replace

import pytest

from plugins.workspace_sql.tables import AUDIT_LOG, RESOURCES
from service_core.access.models import RequestInterface
from service_core.changes.models import Action
from service_core.commerce.subscriptions.models import SubscriptionState, SubscriptionStatus
from service_core.kernel.ids import new_id
from service_core.privacy.models import ERASED, ErasureStatus, PersonSubject, request_erasure
from tests.plugins.workspace_sql.conftest import NOW
from tests.plugins.workspace_sql.test_postbacks import WINDOWS, make_postback

SUBJECT = PersonSubject(frozenset({"user-ada", "ada@example.com"}), frozenset({"event-ada"}))


@pytest.fixture
def workspace_id(initialized_deployment):
    return initialized_deployment.workspace.id


def make_report(user):
    return SubscriptionState(
        provider="till",
        account_id="acct_1",
        subscription_id=user,
        message_id="m1",
        at=NOW,
        status=SubscriptionStatus.ACTIVE,
        amount=900,
        currency="EUR",
        interval=None,
        started_at=NOW,
        identity=(("user_id", user),),
    )


async def test_erasure_is_saved_listed_and_completed(directory, workspace_id):
    erasure = request_erasure(workspace_id, " user-ada ", "ann@example.com", NOW)
    await directory.erasures.save_erasure(erasure)
    assert await directory.erasures.list_requested_erasures() == [erasure]
    completed = replace(
        erasure,
        person_id=None,
        status=ErasureStatus.COMPLETED,
        completed_at=NOW,
        id_digests=("a", "b"),
        certificate={"removed": {"events": 1}},
    )
    await directory.erasures.save_erasure(completed)
    assert await directory.erasures.list_requested_erasures() == []
    assert await directory.erasures.list_erasures(workspace_id) == [completed]


async def test_postbacks_and_subscriptions_of_a_person_are_found_and_erased(directory, workspace_id):
    outbox, records = directory.postback_outbox, directory.personal_records
    for order, event_id in (("o1", "event-ada"), ("o2", "event-bob")):
        await outbox.add_postbacks_skipping_duplicates(
            [make_postback(workspace_id, order, event_id=event_id)], WINDOWS
        )
    reports = [make_report(user) for user in ("user-ada", "user-bob")]
    await directory.subscriptions.add_new_subscription_reports(workspace_id, reports, [])
    found = await records.find_personal_records(workspace_id, SUBJECT)
    assert [row["event_id"] for row in found["postbacks"]] == ["event-ada"]
    assert [row["subscription_id"] for row in found["subscription_reports"]] == ["user-ada"]
    erased = await records.erase_personal_records(workspace_id, SUBJECT)
    assert (erased["postbacks"], erased["subscriptions"]) == (1, 1)
    assert [row.event_id for row in await outbox.list_latest_postbacks(workspace_id, 10)] == ["event-bob"]
    found = await records.find_personal_records(workspace_id, PersonSubject(frozenset({"user-bob"})))
    assert [row["subscription_id"] for row in found["subscription_reports"]] == ["user-bob"]
    assert set((await records.erase_personal_records(workspace_id, SUBJECT)).values()) == {0}


async def test_mark_of_a_matched_visit_of_a_person_is_erased(directory, workspace_id):
    visits = directory.matched_visits
    for key in ("ada", "bob"):
        assert await visits.mark_visit_matched_unless_already(workspace_id, key, NOW)
    subject = PersonSubject(frozenset({"user-ada"}), visits=frozenset({"ada"}))
    erased = await directory.personal_records.erase_personal_records(workspace_id, subject)
    assert erased["matched_visits"] == 1
    assert await visits.select_matched_visits(workspace_id, ["ada", "bob"]) == {"bob"}


def test_ids_are_redacted_at_every_depth_and_short_ones_only_as_whole_texts():
    subject = PersonSubject(frozenset({"user-ada", "ada@example.com", "17", "Ann1", "4242", "True"}))
    value = {
        "a": [{"b": "user-ada"}, "mail ada@example.com now", 17, "17", "Ann1", "Ann12", 4242, 42421, True],
        "user-ada": None,
    }
    assert subject.redact(value) == {
        "a": [{"b": ERASED}, f"mail {ERASED} now", 17, "17", ERASED, "Ann12", ERASED, 42421, True],
        ERASED: None,
    }


def test_person_is_mentioned_by_an_id_that_was_sent_as_a_number():
    subject = PersonSubject(frozenset({"4242", "17"}))
    assert subject.is_mentioned_in({"properties": [{"user_id": 4242}]})
    assert not subject.is_mentioned_in({"quantity": 17, "total": 4242.5, "paid": True})


@pytest.mark.parametrize(
    ("kind", "type_"), [("write_approvals", "write_approval"), ("change_sets", "change_set")]
)
async def test_write_that_is_held_and_names_the_person_is_found_and_deleted(
    directory, workspace_id, kind, type_
):
    own, of_another = ({"body": {"event_id": f"event-{name}"}} for name in ("ada", "bob"))
    states = (
        {"name": "", "requests": [own, of_another], "planned_changes": []},
        {"name": "", "requests": [], "planned_changes": [], "requester": {"name": "ada@example.com"}},
    )
    rows = [
        {
            "id": new_id(), "workspace_id": workspace_id, "type": type_, "state": state,
            "created_at": NOW, "updated_at": NOW, "recorded_at": NOW, "search_text": "",
        }
        for state in states
    ]  # fmt: skip
    async with directory.database.write() as connection:
        await connection.execute(RESOURCES.insert(), rows)
    found = await directory.personal_records.find_personal_records(workspace_id, SUBJECT)
    assert found[kind] == [{"id": rows[0]["id"], **states[0], "requests": [own]}]
    erased = await directory.personal_records.erase_personal_records(workspace_id, SUBJECT)
    assert erased[kind] == 1
    assert [row["state"] for row in await directory.database.fetch_rows(RESOURCES.select())] == [states[1]]


async def test_audit_entry_loses_the_ids_and_keeps_who_did_what(directory, workspace_id):
    entry_id = new_id()
    entry = {
        "id": str(entry_id), "action": Action.REVOKE.value, "via": RequestInterface.DASHBOARD.value,
        "actor": {"type": "user", "name": "ann@example.com"}, "new_state": {"name": "event-ada"},
    }  # fmt: skip
    async with directory.database.write() as connection:
        await connection.execute(
            AUDIT_LOG.insert().values(
                id=entry_id, workspace_id=workspace_id, type="identity_link", resource_id=new_id(),
                actor_id=new_id(), created_at=NOW, entry=entry,
            )
        )  # fmt: skip
    erased = await directory.personal_records.erase_personal_records(workspace_id, SUBJECT)
    assert erased["audit_entries"] == 1
    (row,) = await directory.database.fetch_rows(AUDIT_LOG.select())
    assert row["entry"]["actor"] == entry["actor"]
    assert "event-ada" not in json.dumps(row["entry"])
