"""The district's desk: what it gives schools, what each made of it, and each school's figures by day."""

from alembic import op

revision = "0003_desk"
down_revision = "0002_crawling"

_TABLES = """
-- Rules and topics for all schools; the newest version of each counts.
CREATE TABLE pushed (
    kind text NOT NULL CHECK (kind IN ('rules', 'topics')),
    version integer NOT NULL,
    text text NOT NULL CHECK (octet_length(text) <= 1000000),
    made_by text NOT NULL CHECK (length(made_by) <= 80),
    made_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, version)
);
-- Which version a school uses, why not the newest, and what it replaced by its own.
CREATE TABLE applied (
    school integer NOT NULL REFERENCES schools ON DELETE CASCADE,
    kind text NOT NULL,
    version integer NOT NULL,
    fault text NOT NULL CHECK (length(fault) <= 500),
    replaced jsonb NOT NULL CHECK (octet_length(replaced::text) <= 20000),
    PRIMARY KEY (school, kind)
);
-- Counts and days, and never who.
CREATE TABLE school_days (
    school integer NOT NULL REFERENCES schools ON DELETE CASCADE,
    day date NOT NULL,
    misses integer NOT NULL,
    opened integer NOT NULL,
    pages integer,
    PRIMARY KEY (school, day)
);
CREATE TABLE school_health (
    school integer PRIMARY KEY REFERENCES schools ON DELETE CASCADE,
    warnings jsonb NOT NULL CHECK (octet_length(warnings::text) <= 20000),
    told_at timestamptz NOT NULL DEFAULT now()
);
"""

_PUSHED = """
ALTER TABLE pushed ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON pushed FOR SELECT TO linkmend_school USING (true);
CREATE POLICY admin ON pushed TO linkmend_admin USING (true) WITH CHECK (true);
GRANT SELECT ON pushed TO linkmend_school;
GRANT SELECT, INSERT ON pushed TO linkmend_admin;
"""

_OWN = """
ALTER TABLE {0} ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON {0} TO linkmend_school USING (school = current_school())
    WITH CHECK (school = current_school() AND may_write());
CREATE POLICY admin ON {0} FOR SELECT TO linkmend_admin USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON {0} TO linkmend_school;
GRANT SELECT ON {0} TO linkmend_admin;
"""


def upgrade() -> None:
    """Make the tables: schools read what they are given, and tell only of themselves."""
    op.execute(_TABLES)
    op.execute(_PUSHED)
    for table in ("applied", "school_days", "school_health"):
        op.execute(_OWN.format(table))
