"""The stores of `access` in memory, which define the promises of their ports in readable code.

No method awaits, so each is atomic and one of several concurrent callers succeeds.
"""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from service_core.access.key_management import restrict_key_to_role_or_revoke
from service_core.access.key_requests.models import (
    REQUEST_LIFETIME,
    REQUEST_RETENTION,
    KeyRequest,
    RequestStatus,
)
from service_core.access.members.models import Account, Invitation, Member, PasswordLink, Purpose, Session
from service_core.access.models import AuthContext, Credential, Workspace
from service_core.access.roles import GRANTABLE_KEY_SCOPES, Role
from service_core.access.signup.models import UNPAID_SIGNUP_RETENTION, Signup, SignupStatus
from service_core.access.signup.ports import SignupDigests, SignupLookup, WorkspaceProvisioning
from service_core.testing.memory.access_state import AccessState, MemoryAccessStore
from service_core.testing.memory.passkeys import MemoryPasskeyChallenges, MemoryPasskeys


class MemoryCredentials(MemoryAccessStore):
    """Implements the port `CredentialStore`."""

    def change_version(self) -> int:
        return self._state.change_version

    async def find_auth_context(self, digest: str) -> AuthContext | None:
        credential = self._state.credentials.find_by_digest(digest)
        if credential is None or credential.revoked_at is not None:
            return None
        return AuthContext(credential, self._state.workspaces[credential.workspace_id])

    async def create_workspace(self, workspace: Workspace) -> None:
        self._state.replace_workspace_keeping_triggers(workspace)

    async def list_workspaces(self) -> list[Workspace]:
        return list(self._state.workspaces.values())

    async def save_credential(self, credential: Credential, new_digest: str | None = None) -> None:
        self._state.save_credential_keeping_revocation(credential, new_digest)

    async def list_keys(self, workspace_id: UUID) -> list[Credential]:
        return [key for key in self._state.credentials.values.values() if key.workspace_id == workspace_id]


class MemoryWorkspaceSettings(MemoryAccessStore):
    """Implements the port `WorkspaceSettings`."""

    async def replace_workspace_keeping_triggers(self, workspace: Workspace) -> None:
        self._state.replace_workspace_keeping_triggers(workspace)

    async def delete_workspace(self, workspace_id: UUID) -> bool:
        state = self._state
        if state.workspaces.pop(workspace_id, None) is None:
            return False
        for key in [key for key in state.credentials.values.values() if key.workspace_id == workspace_id]:
            del state.credentials.values[key.id]
        state.members = {ids: member for ids, member in state.members.items() if ids[0] != workspace_id}
        for invitation in list(state.invitations.values.values()):
            if invitation.workspace_id == workspace_id:
                del state.invitations.values[invitation.id]
        state.change_version += 1
        return True


class MemoryAccounts(MemoryAccessStore):
    """Implements the port `Accounts`."""

    async def get_account(self, account_id: UUID) -> Account | None:
        return self._state.accounts.get(account_id)

    async def find_account_by_email(self, email: str) -> Account | None:
        return self._state.find_account_by_email(email)

    async def save_account_unless_email_taken(self, account: Account) -> bool:
        known = self._state.find_account_by_email(account.email)
        if known is not None and known.id != account.id:
            return False
        self._state.accounts[account.id] = account
        return True

    async def save_password_link(self, link: PasswordLink, digest: str) -> None:
        self._state.password_links[digest] = link

    async def consume_unexpired_password_link(
        self, digest: str, purpose: Purpose, now: datetime
    ) -> PasswordLink | None:
        link = self._state.password_links.get(digest)
        if link is None or link.purpose is not purpose:
            return None
        del self._state.password_links[digest]
        return link if now < link.expires_at else None


class MemorySessions(MemoryAccessStore):
    """Implements the port `Sessions`."""

    async def add_session_and_delete_expired(self, session: Session, digest: str) -> None:
        self._state.sessions.values[session.id] = session
        self._state.sessions.digests[digest] = session.id

    async def get_session(self, digest: str) -> Session | None:
        return self._state.sessions.find_by_digest(digest)

    async def end_session(self, digest: str) -> None:
        self._state.sessions.digests.pop(digest, None)

    async def end_account_sessions(self, account_id: UUID, except_digest: str | None = None) -> None:
        excepted_id = self._state.sessions.digests.get(except_digest or "")
        self._state.sessions.values = {
            session_id: session
            for session_id, session in self._state.sessions.values.items()
            if session.account_id != account_id or session_id == excepted_id
        }


