"""The district's schema in PostgreSQL: made and brought up to date by `linkmend district init`.

    schools    who takes part, and how much each may write
    learnt     what all may read: pins, choices, moves, error pages, topics; each row under the school that wrote it
    misses     what each school missed, by day; wants: what it wants fetched. No other school can read these
    presence   when each school was last here; spools: how far what it sent was taken over

PostgreSQL itself keeps the schools apart (row-level security): whatever a school's linkmend may send, it reads and
writes with that school's rights alone. The steps are in `migrations`.
"""

import psycopg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from psycopg import sql
from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool

from proxy.district.connection import SCHEMA, DistrictConnection, connect, unavailable
from proxy.errors import DistrictUnavailable
from proxy.settings import DistrictSettings

SCHOOLS, ADMINS = "linkmend_school", "linkmend_admin"
"""The roles whose rights every school's login, and every login of a district's admin, has."""
_INITIALISING = 7_310_001  # an advisory lock: two admins may begin at once


def initialise(settings: DistrictSettings) -> str:
    """Make the roles and the tables, or bring them up to date; returns the version. Raises DistrictUnavailable.

    The settings name a user who owns the database and may create roles.
    """
    connection = connect(settings)
    try:
        connection.execute("SELECT pg_advisory_lock(%s)", (_INITIALISING,))
        _prepare(connection)
        # One transaction for all steps: a failure leaves the schema as it was.
        engine = create_engine("postgresql+psycopg://", creator=lambda: connect(settings), poolclass=NullPool)
        with engine.begin() as bound:
            command.upgrade(_alembic(bound), "head")
            found = MigrationContext.configure(
                bound, opts={"version_table": "schema_version", "version_table_schema": SCHEMA}
            ).get_current_revision()
    except psycopg.Error as error:
        raise unavailable(error) from error
    finally:
        connection.close()
    return str(found)


def newest_version() -> str:
    """The version of the schema that this linkmend knows."""
    return str(ScriptDirectory.from_config(_alembic()).get_current_head())


def version(connection: DistrictConnection) -> str:
    """The version of the schema in a database; "" when there is none."""
    if connection.execute("SELECT to_regclass('linkmend.schema_version')").fetchone() == (None,):
        return ""
    row = connection.execute("SELECT version_num FROM linkmend.schema_version").fetchone()
    return str(row[0]) if row else ""


def check_version(connection: DistrictConnection) -> None:
    """Raises DistrictUnavailable where the district's schema is older than this linkmend needs, or there is none."""
    found = version(connection)
    scripts = ScriptDirectory.from_config(_alembic())
    # A version that this linkmend does not know is a newer one: schools are upgraded one after the other.
    if not found or found in {step.revision for step in scripts.walk_revisions()} - set(scripts.get_heads()):
        raise DistrictUnavailable(
            f"the district's database has version {found or 'none'}, this linkmend needs {newest_version()}:"
            " its admin runs `linkmend district init`"
        )


def _prepare(connection: DistrictConnection) -> None:
    for role in (SCHOOLS, ADMINS):
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
            connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
    database = sql.Identifier(connection.info.dbname)
    # Nobody makes tables of their own, not even temporary ones: they would fill the disk past every quota.
    connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
    roles = sql.SQL(", ").join(map(sql.Identifier, (SCHOOLS, ADMINS)))
    connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, roles))
    connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(SCHEMA)))


def _alembic(bound: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", "proxy.district:migrations")
    config.attributes["connection"] = bound
    return config
