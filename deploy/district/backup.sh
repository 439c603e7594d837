#!/bin/sh
# Backs up a district: PostgreSQL into FOLDER, OpenSearch into its snapshot repository. Run it daily by cron.
#   DATABASE=postgresql://... SEARCH=http://node:9200 sh backup.sh FOLDER
# The user of DATABASE must be a superuser, since logins of schools are saved too. SEARCH_REPOSITORY is a folder that
# every node has under path.repo (a network share; /backup in compose.yml). SEARCH_NETRC and SEARCH_CA name files with
# the credentials and authorities of OpenSearch. The newest KEEP backups stay.
set -eu
umask 077
folder=$1
keep=${KEEP:-14}
name=$(date -u +%Y%m%d-%H%M%S-%N) # in order, and no two the same
search() {
    path=$1
    shift
    curl --silent --show-error --fail --max-time 3600 --header 'Content-Type: application/json' \
        ${SEARCH_NETRC:+--netrc-file "$SEARCH_NETRC"} ${SEARCH_CA:+--cacert "$SEARCH_CA"} "$SEARCH$path" "$@"
}

pg_dumpall --roles-only --dbname="$DATABASE" --file="$folder/$name.roles.sql"
pg_dump --format=custom --dbname="$DATABASE" --file="$folder/$name.unfinished"
mv "$folder/$name.unfinished" "$folder/$name.dump"

search /_snapshot/linkmend --request PUT --output /dev/null \
    --data "{\"type\": \"fs\", \"settings\": {\"location\": \"${SEARCH_REPOSITORY:-/backup}\"}}"
told=$(search "/_snapshot/linkmend/$name?wait_for_completion=true" --request PUT \
    --data '{"indices": "linkmend-*", "include_global_state": false}')
case $told in
*'"state":"SUCCESS"'*) ;;
*) echo "OpenSearch: the snapshot failed: $told" >&2 && exit 1 ;;
esac

# Only now, when there is a newer one.
search '/_cat/snapshots/linkmend?h=id&s=id' | head --lines="-$keep" | while read -r old; do
    search "/_snapshot/linkmend/$old" --request DELETE --output /dev/null
    rm -f "$folder/$old.dump" "$folder/$old.roles.sql"
done
echo "$name"
