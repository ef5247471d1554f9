"""Names a command offers without loading the service: they are those the service knows."""

from typing import get_args

import pytest

from hosts.cli import connections, keys, members, serve
from hosts.roles.models import Role as ProcessRole
from service_core.access.models import CredentialKind
from service_core.access.roles import Role
from service_core.analytics.connections.models import ConnectionStatus, ProviderKind
from service_core.kernel.settings import AsgiServer


@pytest.mark.parametrize(
    ("offered", "known"),
    [
        (members.RoleName, Role),
        (serve.RoleName, ProcessRole),
        (serve.ServerName, get_args(AsgiServer)),
        (connections.KindName, ProviderKind),
        (connections.StatusName, ConnectionStatus),
    ],
)
def test_command_choices_match_the_names_of_the_service(offered, known):
    assert [*offered] == [*known]


def test_only_kinds_of_keys_are_replaced():
    assert {*keys.ReplaceableKey} <= {*CredentialKind}
