"""Crawling by many machines: the links of each topic, whose turn it is at each host, and which machines are there."""

from alembic import op

revision = "0002_crawling"
down_revision = "0001"

_TABLES = """
-- `changed_in` is the transaction that wrote the row: who reads on from the oldest one that was open at the last time
-- misses nothing, whatever the order of commits. `machine` is the one that wrote the row last.
CREATE TABLE crawl_links (
    topic text NOT NULL CHECK (length(topic) <= 200),
    url text NOT NULL CHECK (octet_length(url) <= 2000),
    host text NOT NULL CHECK (length(host) <= 300),
    state text NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'fetching', 'fetched', 'held', 'failed', 'refused')),
    machine text NOT NULL DEFAULT '' CHECK (length(machine) <= 80),
    depth integer NOT NULL,
    anchor text NOT NULL CHECK (length(anchor) <= 400),
    context text NOT NULL CHECK (length(context) <= 800),
    parents integer NOT NULL,
    good_parents integer NOT NULL,
    best double precision NOT NULL,
    total double precision NOT NULL,
    nav boolean NOT NULL,
    worth double precision NOT NULL,
    tries integer NOT NULL DEFAULT 0,
    next_try timestamptz NOT NULL DEFAULT '-infinity',
    note text NOT NULL DEFAULT '' CHECK (length(note) <= 400),
    probability double precision,
    fingerprint text CHECK (length(fingerprint) <= 40),
    received bigint NOT NULL DEFAULT 0,
    final_url text NOT NULL DEFAULT '' CHECK (octet_length(final_url) <= 4000),
    changed_in bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    PRIMARY KEY (topic, url)
);
CREATE INDEX crawl_links_changed ON crawl_links (topic, changed_in);
CREATE INDEX crawl_links_fetching ON crawl_links (topic, machine) WHERE state = 'fetching';

-- `machine` chooses the links of a host until `leased_until`; `turn_of` asks the host for something at this moment,
-- and nobody does before `free_at`.
CREATE TABLE crawl_hosts (
    host text PRIMARY KEY CHECK (length(host) <= 300),
    machine text NOT NULL DEFAULT '' CHECK (length(machine) <= 80),
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    turn_of text NOT NULL DEFAULT '' CHECK (length(turn_of) <= 80),
    turn_until timestamptz NOT NULL DEFAULT '-infinity',
    free_at timestamptz NOT NULL DEFAULT '-infinity'
);

CREATE TABLE crawl_machines (
    machine text PRIMARY KEY CHECK (length(machine) <= 80),
    school integer NOT NULL DEFAULT current_school() REFERENCES schools ON DELETE CASCADE,
    seen_at timestamptz NOT NULL DEFAULT now(),
    lease interval NOT NULL CHECK (lease BETWEEN '1 second' AND '1 hour')
);
"""

_RIGHTS = """
ALTER TABLE {0} ENABLE ROW LEVEL SECURITY;
CREATE POLICY together ON {0} TO linkmend_school USING (may_write()) WITH CHECK (may_write());
CREATE POLICY admin ON {0} TO linkmend_admin USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON {0} TO linkmend_school, linkmend_admin;
"""


def upgrade() -> None:
    """Make the tables; every school that may write may crawl with the others."""
    op.execute(_TABLES)
    for table in ("crawl_links", "crawl_hosts", "crawl_machines"):
        op.execute(_RIGHTS.format(table))
