"""The names that records are looked for by."""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_AT_ONCE: Final = 500


def upgrade() -> None:
    """Add the column, and write down the names of the records there are."""
    names = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("resources", sa.Column("names", names, nullable=False, server_default=""))
    columns = sa.column("id", sa.Uuid), sa.column("state", sa.JSON), sa.column("names", sa.Text)
    resources = sa.table("resources", *columns)
    own = resources.c.id == sa.bindparam("own")
    change = sa.update(resources).where(own).values(names=sa.bindparam("names"))
    connection = op.get_bind()
    ids = connection.scalars(sa.select(resources.c.id)).all()
    for start in range(0, len(ids), _AT_ONCE):
        some = resources.c.id.in_(ids[start : start + _AT_ONCE])
        found = connection.execute(sa.select(resources.c.id, resources.c.state).where(some)).all()
        connection.execute(change, [{"own": row.id, "names": _names(row.state)} for row in found])


def _names(state: Mapping[str, Any]) -> str:
    """What every type calls its name; a link is known by its tag and its slug, too."""
    own = (state.get(field) for field in ("name", "title", "object_name"))
    known = (state.get(field) for field in ("tracking_identifier", "slug"))
    return "\n".join(name for name in (*own, *known) if name).replace("\0", "").lower()
