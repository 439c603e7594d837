#!/bin/sh
# Starts a standby of the primary in $PRIMARY; the first time it copies the primary's data. To make the standby the
# primary: pg_ctl promote. Then empty the old primary's folder and start it with this script, $PRIMARY being the new one.
set -eu
PGPASSWORD=$(cat "$PASSWORD_FILE")
export PGPASSWORD
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    # A slot keeps what the standby has not got yet; it is there already when an earlier copy broke off.
    pg_basebackup --host="$PRIMARY" --port="${PRIMARY_PORT:-5432}" --username=replication --pgdata="$PGDATA.new" \
        --wal-method=stream --write-recovery-conf --checkpoint=fast
    mkdir -p "$PGDATA"
    chmod 0700 "$PGDATA"
    mv "$PGDATA.new"/* "$PGDATA.new"/.[!.]* "$PGDATA"/ 2>/dev/null || true
    rmdir "$PGDATA.new"
fi
exec postgres "$@"