class MemoryMembers(MemoryAccessStore):
    """Implements the port `Members`."""

    async def get_member(self, workspace_id: UUID, account_id: UUID) -> Member | None:
        return self._state.members.get((workspace_id, account_id))

    async def list_members(self, workspace_id: UUID) -> list[Member]:
        return [member for member in self._state.members.values() if member.workspace_id == workspace_id]

    async def list_memberships(self, account_id: UUID) -> list[tuple[Workspace, Member]]:
        members = [member for member in self._state.members.values() if member.account_id == account_id]
        return [(self._state.workspaces[member.workspace_id], member) for member in members]

    async def save_member_unless_no_owner_left(self, member: Member, now: datetime) -> bool:
        if member.role is not Role.OWNER and self._is_only_owner(member.workspace_id, member.account_id):
            return False
        self._state.members[member.workspace_id, member.account_id] = member
        for key in list(self._state.credentials.values.values()):
            if (key.workspace_id, key.granted_by, key.revoked_at) == (
                member.workspace_id,
                member.account_id,
                None,
            ):
                self._state.credentials.values[key.id] = restrict_key_to_role_or_revoke(key, member.role, now)
        for request in list(self._state.key_requests.values.values()):
            decided = request.workspace_id, request.decided_by, request.status
            grantable = request.scopes <= GRANTABLE_KEY_SCOPES[member.role]
            if decided == (member.workspace_id, member.account_id, RequestStatus.APPROVED) and not grantable:
                self._state.key_requests.values[request.id] = replace(request, status=RequestStatus.EXPIRED)
        self._state.change_version += 1
        return True

    async def remove_member_unless_last_owner(
        self, workspace_id: UUID, account_id: UUID, now: datetime, *, keys_pass_to: UUID | None = None
    ) -> bool:
        if self._is_only_owner(workspace_id, account_id):
            return False
        if self._state.members.pop((workspace_id, account_id), None) is None:
            return False
        for key in list(self._state.credentials.values.values()):
            if (key.workspace_id, key.granted_by, key.revoked_at) == (workspace_id, account_id, None):
                ended = now if keys_pass_to is None else None
                self._state.credentials.values[key.id] = replace(
                    key, revoked_at=ended, granted_by=keys_pass_to or account_id
                )
        for request in list(self._state.key_requests.values.values()):
            decided = request.workspace_id, request.decided_by, request.status
            if decided == (workspace_id, account_id, RequestStatus.APPROVED):
                self._state.key_requests.values[request.id] = replace(request, status=RequestStatus.EXPIRED)
        self._state.change_version += 1
        return True

    def _is_only_owner(self, workspace_id: UUID, account_id: UUID) -> bool:
        """Returns whether the account is the workspace's only owner."""
        owners = [
            member.account_id
            for member in self._state.members.values()
            if member.workspace_id == workspace_id and member.role is Role.OWNER
        ]
        return owners == [account_id]


class MemoryInvitations(MemoryAccessStore):
    """Implements the port `Invitations`."""

    async def replace_open_invitation(self, invitation: Invitation, digest: str) -> None:
        for former in await self.list_open_invitations(invitation.workspace_id):
            if former.email == invitation.email:
                del self._state.invitations.values[former.id]
        self._state.invitations.values[invitation.id] = invitation
        self._state.invitations.digests[digest] = invitation.id

    async def get_invitation(self, digest: str) -> Invitation | None:
        return self._state.invitations.find_by_digest(digest)

    async def list_open_invitations(self, workspace_id: UUID) -> list[Invitation]:
        return [
            invitation
            for invitation in self._state.invitations.values.values()
            if invitation.workspace_id == workspace_id and invitation.accepted_at is None
        ]

    async def accept_open_invitation(self, invitation_id: UUID, member: Member) -> bool:
        invitation = self._state.invitations.values.get(invitation_id)
        if (
            invitation is None
            or invitation.accepted_at is not None
            or member.created_at >= invitation.expires_at
        ):
            return False
        self._state.invitations.values[invitation_id] = replace(invitation, accepted_at=member.created_at)
        self._state.members.setdefault((member.workspace_id, member.account_id), member)
        return True

    async def withdraw_invitation(self, workspace_id: UUID, invitation_id: UUID) -> bool:
        invitation = self._state.invitations.values.get(invitation_id)
        if (
            invitation is None
            or invitation.workspace_id != workspace_id
            or invitation.accepted_at is not None
        ):
            return False
        del self._state.invitations.values[invitation_id]
        return True


