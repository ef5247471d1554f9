"""A program that asks a person for access, step by step."""

import base64
import hashlib
import re
from urllib.parse import parse_qs, urlencode, urlsplit

VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
REDIRECT = "http://127.0.0.1:33418/callback"
READ, REPORTS, LINKS = "service:read", "service:write:reports", "service:write:links"


class OAuthClientDriver:
    def __init__(self, deployment, client_id):
        self.deployment = deployment
        self.client_id = client_id

    def request(self, **changed):
        parameters = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": REDIRECT,
            "scope": READ,
            "state": "st\u00e4te & more",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "resource": "http://127.0.0.1:8080/mcp",
        }
        return {name: value for name, value in (parameters | changed).items() if value is not None}

    async def authorize(self, **changed):
        """What `/oauth/authorize` answers: status, and where it leads."""
        return await request_authorization(self.deployment, self.request(**changed))

    async def code(self, person, *, workspace=None, chosen_scopes=None, requires_plan=False, **changed):
        """Go through the consent page as a person; the parameters of the redirect.

        Boxes stay as they are on the page unless ``chosen_scopes`` names those to check.
        """
        status, location = await self.authorize(**changed)
        assert status == 302, location
        page = "/app" + location.split("/app", 1)[1]
        chosen = workspace or self.deployment.workspace.public_id
        query = location.partition("?")[2]
        shown = (await person.get(f"{page}&workspace={chosen}")).body
        checked = re.findall(r'name="(scope:[^"]+)" value="1" checked', shown)
        boxes = checked if chosen_scopes is None else [f"scope:{scope}" for scope in chosen_scopes]
        fields = {"query": query, "workspace": chosen, "decision": "allow"} | dict.fromkeys(boxes, "1")
        fields |= {"requires_plan": "1"} if requires_plan else {}
        answer = await person.send(page, "/app/consent", **fields)
        assert answer.status == 303, answer.text
        return parse_location(answer.location)

    async def token(self, **form):
        response = await self.deployment.app.test_client().post("/oauth/token", form=form)
        return response.status_code, await response.get_json()

    async def redeem(self, code, **changed):
        form = {
            "grant_type": "authorization_code",
            "client_id": self.client_id,
            "code": code,
            "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER,
        } | changed
        return await self.token(**{name: value for name, value in form.items() if value is not None})

    async def refresh(self, token, **changed):
        form = {"grant_type": "refresh_token", "client_id": self.client_id, "refresh_token": token} | changed
        return await self.token(**form)

    async def tokens(self, person, **changed):
        status, result = await self.redeem((await self.code(person, **changed))["code"])
        assert status == 200, result
        return result

    async def works(self, access):
        """Whether an access token opens what it is for."""
        body = {"name": "x", "scopes": [READ]}
        return (await self.deployment.api("POST", "/v1/keys/requests", access, body))[0] == 202


async def request_authorization(deployment, parameters):
    response = await deployment.app.test_client().get(f"/oauth/authorize?{urlencode(parameters)}")
    return response.status_code, response.headers.get("Location")


def parse_location(location):
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


async def register_client(deployment, *redirects, name="Helper"):
    body = {"redirect_uris": list(redirects or [REDIRECT]), "client_name": name}
    response = await deployment.app.test_client().post("/oauth/register", json=body)
    return OAuthClientDriver(deployment, (await response.get_json())["client_id"])
