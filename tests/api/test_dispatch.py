"""The order of checks, headers and error bodies of the contract (2.1, 2.2, 2.4, 2.5)."""

import logging

import pytest

THING = {"name": "cup"}
UNKNOWN_UUID = "0197c1d0-0000-7000-8000-000000000000"


async def test_response_is_json_with_the_specified_headers(api_client):
    got = await api_client.ask("GET", "/v1/things")
    assert got.status == 200
    assert got.headers["Content-Type"] == "application/json"
    assert got.headers["Access-Control-Allow-Origin"] == "*"
    assert got.headers["Cache-Control"] == "no-store"
    assert (got.headers["X-RateLimit-Limit"], got.headers["X-RateLimit-Remaining"]) == ("100", "99")
    assert "X-RateLimit-Mutation-Remaining" not in got.headers


async def test_timestamps_have_milliseconds_and_money_is_a_number(api_client):
    got = await api_client.ask("GET", "/v1/things?limit=7&color=blue")
    thing = {"name": "Shop", "price": 19.9, "made_at": "2026-07-08T15:00:00.001Z", "note": None}
    assert got.json == {"things": [thing], "limit": 7, "colour": "blue"}


@pytest.mark.parametrize("path", ["/v1/things", "/v1/nothing", "/", "/ping", "/v1/"])
async def test_options_returns_204_on_any_path_without_credentials(api_client, path):
    got = await api_client.ask("OPTIONS", path, key=None)
    assert (got.status, got.body) == (204, b"")
    assert got.headers["Access-Control-Allow-Methods"] == "GET, POST, PATCH, DELETE, OPTIONS"
    assert got.headers["Access-Control-Allow-Headers"] == "Authorization, Content-Type, Idempotency-Key"
    assert got.headers["Access-Control-Max-Age"] == "86400"
    exposed = got.headers["Access-Control-Expose-Headers"].split(", ")
    assert {"X-RateLimit-Remaining", "Retry-After", "X-Error-Id", "WWW-Authenticate"} <= set(exposed)
    assert "Allow" not in exposed
    assert "Access-Control-Allow-Credentials" not in got.headers


FIVE_CASES = {
    "no header": None,
    "not two parts": "Bearer",
    "another scheme": "Basic dGVzdA==",
    "no prefix": "Bearer dk_0123456789abcdef0123456789abcdef",
    "matches nothing": "Bearer dk_agent_" + "a" * 43,
}


@pytest.mark.parametrize("name", FIVE_CASES)
@pytest.mark.parametrize("path", ["/v1/things", "/v1/nothing", "/v1/things/", "/v1", "/v1/signup"])
async def test_every_path_returns_401_without_a_valid_credential(api_client, name, path):
    value = FIVE_CASES[name]
    got = await api_client.ask("GET", path, key=None, headers=value and {"authorization": value})
    assert (got.status, got.json) == (401, {"error": "Invalid or missing API key"})
    assert got.headers["WWW-Authenticate"] == 'Bearer realm="Service Read API"'
    assert "X-RateLimit-Limit" not in got.headers


async def test_authorization_scheme_is_case_insensitive(api_client):
    got = await api_client.ask(
        "GET", "/v1/things", key=None, headers={"authorization": f"bEaReR {api_client.keys['agent']}"}
    )
    assert got.status == 200


async def test_write_key_is_rejected_by_the_api(api_client):
    assert (await api_client.ask("GET", "/v1/things", key="write")).status == 401


async def test_public_operations_need_no_credential(api_client):
    got = await api_client.ask("GET", "/ping", key=None)
    assert (got.status, got.json) == (200, {"applied": False})
    assert "X-RateLimit-Limit" not in got.headers
    assert (await api_client.ask("POST", "/v1/signup", key=None, body=THING)).status == 202
    assert (await api_client.ask("GET", "/unknown", key=None)).status == 404


