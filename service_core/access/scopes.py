"""Checks and parsing of scopes."""

from collections.abc import Iterable
from typing import Final

from service_core.access.models import AuthContext, Caller
from service_core.kernel.errors import BadRequest, Forbidden
from service_core.kernel.operations import Operation, Scope

AGENT_SCOPES: Final = frozenset({Scope.READ})
"""The scopes of every agent key."""

READ_SCOPES: Final = frozenset({Scope.READ, Scope.READ_AGGREGATES})
"""The scopes that change nothing."""


def require_scope(auth_context: AuthContext | Caller, scope: Scope) -> None:
    """Rejects a credential without the scope.

    Raises:
        Forbidden: ``insufficient_scope``; ``required_scope`` names the missing scope.
    """
    if scope not in auth_context.credential.scopes:
        raise Forbidden(
            f"Missing scope {scope.value}", "insufficient_scope", extra={"required_scope": scope.value}
        )


def reads_totals_only(auth_context: AuthContext | Caller) -> bool:
    """Returns whether the credential reads totals, but no persons, raw events and exports."""
    return auth_context.credential.scopes & READ_SCOPES == {Scope.READ_AGGREGATES}


def require_scope_of_operation(auth_context: AuthContext, operation: Operation) -> None:
    """Rejects a credential that has none of the scopes an operation accepts. Every request passes here.

    Raises:
        Forbidden: ``insufficient_scope``; ``required_scope`` names the scope of the operation.
    """
    if isinstance(operation.scope, Scope) and not operation.accepted_scopes & auth_context.credential.scopes:
        require_scope(auth_context, operation.scope)


def require_active_workspace(auth_context: AuthContext | Caller) -> None:
    """Rejects mutations and exports of a workspace whose subscription has ended. Reads stay allowed.

    Raises:
        Forbidden: ``workspace_inactive``.
    """
    if not auth_context.workspace.active:
        raise Forbidden(
            "This workspace is inactive",
            "workspace_inactive",
            hint="Renew the subscription to change things again; reads go on.",
        )


def parse_scopes_rejecting_unknown(scope_names: Iterable[str]) -> frozenset[Scope]:
    """Returns the scopes with these names.

    Raises:
        BadRequest: ``unknown_scope``, with the known scopes as the hint.
    """
    known = {scope.value: scope for scope in Scope}
    requested = list(scope_names)
    for name in requested:
        if name not in known:
            raise BadRequest(
                f"Unknown scope {name}", "unknown_scope", field="scopes", hint=f"Scopes: {', '.join(known)}."
            )
    return frozenset(known[name] for name in requested)
