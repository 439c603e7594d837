"""The first schema: schools, what they share (`learnt`), what is each school's own (`misses`, `wants`), quotas."""

from alembic import op

revision = "0001"
down_revision = None

_TABLES = """
CREATE TABLE about (district uuid PRIMARY KEY DEFAULT gen_random_uuid(), made_at timestamptz NOT NULL DEFAULT now());
INSERT INTO about DEFAULT VALUES;

-- One row a school, and one for the district itself, under which its admins write. `role` is the school's login.
CREATE TABLE schools (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 80),
    role name UNIQUE,
    is_district boolean NOT NULL DEFAULT false,
    may_write boolean NOT NULL DEFAULT true,
    rows_per_day integer NOT NULL DEFAULT 50000 CHECK (rows_per_day >= 0),
    rows_held integer NOT NULL DEFAULT 1000000 CHECK (rows_held >= 0),
    invited_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX one_district ON schools (is_district) WHERE is_district;
INSERT INTO schools (name, is_district) VALUES ('the district', true);

-- When a school was last here, and with which version of linkmend.
CREATE TABLE presence (
    school integer PRIMARY KEY REFERENCES schools ON DELETE CASCADE,
    version text NOT NULL CHECK (length(version) <= 40),
    waiting integer NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT now()
);

-- How far each spool of a school has been taken over; a school whose line broke goes on from here.
CREATE TABLE spools (
    school integer NOT NULL REFERENCES schools ON DELETE CASCADE,
    spool uuid NOT NULL,
    taken bigint NOT NULL,
    PRIMARY KEY (school, spool)
);

-- What all schools may read. `key` is the digest of what the row is about; a row without a body is a tombstone: the
-- school withdrew it, or erased the address.
CREATE TABLE learnt (
    school integer NOT NULL REFERENCES schools ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('pin', 'choice', 'move', 'error_page', 'topic')),
    key bytea NOT NULL CHECK (length(key) = 16),
    body jsonb CHECK (octet_length(body::text) <= 8192),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (school, kind, key)
);
CREATE INDEX learnt_changed ON learnt (changed_at);

-- Each school's own. Counts and days, and never who.
CREATE TABLE misses (
    school integer NOT NULL REFERENCES schools ON DELETE CASCADE,
    key bytea NOT NULL CHECK (length(key) = 16),
    url text NOT NULL CHECK (length(url) <= 2000),
    kind text NOT NULL CHECK (length(kind) <= 20),
    day date NOT NULL,
    times integer NOT NULL CHECK (times > 0),
    PRIMARY KEY (school, key, kind, day)
);
CREATE INDEX misses_day ON misses (day);
CREATE TABLE wants (
    school integer NOT NULL REFERENCES schools ON DELETE CASCADE,
    key bytea NOT NULL CHECK (length(key) = 16),
    url text NOT NULL CHECK (length(url) <= 2000),
    day date NOT NULL,
    PRIMARY KEY (school, key)
);

-- What a school has written today and holds in all, counted by triggers.
CREATE TABLE usage (
    school integer PRIMARY KEY REFERENCES schools ON DELETE CASCADE,
    day date NOT NULL,
    written integer NOT NULL,
    held integer NOT NULL
);
"""

