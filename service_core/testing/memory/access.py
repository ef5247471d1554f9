"""The ports of the wing `access` in memory: the readable statement of what their stores promise.

Every method runs without waiting, so each step has one winner by nature.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from service_core.access.key_requests.models import REQUEST_LIFETIME, KeyRequest, RequestStatus
from service_core.access.members.models import Account, Invitation, Member, PasswordLink, Purpose, Session
from service_core.access.models import AuthContext, Credential, Workspace
from service_core.access.passkeys.models import Challenge, Passkey
from service_core.access.roles import Role
from service_core.access.signup.models import Signup, SignupStatus
from service_core.access.signup.ports import SignupDigests, SignupLookup, WorkspaceProvisioning

_Value = TypeVar("_Value")


@dataclass
class _IndexedByDigest(Generic[_Value]):
    """Values by id, and ids by digest."""

    values: dict[UUID, _Value] = field(default_factory=dict)
    digests: dict[str, UUID] = field(default_factory=dict)

    def of(self, digest: str) -> _Value | None:
        found = self.digests.get(digest)
        return None if found is None else self.values.get(found)


class _Directory:
    """Workspaces and credentials."""

    def __init__(self) -> None:
        super().__init__()
        self.changes = 1
        self.owners: dict[UUID, Workspace] = {}
        self.credentials: _IndexedByDigest[Credential] = _IndexedByDigest()

    def change_version(self) -> int:
        return self.changes

    async def find_auth_context(self, digest: str) -> AuthContext | None:
        credential = self.credentials.of(digest)
        if credential is None or credential.revoked_at is not None:
            return None
        return AuthContext(credential, self.owners[credential.workspace_id])

    async def create_workspace(self, workspace: Workspace) -> None:
        await self.save_workspace(workspace)

    async def save_workspace(self, workspace: Workspace) -> None:
        self.owners[workspace.id] = workspace
        self.changes += 1

    async def list_workspaces(self) -> list[Workspace]:
        return list(self.owners.values())

    async def save_credential(self, credential: Credential, digest: str | None = None) -> None:
        known = self.credentials.values.get(credential.id)
        ended = known.revoked_at if known and known.revoked_at else credential.revoked_at
        self.credentials.values[credential.id] = replace(credential, revoked_at=ended)
        if digest is not None:
            self.credentials.digests[digest] = credential.id
        self.changes += 1

    async def list_keys(self, workspace_id: UUID) -> list[Credential]:
        return [one for one in self.credentials.values.values() if one.workspace_id == workspace_id]


class _People:
    """Accounts, sessions, members and invitations."""

    owners: dict[UUID, Workspace]

    def __init__(self) -> None:
        super().__init__()
        self.accounts: dict[UUID, Account] = {}
        self.links: dict[str, PasswordLink] = {}
        self.sessions: _IndexedByDigest[Session] = _IndexedByDigest()
        self.belonging: dict[tuple[UUID, UUID], Member] = {}
        self.invited: _IndexedByDigest[Invitation] = _IndexedByDigest()

    async def get_account(self, account_id: UUID) -> Account | None:
        return self.accounts.get(account_id)

    async def find_account_by_email(self, email: str) -> Account | None:
        return next((one for one in self.accounts.values() if one.email == email), None)

    async def save_account(self, account: Account) -> bool:
        known = await self.find_account_by_email(account.email)
        if known is not None and known.id != account.id:
            return False
        self.accounts[account.id] = account
        return True

    async def save_password_link(self, link: PasswordLink, digest: str) -> None:
        self.links[digest] = link

    async def consume_password_link(
        self, digest: str, purpose: Purpose, now: datetime
    ) -> PasswordLink | None:
        link = self.links.get(digest)
        if link is None or link.purpose is not purpose:
            return None
        del self.links[digest]
        return link if now < link.expires_at else None

    async def save_session(self, session: Session, digest: str) -> None:
        self.sessions.values[session.id] = session
        self.sessions.digests[digest] = session.id

    async def get_session(self, digest: str) -> Session | None:
        return self.sessions.of(digest)

    async def end_session(self, digest: str) -> None:
        self.sessions.digests.pop(digest, None)

    async def end_sessions(self, account_id: UUID, except_digest: str | None = None) -> None:
        kept, stays = self.sessions.values, self.sessions.digests.get(except_digest or "")
        self.sessions.values = {
            k: one for k, one in kept.items() if one.account_id != account_id or k == stays
        }

    async def get_member(self, workspace_id: UUID, account_id: UUID) -> Member | None:
        return self.belonging.get((workspace_id, account_id))

    async def list_members(self, workspace_id: UUID) -> list[Member]:
        return [one for one in self.belonging.values() if one.workspace_id == workspace_id]

    async def list_memberships(self, account_id: UUID) -> list[tuple[Workspace, Member]]:
        found = [one for one in self.belonging.values() if one.account_id == account_id]
        return [(self.owners[one.workspace_id], one) for one in found]

    async def save_member(self, member: Member) -> bool:
        if member.role is not Role.OWNER and self._only_owner(member.workspace_id, member.account_id):
            return False
        self.belonging[member.workspace_id, member.account_id] = member
        return True

    async def remove_member(self, workspace_id: UUID, account_id: UUID) -> bool:
        if self._only_owner(workspace_id, account_id):
            return False
        return self.belonging.pop((workspace_id, account_id), None) is not None

    async def save_invitation(self, invitation: Invitation, digest: str) -> None:
        for former in await self.list_open_invitations(invitation.workspace_id):
            if former.email == invitation.email:
                del self.invited.values[former.id]
        self.invited.values[invitation.id] = invitation
        self.invited.digests[digest] = invitation.id

    async def get_invitation(self, digest: str) -> Invitation | None:
        return self.invited.of(digest)

    async def list_open_invitations(self, workspace_id: UUID) -> list[Invitation]:
        return [
            one
            for one in self.invited.values.values()
            if one.workspace_id == workspace_id and one.accepted_at is None
        ]

    async def accept_invitation(self, invitation_id: UUID, member: Member) -> bool:
        found = self.invited.values.get(invitation_id)
        if found is None or found.accepted_at is not None or member.created_at >= found.expires_at:
            return False
        self.invited.values[invitation_id] = replace(found, accepted_at=member.created_at)
        self.belonging.setdefault((member.workspace_id, member.account_id), member)
        return True

    async def withdraw_invitation(self, workspace_id: UUID, invitation_id: UUID) -> bool:
        found = self.invited.values.get(invitation_id)
        if found is None or found.workspace_id != workspace_id or found.accepted_at is not None:
            return False
        del self.invited.values[invitation_id]
        return True

    def _only_owner(self, workspace_id: UUID, account_id: UUID) -> bool:
        owners = [
            one.account_id
            for one in self.belonging.values()
            if one.workspace_id == workspace_id and one.role is Role.OWNER
        ]
        return owners == [account_id]


class _Passkeys:
    """Passkeys, and what browsers were asked to sign."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[UUID, Passkey] = {}
        self.challenges: dict[str, Challenge] = {}

    async def list_passkeys(self, account_id: UUID) -> list[Passkey]:
        return [one for one in self.made.values() if one.account_id == account_id]

    async def find_passkey(self, credential_id: bytes) -> Passkey | None:
        return next((one for one in self.made.values() if one.credential_id == credential_id), None)

    async def add_passkey(self, passkey: Passkey, max_passkeys: int) -> bool:
        owned = await self.list_passkeys(passkey.account_id)
        if await self.find_passkey(passkey.credential_id) is not None or len(owned) >= max_passkeys:
            return False
        self.made[passkey.id] = passkey
        return True

    async def record_passkey_use(self, passkey_id: UUID, counter: int, now: datetime) -> bool:
        passkey = self.made.get(passkey_id)
        if passkey is None or not (passkey.counter < counter or passkey.counter == counter == 0):
            return False
        self.made[passkey_id] = replace(passkey, counter=counter, used_at=now)
        return True

    async def remove_passkey(self, account_id: UUID, passkey_id: UUID) -> bool:
        known = passkey_id in self.made and self.made[passkey_id].account_id == account_id
        if known:
            del self.made[passkey_id]
        return known

    async def add_challenge(self, challenge: Challenge, digest: str, now: datetime) -> None:
        self.challenges = {key: one for key, one in self.challenges.items() if one.expires_at > now}
        self.challenges[digest] = challenge

    async def take_challenge(self, digest: str, now: datetime) -> Challenge | None:
        challenge = self.challenges.pop(digest, None)
        return challenge if challenge is not None and now < challenge.expires_at else None


