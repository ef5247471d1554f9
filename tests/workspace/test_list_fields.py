"""`fields` and `omit_nulls` of the audit log, of saved work and of attribution."""


async def test_rows_of_audit_saved_work_and_attribution_are_selected(workspace_api):
    for name in ("Spring", "Autumn"):
        await workspace_api.ask(
            "POST", "/links", {"link": {"name": name, "destination_url": "https://example.com"}}
        )
    links = (await workspace_api.ask("GET", "/links?fields=name,slug")).json["links"]
    assert [list(link) for link in links] == [["name", "slug"]] * 2
    [entry] = (await workspace_api.ask("GET", "/audit?limit=1&fields=action,undone_by")).json["entries"]
    assert entry == {"action": "create", "undone_by": None}
    short = (await workspace_api.ask("GET", "/audit?limit=1&omit_nulls=1&fields=action,undone_by")).json
    assert short["entries"] == [{"action": "create"}]
    assert short["next_cursor"] is not None
    for path in ("/segments", "/attribution?start_date=2026-07-08&end_date=2026-07-08"):
        joint = "&" if "?" in path else "?"
        answer = await workspace_api.ask("GET", f"{path}{joint}fields=name&omit_nulls=true")
        assert answer.status == 200, answer.json
    refused = await workspace_api.ask("GET", "/links?fields=luck")
    assert (refused.status, refused.json["field"], "slug" in refused.json["allowed"]) == (400, "fields", True)
