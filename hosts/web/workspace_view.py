"""A workspace as one person sees it: API requests and pages in their name."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any
from uuid import UUID

from quart import Response

from hosts.web.api_client import JSON_MEDIA_TYPE, ApiClient, ApiRequestFailed
from hosts.web.cards.card import Answer
from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.page_context import PageContext
from hosts.web.range_bar import RangeBar
from hosts.web.saved_note import read_saved_note
from hosts.web.segment_menu import read_segment_menu
from service_core.access.members.models import Member
from service_core.access.models import AuthContext, Caller, Workspace
from service_core.access.roles import Permission
from service_core.api.http_messages import ApiRequest, ApiResponse
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.errors import Forbidden, NotFound
from service_core.kernel.operations import Scope


@dataclass(frozen=True, slots=True)
class WorkspaceView(ApiClient):
    """A workspace, and the signed-in person as a caller of its operations."""

    context: PageContext
    workspace: Workspace
    member: Member
    caller: Caller

    @property
    def path(self) -> str:
        """The path of the workspace's pages below the application's address."""
        return f"/w/{self.workspace.public_id}"

    @property
    def own_email(self) -> str:
        """The e-mail address of the signed-in person.

        Raises:
            NotFound: no person acts.
        """
        if self.caller.acting_user is None:
            raise NotFound
        return self.caller.acting_user.email

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

    async def request_api(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        body: bytes = b"",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> ApiResponse:
        """Sends a request as the signed-in person, within the limits of their account."""
        content_type = {"content-type": JSON_MEDIA_TYPE} if body else {}
        caller = self.caller
        return await self.context.service.dispatch(
            ApiRequest(
                method,
                f"/v1{path}",
                query,
                {**content_type, **headers},
                body,
                interface=caller.interface,
                auth_context=AuthContext(caller.credential, caller.workspace, caller.acting_user),
            )
        )

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

    async def render(self, template: str, status: int = 200, **values: Any) -> Response:
        """Returns a page of the workspace, with the note about a change that was just saved and the menu of segments."""
        bar = values.get("bar")
        if isinstance(bar, RangeBar):
            values["bar"] = await self.add_segment_menu(bar)
        return await self.context.render_page(
            template,
            status,
            workspace=self.workspace,
            member=self.member,
            ours=f"{self.context.base}{self.path}",
            saved_note=read_saved_note(),
            **values,
        )

    async def add_segment_menu(self, bar: RangeBar) -> RangeBar:
        """Returns the bar with the saved segments, if its page offers them."""
        if "segments" not in bar.menus:
            return bar
        ours = f"{self.context.base}{self.path}/segments"
        save = f"{ours}/new" if self.may(Scope.WRITE_REPORTS) else ""
        return replace(bar, segments=await read_segment_menu(self, bar.state.segment_id, ours, save))

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


async def open_workspace_view(
    context: PageContext, public_id: str, required_permission: Permission = Permission.READ
) -> WorkspaceView:
    """Returns the view of a workspace for the person who is signed in.

    Raises:
        SignInRequired: nobody is.
        NotFound: not a member of such a workspace.
        Forbidden: the role lacks the permission.
    """
    workspace, member = await context.require_workspace(public_id, required_permission)
    return WorkspaceView(context, workspace, member, context.caller(workspace, member))
