#!/bin/sh
# Builds linkmend_VERSION_ARCH.deb for this release of Debian (or Ubuntu), with all Python packages inside.
#   sh deploy/debian/build.sh [FOLDER]      (default: dist)
# The package brings its own virtual environment in /usr/lib/linkmend, made here from deploy/requirements.lock, with every
# file checked against its hash: installing it needs no network, and no other package's Python modules can get in the way.
# So it fits the architecture and the Python (3.11 in Debian 12) that it was built on. Needs python3-venv and dpkg-dev.
# DEBFULLNAME and DEBEMAIL name who made it, REVISION=2 a second build of the same version; COMPRESSION=gzip is faster.
# PACKAGES=FOLDER (for tests) refers to packages installed elsewhere instead of bringing them along.
set -eu
umask 022
cd "$(dirname "$0")/../.."
here=deploy/debian
out=${1:-dist}
python=${PYTHON:-/usr/bin/python3}
upstream=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
version=$upstream-${REVISION:-1}
maintainer="${DEBFULLNAME:-linkmend maintainers} <${DEBEMAIL:-linkmend@localhost.localdomain}>"
arch=$(dpkg --print-architecture)
minor=$("$python" -c 'import sys; print(sys.version_info.minor)')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage
home=$stage/usr/lib/linkmend
site=$home/lib/python3.$minor/site-packages

# The environment. A second one has pip: what is installed need not.
"$python" -m venv "$work/tools"
"$python" -m venv --without-pip --symlinks "$home"
pip() { "$work/tools/bin/pip" --quiet --disable-pip-version-check --no-input --no-cache-dir --python "$home/bin/python3" "$@"; }
if [ -n "${PACKAGES:-}" ]; then
    echo "$PACKAGES" >"$site/elsewhere.pth"
else
    pip install --no-compile --require-hashes -r deploy/requirements.lock
fi
pip install --no-compile --no-deps --no-build-isolation .
# Of all programs only linkmend is wanted, and the paths of this machine must not stay.
find "$home/bin" -mindepth 1 ! -name 'python*' ! -name linkmend -delete
sed -i "1s|.*|#!/usr/lib/linkmend/bin/python3|" "$home/bin/linkmend"
sed -i '/^command = /d' "$home/pyvenv.cfg"
rm -rf "$home/include" "$home/lib64"
find "$stage" -name __pycache__ -prune -exec rm -rf {} +
find "$site" \( -name '*.so' -o -name '*.so.*' \) -exec chmod 644 {} +
run() { "$home/bin/python3" -B "$@"; }

# What belongs to the system.
install -d "$stage/usr/bin" "$stage/etc/linkmend/rules.d" "$stage/etc/logrotate.d" "$stage/lib/systemd/system" \
    "$stage/usr/share/doc/linkmend" "$stage/usr/share/man/man1" "$stage/usr/share/lintian/overrides" "$stage/DEBIAN"
ln -s ../lib/linkmend/bin/linkmend "$stage/usr/bin/linkmend"
run -c 'import sys; from proxy.setup.settingsfile import settings_text; print(settings_text(sys.stdin.read(), {}), end="")' \
    <deploy/linkmend.toml >"$stage/etc/linkmend/linkmend.toml"
install -m 644 deploy/logrotate/linkmend "$stage/etc/logrotate.d/linkmend"
for unit in linkmend.service linkmend-train.service linkmend-train.timer; do
    # The bytecode is compiled when the package is installed.
    sed -e 's|/opt/linkmend/bin/linkmend|/usr/bin/linkmend|' -e '/PYTHONPYCACHEPREFIX/d' -e '/^# pip installs no bytecode/d' \
        -e '/^# Copy to/d' -e '/^# Copy both/d' -e 's|^# /opt/linkmend, a user.*||' \
        "deploy/$unit" >"$stage/lib/systemd/system/$unit"
done
install -m 644 "$here/copyright" README.md docs/*.md "$stage/usr/share/doc/linkmend/"
gzip -9nc CHANGELOG.md >"$stage/usr/share/doc/linkmend/changelog.gz"
released=$(sed -n "s/^## \[$upstream\] - //p" CHANGELOG.md)
printf 'linkmend (%s) unstable; urgency=medium\n\n  * Release %s; changelog.gz says what is new.\n\n -- %s  %s\n' \
    "$version" "$upstream" "$maintainer" "$(LC_ALL=C date -u -d "$released" '+%a, %d %b %Y %T +0000')" \
    | gzip -9n >"$stage/usr/share/doc/linkmend/changelog.Debian.gz"
run "$here/manpage.py" "$upstream" | gzip -9n >"$stage/usr/share/man/man1/linkmend.1.gz"
install -m 644 "$here/lintian-overrides" "$stage/usr/share/lintian/overrides/linkmend"

# What dpkg needs. From here on the environment's Python is the one that will be beside it.
ln -sf ../../../bin/python3 "$home/bin/python3"
size=$(du -sk --exclude=DEBIAN "$stage" | cut -f1)
sed -e "s/@VERSION@/$version/" -e "s/@MAINTAINER@/$maintainer/" -e "s/@ARCH@/$arch/" -e "s/@SIZE@/$size/" -e "s/@MINOR@/$minor/" -e "s/@NEXT@/$((minor + 1))/" \
    "$here/control" >"$stage/DEBIAN/control"
printf '%s\n' /etc/linkmend/linkmend.toml /etc/logrotate.d/linkmend >"$stage/DEBIAN/conffiles"
install -m 755 "$here/postinst" "$here/prerm" "$here/postrm" "$stage/DEBIAN/"
(cd "$stage" && find . -type f ! -path './DEBIAN/*' ! -path './etc/*' -printf '%P\0' | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
mkdir -p "$out"
dpkg-deb --root-owner-group -Z"${COMPRESSION:-xz}" ${PACKAGES:+-z1} --build "$stage" "$out/linkmend_${version}_$arch.deb"