@pytest.mark.parametrize(
    "path", ["/v1/nothing", "/v1/things/", "/v1//things", "/v1", "/v1/things/not-a-uuid", "/v1/things/%00"]
)
async def test_unknown_path_returns_404_and_spends_one_request(api_client, path):
    got = await api_client.ask("GET", path)
    assert (got.status, got.json) == (404, {"error": "Not found"})
    assert got.headers["X-RateLimit-Remaining"] == "99"


async def test_path_is_matched_after_percent_decoding(api_client):
    assert (await api_client.ask("GET", "/v1/%74hings")).status == 200
    assert (await api_client.ask("GET", f"/v1/things/{UNKNOWN_UUID}")).json == {"applied": True}


async def test_wrong_method_returns_405_with_allow(api_client):
    got = await api_client.ask("DELETE", "/v1/things")
    assert (got.status, got.json) == (405, {"error": "Method not allowed"})
    assert got.headers["Allow"] == "GET, POST, HEAD, OPTIONS"


async def test_head_returns_the_get_response_without_body(api_client):
    plain, head = (
        await api_client.ask("GET", "/ping", key=None),
        await api_client.ask("HEAD", "/ping", key=None),
    )
    assert (head.status, head.body, head.headers["Content-Length"]) == (200, b"", str(len(plain.body)))
    assert (await api_client.ask("HEAD", "/v1/things", key=None)).status == 401


async def test_request_quota_is_spent_before_routing(api_client):
    for _ in range(100):
        await api_client.ask("GET", "/v1/nothing")
    got = await api_client.ask("GET", "/v1/things")
    assert (got.status, got.json) == (429, {"error": "Rate limit exceeded", "code": "rate_limited"})
    assert (got.headers["Retry-After"], got.headers["X-RateLimit-Remaining"]) == ("60", "0")


async def test_exceeded_mutation_quota_returns_429_without_a_write(api_client):
    for left in range(19, -1, -1):
        got = await api_client.ask("POST", "/v1/things", key="editor", body=THING)
        assert got.headers["X-RateLimit-Mutation-Remaining"] == str(left)
    got = await api_client.ask("POST", "/v1/things", key="editor", body=THING)
    assert got.status == 429
    assert got.json == {
        "error": "Rate limit exceeded", "code": "mutation_rate_limited", "dry_run": False, "applied": False,
    }  # fmt: skip
    assert (got.headers["X-RateLimit-Mutation-Remaining"], got.headers["X-RateLimit-Remaining"]) == (
        "0",
        "79",
    )
    assert (await api_client.ask("GET", "/v1/things", key="editor")).status == 200


async def test_missing_scope_names_what_is_required(api_client):
    got = await api_client.ask("POST", "/v1/things", body=b"no json")
    assert got.status == 403
    assert got.json == {
        "error": "Missing scope service:write:reports",
        "code": "insufficient_scope",
        "required_scope": "service:write:reports",
        "dry_run": False,
        "applied": False,
    }


async def test_inactive_workspace_can_read_and_not_write(api_client):
    assert (await api_client.ask("GET", "/v1/things", key="ended")).status == 200
    got = await api_client.ask("POST", "/v1/things", key="ended", body=THING)
    assert (got.status, got.json["code"]) == (403, "workspace_inactive")


async def test_body_over_one_million_bytes_returns_413_after_the_scope_check(api_client):
    large = b"[" * 1_000_001
    assert (await api_client.ask("POST", "/v1/things", body=large)).status == 403
    got = await api_client.ask("POST", "/v1/run", body=large)
    assert got.status == 413
    assert got.json == {"error": "Payload too large. Maximum size is 1MB.", "code": "payload_too_large"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"[]",
        b"null",
        b"{",
        b"\xff\xfe",
        b'{"name": NaN}',
        b"[" * 100_000,
        b'{"name":"\\ud800"}',
        b"{}x",
    ],
)
async def test_body_without_a_json_object_returns_invalid_json(api_client, body):
    got = await api_client.ask("POST", "/v1/things", key="editor", body=body)
    assert (got.status, got.json["code"], got.json["applied"]) == (400, "invalid_json", False)


