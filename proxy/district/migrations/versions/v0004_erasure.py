"""Erasure, retention and quotas for all that a school leaves in the district, links of shared crawls among it."""

from alembic import op

revision = "0004_erasure"
down_revision = "0003_desk"

_COLUMNS = """
-- Whose links are whose, so that a school can take its own away; those from before stay until they are old.
ALTER TABLE crawl_links ADD COLUMN school integer REFERENCES schools ON DELETE CASCADE;
ALTER TABLE crawl_links ALTER COLUMN school SET DEFAULT current_school();
ALTER TABLE crawl_links ADD COLUMN changed_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX crawl_links_school ON crawl_links (school);
ALTER TABLE schools ADD COLUMN links_held integer NOT NULL DEFAULT 1000000 CHECK (links_held >= 0);
GRANT UPDATE (links_held) ON schools TO linkmend_admin;
-- How long a school keeps what was missed; the district then forgets it also when the school is never seen again.
ALTER TABLE presence ADD COLUMN retention_days integer NOT NULL DEFAULT 90 CHECK (retention_days >= 0);
ALTER TABLE about ADD COLUMN tidied_at timestamptz NOT NULL DEFAULT '-infinity';
ALTER TABLE applied ADD CONSTRAINT known_kind CHECK (kind IN ('rules', 'topics')) NOT VALID;
"""

_OWNERS = """
CREATE FUNCTION note_owner() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = linkmend, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.school := current_school();
    ELSE
        NEW.school := OLD.school;
    END IF;
    IF TG_TABLE_NAME = 'crawl_links' THEN
        NEW.changed_at := now();
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER crawl_links_owner BEFORE INSERT OR UPDATE ON crawl_links FOR EACH ROW EXECUTE FUNCTION note_owner();
CREATE TRIGGER crawl_machines_owner BEFORE INSERT OR UPDATE ON crawl_machines
    FOR EACH ROW EXECUTE FUNCTION note_owner();
"""

# A row with a count for each school would be a lock for which machines of a school wait in any order. So the rows
# themselves are counted, once in about a thousand.
_QUOTAS = """
CREATE FUNCTION count_links() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = linkmend, pg_temp AS $$
DECLARE
    mine integer := current_school();
    added integer;
    allowed integer;
    held integer;
BEGIN
    SELECT count(*) INTO added FROM after;
    IF added = 0 OR mine IS NULL OR random() * 1000 > added THEN
        RETURN NULL;
    END IF;
    SELECT links_held INTO allowed FROM schools WHERE id = mine;
    SELECT count(*) INTO held FROM (SELECT FROM crawl_links WHERE school = mine LIMIT allowed + 1) AS found;
    IF held > allowed THEN
        RAISE EXCEPTION 'quota: more than % links of crawls', allowed USING ERRCODE = 'LM001';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER crawl_links_added AFTER INSERT ON crawl_links REFERENCING NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION count_links();

-- Hosts belong to nobody; there are at most as many as links.
CREATE FUNCTION count_hosts() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = linkmend, pg_temp AS $$
BEGIN
    IF random() * 1000 < (SELECT count(*) FROM after) AND (SELECT count(*) FROM crawl_hosts) >
            (SELECT max(links_held) FROM schools) THEN
        RAISE EXCEPTION 'quota: too many hosts of crawls' USING ERRCODE = 'LM001';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER crawl_hosts_added AFTER INSERT ON crawl_hosts REFERENCING NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION count_hosts();
"""

_COUNTED = """
CREATE TRIGGER {0}_added AFTER INSERT ON {0} REFERENCING NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION count_usage();
CREATE TRIGGER {0}_gone AFTER DELETE ON {0} REFERENCING OLD TABLE AS before
    FOR EACH STATEMENT EXECUTE FUNCTION count_usage();
"""

_RETENTION = """
-- Once a day for all schools, by whichever comes first: also for those that come no more.
CREATE FUNCTION forget_expired() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = linkmend, pg_temp AS $$
BEGIN
    UPDATE about SET tidied_at = now() WHERE tidied_at < now() - interval '1 day';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM misses USING schools LEFT JOIN presence ON presence.school = schools.id
        WHERE misses.school = schools.id AND day < current_date - least(coalesce(retention_days, 90), 36500);
    DELETE FROM wants USING schools LEFT JOIN presence ON presence.school = schools.id
        WHERE wants.school = schools.id AND day < current_date - least(coalesce(retention_days, 90), 36500);
    DELETE FROM learnt WHERE body IS NULL AND changed_at < now() - interval '90 days';
    DELETE FROM school_days WHERE day < current_date - 400;
    DELETE FROM crawl_links WHERE changed_at < now() - interval '90 days';
    DELETE FROM crawl_hosts WHERE greatest(leased_until, turn_until, free_at) < now() - interval '1 day';
    DELETE FROM crawl_machines WHERE seen_at < now() - interval '90 days';
    RETURN true;
END $$;
REVOKE ALL ON FUNCTION forget_expired() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION forget_expired() TO linkmend_school, linkmend_admin;
"""


def upgrade() -> None:
    """Links have owners and an age, every table has a quota, and what is old goes."""
    op.execute(_COLUMNS)
    op.execute(_OWNERS)
    op.execute(_QUOTAS)
    for table in ("spools", "school_days", "crawl_machines"):
        op.execute(_COUNTED.format(table))
    op.execute(_RETENTION)
