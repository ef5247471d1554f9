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
def test_a_command_offers_every_name_the_service_knows(offered, known):
    assert [*offered] == [*known]


def test_only_kinds_of_keys_are_replaced():
    assert {*keys.ReplaceableKey} <= {*CredentialKind}
