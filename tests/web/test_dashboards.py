"""Dashboards in the web application: cards over one range, edited by forms, each write with undo."""

import re

import pytest

PAGE = "/app/w/k3Jx9QmZ2aPr/dashboards"


async def sign_in_member(shop_deployment, role="member"):
    await shop_deployment.enrol("ann", role, shop_deployment.gallery)
    return await shop_deployment.person().sign_in("ann@example.com")


def visible_words(answer):
    return " ".join(answer.text.split())


async def stored_cards(shop_deployment, dashboard_id):
    stored = await shop_deployment.gallery.send("GET", f"/dashboards/{dashboard_id}")
    return [(card["report_id"], card["size"]) for card in stored["layout"]["cards"]]


async def three_cards(shop_deployment):
    gallery = shop_deployment.gallery
    reports = [
        await gallery.report(name, source="catalog", metric_id="visitors", chart="number")
        for name in ("One", "Two", "Three")
    ]
    return reports, await gallery.dashboard(reports, "Weekly numbers")


async def test_dashboard_is_created_filled_and_listed(shop_deployment):
    report = await shop_deployment.gallery.report("Weekly visitors")
    ann = await sign_in_member(shop_deployment)
    assert "No dashboards yet" in visible_words(await ann.get(PAGE))
    made = await ann.send(PAGE, PAGE, action="save", name="Team board")
    path = made.location.partition("?")[0]
    added = await ann.send(made.location, f"{path}/cards", op="add", report_id=report, size="lg")
    assert added.status == 303
    assert await stored_cards(shop_deployment, path.rpartition("/")[2]) == [(report, "lg")]
    page = await ann.get(path)
    assert "Weekly visitors" in visible_words(page)
    assert "Team board 1 Last 30 days you 12 March 2026" in visible_words(await ann.get(PAGE))


async def test_cards_run_over_the_range_in_the_address(shop_deployment):
    reports, dashboard = await three_cards(shop_deployment)
    ann = await sign_in_member(shop_deployment)
    figure = re.compile(r'<dl class="figures">\s*<div><dt[^>]*>[^<]*</dt><dd>(?:<a[^>]*>)?([^<]+)<')
    own = figure.findall((await ann.get(f"{PAGE}/{dashboard}")).body)
    other = figure.findall((await ann.get(f"{PAGE}/{dashboard}?from=2026-01-01&to=2026-01-02")).body)
    assert len(own) == len(other) == len(reports)
    assert "0" not in own
    assert set(other) == {"0"}


async def test_cards_are_moved_resized_and_removed(shop_deployment):
    (one, two, three), dashboard = await three_cards(shop_deployment)
    ann = await sign_in_member(shop_deployment)
    edit, cards = f"{PAGE}/{dashboard}?edit=1", f"{PAGE}/{dashboard}/cards"

    async def ids():
        return [id_ for id_, _ in await stored_cards(shop_deployment, dashboard)]

    assert (await ann.send(edit, cards, op="down", report_id=one)).status == 303
    assert await ids() == [two, one, three]
    assert (await ann.send(edit, cards, op="up", report_id=three)).status == 303
    assert await ids() == [two, three, one]
    resized = await ann.send(edit, cards, op="resize", report_id=two, size="lg", action="preview")
    assert "nothing is saved yet" in visible_words(resized)
    assert (await ann.send(edit, cards, op="resize", report_id=two, size="lg")).status == 303
    assert (await stored_cards(shop_deployment, dashboard))[0] == (two, "lg")
    preview = await ann.send(edit, cards, op="remove", report_id=two, action="preview")
    assert "nothing is saved yet" in visible_words(preview)
    assert len(await ids()) == 3
    removed = await ann.send(edit, cards, op="remove", report_id=two, action="save")
    assert await ids() == [three, one]
    undo = re.search(r'action="(/app[^"]+/undo/[^"]+)"', (await ann.get(removed.location)).body).group(1)
    await ann.send(removed.location, undo, next=removed.location.removeprefix("/app"))
    assert await ids() == [two, three, one]
    assert (await ann.send(edit, cards, op="explode", report_id=two)).status == 404
    assert (await ann.send(edit, cards, op="resize", report_id=two, size="xl")).status == 404


