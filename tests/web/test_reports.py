"""Saved reports in the web application: list, run with another range, and every write with preview and undo."""

import re

from tests.fixtures.shared_objects import SharedObjects

PAGE = "/app/w/k3Jx9QmZ2aPr/reports"


async def sign_in_member(shop_deployment, role="member"):
    await shop_deployment.enrol("ann", role, shop_deployment.gallery)
    return await shop_deployment.person().sign_in("ann@example.com")


def visible_words(answer):
    return " ".join(answer.text.split())


async def stored_report(shop_deployment, report_id):
    return await shop_deployment.gallery.send("GET", f"/reports/{report_id}")


async def test_reports_are_listed_with_creator_kind_and_date(shop_deployment):
    await shop_deployment.gallery.report("Weekly visitors")
    ann = await sign_in_member(shop_deployment)
    words = visible_words(await ann.get(PAGE))
    assert "Weekly visitors Metric" in words
    assert "an API key 12 March 2026" in words
    assert "No reports of this kind" in visible_words(await ann.get(f"{PAGE}?kind=funnel"))


async def test_report_runs_over_its_own_range_and_over_the_one_in_the_address(shop_deployment):
    report = await shop_deployment.gallery.report(
        "Visitors", source="catalog", metric_id="visitors", chart="number"
    )
    ann = await sign_in_member(shop_deployment)
    own = await ann.get(f"{PAGE}/{report}")
    assert "2 to 8 Mar 2026" in visible_words(own)
    shown = re.search(r"<dd>(?:<a[^>]*>)?([^<]+)<", own.body).group(1)
    assert shown != "0"
    other = await ann.get(f"{PAGE}/{report}?from=2026-01-01&to=2026-01-02")
    assert re.search(r"<dd>(?:<a[^>]*>)?([^<]+)<", other.body).group(1) == "0"


async def test_filter_in_the_address_narrows_a_query_report(shop_deployment):
    plan = {"metrics": ["visitors"]}
    report = await shop_deployment.gallery.report("Visitors", source="query", plan=plan)
    ann = await sign_in_member(shop_deployment)
    numbers = [
        re.search(r"<dd>(?:<a[^>]*>)?([^<]+)<", (await ann.get(f"{PAGE}/{report}{query}")).body).group(1)
        for query in ("", "?f=country:is:none-such")
    ]
    assert numbers[0] != "0"
    assert numbers[1] == "0"


async def test_rename_shows_its_diff_first_and_can_be_undone(shop_deployment):
    report = await shop_deployment.gallery.report("Old name")
    ann = await sign_in_member(shop_deployment)
    path = f"{PAGE}/{report}"
    preview = await ann.send(path, path, action="preview", name="New name", description="")
    assert "Preview: nothing is saved yet" in visible_words(preview)
    assert "Name Old name New name" in visible_words(preview)
    assert (await stored_report(shop_deployment, report))["name"] == "Old name"
    saved = await ann.send(path, path, action="save", name="New name", description="")
    assert saved.status == 303
    assert (await stored_report(shop_deployment, report))["name"] == "New name"
    page = await ann.get(saved.location)
    assert "Saved. Undo" in visible_words(page)
    undo = re.search(r'action="(/app[^"]+/undo/[^"]+)"', page.body).group(1)
    undone = await ann.send(saved.location, undo, next=saved.location.removeprefix("/app"))
    assert undone.location == f"{path}?saved=undo"
    assert (await stored_report(shop_deployment, report))["name"] == "Old name"


async def test_stale_update_is_a_choice_between_both_versions(shop_deployment):
    report = await shop_deployment.gallery.report("First")
    ann = await sign_in_member(shop_deployment)
    path = f"{PAGE}/{report}"
    read = (await stored_report(shop_deployment, report))["updated_at"]
    assert (await ann.send(path, path, name="Second", expected_updated_at=read)).status == 303
    late = await ann.send(path, path, name="Third", expected_updated_at=read)
    assert late.status == 409
    assert "Changed by someone else" in visible_words(late)
    assert (await stored_report(shop_deployment, report))["name"] == "Second"
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', late.body))
    again = await ann.post(path, fields | {"action": "save"})
    assert again.status == 303
    assert (await stored_report(shop_deployment, report))["name"] == "Third"