class MemoryKeyRequests(MemoryAccessStore):
    """Implements the port `KeyRequests`."""

    async def add_key_request_or_get_retried(
        self, request: KeyRequest, link_digest: str, retry_digest: str | None
    ) -> KeyRequest:
        former = self._state.retries.get(retry_digest) if retry_digest is not None else None
        if former is not None and former.created_at > request.created_at - REQUEST_LIFETIME:
            return self._state.key_requests.values[former.id]
        self._state.key_requests.values = {
            request_id: known
            for request_id, known in self._state.key_requests.values.items()
            if known.status is RequestStatus.COLLECTED
            or known.created_at >= request.created_at - REQUEST_RETENTION
        }
        self._state.key_requests.values[request.id] = request
        self._state.key_requests.digests[link_digest] = request.id
        if retry_digest is not None:
            self._state.retries[retry_digest] = request
        return request

    async def get_key_request(self, request_id: UUID) -> KeyRequest | None:
        return self._state.key_requests.values.get(request_id)

    async def find_key_request_by_link(self, link_digest: str) -> KeyRequest | None:
        return self._state.key_requests.find_by_digest(link_digest)

    async def save_decision_if_pending(self, decided: KeyRequest) -> bool:
        known = self._state.key_requests.values.get(decided.id)
        if known is None or decided.decided_at is None:
            return False
        if known.status_at(decided.decided_at) is not RequestStatus.PENDING:
            return False
        self._state.key_requests.values[decided.id] = decided
        return True

    async def collect_approved_key_once(
        self, request: KeyRequest, new_credential: Credential, key_digest: str
    ) -> bool:
        known = self._state.key_requests.values.get(request.id)
        if known is None or known.status_at(new_credential.created_at) is not RequestStatus.APPROVED:
            return False
        collected = replace(known, status=RequestStatus.COLLECTED, key_id=new_credential.id)
        self._state.key_requests.values[request.id] = collected
        self._state.save_credential_keeping_revocation(new_credential, key_digest)
        return True

    async def list_pending_requests(self, workspace_id: UUID) -> list[KeyRequest]:
        return [
            request
            for request in self._state.key_requests.values.values()
            if request.workspace_id == workspace_id and request.status is RequestStatus.PENDING
        ]


class MemorySignups(MemoryAccessStore):
    """Implements the port `Signups`."""

    async def add_signup(
        self, signup: Signup, secrets: SignupDigests, key_request: KeyRequest | None
    ) -> None:
        latest_expiry = signup.created_at - UNPAID_SIGNUP_RETENTION
        self._state.signups = {
            signup_id: stored
            for signup_id, stored in self._state.signups.items()
            if stored[0].status is SignupStatus.PAID or stored[0].expires_at >= latest_expiry
        }
        self._state.signups[signup.id] = signup, secrets
        if key_request is not None:
            self._state.key_requests.values[key_request.id] = key_request

    async def find_signup(self, lookup: SignupLookup, id_or_digest: str) -> Signup | None:
        if lookup is SignupLookup.ID:
            return (
                self._state.signups[UUID(id_or_digest)][0]
                if UUID(id_or_digest) in self._state.signups
                else None
            )
        matching = (
            signup
            for signup, secrets in self._state.signups.values()
            if getattr(secrets, lookup.value) == id_or_digest
        )
        return next(matching, None)

    async def save_order_id(self, signup_id: UUID, order: str) -> None:
        signup, secrets = self._state.signups[signup_id]
        self._state.signups[signup_id] = replace(signup, order=order), secrets

    async def replace_welcome_link(self, signup_id: UUID, welcome: str) -> None:
        signup, secrets = self._state.signups[signup_id]
        self._state.signups[signup_id] = signup, replace(secrets, welcome=welcome)

    async def cancel_pending_signup(self, signup_id: UUID) -> bool:
        signup, secrets = self._state.signups[signup_id]
        if signup.status is not SignupStatus.PENDING:
            return False
        self._state.signups[signup_id] = replace(signup, status=SignupStatus.CANCELED), secrets
        return True

    async def record_payment(self, signup_id: UUID, provisioning: WorkspaceProvisioning) -> Account | None:
        if (
            signup_id not in self._state.signups
            or self._state.signups[signup_id][0].status is SignupStatus.PAID
        ):
            return None
        signup, secrets = self._state.signups[signup_id]
        workspace, now = provisioning.workspace, provisioning.paid_at
        account = self._state.find_account_by_email(provisioning.account.email) or provisioning.account
        self._state.accounts[account.id] = account
        self._state.workspaces[workspace.id] = workspace
        self._state.members[workspace.id, account.id] = Member(workspace.id, account.id, Role.OWNER, now)
        for credential, digest in provisioning.credentials:
            self._state.save_credential_keeping_revocation(credential, digest)
        paid = replace(signup, status=SignupStatus.PAID, paid_at=now, workspace_id=workspace.id)
        self._state.signups[signup_id] = paid, secrets
        if signup.key_request_id is not None:
            request = self._state.key_requests.values[signup.key_request_id]
            ready = replace(request, workspace_id=workspace.id, expires_at=now + REQUEST_LIFETIME)
            self._state.key_requests.values[request.id] = ready
        return account


class MemoryAccess:
    """The access stores of a `WorkspaceStore` in memory, without those of OAuth, as its attributes."""

    def __init__(self) -> None:
        state = AccessState()
        self.credentials = MemoryCredentials(state)
        self.workspace_settings = MemoryWorkspaceSettings(state)
        self.accounts = MemoryAccounts(state)
        self.sessions = MemorySessions(state)
        self.members = MemoryMembers(state)
        self.invitations = MemoryInvitations(state)
        self.passkeys = MemoryPasskeys(state)
        self.passkey_challenges = MemoryPasskeyChallenges(state)
        self.key_requests = MemoryKeyRequests(state)
        self.signups = MemorySignups(state)
