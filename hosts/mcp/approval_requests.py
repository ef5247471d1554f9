"""Asks the person to approve a write that waits, where the client can open an address (elicitation of mode ``url``).

The first answer asks the client to show the address of the approval page; the client repeats the call with the response
of the person, and gets what became of the write. Clients without this capability get the address as an error result.
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from hosts.mcp.features import FeatureCall
from hosts.mcp.protocol import CAPABILITIES_KEY
from service_core.access.models import AuthContext, RequestInterface
from service_core.api.http_messages import ApiRequest

_REQUEST_NAME: Final = "approval"


def can_open_address(call: FeatureCall) -> bool:
    """Returns whether the client declares elicitation of mode ``url``, in the stateless revision."""
    capabilities = call.meta.get(CAPABILITIES_KEY)
    elicitation = capabilities.get("elicitation") if isinstance(capabilities, Mapping) else None
    return call.stateless and isinstance(elicitation, Mapping) and "url" in elicitation


def request_approval(call: FeatureCall, body: bytes) -> Mapping[str, Any]:
    """Returns the result that asks the client to open the page of a write that waits.

    Args:
        call: of the write.
        body: the answer of the route.
    """
    waiting = orjson.loads(body)
    params = {
        "mode": "url",
        "elicitationId": waiting["id"],
        "url": waiting["approval_url"],
        "message": "This change needs your approval. Open the page to see and decide it.",
    }
    request = {"method": "elicitation/create", "params": params}
    return call.require_input({_REQUEST_NAME: request}, {"approval_id": waiting["id"]})


def build_poll_request(call: FeatureCall, identity: AuthContext) -> ApiRequest | None:
    """Returns the request that tells what became of the write of a repeated call; None for a first call.

    Raises:
        JsonRpcError: the state was changed, or belongs to another call.
    """
    state = call.read_state() if call.stateless else None
    if not isinstance(state, Mapping) or "approval_id" not in state:
        return None
    return ApiRequest(
        "GET",
        f"/v1/approvals/{state['approval_id']}",
        "",
        {},
        b"",
        interface=RequestInterface.MCP,
        auth_context=identity,
    )


def result_of_approval(body: bytes, required_fields: list[str]) -> Mapping[str, Any]:
    """Returns the result of a repeated call: an error until the write is applied.

    Args:
        body: the answer about the approval.
        required_fields: of the tool; what the answer does not tell is null.
    """
    decided = orjson.loads(body)
    result = {"content": [{"type": "text", "text": body.decode()}], "isError": not decided["applied"]}
    if decided["applied"]:
        result["structuredContent"] = {**dict.fromkeys(required_fields), **decided}
    return result
