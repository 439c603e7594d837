#!/bin/sh
# Installs linkmend into .venv, loads the demo collection and runs the proxy on 127.0.0.1 until Ctrl-C.
#   sh deploy/try.sh [PORT]
set -eu
cd "$(dirname "$0")/.."
. deploy/environment.sh
make_environment .

port=${1:-8080}
data=${DEMO_DATA:-.venv/demo-data}
.venv/bin/linkmend import --data "$data" deploy/demo
cat >&2 <<TEXT

  Point a browser's HTTP proxy at 127.0.0.1:$port and open http://library.school.test/
  or, in another terminal, follow a dead link of the demo (see deploy/demo/README.md):

    curl -x http://127.0.0.1:$port -H 'Accept: application/json' http://oldlibrary.school.test/hours.html

TEXT
# The demo's sites do not exist, so do not ask web archives about them.
exec env LINKMEND_ARCHIVES_ENABLED=false .venv/bin/linkmend serve --data "$data" --listen "127.0.0.1:$port"
