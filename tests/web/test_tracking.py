"""The script of a workspace for its pages, and which pages may send."""

import pytest


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
