# Sourced by deploy/try.sh and tests/run.sh: creates the virtual environment .venv and installs linkmend into it.
# Needs only Python 3.11 or newer, and says what is missing.

say() { printf '%s\n' "linkmend: $*" >&2; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo -n "$@"
    else return 1
    fi
}

apt_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null 2>&1
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

find_python() {
    for name in python3 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

# make_environment WHAT: WHAT is what pip installs, such as . or '.[test]'
make_environment() {
    PYTHON=$(find_python) || { apt_install python3 python3-venv && PYTHON=$(find_python); } || {
        say "needs Python 3.11 or newer (on Debian or Ubuntu: apt install python3 python3-venv)"
        exit 1
    }
    if [ ! -x .venv/bin/pip ]; then
        say "creating the virtual environment .venv with $("$PYTHON" --version)"
        if ! "$PYTHON" -m venv .venv 2>/dev/null; then
            rm -rf .venv
            apt_install python3-venv && "$PYTHON" -m venv .venv || {
                say "this Python cannot create virtual environments (on Debian or Ubuntu: apt install python3-venv)"
                exit 1
            }
        fi
    fi
    say "installing $1 and its dependencies (the first time takes a minute or two)"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable "$1" || {
        say "installation failed; see the lines above"
        exit 1
    }
}
