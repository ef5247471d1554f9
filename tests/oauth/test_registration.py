"""Programs register themselves with addresses that are safe to redirect to."""

import pytest

SAFE = [
    "https://app.example/callback", "https://app.example:8443/cb?tenant=1", "http://127.0.0.1/cb",
    "http://127.0.0.1:33418/cb", "http://localhost:8080/", "http://[::1]:5000/cb", "com.example.app:/oauth",
    "com.example.app://callback", "cursor://anysphere.cursor-retrieval/oauth/callback", "vscode://publisher.name/cb",
]  # fmt: skip
UNSAFE = [
    "javascript:alert(1)", "JavaScript:alert(1)", "javascript://app.example/%0aalert(1)", "data:text/html,x",
    "vbscript:x", "file:///etc/passwd", "blob:https://app.example/x", "about:blank", "view-source:https://a.example",
    "http://app.example/cb", "http://127.0.0.1.evil.example/cb", "http://localhost.evil.example/", "http://2130706433/",
    "http://0.0.0.0/cb", "https://user@app.example/cb", "https://user:pass@app.example/", "https://app.example/cb#x",
    "https://app.example/cb#", "https:///cb", "https:/app.example/cb", "https:app.example", "https:\\\\app.example",
    "https://app.example\\@evil.example", "//app.example/cb", "/cb", "app.example", "", " https://app.example/",
    "https://app.example/\r\nLocation: x", "https://app.example/\tcb", "https://app.example/<script>", "https://",
    "https://%61pp.example/", "https://app.example:0/", "https://app.example:99999/", "https://app.example:x/",
    "https://\u0430pp.example/", "https://app.example/\u202ecb", "mailto:a@b.example", "ftp://app.example/",
    "ws://app.example/", "intent://x#Intent;end", "myapp:callback", "http://[::1%25eth0]/", "https://a.example,b.example/",
    "x" * 3000, "https://app.example/" + "x" * 3000,
]  # fmt: skip


async def post_registration(deployment, body):
    response = await deployment.app.test_client().post("/oauth/register", json=body)
    return response.status_code, await response.get_json()


@pytest.mark.parametrize("uri", SAFE)
async def test_safe_redirect_uri_is_accepted(deployment, uri):
    status, result = await post_registration(deployment, {"redirect_uris": [uri], "client_name": "Helper"})
    assert status == 201
    assert result["redirect_uris"] == [uri]
    assert result["client_name"] == "Helper"
    assert result["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in result
    assert (await deployment.store.oauth_clients.find_client(result["client_id"])).redirect_uris == (uri,)


@pytest.mark.parametrize("uri", UNSAFE, ids=range(len(UNSAFE)))
async def test_unsafe_redirect_uri_is_refused(deployment, uri):
    status, result = await post_registration(deployment, {"redirect_uris": ["https://app.example/cb", uri]})
    assert status == 400
    assert result["error"] == "invalid_redirect_uri"
    assert "error_description" in result


@pytest.mark.parametrize("uris", [None, [], "https://app.example/", [1], {}, ["https://app.example/"] * 11])
async def test_redirect_uris_are_a_short_list(deployment, uris):
    status, result = await post_registration(deployment, {"redirect_uris": uris})
    assert (status, result["error"]) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize("body", [b"", b"x", b"[]", b'"x"', b"null", b"\xff", b"[" * 50_000])
async def test_client_metadata_must_be_an_object(deployment, body):
    response = await deployment.app.test_client().post("/oauth/register", data=body)
    assert response.status_code == 400
    assert (await response.get_json())["error"] == "invalid_client_metadata"


async def test_client_name_is_shortened(deployment):
    body = {
        "redirect_uris": ["https://app.example/cb"],
        "client_name": "Good\u202e \n\x00\u200b helper " + "x" * 500,
    }
    _, result = await post_registration(deployment, body)
    assert result["client_name"].startswith("Good helper x")
    assert len(result["client_name"]) == 80
    for nameless in ({}, {"client_name": 5}, {"client_name": "\u200b"}):
        _, result = await post_registration(
            deployment, {"redirect_uris": ["https://app.example/cb"], **nameless}
        )
        assert result["client_name"] == "app.example"


async def test_unknown_client_metadata_is_ignored(deployment):
    body = {
        "redirect_uris": ["https://app.example/cb"],
        "token_endpoint_auth_method": "client_secret_post",
        "grant_types": ["implicit"],
        "client_id": "mine",
        "jwks_uri": "http://169.254.169.254/",
    }
    status, result = await post_registration(deployment, body)
    assert status == 201
    assert result["client_id"] != "mine"
    assert result["grant_types"] == ["authorization_code", "refresh_token"]


async def test_registrations_are_limited_to_ten_per_hour(deployment):
    body = {"redirect_uris": ["https://app.example/cb"]}
    statuses = [(await post_registration(deployment, body))[0] for _ in range(11)]
    assert statuses == [201] * 10 + [429]
    deployment.clock.advance(hours=1)
    assert (await post_registration(deployment, body))[0] == 201


async def test_registration_fails_without_the_limit_store(deployment):
    deployment.service.ports.limits.down = True
    status, result = await post_registration(deployment, {"redirect_uris": ["https://app.example/cb"]})
    assert (status, result["error"]) == (503, "temporarily_unavailable")


async def test_clients_without_grants_are_deleted(deployment):
    body = {"redirect_uris": ["https://app.example/cb"]}
    _, old = await post_registration(deployment, body)
    deployment.clock.advance(days=91)
    await post_registration(deployment, body)
    assert await deployment.store.oauth_clients.find_client(old["client_id"]) is None
