"""The two documents of discovery, and how the routes behave at their edges."""

import pytest

ROOT = "http://127.0.0.1:8080"
ROUTES = {
    "/.well-known/oauth-protected-resource": "GET",
    "/.well-known/oauth-protected-resource/mcp": "GET",
    "/.well-known/oauth-authorization-server": "GET",
    "/oauth/register": "POST",
    "/oauth/authorize": "GET",
    "/oauth/token": "POST",
    "/oauth/revoke": "POST",
}


async def test_protected_resource_metadata_names_the_authorization_server(deployment):
    for suffix in ("", "/mcp"):
        response = await deployment.app.test_client().get(f"/.well-known/oauth-protected-resource{suffix}")
        answer = await response.get_json()
        assert answer["resource"] == f"{ROOT}/mcp"
        assert answer["authorization_servers"] == [ROOT]
        assert answer["bearer_methods_supported"] == ["header"]
        assert "service:read" in answer["scopes_supported"]


async def test_authorization_server_metadata_lists_endpoints_and_methods(deployment):
    response = await deployment.app.test_client().get("/.well-known/oauth-authorization-server")
    answer = await response.get_json()
    assert answer["issuer"] == ROOT
    for name in ("authorization", "token", "registration", "revocation"):
        path = answer[f"{name}_endpoint"].removeprefix(ROOT)
        assert path in ROUTES
    assert answer["response_types_supported"] == ["code"]
    assert answer["grant_types_supported"] == ["authorization_code", "refresh_token"]
    assert answer["code_challenge_methods_supported"] == ["S256"]
    assert answer["token_endpoint_auth_methods_supported"] == ["none"]
    assert answer["authorization_response_iss_parameter_supported"] is True


@pytest.mark.parametrize(("path", "method"), ROUTES.items())
async def test_other_methods_are_refused_and_preflights_answered(deployment, path, method):
    client = deployment.app.test_client()
    for other in {"GET", "POST", "PUT", "DELETE"} - {method}:
        response = await client.open(path, method=other)
        assert response.status_code == 405
        assert method in response.headers["Allow"]
    preflight = await client.open(path, method="OPTIONS")
    assert preflight.status_code == 204
    assert preflight.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in preflight.headers


async def test_token_responses_are_not_cacheable(deployment):
    response = await deployment.app.test_client().post("/oauth/token", form={})
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "Set-Cookie" not in response.headers