class MemoryAccess(_Directory, _People, _Passkeys):
    """The ports of the wing `access` in memory, but those of OAuth."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: _IndexedByDigest[KeyRequest] = _IndexedByDigest()
        self.filed_once: dict[str, KeyRequest] = {}
        self.signups: dict[UUID, tuple[Signup, SignupDigests]] = {}

    async def add_key_request(
        self, request: KeyRequest, link_digest: str, retry_digest: str | None
    ) -> KeyRequest:
        former = self.filed_once.get(retry_digest) if retry_digest is not None else None
        if former is not None and former.created_at > request.created_at - REQUEST_LIFETIME:
            return self.requests.values[former.id]
        self.requests.values[request.id] = request
        self.requests.digests[link_digest] = request.id
        if retry_digest is not None:
            self.filed_once[retry_digest] = request
        return request

    async def get_key_request(self, request_id: UUID) -> KeyRequest | None:
        return self.requests.values.get(request_id)

    async def find_key_request_by_link(self, link_digest: str) -> KeyRequest | None:
        return self.requests.of(link_digest)

    async def save_key_decision(self, decided: KeyRequest) -> bool:
        known = self.requests.values.get(decided.id)
        if known is None or decided.decided_at is None:
            return False
        if known.status_at(decided.decided_at) is not RequestStatus.PENDING:
            return False
        self.requests.values[decided.id] = decided
        return True

    async def collect_key(self, request: KeyRequest, credential: Credential, digest: str) -> bool:
        known = self.requests.values.get(request.id)
        if known is None or known.status_at(credential.created_at) is not RequestStatus.APPROVED:
            return False
        collected = replace(known, status=RequestStatus.COLLECTED, key_id=credential.id)
        self.requests.values[request.id] = collected
        await self.save_credential(credential, digest)
        return True

    async def list_pending_requests(self, workspace_id: UUID) -> list[KeyRequest]:
        return [
            one
            for one in self.requests.values.values()
            if one.workspace_id == workspace_id and one.status is RequestStatus.PENDING
        ]

    async def add_signup(
        self, signup: Signup, secrets: SignupDigests, key_request: KeyRequest | None
    ) -> None:
        self.signups[signup.id] = signup, secrets
        if key_request is not None:
            self.requests.values[key_request.id] = key_request

    async def find_signup(self, by: SignupLookup, value: str) -> Signup | None:
        if by is SignupLookup.ID:
            return self.signups[UUID(value)][0] if UUID(value) in self.signups else None
        found = (one for one, secrets in self.signups.values() if getattr(secrets, by.value) == value)
        return next(found, None)

    async def save_order_id(self, signup_id: UUID, order: str) -> None:
        signup, secrets = self.signups[signup_id]
        self.signups[signup_id] = replace(signup, order=order), secrets

    async def replace_welcome_link(self, signup_id: UUID, welcome: str) -> None:
        signup, secrets = self.signups[signup_id]
        self.signups[signup_id] = signup, replace(secrets, welcome=welcome)

    async def cancel_signup(self, signup_id: UUID) -> bool:
        signup, secrets = self.signups[signup_id]
        if signup.status is not SignupStatus.PENDING:
            return False
        self.signups[signup_id] = replace(signup, status=SignupStatus.CANCELED), secrets
        return True

    async def record_payment(self, signup_id: UUID, provisioning: WorkspaceProvisioning) -> Account | None:
        if signup_id not in self.signups or self.signups[signup_id][0].status is SignupStatus.PAID:
            return None
        signup, secrets = self.signups[signup_id]
        workspace, now = provisioning.workspace, provisioning.paid_at
        account = await self.find_account_by_email(provisioning.account.email) or provisioning.account
        self.accounts[account.id] = account
        self.owners[workspace.id] = workspace
        self.belonging[workspace.id, account.id] = Member(workspace.id, account.id, Role.OWNER, now)
        for credential, digest in provisioning.credentials:
            await self.save_credential(credential, digest)
        paid = replace(signup, status=SignupStatus.PAID, paid_at=now, workspace_id=workspace.id)
        self.signups[signup_id] = paid, secrets
        if signup.key_request_id is not None:
            request = self.requests.values[signup.key_request_id]
            ready = replace(request, workspace_id=workspace.id, expires_at=now + REQUEST_LIFETIME)
            self.requests.values[request.id] = ready
        return account
