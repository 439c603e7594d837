# The commands of every day, as `just NAME`; without just, the line below the name. Arguments go to the program.

# What there is
default:
    @just --list

# The proxy on port 8080, with its data in .data
run *arguments:
    .venv/bin/linkmend serve --data .data --listen 127.0.0.1:8080 {{arguments}}

# Install what the tests need, and run them all: what CI runs
test *arguments:
    sh tests/run.sh {{arguments}}

# Unit tests that start no process and train no model, with fewer random examples: for while you write
test-fast *arguments:
    .venv/bin/python -m pytest tests/unit -q -n auto --dist worksteal -m 'not slow' --hypothesis-profile fast {{arguments}}

# Format, lint, types, and imports that point one way
lint:
    .venv/bin/ruff format --check .
    .venv/bin/ruff check .
    .venv/bin/mypy
    .venv/bin/lint-imports

# Put right what can be put right by itself
format:
    .venv/bin/ruff check --fix .
    .venv/bin/ruff format .

# The share of lines that unit tests run; on Python 3.12 and newer COVERAGE_CORE=sysmon makes it much faster
coverage *arguments:
    .venv/bin/python -m pytest tests/unit -q -n auto --dist loadfile --cov --cov-report=term:skip-covered {{arguments}}

# How fast it is beside a bare mitmdump and Squid; docs/performance.md tells of the others
bench *arguments:
    .venv/bin/python -m benchmarks.speed {{arguments}}

# Whether links, commands, settings and paths in the documentation are there
docs:
    .venv/bin/python -m pytest -q tests/unit/test_docs.py

# The lock file of deployments anew, with the newest versions that pyproject.toml allows; needs uv
lock *arguments:
    sh deploy/lock.sh {{arguments}}
