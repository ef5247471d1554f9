"""Receipts as they are stored."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

RECEIPT_LIFETIME: Final = timedelta(days=90)
"""How long a receipt can be read again."""


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """A receipt that was given: the request and the answer, without the records.

    Attributes:
        id: digest of workspace and content, so that the same answer has the same id.
        workspace_id: whose numbers it explains.
        created_at: when it was given first.
        expires_at: when it is deleted.
        request: the body as JSON text.
        answer: the answer as JSON text.
    """

    id: str
    workspace_id: UUID
    created_at: datetime
    expires_at: datetime
    request: str
    answer: str
