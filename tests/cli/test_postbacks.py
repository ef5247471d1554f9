"""``touchpoint postbacks``: what became of conversions, and nothing of the persons they are of."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from service_core.delivery.postbacks.postback import (
    Postback,
    SkipReason,
    mark_skipped,
    schedule_retry_or_fail,
)
from service_core.kernel.clock import system_clock
from service_core.kernel.ids import new_id

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
RULE = UUID(int=7)


@pytest.fixture
def config(deployment):
    """A deployment with a conversion that is tried again, and one that was skipped."""
    file = Path(deployment["config"])

    async def put_there():
        ports = Ports(
            load_settings_with_environment(file), file.parent, load_installed_registry_once(), system_clock
        )
        async with start_adapters([ports.workspace]):
            (workspace,) = await ports.workspace.credentials.list_workspaces()
            one, other = (
                Postback(
                    id=new_id(), workspace_id=workspace.id, rule_id=RULE, event_id=f"e{number}", event_at=NOON,
                    platform="meta", account_id="act_1", asset_id="1234", platform_event="Purchase",
                    platform_event_id=f"order_{number}", created_at=NOON, next_attempt_at=NOON,
                    user_agent="Firefox",
                )
                for number in (1, 2)
            )  # fmt: skip
            await ports.workspace.postback_outbox.add_postbacks_skipping_duplicates(
                [one, mark_skipped(other, SkipReason.TOO_OLD, NOON)], {RULE: timedelta()}
            )
            await ports.workspace.postback_queues.save_results_unless_finished(
                [schedule_retry_or_fail(one, "busy", NOON, timedelta(days=7))]
            )

    asyncio.run(put_there())
    return file


def test_postbacks_are_listed_with_their_status(touchpoint, config):
    shown = touchpoint("postbacks", "list", "--config", config).stdout
    for text in (
        "order_1",
        "retrying",
        "busy",
        "2026-07-01T12:01",
        "order_2",
        "skipped",
        "too_old",
        "meta 1234",
    ):
        assert text in shown
    assert "Firefox" not in shown


def test_postbacks_are_printed_as_json_by_status(touchpoint, config):
    (line,) = touchpoint(
        "postbacks", "list", "--json", "--status", "skipped", "--config", config
    ).stdout.splitlines()
    result = json.loads(line)
    assert (result["event_id"], result["reason"], result["next_attempt_at"]) == ("e2", "too_old", None)
    assert "user_agent" not in result


def test_empty_postback_list_prints_a_hint(touchpoint, deployment):
    assert (
        "No rule has sent anything"
        in touchpoint("postbacks", "list", "--config", deployment["config"]).stdout
    )
