"""Changing what the public page of a share link offers, in the web application."""

import pytest

from tests.fixtures.standard_shop import visible_words


async def share_report(shop):
    report = await shop.gallery.report("Visitors of the week")
    return await shop.gallery.share("report", report, allowed_ranges=["last_7_days"])


def edit_page(shop, link):
    return f"{shop.pages}/shared/{link['id']}/edit"


async def stored_link(shop, link):
    links = (await shop.gallery.send("GET", "/share-links"))["share_links"]
    return next(one for one in links if one["id"] == link["id"])


async def test_ranges_name_and_embedding_sites_are_previewed_saved_and_undone(shop):
    link, person = await share_report(shop), await shop.sign_in("admin")
    page = edit_page(shop, link)
    assert f'href="{page}"' in (await person.get(f"{shop.pages}/shared")).body
    assert 'value="last_7_days" checked' in (await person.get(page)).body
    typed = {"range": "last_30_days", "embed": "blog.example.com", "named": "1"}
    preview = visible_words(await person.send(page, page, action="preview", **typed))
    assert "Date ranges viewers can choose" in preview
    assert (await stored_link(shop, link))["allowed_ranges"] == ["last_7_days"]
    saved = await person.send(page, page, action="save", **typed)
    assert saved.status == 303
    changed = await stored_link(shop, link)
    assert changed["allowed_ranges"] == ["last_30_days"]
    assert changed["embed_hosts"] == ["blog.example.com"]
    assert changed["show_workspace_name"] is True
    shown = await person.get(saved.location)
    assert "Saved. Undo" in visible_words(shown)


async def test_refused_host_keeps_what_was_typed(shop):
    link, person = await share_report(shop), await shop.sign_in("admin")
    page = edit_page(shop, link)
    refused = await person.send(page, page, action="save", embed="not a host/", range="last_30_days")
    assert refused.status in (400, 422)
    assert 'role="alert"' in refused.body
    assert 'value="last_30_days" checked' in refused.body


async def test_revoked_link_says_so_and_unknown_one_is_not_found(shop):
    link, person = await share_report(shop), await shop.sign_in("admin")
    await person.send(f"{shop.pages}/shared", f"{shop.pages}/shared/{link['id']}")
    assert "This link is revoked" in visible_words(await person.get(edit_page(shop, link)))
    assert (await person.get(f"{shop.pages}/shared/{'0' * 8}-0000-7000-8000-{'0' * 12}/edit")).status == 404


@pytest.mark.parametrize("method", ["get", "send"])
async def test_viewer_is_refused_the_form(shop, method):
    link, person = await share_report(shop), await shop.sign_in("viewer")
    page = edit_page(shop, link)
    answer = await (
        person.get(page) if method == "get" else person.send(f"{shop.pages}/shared", page, action="save")
    )
    assert answer.status == 403
