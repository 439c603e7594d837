"""Run by alembic for each command: hands it the connection that `proxy.district.schema` opened."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table="schema_version",
    version_table_schema="linkmend",
)
with context.begin_transaction():
    context.run_migrations()
