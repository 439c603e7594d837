#!/bin/sh
# Regenerates deploy/requirements.lock: the newest versions that pyproject.toml allows, each with the hashes of its files.
# Needs uv. Arguments go to uv, such as --constraint tested.txt (the output of `pip freeze` in a tested environment)
# or --upgrade-package NAME.
#   sh deploy/lock.sh [UV ARGUMENTS]
set -eu
cd "$(dirname "$0")/.."
lock=deploy/requirements.lock
{
    echo "# All packages of a deployment on Python 3.11 and Linux, and those that build linkmend itself. Made by deploy/lock.sh."
    echo "#   pip install --require-hashes -r deploy/requirements.lock && pip install --no-deps --no-build-isolation ."
    echo 'hatchling>=1.24' | uv pip compile pyproject.toml - --extra zim --extra district --generate-hashes --python-version 3.11 --python-platform linux \
        --no-header --no-annotate --no-emit-index-url --quiet "$@"
} >"$lock.new"
mv "$lock.new" "$lock"
