"""The script of a workspace for its pages, and which pages may send."""

import json

import pytest

from hosts.composition.ports import start_adapters
from hosts.web.labels import IGNORED_VALUE_LABELS, REJECTION_LABELS
from hosts.worker.consumer import build_ingest_pipeline
from service_core.ingestion.ignored_values import IgnoredValue
from service_core.ingestion.models import IngestEndpoint, ReceivedEvent, RejectionReason


async def stored_origins(deployment):
    found = await deployment.store.credentials.list_workspaces()
    return next(one.allowed_origins for one in found if one.id == deployment.workspace.id)


async def test_tracking_page_shows_the_script_tag(deployment):
    person = await deployment.signed_in("ann", "owner")
    shown = (await person.get(f"{deployment.settings}/tracking")).text
    address = deployment.service.settings.http.effective_ingest_url
    assert (
        f'<script async src="{address}/t.js" data-workspace-id="{deployment.workspace.public_id}"></script>'
        in shown
    )
    assert "touchpoint.q.push([name, ...given])" in shown
    assert "http.ingest_url" in shown


async def test_origins_are_stored_as_browsers_send_them(deployment):
    person, page = await deployment.signed_in("ann", "admin"), f"{deployment.settings}/tracking"
    text = " https://Shop.example/\nhttp://localhost:8080  https://shop.example"
    assert (await person.send(page, page, origins=text)).location == f"{page}?done=saved"
    assert await stored_origins(deployment) == ("https://shop.example", "http://localhost:8080")
    assert "https://shop.example\nhttp://localhost:8080" in (await person.get(page)).body
    await person.send(page, page, origins="")
    assert await stored_origins(deployment) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("shop.example", "is no origin"),
        ("https://shop.example/cart", "is no origin"),
        ("https://*.shop.example", "is no origin"),
        (" ".join(f"https://s{n}.example" for n in range(51)), "50 origins"),
    ],
)
async def test_invalid_origin_is_refused_and_stays_in_the_form(deployment, text, said):
    person, page = await deployment.signed_in("ann", "owner"), f"{deployment.settings}/tracking"
    refused = await person.send(page, page, origins=text)
    assert (refused.status, said in refused.text, text in refused.body) == (422, True, True)
    assert await stored_origins(deployment) == ()


async def test_other_roles_see_the_script_and_cannot_change_origins(deployment):
    person, page = await deployment.signed_in("cleo", "member"), f"{deployment.settings}/tracking"
    assert "Any site." in (await person.get(page)).text
    token = await person.token("/app/account")
    assert (await person.post(page, {"csrf": token, "origins": "https://evil.example"})).status == 403
    assert await stored_origins(deployment) == ()


async def test_tracking_page_shows_what_could_not_be_used_with_its_number(deployment):
    ports, workspace = deployment.service.ports, deployment.workspace
    queue = ports.queue
    async with start_adapters([queue, ports.events]):
        await queue.count_rejected(
            workspace.id,
            workspace.id,
            IngestEndpoint.BATCH,
            RejectionReason.NO_IDENTITY,
            deployment.clock(),
            event_count=1_200,
        )
        for number in range(3):
            body = json.dumps(
                {"event": "purchase", "user_id": f"u{number}", "properties": {"value": "a lot"}}
            )
            await queue.offer(
                ReceivedEvent(
                    workspace.id,
                    workspace.id,
                    IngestEndpoint.BATCH,
                    f"e{number}",
                    True,
                    deployment.clock(),
                    body.encode(),
                    None,
                    None,
                    {},
                )
            )
        await build_ingest_pipeline(ports, deployment.service.settings).process_batch()
        left_out = ReceivedEvent(
            *(workspace.id, workspace.id, IngestEndpoint.BATCH, "e3", True, deployment.clock(), b"{}"),
            None,
            None,
            {},
        )
        await queue.offer(left_out)
        (waiting,) = await queue.take(1)
        await queue.acknowledge([], [], {}, {waiting.seq: "dropped:drop:path"})

        person = await deployment.signed_in("ann", "owner")
        words = " ".join((await person.get(f"{deployment.settings}/tracking")).text.split())
        assert "1,204 events: 3 stored, 0 duplicates, 1,201 rejected" in words
        assert "Left out by the transform drop: path 1" in words
        assert f"{IGNORED_VALUE_LABELS['money_ignored']} 3" in words
        assert "No visitor or user ID 1,200" in words


async def test_tracking_page_says_that_everything_could_be_used(deployment):
    person = await deployment.signed_in("ann", "owner")
    assert "Everything received could be used." in (await person.get(f"{deployment.settings}/tracking")).text


def test_every_reason_of_the_ledger_has_words():
    assert REJECTION_LABELS.keys() == set(RejectionReason)
    assert IGNORED_VALUE_LABELS.keys() == set(IgnoredValue)
