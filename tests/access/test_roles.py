"""Semantics 21 and contract 2.3: what a role may do, grant and hold."""

import pytest

from service_core.access.roles import (
    ABILITIES,
    KEY_SCOPES,
    OAUTH_SCOPES,
    Ability,
    Role,
    require_ability,
    require_grantor,
)
from service_core.kernel.errors import Forbidden
from service_core.kernel.operations import Scope

TABLE = {
    Ability.READ: "owner admin member viewer",
    Ability.REPORTS: "owner admin member",
    Ability.MANAGE: "owner admin",
    Ability.GRANT_WRITES: "owner",
    Ability.RULES_AND_LINKS: "owner admin",
    Ability.INVITE: "owner admin",
    Ability.OWN: "owner",
}


@pytest.mark.parametrize("ability", Ability)
def test_the_table_of_roles_is_that_of_the_semantics(ability):
    assert " ".join(role.value for role in Role if ability in ABILITIES[role]) == TABLE[ability]


def test_an_owner_grants_every_scope_on_a_key_an_admin_reads_and_nobody_else_any():
    assert KEY_SCOPES[Role.OWNER] == set(Scope)
    assert KEY_SCOPES[Role.ADMIN] == {Scope.READ}
    assert KEY_SCOPES[Role.MEMBER] == KEY_SCOPES[Role.VIEWER] == set()


def test_over_oauth_members_may_write_reports_and_viewers_read():
    assert OAUTH_SCOPES[Role.OWNER] == set(Scope)
    assert OAUTH_SCOPES[Role.ADMIN] == OAUTH_SCOPES[Role.MEMBER] == {Scope.READ, Scope.WRITE_REPORTS}
    assert OAUTH_SCOPES[Role.VIEWER] == {Scope.READ}


@pytest.mark.parametrize(
    ("role", "scopes", "code"),
    [
        (Role.MEMBER, {Scope.READ}, "role_required"),
        (Role.VIEWER, {Scope.READ}, "role_required"),
        (None, {Scope.READ}, "role_required"),
        (Role.ADMIN, {Scope.READ, Scope.WRITE_LINKS}, "owner_required"),
        (Role.ADMIN, {Scope.WRITE_REPORTS}, "owner_required"),
        (Role.ADMIN, {Scope.READ}, None),
        (Role.OWNER, set(Scope), None),
    ],
)
def test_who_may_put_a_scope_on_a_key(role, scopes, code):
    if code is None:
        require_grantor(role, scopes)
        return
    with pytest.raises(Forbidden) as caught:
        require_grantor(role, scopes)
    assert caught.value.code == code


def test_what_only_an_owner_may_says_so():
    with pytest.raises(Forbidden) as caught:
        require_ability(Role.ADMIN, Ability.OWN)
    assert caught.value.code == "owner_required"
