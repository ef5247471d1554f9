"""Conversion rules in the web application: what was sent and why not, and the form with its preview."""

import re
from datetime import timedelta
from uuid import UUID

import pytest

from service_core.analytics.connections.models import (
    Asset,
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.delivery.postbacks.postback import Postback, SkipReason, mark_sent, mark_skipped
from service_core.kernel.ids import new_id

PAGE = "/app/w/k3Jx9QmZ2aPr/rules"
FIELDS = {
    "name": "Purchase to Meta",
    "trigger_event": "purchase",
    "platform": "meta",
    "platform_event": "Purchase",
    "active": "1",
}


@pytest.fixture
async def meta_deployment(shop_deployment):
    """A shop with one pixel of Meta."""
    connection = Connection(
        shop_deployment.gallery.workspace.id,
        "meta",
        ProviderKind.ADS,
        ConnectionStatus.CONNECTED,
        shop_deployment.clock(),
        (ConnectedAccount("act_1", "Main", (Asset("1234", "Shop pixel"),)),),
    )
    await shop_deployment.store.connections.save_connection_keeping_created_at(connection)
    return shop_deployment


async def sign_in_member(deployment, role="admin"):
    await deployment.enrol("ann", role, deployment.gallery)
    return await deployment.person().sign_in("ann@example.com")


def visible_words(answer):
    return " ".join(answer.text.split())


async def stored_rules(deployment):
    return (await deployment.gallery.send("GET", "/rules"))["rules"]


async def created_rule(deployment, ann, **fields):
    made = await ann.send(f"{PAGE}/new", PAGE, action="save", **(FIELDS | fields))
    assert made.status == 303, made.text
    [rule] = await stored_rules(deployment)
    return rule


async def test_preview_names_the_target_before_the_rule_exists(meta_deployment):
    ann = await sign_in_member(meta_deployment)
    assert "No conversion rules yet" in visible_words(await ann.get(PAGE))
    preview = await ann.send(f"{PAGE}/new", PAGE, action="preview", **FIELDS)
    assert "purchase from any source is sent to Meta pixel 1234 as Purchase" in visible_words(preview)
    assert await stored_rules(meta_deployment) == []
    rule = await created_rule(meta_deployment, ann)
    assert (rule["asset_id"], rule["active"], rule["dedup_window_hours"]) == ("1234", True, 48)


async def test_rule_without_a_connection_keeps_what_was_typed(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    answer = await ann.send(f"{PAGE}/new", PAGE, action="save", **FIELDS)
    assert answer.status == 422
    assert 'role="alert"' in answer.body
    assert 'value="Purchase to Meta"' in answer.body


async def test_list_says_what_was_skipped_and_why(meta_deployment):
    ann = await sign_in_member(meta_deployment)
    rule = await created_rule(meta_deployment, ann)
    now, store = meta_deployment.clock(), meta_deployment.store
    rows = [
        Postback(
            id=new_id(), workspace_id=meta_deployment.gallery.workspace.id, rule_id=UUID(rule["id"]), event_id=f"e{number}",
            event_at=now, platform="meta", account_id="act_1", asset_id="1234", platform_event="Purchase",
            platform_event_id=f"o{number}", created_at=now, next_attempt_at=now,
        )
        for number in range(3)
    ]  # fmt: skip
    windows = {UUID(rule["id"]): timedelta(hours=48)}
    await store.postback_outbox.add_postbacks_skipping_duplicates(rows, windows)
    skipped = [mark_skipped(row, SkipReason.NO_MATCH_KEY, now) for row in rows[1:]]
    await store.postback_queues.save_results_unless_finished([mark_sent(rows[0], 200, now), *skipped])
    words = visible_words(await ann.get(PAGE))
    assert "2 skipped: nothing to recognize the person by" in words
    assert "Active 1 0 2" in words
    page = visible_words(await ann.get(f"{PAGE}/{rule['id']}"))
    assert "1 Sent" in page or "Sent 1" in page


async def test_change_is_undone_and_untouched_conditions_keep_their_types(meta_deployment):
    ann = await sign_in_member(meta_deployment)
    condition = {"condition_property": "country", "condition_op": "in", "condition_value": "DE, US"}
    rule = await created_rule(meta_deployment, ann, condition_original="", **condition)
    assert rule["conditions"] == [{"property": "country", "op": "in", "value": ["DE", "US"]}]
    path = f"{PAGE}/{rule['id']}"
    fields = (
        FIELDS
        | condition
        | {"condition_original": '{"property": "country", "op": "in", "value": ["DE", "US"]}'}
    )
    saved = await ann.send(path, path, **(fields | {"name": "Renamed", "active": ""}))
    [changed] = await stored_rules(meta_deployment)
    assert (changed["name"], changed["active"], changed["conditions"]) == (
        "Renamed",
        False,
        rule["conditions"],
    )
    undo = re.search(r'action="(/app[^"]+/undo/[^"]+)"', (await ann.get(saved.location)).body).group(1)
    await ann.send(saved.location, undo, next=saved.location.removeprefix("/app"))
    [undone] = await stored_rules(meta_deployment)
    assert (undone["name"], undone["active"]) == ("Purchase to Meta", True)


async def test_deleted_rule_comes_back_with_undo(meta_deployment):
    ann = await sign_in_member(meta_deployment)
    rule = await created_rule(meta_deployment, ann)
    gone = await ann.send(f"{PAGE}/{rule['id']}", f"{PAGE}/{rule['id']}/delete", action="save")
    assert await stored_rules(meta_deployment) == []
    undo = re.search(r'action="(/app[^"]+/undo/[^"]+)"', (await ann.get(gone.location)).body).group(1)
    await ann.send(gone.location, undo, next=gone.location.removeprefix("/app"))
    assert [one["id"] for one in await stored_rules(meta_deployment)] == [rule["id"]]


@pytest.mark.parametrize("role", ["member", "viewer"])
async def test_only_managers_write_rules(meta_deployment, role):
    ann = await sign_in_member(meta_deployment, role)
    assert "New rule" not in (await ann.get(PAGE)).text
    assert (await ann.get(f"{PAGE}/new")).status == 403
    assert (await ann.send("/app/workspaces", PAGE, **FIELDS)).status == 403
    assert await stored_rules(meta_deployment) == []
