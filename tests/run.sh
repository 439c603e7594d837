#!/bin/sh
# Installs what the tests need and runs them all: format, lint, types, unit and integration tests.
#   sh tests/run.sh [PYTEST ARGUMENTS]
set -eu
cd "$(dirname "$0")/.."
. deploy/environment.sh

missing=
command -v squid >/dev/null 2>&1 || [ -x /usr/sbin/squid ] || missing="$missing squid-openssl"
command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
command -v firefox-esr >/dev/null 2>&1 || command -v firefox >/dev/null 2>&1 || missing="$missing firefox-esr"
command -v certutil >/dev/null 2>&1 || missing="$missing libnss3-tools"
command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
command -v curl >/dev/null 2>&1 || missing="$missing curl"
command -v wget >/dev/null 2>&1 || missing="$missing wget"
command -v lintian >/dev/null 2>&1 || missing="$missing lintian"
/usr/bin/python3 -c 'import ensurepip' >/dev/null 2>&1 || missing="$missing python3-venv"
ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || missing="$missing libfaketime"
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
command -v java >/dev/null 2>&1 || missing="$missing openjdk-17-jre-headless"
command -v mvn >/dev/null 2>&1 || missing="$missing maven"
command -v haproxy >/dev/null 2>&1 || [ -x /usr/sbin/haproxy ] || missing="$missing haproxy"
command -v node >/dev/null 2>&1 || missing="$missing nodejs"
if [ -n "$missing" ]; then
    say "installing Debian packages:$missing"
    apt_install $missing || say "cannot install$missing without root or sudo; the tests that need them will be skipped"
fi
make_environment '.[test]'
# pywb, a real archive: it pins packages that cannot live beside ours (brotlipy), so it has an environment of its own.
if [ ! -x .pywb/bin/wayback ]; then
    say "installing pywb into .pywb"
    { "$PYTHON" -m venv .pywb && .pywb/bin/python -m pip install --quiet --disable-pip-version-check \
        'setuptools<81' 'pywb>=2.8,<3'; } || say "cannot install pywb; the tests that need it will be skipped"
fi

strict=
[ "${CI:-}" = true ] && strict=--require-real
PATH="$PATH:/usr/sbin"
export PATH
# The tests start linkmend hundreds of times: its modules are compiled once, also where the environment says otherwise.
unset PYTHONDONTWRITEBYTECODE
.venv/bin/ruff format --check .
.venv/bin/ruff check .
.venv/bin/mypy
# In the order of the folders: those that run for minutes first, thousands of short ones last, so that all cores end
# together.
exec .venv/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder $strict "$@"
