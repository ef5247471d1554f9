"""Databases of an older schema are brought to the newest one when they are opened."""

import sqlalchemy as sa

from plugins.workspace_sql.schema import run_missing_migrations


def test_key_grantor_column_is_added_to_a_database_of_the_baseline(tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'workspace.db'}")
    with engine.begin() as connection:
        run_missing_migrations(connection)
        connection.exec_driver_sql("ALTER TABLE credentials DROP COLUMN granted_by")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001_baseline'")
    with engine.begin() as connection:
        run_missing_migrations(connection)
        columns = {column["name"] for column in sa.inspect(connection).get_columns("credentials")}
        version = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    engine.dispose()
    assert "granted_by" in columns
    assert version != "0001_baseline"
