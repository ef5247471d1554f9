"""Alembic environment: migrations run in the transaction of the given connection."""

from alembic import context

from plugins.workspace_sql.records import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=True,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
