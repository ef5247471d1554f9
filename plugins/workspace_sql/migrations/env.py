"""How Alembic runs here: inside the transaction of the process that starts, or on the file it is given."""

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