async def test_duplicate_keeps_the_definition(shop_deployment):
    plan = {"metrics": ["visitors"], "dimensions": ["country"]}
    report = await shop_deployment.gallery.report("By country", source="query", plan=plan)
    ann = await sign_in_member(shop_deployment)
    made = await ann.send(f"{PAGE}/{report}", f"{PAGE}/{report}/duplicate", name="Copy")
    copied = await stored_report(shop_deployment, made.location.partition("?")[0].rpartition("/")[2])
    original = await stored_report(shop_deployment, report)
    assert copied["name"] == "Copy"
    assert (copied["plan"], copied["default_range"]) == (original["plan"], original["default_range"])


async def test_deleted_report_comes_back_with_undo(shop_deployment):
    report = await shop_deployment.gallery.report("Weekly visitors")
    ann = await sign_in_member(shop_deployment)
    gone = await ann.send(f"{PAGE}/{report}", f"{PAGE}/{report}/delete", action="save")
    page = await ann.get(gone.location)
    assert "Deleted. Undo" in visible_words(page)
    assert (await ann.get(f"{PAGE}/{report}")).status == 404
    undo = re.search(r'action="(/app[^"]+/undo/[^"]+)"', page.body).group(1)
    assert (await ann.send(gone.location, undo, next=gone.location.removeprefix("/app"))).status == 303
    assert (await ann.get(f"{PAGE}/{report}")).status == 200


async def test_explored_query_is_saved_as_a_report_once(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    explore = "/app/w/k3Jx9QmZ2aPr/explore?metrics=visitors&dimensions=country&chart=list&from=2026-03-02&to=2026-03-08"
    page = await ann.get(explore)
    assert page.status == 200
    fields = dict(re.findall(r'<input type="hidden" name="(once|definition)" value="([^"]*)"', page.body))
    fields = {name: value.replace("&#34;", '"') for name, value in fields.items()}
    preview = await ann.send(explore, PAGE, action="preview", name="Where from", **fields)
    assert "Create “Where from”" in visible_words(preview)
    first, second = [await ann.send(explore, PAGE, name="Where from", **fields) for _ in range(2)]
    assert first.location.partition("?")[0] == second.location.partition("?")[0]
    report = await stored_report(shop_deployment, first.location.partition("?")[0].rpartition("/")[2])
    assert report["plan"] == {"metrics": ["visitors"], "dimensions": ["country"]}
    assert report["default_range"] == {"from": "2026-03-02", "to": "2026-03-08"}


async def test_damaged_definition_is_refused(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    for definition in ("", "[1]", "{"):
        answer = await ann.send("/app/w/k3Jx9QmZ2aPr/explore", PAGE, name="x", definition=definition)
        assert answer.status == 400


async def test_viewer_reads_reports_and_cannot_change_them(shop_deployment):
    report = await shop_deployment.gallery.report("Weekly visitors")
    ann = await sign_in_member(shop_deployment, "viewer")
    page = await ann.get(f"{PAGE}/{report}")
    assert "Change this report" not in visible_words(page)
    for path in (f"{PAGE}/{report}", f"{PAGE}/{report}/delete", f"{PAGE}/{report}/duplicate"):
        assert (await ann.send("/app/workspaces", path, name="x")).status == 403
    assert (await stored_report(shop_deployment, report))["name"] == "Weekly visitors"


async def test_reports_of_another_workspace_are_not_found(shop_deployment):
    report = await shop_deployment.gallery.report("Weekly visitors")
    other = SharedObjects(shop_deployment.service)
    await other.open(shop_deployment.clock(), events=lambda *_: [])
    await shop_deployment.enrol("bob", "owner", other)
    bob = await shop_deployment.person().sign_in("bob@example.com")
    own = f"/app/w/{other.workspace.public_id}/reports"
    assert "No reports yet" in visible_words(await bob.get(own))
    assert (await bob.get(f"{own}/{report}")).status == 404
    assert (await bob.get(f"{PAGE}/{report}")).status == 404
    for path in (f"{own}/{report}", f"{own}/{report}/delete", f"{own}/{report}/duplicate"):
        assert (await bob.send("/app/workspaces", path, name="x")).status == 404
    assert (await stored_report(shop_deployment, report))["name"] == "Weekly visitors"


async def test_list_reads_no_account_of_members_who_created_nothing(shop_deployment, monkeypatch):
    await shop_deployment.gallery.report("Weekly visitors")
    ann = await sign_in_member(shop_deployment)
    eve = await shop_deployment.enrol("eve", "viewer", shop_deployment.gallery)
    accounts = type(shop_deployment.store.accounts)
    get_account, read = accounts.get_account, []

    async def record_read(self, account_id):
        read.append(account_id)
        return await get_account(self, account_id)

    monkeypatch.setattr(accounts, "get_account", record_read)
    assert "an API key" in visible_words(await ann.get(PAGE))
    assert eve.id not in read