async def test_route_whose_body_is_optional_accepts_an_empty_one(api_client):
    assert (await api_client.ask("POST", "/v1/run", body=b"")).json == {"limit": 5}
    assert (await api_client.ask("POST", "/v1/run", body={"limit": 6})).json == {"limit": 6}
    assert (await api_client.ask("POST", "/v1/run", body={"limits": 6})).json["code"] == "unknown_field"


async def test_read_errors_have_no_dry_run_fields(api_client):
    got = await api_client.ask("GET", "/v1/things?colour=green")
    assert got.status == 400
    assert (got.json["code"], got.json["field"]) == ("invalid_parameter", "colour")
    assert "dry_run" not in got.json


async def test_domain_error_is_returned_with_its_code(api_client):
    got = await api_client.ask("POST", "/v1/things", key="editor", body={"name": "taken"})
    assert got.status == 409
    assert got.json == {"error": "Taken", "code": "slug_taken", "dry_run": False, "applied": False}


async def test_reply_sets_its_headers(api_client):
    got = await api_client.ask("POST", "/v1/things", key="editor", body=THING)
    assert (got.headers["Idempotent-Replay"], got.json) == ("true", {"applied": True})


@pytest.mark.parametrize(("kind", "code"), [("timeout", "query_timeout"), ("unavailable", "data_unverified")])
async def test_unavailable_store_returns_503_with_retry_after(api_client, kind, code):
    got = await api_client.ask("GET", f"/v1/faults/{kind}")
    assert (got.status, got.json["code"], got.headers["Retry-After"]) == (503, code, "5")


@pytest.mark.parametrize("path", ["/v1/faults/crash", "/v1/unrenderable"])
async def test_unexpected_error_returns_an_id_and_logs_its_location_without_the_message(
    api_client, path, caplog
):
    with caplog.at_level(logging.ERROR):
        got = await api_client.ask("GET", path)
    assert got.status == 500
    assert got.json == {
        "error": "Internal server error", "code": "internal_error", "error_id": got.headers["X-Error-Id"],
    }  # fmt: skip
    assert got.headers["X-RateLimit-Remaining"] == "99"
    assert got.json["error_id"] in caplog.text
    assert ".py" in caplog.text
    assert "dk_agent" not in caplog.text
    assert "ann@example.com" not in caplog.text


async def test_without_the_limit_store_reads_are_degraded_and_writes_fail_closed(api_client):
    api_client.limiter.down = True
    got = await api_client.ask("GET", "/v1/things", key="editor")
    assert (got.status, got.headers["X-RateLimit-Limit"], got.headers["X-RateLimit-Degraded"]) == (
        200,
        "30",
        "1",
    )
    refused = await api_client.ask("POST", "/v1/things", key="editor", body=THING)
    assert (refused.status, refused.json["code"]) == (503, "limiter_unavailable")
    assert refused.headers["Retry-After"] == "5"


async def test_route_can_render_its_own_errors(api_client):
    got = await api_client.ask("GET", "/v1/reasons?colour=green")
    assert (got.json["reason"], got.json["code"]) == ("own", "own")


async def test_internal_token_is_checked_after_scope_and_before_the_body(api_client):
    async def code(key, body=THING, **headers):
        got = await api_client.ask("POST", "/v1/internal", key=key, body=body, headers=headers or None)
        return got.status, got.json.get("code")

    assert await code("agent") == (403, "insufficient_scope")
    assert await code("editor", b"{") == (403, "internal_credential_required")
    assert await code("editor", b"x" * 1_000_001) == (403, "internal_credential_required")
    for _ in range(18):
        await code("editor")
    assert await code("editor") == (429, "mutation_rate_limited")
