#!/bin/sh
# Runs once, when the primary's database is created: a login that may only replicate, for standbys and backups.
set -eu
password=$(cat "${PASSWORD_FILE:-/run/secrets/replication}")
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=password="$password" <<'SQL'
CREATE ROLE replication LOGIN REPLICATION PASSWORD :'password';
SQL
echo "host replication replication samenet scram-sha-256" >>"$PGDATA/pg_hba.conf"
