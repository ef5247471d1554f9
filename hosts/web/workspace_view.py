"""A workspace as one person sees it: API requests and pages in their name."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from uuid import UUID

from quart import Response

from hosts.composition.json_codec import CODEC
from hosts.web.api_problems import describe_problem
from hosts.web.cards.card import Answer
from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.page_context import PageContext
from hosts.web.saved_note import read_saved_note
from service_core.access.members.models import Member
from service_core.access.models import Caller, Workspace
from service_core.api.http_messages import ApiResponse
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.errors import Forbidden, NotFound
from service_core.kernel.operations import Scope


@dataclass(frozen=True, slots=True)
class ApiResult:
    """A response of the API with its decoded body."""

    status: int
    body: Answer

    @property
    def ok(self) -> bool:
        """Whether the request succeeded."""
        return self.status == HTTPStatus.OK

    @property
    def message(self) -> str:
        """Returns why a read has no answer, and what to do."""
        return describe_problem(self.status, self.body).text

    @property
    def refusal_message(self) -> str:
        """Returns why a write was refused, in the words of the API."""
        error, hint = str(self.body.get("error", "")), self.body.get("hint")
        return f"{error.rstrip('.')}. {hint}" if hint else f"{error.rstrip('.')}."


class ApiRequestFailed(Exception):
    """A read that a page cannot do without failed.

    Attributes:
        result: the error response.
    """

    def __init__(self, result: ApiResult) -> None:
        super().__init__(result.message)
        self.result = result


@dataclass(frozen=True, slots=True)
class WorkspaceView:
    """A workspace, and the signed-in person as a caller of its operations."""

    context: PageContext
    workspace: Workspace
    member: Member
    caller: Caller

    @property
    def path(self) -> str:
        """The path of the workspace's pages below the application's address."""
        return f"/w/{self.workspace.public_id}"

    def may(self, scope: Scope) -> bool:
        """Whether the role of the person has a scope."""
        return scope in self.caller.credential.scopes

    def require(self, scope: Scope) -> None:
        """Refuses a person whose role lacks a scope.

        Raises:
            Forbidden: ``role_required``.
        """
        if not self.may(scope):
            raise Forbidden("Your role does not allow this", "role_required")

    async def get(self, path: str, **parameters: str) -> ApiResult:
        """Returns the result of a GET request."""
        response = await self.context.request_api_as_member_within_limit(self.caller, path, **parameters)
        return decode_result(response)

    async def get_or_fail(self, path: str, **parameters: str) -> Answer:
        """Returns the answer of a GET request.

        Raises:
            ApiRequestFailed: the response is an error.
        """
        result = await self.get(path, **parameters)
        if not result.ok:
            raise ApiRequestFailed(result)
        return result.body

    async def get_or_not_found(self, path: str) -> Answer:
        """Returns a record.

        Raises:
            NotFound: the path names none.
            ApiRequestFailed: the response is another error.
        """
        result = await self.get(path)
        if result.status == NotFound.status:
            raise NotFound
        if not result.ok:
            raise ApiRequestFailed(result)
        return result.body

    async def get_listed_or_not_found(self, collection: str, object_id: str) -> Answer:
        """Returns a record of a list whose records have no request of their own.

        Args:
            collection: name of the list, in the path and in the answer.
            object_id: as it stands in the address.

        Raises:
            NotFound: the id is malformed, or the list has no such record.
            ApiRequestFailed: the list could not be read.
        """
        wanted = str(parse_id_or_raise_not_found(object_id))
        records: list[Answer] = (await self.get_or_fail(f"/{collection}"))[collection]
        for record in records:
            if record["id"] == wanted:
                return record
        raise NotFound

    async def send(
        self, method: str, path: str, body: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> ApiResult:
        """Returns the result of a request with a JSON body."""
        response = await self.context.write_api_as_member(self.caller, method, path, body, idempotency_key)
        return decode_result(response)

    async def render(self, template: str, status: int = 200, **values: Any) -> Response:
        """Returns a page of the workspace, with the note about a change that was just saved."""
        return await self.context.render_page(
            template,
            status,
            workspace=self.workspace,
            member=self.member,
            ours=f"{self.context.base}{self.path}",
            saved_note=read_saved_note(),
            **values,
        )

    async def names_of_creators(self, *records: Answer) -> dict[str, str]:
        """Returns the names of the members who created records, by the id of the account.

        Args:
            records: each with its actor as ``created_by``.
        """
        creators = {record["created_by"]["id"] for record in records}
        store = self.context.store
        members = await store.members.list_members(self.workspace.id)
        accounts = await gather_or_cancel(
            *(
                store.accounts.get_account(member.account_id)
                for member in members
                if str(member.account_id) in creators
            )
        )
        return {str(account.id): account.name or account.email for account in accounts if account}

    def creator_label(self, created_by: Answer, names: Mapping[str, str]) -> str:
        """Returns who created a record, in words.

        Args:
            created_by: the actor in the record.
            names: as of `names_of_creators`.
        """
        if UUID(created_by["id"]) == self.caller.credential.id:
            return "you"
        fallback = {"user": "a former member", "key": "an API key"}.get(created_by["type"], "Touchpoint")
        return names.get(created_by["id"], fallback)


async def open_workspace_view(context: PageContext, public_id: str) -> WorkspaceView:
    """Returns the view of a workspace for the person who is signed in.

    Raises:
        SignInRequired: nobody is.
        NotFound: not a member of such a workspace.
    """
    workspace, member = await context.require_workspace(public_id)
    return WorkspaceView(context, workspace, member, context.caller(workspace, member))


def decode_result(response: ApiResponse) -> ApiResult:
    """Returns the status and the JSON values of a response."""
    return ApiResult(response.status, CODEC.loads(response.body))