_FUNCTIONS = """
-- By the login, which SET ROLE does not change: nobody can take another's name.
CREATE FUNCTION current_school() RETURNS integer LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = linkmend, pg_temp AS $$
    SELECT coalesce(
        (SELECT id FROM schools WHERE role = session_user),
        (SELECT id FROM schools WHERE is_district AND pg_has_role(session_user, 'linkmend_admin', 'member'))
    )
$$;
CREATE FUNCTION may_write() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = linkmend, pg_temp AS $$
    SELECT coalesce((SELECT may_write FROM schools WHERE id = current_school()), false)
$$;
CREATE FUNCTION count_usage() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = linkmend, pg_temp AS $$
DECLARE
    changed integer;
    more integer;
    now_written integer;
    now_held integer;
    allowed schools;
BEGIN
    IF TG_OP = 'DELETE' THEN
        UPDATE usage SET held = greatest(0, held - gone.count)
            FROM (SELECT school, count(*) FROM before GROUP BY school) AS gone WHERE usage.school = gone.school;
        RETURN NULL;
    END IF;
    IF TG_TABLE_NAME = 'learnt' THEN
        SELECT count(*) INTO changed FROM after WHERE body IS NOT NULL; -- to withdraw is always allowed
    ELSE
        SELECT count(*) INTO changed FROM after;
    END IF;
    IF changed = 0 OR current_school() IS NULL THEN
        RETURN NULL;
    END IF;
    more := CASE WHEN TG_OP = 'INSERT' THEN changed ELSE 0 END;
    INSERT INTO usage VALUES (current_school(), current_date, changed, more)
        ON CONFLICT (school) DO UPDATE SET
            written = CASE WHEN usage.day = current_date THEN usage.written ELSE 0 END + changed,
            held = usage.held + more, day = current_date
        RETURNING written, held INTO now_written, now_held;
    SELECT * INTO allowed FROM schools WHERE id = current_school();
    IF now_written > allowed.rows_per_day OR (more > 0 AND now_held > allowed.rows_held) THEN
        RAISE EXCEPTION 'quota: % rows today of %, % held of %',
            now_written, allowed.rows_per_day, now_held, allowed.rows_held USING ERRCODE = 'LM001';
    END IF;
    RETURN NULL;
END $$;
-- The database's clock counts: a school cannot say that its row is of tomorrow, nor slip past who reads by time.
CREATE FUNCTION stamp_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.changed_at := clock_timestamp();
    RETURN NEW;
END $$;
CREATE TRIGGER learnt_stamp BEFORE INSERT OR UPDATE ON learnt FOR EACH ROW EXECUTE FUNCTION stamp_change();
"""

_COUNTED = """
CREATE TRIGGER {0}_added AFTER INSERT ON {0} REFERENCING NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION count_usage();
CREATE TRIGGER {0}_changed AFTER UPDATE ON {0} REFERENCING NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION count_usage();
CREATE TRIGGER {0}_gone AFTER DELETE ON {0} REFERENCING OLD TABLE AS before
    FOR EACH STATEMENT EXECUTE FUNCTION count_usage();
"""

# The subqueries are run once a statement; a function would be called for each row.
_OWN = """
ALTER TABLE {0} ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON {0} TO linkmend_school USING (school = (SELECT current_school()))
    WITH CHECK (school = (SELECT current_school()) AND (SELECT may_write()));
CREATE POLICY admin ON {0} TO linkmend_admin USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON {0} TO linkmend_school, linkmend_admin;
"""

_RIGHTS = """
GRANT USAGE ON SCHEMA linkmend TO linkmend_school, linkmend_admin;
GRANT SELECT ON schema_version, about TO linkmend_school, linkmend_admin;

-- What a school that was shut out had written is hidden.
ALTER TABLE learnt ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON learnt FOR SELECT TO linkmend_school USING
    (school = (SELECT current_school()) OR school IN (SELECT id FROM schools WHERE may_write));
CREATE POLICY add ON learnt FOR INSERT TO linkmend_school
    WITH CHECK (school = (SELECT current_school()) AND (SELECT may_write()));
CREATE POLICY change ON learnt FOR UPDATE TO linkmend_school USING (school = (SELECT current_school()))
    WITH CHECK (school = (SELECT current_school()) AND (SELECT may_write()));
CREATE POLICY withdraw ON learnt FOR DELETE TO linkmend_school USING (school = (SELECT current_school()));
CREATE POLICY admin ON learnt TO linkmend_admin USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON learnt TO linkmend_school, linkmend_admin;

ALTER TABLE schools ENABLE ROW LEVEL SECURITY;
CREATE POLICY names ON schools FOR SELECT TO linkmend_school USING (true);
CREATE POLICY admin ON schools TO linkmend_admin USING (true) WITH CHECK (true);
GRANT SELECT (id, name, is_district, may_write) ON schools TO linkmend_school;
GRANT SELECT, UPDATE (name, may_write, rows_per_day, rows_held) ON schools TO linkmend_admin;

ALTER TABLE usage ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON usage FOR SELECT TO linkmend_school USING (school = (SELECT current_school()));
CREATE POLICY admin ON usage TO linkmend_admin USING (true);
GRANT SELECT ON usage TO linkmend_school, linkmend_admin;
"""


def upgrade() -> None:
    """Make the tables, and say who may do what with them."""
    op.execute(_TABLES)
    op.execute(_FUNCTIONS)
    for table in ("learnt", "misses", "wants"):
        op.execute(_COUNTED.format(table))
    for table in ("misses", "wants", "presence", "spools"):
        op.execute(_OWN.format(table))
    op.execute(_RIGHTS)
