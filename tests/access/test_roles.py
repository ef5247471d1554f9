"""What a role may do, grant and hold."""

import pytest

from service_core.access.roles import (
    GRANTABLE_KEY_SCOPES,
    ROLE_OAUTH_SCOPES,
    ROLE_PERMISSIONS,
    Permission,
    Role,
    require_can_grant_key_scopes,
    require_permission,
)
from service_core.kernel.errors import Forbidden
from service_core.kernel.operations import Scope

READS = {Scope.READ, Scope.READ_AGGREGATES}
TABLE = {
    Permission.READ: "owner admin member viewer",
    Permission.REPORTS: "owner admin member",
    Permission.MANAGE: "owner admin",
    Permission.GRANT_WRITES: "owner",
    Permission.RULES_AND_LINKS: "owner admin",
    Permission.INVITE: "owner admin",
    Permission.OWN: "owner",
}


@pytest.mark.parametrize("ability", Permission)
def test_role_permissions_match_the_specification(ability):
    assert " ".join(role.value for role in Role if ability in ROLE_PERMISSIONS[role]) == TABLE[ability]


def test_key_scopes_that_each_role_can_grant():
    assert GRANTABLE_KEY_SCOPES[Role.OWNER] == set(Scope)
    assert GRANTABLE_KEY_SCOPES[Role.ADMIN] == READS
    assert GRANTABLE_KEY_SCOPES[Role.MEMBER] == GRANTABLE_KEY_SCOPES[Role.VIEWER] == set()


def test_over_oauth_members_may_write_reports_and_viewers_read():
    assert ROLE_OAUTH_SCOPES[Role.OWNER] == set(Scope)
    assert ROLE_OAUTH_SCOPES[Role.ADMIN] == ROLE_OAUTH_SCOPES[Role.MEMBER] == READS | {Scope.WRITE_REPORTS}
    assert ROLE_OAUTH_SCOPES[Role.VIEWER] == READS


@pytest.mark.parametrize(
    ("role", "scopes", "code"),
    [
        (Role.MEMBER, {Scope.READ}, "role_required"),
        (Role.VIEWER, {Scope.READ}, "role_required"),
        (None, {Scope.READ}, "role_required"),
        (Role.ADMIN, {Scope.READ, Scope.WRITE_LINKS}, "owner_required"),
        (Role.ADMIN, {Scope.WRITE_REPORTS}, "owner_required"),
        (Role.ADMIN, {Scope.READ}, None),
        (Role.ADMIN, {Scope.READ_AGGREGATES}, None),
        (Role.MEMBER, {Scope.READ_AGGREGATES}, "role_required"),
        (Role.OWNER, set(Scope), None),
    ],
)
def test_roles_that_may_grant_a_scope(role, scopes, code):
    if code is None:
        require_can_grant_key_scopes(role, scopes)
        return
    with pytest.raises(Forbidden) as caught:
        require_can_grant_key_scopes(role, scopes)
    assert caught.value.code == code


def test_error_names_the_role_when_only_owners_may_act():
    with pytest.raises(Forbidden) as caught:
        require_permission(Role.ADMIN, Permission.OWN)
    assert caught.value.code == "owner_required"
