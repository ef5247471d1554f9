"""Trackable links in the web application: table, form with campaign values, QR codes, archive with undo."""

import re
from xml.etree import ElementTree as ET

import pytest

from hosts.web.qr_codes import draw_qr_code
from tests.fixtures.shared_objects import SharedObjects

PAGE = "/app/w/k3Jx9QmZ2aPr/links"
FIELDS = {
    "name": "Spring",
    "destination_url": "https://shop.example/spring",
    "utm_source": "newsletter",
    "utm_medium": "email",
}
PNG_HEADER = b"\x89PNG\r\n\x1a\n"


async def sign_in_member(shop_deployment, role="admin"):
    await shop_deployment.enrol("ann", role, shop_deployment.gallery)
    return await shop_deployment.person().sign_in("ann@example.com")


def visible_words(answer):
    return " ".join(answer.text.split())


async def stored_links(shop_deployment):
    return (await shop_deployment.gallery.send("GET", "/links"))["links"]


async def created_link(shop_deployment, ann, **fields):
    made = await ann.send(f"{PAGE}/new", PAGE, action="save", **(FIELDS | fields))
    assert made.status == 303, made.text
    return made.location.partition("?")[0]


async def test_short_link_is_previewed_created_and_listed(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    assert "No links yet" in visible_words(await ann.get(PAGE))
    preview = await ann.send(f"{PAGE}/new", PAGE, action="preview", slug="spring", **FIELDS)
    assert "go.example.com/spring now leads to https://shop.example/spring" in visible_words(preview)
    assert await stored_links(shop_deployment) == []
    path = await created_link(shop_deployment, ann, slug="spring")
    [link] = await stored_links(shop_deployment)
    assert (link["kind"], link["url"]) == ("redirect", "https://go.example.com/spring")
    assert "https://go.example.com/spring" in visible_words(await ann.get(path))
    listed = visible_words(await ann.get(PAGE))
    assert "Spring 12 March 2026 https://go.example.com/spring 0 0 0 $0.00" in listed


async def test_tagged_address_carries_the_campaign_values(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    path = await created_link(shop_deployment, ann, kind="direct", slug="ignored")
    [link] = await stored_links(shop_deployment)
    assert link["kind"] == "direct"
    assert "utm_source=newsletter&utm_medium=email" in link["url"]
    assert "Clicks on a tagged address can't be counted" in visible_words(await ann.get(path))


async def test_refused_link_keeps_what_was_typed(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    answer = await ann.send(
        f"{PAGE}/new", PAGE, action="save", **(FIELDS | {"destination_url": "http://127.0.0.1/"})
    )
    assert answer.status == 422
    assert 'role="alert"' in answer.body
    assert 'value="newsletter"' in answer.body


async def test_changed_link_can_be_undone(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    path = await created_link(shop_deployment, ann)
    saved = await ann.send(path, path, **(FIELDS | {"utm_source": "", "name": "Summer"}))
    [link] = await stored_links(shop_deployment)
    assert (link["name"], link["utm_source"], link["utm_medium"]) == ("Summer", None, "email")
    undo = re.search(r'action="(/app[^"]+/undo/[^"]+)"', (await ann.get(saved.location)).body).group(1)
    await ann.send(saved.location, undo, next=saved.location.removeprefix("/app"))
    [link] = await stored_links(shop_deployment)
    assert (link["name"], link["utm_source"]) == ("Spring", "newsletter")


async def test_deleted_link_comes_back_under_its_address(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    path = await created_link(shop_deployment, ann, slug="spring")
    gone = await ann.send(path, f"{path}/delete", action="save")
    assert await stored_links(shop_deployment) == []
    assert (await ann.get(path)).status == 404
    undo = re.search(r'action="(/app[^"]+/undo/[^"]+)"', (await ann.get(gone.location)).body).group(1)
    await ann.send(gone.location, undo, next=gone.location.removeprefix("/app"))
    [link] = await stored_links(shop_deployment)
    assert link["url"] == "https://go.example.com/spring"


async def test_qr_code_is_served_as_svg_and_png(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    path = await created_link(shop_deployment, ann, slug="spring")
    svg = await ann.get(f"{path}/qr/svg")
    assert svg.headers["Content-Type"].startswith("image/svg+xml")
    assert ET.fromstring(svg.body).tag.endswith("svg")
    png = await ann.client.get(f"{path}/qr/png?download=1")
    assert png.headers["Content-Type"] == "image/png"
    assert (await png.get_data()).startswith(PNG_HEADER)
    assert png.headers["Content-Disposition"].endswith('.png"')
    assert (await ann.get(f"{path}/qr/gif")).status == 404


def test_qr_code_differs_with_the_address_and_has_a_quiet_zone():
    codes = [draw_qr_code(f"https://go.example.com/{slug}", "svg") for slug in ("x", "y", "x")]
    assert codes[0] == codes[2] != codes[1]
    width = int(ET.fromstring(codes[0]).attrib["viewBox"].split()[2])
    assert (width - 2 * 4 - 17) % 4 == 0


async def test_results_of_a_link_are_those_of_its_visits(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    await created_link(shop_deployment, ann)
    await created_link(shop_deployment, ann, name="Autumn")
    found = visible_words(await ann.get(f"{PAGE}?find=autumn"))
    assert "Autumn" in found
    assert "Spring" not in found
    assert "No link matches" in visible_words(await ann.get(f"{PAGE}?find=winter"))


@pytest.mark.parametrize("role", ["member", "viewer"])
async def test_only_managers_write_links(shop_deployment, role):
    ann = await sign_in_member(shop_deployment, role)
    assert "New link" not in (await ann.get(PAGE)).text
    assert (await ann.get(f"{PAGE}/new")).status == 403
    assert (await ann.send("/app/workspaces", PAGE, **FIELDS)).status == 403
    assert await stored_links(shop_deployment) == []


async def test_links_of_another_workspace_are_not_found(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    path = await created_link(shop_deployment, ann)
    other = SharedObjects(shop_deployment.service)
    await other.open(shop_deployment.clock(), events=lambda *_: [])
    await shop_deployment.enrol("bob", "owner", other)
    bob = await shop_deployment.person().sign_in("bob@example.com")
    own = f"/app/w/{other.workspace.public_id}/links/{path.rpartition('/')[2]}"
    for page in (own, f"{own}/qr/svg", path):
        assert (await bob.get(page)).status == 404
    for page in (own, f"{own}/delete"):
        assert (await bob.send("/app/workspaces", page, **FIELDS)).status == 404
