#!/bin/sh
# Brings both engines back to a backup that backup.sh made; what came later is lost, also from the schools' point of
# view: `linkmend district join` sends a school's pages and errors again.
#   DATABASE=postgresql://... SEARCH=http://node:9200 sh restore.sh FOLDER NAME
# The other variables are those of backup.sh. The database must exist and may be empty; stop all linkmend before.
set -eu
folder=$1
name=$2
search() {
    path=$1
    shift
    curl --silent --show-error --fail --max-time 3600 --header 'Content-Type: application/json' \
        ${SEARCH_NETRC:+--netrc-file "$SEARCH_NETRC"} ${SEARCH_CA:+--cacert "$SEARCH_CA"} "$SEARCH$path" "$@"
}

# Roles that are there already are refused one by one, and stay.
psql --no-psqlrc --quiet --dbname="$DATABASE" --file="$folder/$name.roles.sql" 2>&1 | grep -v 'already exists' || true
pg_restore --clean --if-exists --single-transaction --dbname="$DATABASE" "$folder/$name.dump"

search /_snapshot/linkmend --request PUT --output /dev/null \
    --data "{\"type\": \"fs\", \"settings\": {\"location\": \"${SEARCH_REPOSITORY:-/backup}\"}}"
search "/_snapshot/linkmend/$name" --output /dev/null
search '/linkmend-pages,linkmend-census?ignore_unavailable=true' --request DELETE --output /dev/null
told=$(search "/_snapshot/linkmend/$name/_restore?wait_for_completion=true" --request POST \
    --data '{"indices": "linkmend-*", "include_global_state": false}')
case $told in
*'"failed":0'*) ;;
*) echo "OpenSearch: not restored: $told" >&2 && exit 1 ;;
esac
