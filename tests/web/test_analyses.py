"""Analyses in the web application: Markdown with reports, written with a preview."""

import re

import pytest

from hosts.composition.compose import Service
from service_core.api.http_messages import ApiResponse
from tests.fixtures.xss_payloads import PAYLOADS

PAGE = "/app/w/k3Jx9QmZ2aPr/analyses"


async def sign_in_member(shop_deployment, role="member"):
    await shop_deployment.enrol("ann", role, shop_deployment.gallery)
    return await shop_deployment.person().sign_in("ann@example.com")


def visible_words(answer):
    return " ".join(answer.text.split())


async def test_analysis_is_written_with_a_report_and_shown(shop_deployment):
    report = await shop_deployment.gallery.report("Weekly visitors")
    ann = await sign_in_member(shop_deployment)
    assert "No analyses yet" in visible_words(await ann.get(PAGE))
    fields = {"title": "Why it rose", "body_md": "It *rose*.\r\n", "add_report": report}
    preview = await ann.send(f"{PAGE}/new", PAGE, action="preview", **fields)
    assert "nothing is saved yet" in visible_words(preview)
    assert "<em>rose</em>" in preview.body
    assert await shop_deployment.gallery.send("GET", "/analyses") == {"analyses": [], "next_cursor": None}
    made = await ann.send(f"{PAGE}/new", PAGE, action="save", **fields)
    page = await ann.get(made.location)
    assert "<em>rose</em>" in page.body
    assert "Weekly visitors" in visible_words(page)
    assert "<svg" in page.body
    assert "Why it rose 1 you" in visible_words(await ann.get(PAGE))


async def test_continue_editing_keeps_what_was_typed(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    form = await ann.send(f"{PAGE}/new", PAGE, action="edit", title="Draft", body_md="# Typed")
    assert 'value="Draft"' in form.body
    assert "# Typed" in form.body
    refused = await ann.send(f"{PAGE}/new", PAGE, action="save", title="", body_md="Kept text")
    assert refused.status == 422
    assert "Kept text" in refused.body
    assert 'role="alert"' in refused.body


async def test_edited_analysis_can_be_undone_and_deleted(shop_deployment):
    analysis = await shop_deployment.gallery.analysis("First text", title="Why")
    ann = await sign_in_member(shop_deployment)
    path = f"{PAGE}/{analysis}"
    assert "First text" in (await ann.get(f"{path}/edit")).body
    saved = await ann.send(f"{path}/edit", path, title="Why", body_md="Second text")
    page = await ann.get(saved.location)
    assert "Second text" in page.body
    undo = re.search(r'action="(/app[^"]+/undo/[^"]+)"', page.body).group(1)
    await ann.send(saved.location, undo, next=saved.location.removeprefix("/app"))
    assert "First text" in (await ann.get(path)).body
    gone = await ann.send(path, f"{path}/delete", action="save")
    assert "Deleted. Undo" in visible_words(await ann.get(gone.location))
    assert (await ann.get(path)).status == 404


async def test_embedded_report_that_was_deleted_is_a_card_that_says_so(shop_deployment):
    report = await shop_deployment.gallery.report("Weekly visitors")
    analysis = await shop_deployment.gallery.analysis(f"::report[{report}]", [report])
    await shop_deployment.gallery.send("DELETE", f"/reports/{report}")
    ann = await sign_in_member(shop_deployment)
    assert "This report was deleted." in visible_words(await ann.get(f"{PAGE}/{analysis}"))


@pytest.mark.parametrize("status", [403, 429, 503])
async def test_embedded_report_that_cannot_be_read_is_not_called_deleted(
    shop_deployment, monkeypatch, status
):
    report = await shop_deployment.gallery.report("Weekly visitors")
    analysis = await shop_deployment.gallery.analysis(f"::report[{report}]", [report])
    ann = await sign_in_member(shop_deployment)
    dispatch = Service.dispatch

    async def fail_report(self, request):
        if request.path == f"/v1/reports/{report}":
            return ApiResponse(status, {}, b'{"error": "Not now", "hint": "Ask again."}')
        return await dispatch(self, request)

    monkeypatch.setattr(Service, "dispatch", fail_report)
    words = visible_words(await ann.get(f"{PAGE}/{analysis}"))
    assert "This report was deleted." not in words
    assert {403: "Not now. Ask again.", 429: "Too many requests", 503: "could not be read"}[status] in words


async def test_hostile_markdown_stays_text_on_page_preview_and_form(shop_deployment):
    body = "\n\n".join(PAYLOADS)
    analysis = await shop_deployment.gallery.analysis(body, title=PAYLOADS[0])
    ann = await sign_in_member(shop_deployment)
    path = f"{PAGE}/{analysis}"
    for page in (
        await ann.get(path),
        await ann.get(f"{path}/edit"),
        await ann.send(path, path, action="preview", title="x", body_md=body + " more"),
    ):
        assert page.status == 200
        assert not re.search(
            r"<(script|img|iframe|svg on|object|embed)[^>]*(alert|onerror|onload)", page.body
        )


async def test_viewer_reads_and_cannot_write(shop_deployment):
    analysis = await shop_deployment.gallery.analysis("Text", title="Why")
    ann = await sign_in_member(shop_deployment, "viewer")
    page = await ann.get(f"{PAGE}/{analysis}")
    assert "Delete analysis" not in page.text
    assert (await ann.get(f"{PAGE}/new")).status == 403
    assert (await ann.get(f"{PAGE}/{analysis}/edit")).status == 403
    assert (await ann.send("/app/workspaces", f"{PAGE}/{analysis}", title="x")).status == 403
