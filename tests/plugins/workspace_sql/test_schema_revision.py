"""Every form of the tables has a revision of its own: a store of another form is refused, and no read of it fails."""

import sqlite3
from contextlib import closing
from hashlib import sha256

import pytest
import sqlalchemy as sa

from plugins.workspace_sql.schema import SCRIPTS, create_tables
from service_core.kernel.errors import StartupError
from tests.plugins.workspace_sql.conftest import open_directory_at

REVISION = "0003_baseline"
TABLES_DIGEST = "f2431897dda04ae0a66a02d863ba67caa5663650c1aaefcf7b6c9a37a49dc6c2"
"""Of the statements that create the tables of `REVISION`."""


def statements_that_create_tables(dialect):
    """The statements, in an order that does not depend on the run."""
    statements = []
    engine = sa.create_mock_engine(
        f"{dialect}://",
        lambda statement, *_: statements.append(str(statement.compile(dialect=engine.dialect))),
    )
    engine.exec_driver_sql = statements.append
    create_tables(engine)
    return sorted(" ".join(statement.split()) for statement in statements)


def test_changed_tables_have_a_new_revision():
    statements = [statements_that_create_tables(dialect) for dialect in ("sqlite", "postgresql+psycopg")]
    newest = max(script.stem for script in (SCRIPTS / "versions").glob("[0-9]*.py"))
    assert (newest, sha256(repr(statements).encode()).hexdigest()) == (REVISION, TABLES_DIGEST), (
        "The tables of the workspace store have changed: a store of their earlier form must not be opened. Before the "
        "first release rename migrations/versions/000N_baseline.py and its `revision` to the next number, after it add "
        "a migration; then set REVISION and TABLES_DIGEST here."
    )


@pytest.mark.usefixtures("real_migrations")
async def test_store_of_an_earlier_revision_is_refused(tmp_path):
    url = "sqlite:///workspace.db"
    async with open_directory_at(url, tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / "workspace.db")) as store, store:
        store.execute("UPDATE alembic_version SET version_num = '0001_baseline'")
    with pytest.raises(
        StartupError, match=f"schema 0001_baseline of another version .* reads {REVISION} only"
    ):
        async with open_directory_at(url, tmp_path):
            pass