async def test_settings_keep_the_range_that_is_shown(shop_deployment):
    _, dashboard = await three_cards(shop_deployment)
    ann = await sign_in_member(shop_deployment)
    own = visible_words(await ann.get(f"{PAGE}/{dashboard}?edit=1"))
    assert "Open with the range and filters shown now" not in own
    shown = f"{PAGE}/{dashboard}?range=last_7_days&edit=1"
    assert "Open with the range and filters shown now (Last 7 days)" in visible_words(await ann.get(shown))
    assert (await ann.send(shown, shown, name="Renamed", keep_view="1")).status == 303
    stored = await shop_deployment.gallery.send("GET", f"/dashboards/{dashboard}")
    assert (stored["name"], stored["date_range"]) == ("Renamed", {"preset": "last_7_days"})


async def test_deleted_report_and_unusable_filter_are_cards_that_say_so(shop_deployment):
    (one, *_), dashboard = await three_cards(shop_deployment)
    await shop_deployment.gallery.send("DELETE", f"/reports/{one}")
    ann = await sign_in_member(shop_deployment)
    assert "This report was deleted." in visible_words(await ann.get(f"{PAGE}/{dashboard}"))


async def test_viewer_sees_cards_and_cannot_edit(shop_deployment):
    (one, *_), dashboard = await three_cards(shop_deployment)
    ann = await sign_in_member(shop_deployment, "viewer")
    page = visible_words(await ann.get(f"{PAGE}/{dashboard}?edit=1"))
    assert "One" in page
    assert "Move up" not in page
    refused = await ann.send("/app/workspaces", f"{PAGE}/{dashboard}/cards", op="remove", report_id=one)
    assert refused.status == 403
    assert len(await stored_cards(shop_deployment, dashboard)) == 3


async def test_deleted_dashboard_comes_back_with_undo(shop_deployment):
    _, dashboard = await three_cards(shop_deployment)
    ann = await sign_in_member(shop_deployment)
    gone = await ann.send(f"{PAGE}/{dashboard}?edit=1", f"{PAGE}/{dashboard}/delete", action="save")
    assert (await ann.get(f"{PAGE}/{dashboard}")).status == 404
    page = await ann.get(gone.location)
    undo = re.search(r'action="(/app[^"]+/undo/[^"]+)"', page.body).group(1)
    await ann.send(gone.location, undo, next=gone.location.removeprefix("/app"))
    assert (await ann.get(f"{PAGE}/{dashboard}")).status == 200


OFFER = "Open with the range and filters shown now"


@pytest.mark.parametrize("preset", ["30d", "last_30_days", "mtd"])
async def test_view_of_a_dashboard_is_its_own_whichever_name_its_range_has(shop_deployment, preset):
    dashboard = await shop_deployment.gallery.dashboard([], date_range={"preset": preset})
    ann = await sign_in_member(shop_deployment)
    assert OFFER not in visible_words(await ann.get(f"{PAGE}/{dashboard}?edit=1"))


async def test_filters_are_offered_to_keep_only_if_a_dashboard_can_have_them(shop_deployment):
    filters = [{"dimension": "country", "op": "eq", "value": "DE"}]
    dashboard = await shop_deployment.gallery.dashboard(
        [], date_range={"preset": "last_7_days"}, filters=filters
    )
    ann = await sign_in_member(shop_deployment)

    async def offers(filters):
        page = await ann.get(f"{PAGE}/{dashboard}?chosen=1&edit=1&range=last_7_days&{filters}")
        return OFFER in visible_words(page)

    assert not await offers("f=country:is:DE")
    assert await offers("f=country:is:FR")
    assert not await offers("f=country:is_not:DE")
    assert not await offers("f=country:is:DE&f=country:is:FR")


@pytest.mark.parametrize(
    ("position", "order"), [("0", [2, 0, 1]), ("1", [0, 2, 1]), ("9", [0, 1, 2]), ("-1", None), ("x", None)]
)
async def test_card_is_moved_to_a_position(shop_deployment, position, order):
    reports, dashboard = await three_cards(shop_deployment)
    ann = await sign_in_member(shop_deployment)
    path = f"{PAGE}/{dashboard}"
    moved = await ann.send(
        f"{path}?edit=1", f"{path}/cards", op="move", report_id=reports[2], position=position
    )
    assert moved.status == (404 if order is None else 303)
    stored = [report for report, _ in await stored_cards(shop_deployment, dashboard)]
    assert stored == [reports[index] for index in order or (0, 1, 2)]
