"""Saves a connection as it is given, for the operator of the deployment."""

from service_core.analytics.connections.models import Connection
from service_core.changes.change_executor import ChangePlanner
from service_core.changes.models import Action, Change
from service_core.changes.ports import Transaction
from service_core.commerce.connections.models import (
    ConnectionRecord,
    ConnectionRowStorage,
    connection_id,
    encrypted_credential_fields,
)


def plan_connection_save(row: Connection, ciphertext: bytes | None) -> ChangePlanner:
    """Returns the planner that adds a connection, or replaces the one of its provider.

    Args:
        row: the connection.
        ciphertext: its new credentials, encrypted; None keeps those that are stored.
    """

    async def plan(transaction: Transaction) -> Change:
        id_ = connection_id(row.workspace_id, row.provider)
        present = await ConnectionRowStorage(transaction).get(ConnectionRecord, id_)
        record = ConnectionRecord.from_row(row, row.provider, None)
        fields = {"credentials_id": present.credentials_id} if present else {}
        if ciphertext is not None:
            fields = encrypted_credential_fields(ciphertext)
        new = record.model_copy(update=fields)
        return Change(Action.CREATE if present is None else Action.UPDATE, present, new)

    return plan
