"""Every tool of the MCP server: an operation with a name, a title and its place in ``tools/list``."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from hosts.mcp.schemas import (
    operation_parameter_names,
    operation_requires_range,
    required_fields_result_schema,
    tool_arguments_schema,
)
from service_core.access.models import AuthContext
from service_core.access.roles import ROLE_OAUTH_SCOPES
from service_core.access.scopes import READ_SCOPES
from service_core.kernel.operations import (
    CredentialRequirement,
    Operation,
    RateLimitClass,
    Reversibility,
    RoutePrefix,
    Scope,
)
from service_core.kernel.request_parsing import parameter_names

SECOND_PAGE_TAGS: Final = frozenset(
    {
        "segments",
        "paths",
        "experiments",
        "annotations",
        "connections",
        "email-reports",
        "alerts",
        "webhooks",
        "receipts",
        "change-sets",
    }
)
"""Tags of operations whose tools come last, so that a client that reads one page of ``tools/list`` has all others."""

SECOND_PAGE_OPERATIONS: Final = frozenset(
    {
        "update_share_link",
        "roll_back_actor",
        "list_rule_deliveries",
        "get_workspace_settings",
        "update_workspace",
    }
)
"""Ids of operations of other tags whose tools come last, too."""


DESTRUCTIVE_OPERATIONS: Final = frozenset({"roll_back_actor"})
"""Ids of operations on a collection that change what is there."""


_REVERSAL_BY_CLASS: Final[Mapping[Reversibility | None, str]] = {
    Reversibility.REVERSIBLE: "Reversible.",
    Reversibility.REVERSIBLE_WITH_EFFECTS: "Reversible with effects: an undo does not take back everything.",
    Reversibility.IRREVERSIBLE: "Irreversible.",
}
"""What descriptions of writes say of how far an undo takes them back."""


@dataclass(frozen=True)
class Tool:
    """An operation as a tool of the MCP server."""

    operation: Operation

    @property
    def name(self) -> str:
        """The name programs call it by."""
        return self.operation.tool or self.operation.id

    @property
    def title(self) -> str:
        """The title of the operation, or its name in words: ``get_event_names`` is "Event names"."""
        words = self.name.removeprefix("get_").removeprefix("list_").replace("_", " ")
        return self.operation.tool_title or words.capitalize()

    @property
    def is_write(self) -> bool:
        """Whether it changes what a workspace owns."""
        return self.operation.rate_limit is RateLimitClass.MUTATION

    @property
    def is_late(self) -> bool:
        """Whether it stands on a further page of ``tools/list``."""
        return self.operation.tag in SECOND_PAGE_TAGS or self.operation.id in SECOND_PAGE_OPERATIONS

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing; an export is a file, and a plan a record, that did not exist before."""
        op = self.operation
        is_read = isinstance(op.scope, Scope) or op.method == "GET"
        return not self.is_write and not op.idempotent and is_read

    def is_visible_to(self, scopes: frozenset[Scope]) -> bool:
        """Whether a token with these scopes sees it; what takes any write back needs any write scope."""
        if isinstance(self.operation.scope, Scope):
            return bool(self.operation.accepted_scopes & scopes)
        return bool(scopes - READ_SCOPES)

    def missing_scope_of_role(self, identity: AuthContext) -> Scope | None:
        """Returns the scope that the tool needs and the token lacks, if the role of the person can hold it."""
        needed = self.operation.scope
        if (
            not isinstance(needed, Scope)
            or self.operation.accepted_scopes & identity.credential.scopes
            or identity.acting_user is None
        ):
            return None
        return needed if needed in ROLE_OAUTH_SCOPES[identity.acting_user.role] else None

    @cached_property
    def arguments_schema(self) -> Mapping[str, Any]:
        """The schema of its arguments."""
        return tool_arguments_schema(self.operation)

    @cached_property
    def path_parameter_of_snake_name(self) -> Mapping[str, str]:
        """The parameters of the path by their names in snake_case: ``link_id`` -> ``linkId``."""
        names = re.findall(r"\{(\w+)\}", self.operation.path)
        return {re.sub(r"(?=[A-Z])", "_", name).lower(): name for name in names}

    @cached_property
    def snake_case_arguments_schema(self) -> Mapping[str, Any]:
        """The schema of its arguments with the parameters of the path in snake_case."""
        snake_names = {name: snake for snake, name in self.path_parameter_of_snake_name.items()}
        schema = self.arguments_schema
        renamed = {snake_names.get(name, name): body for name, body in schema["properties"].items()}
        required = [snake_names.get(name, name) for name in schema.get("required", ())]
        return {**schema, "properties": renamed, **({"required": required} if required else {})}

    @cached_property
    def operation_parameter_names(self) -> frozenset[str]:
        """The parameters of the operation; a range only in the form that the operation takes."""
        return operation_parameter_names(self.operation)

    @cached_property
    def requires_range(self) -> bool:
        """Whether a call needs a range, in either form."""
        return operation_requires_range(self.operation)

    @cached_property
    def accepted_argument_names(self) -> frozenset[str]:
        """Returns the accepted names of its arguments: a route parameter has other names, too."""
        fields = self.operation.query.model_fields.items() if self.operation.query else ()
        return frozenset(self.arguments_schema["properties"]).union(
            *(parameter_names(key, field) for key, field in fields)
        )

    @property
    def annotations(self) -> Mapping[str, bool]:
        """Hints for clients that ask a person before a call. No tool reaches beyond the service.

        What changes what is there, or cannot be undone, counts as destructive. What adds something, cannot be undone or
        takes no ``Idempotency-Key`` may do more each time.
        """
        op = self.operation
        if self.is_read:
            return {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
        adds = op.method == "POST" and op.path_model is None and op.id not in DESTRUCTIVE_OPERATIONS
        is_irreversible = op.reversibility is Reversibility.IRREVERSIBLE
        return {
            "readOnlyHint": False,
            "destructiveHint": not adds or is_irreversible,
            "idempotentHint": op.method != "POST" or (op.idempotent and not adds and not is_irreversible),
            "openWorldHint": False,
        }

    @cached_property
    def tools_list_entry(self) -> Mapping[str, Any]:
        """Its entry in ``tools/list``."""
        op = self.operation
        reversal = _REVERSAL_BY_CLASS.get(op.reversibility, "")
        return {
            "name": self.name,
            "title": self.title,
            "description": " ".join(f"{op.summary} {op.description} {reversal}".split()),
            "inputSchema": self.arguments_schema,
            "outputSchema": required_fields_result_schema(op),
            "annotations": self.annotations,
        }


def build_tools_of_v1_key_operations(operations: Iterable[Operation]) -> tuple[Tool, ...]:
    """Returns a tool for each operation that an API key opens, in the order of ``tools/list``."""
    opened = (
        Tool(op)
        for op in operations
        if op.has_tool and op.credential is CredentialRequirement.KEY and op.prefix is RoutePrefix.V1
    )
    return tuple(sorted(opened, key=_first_page_then_reads_then_rarest_scope))


def _first_page_then_reads_then_rarest_scope(tool: Tool) -> tuple[bool, bool, int]:
    """Returns the sort key of a tool; tools with the same key keep the order in which they are registered.

    Reads come before writes. Writes start with the scopes that the fewest roles can hold; a write of any
    scope is the last. Tools of `SECOND_PAGE_TAGS` follow in the same order.
    """
    if not tool.is_write:
        return tool.is_late, False, 0
    scope = tool.operation.scope
    holders = sum(scope in scopes for scopes in ROLE_OAUTH_SCOPES.values())
    return tool.is_late, True, holders if isinstance(scope, Scope) else len(ROLE_OAUTH_SCOPES) + 1
