#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wheel.sh BUILD -- the source distribution has every file that a build needs, and no links; a wheel of it, with the module that stands in
# BUILD/python/bandmill, is installed into an empty environment, with no index, and tried there (scripts/try-wheel.py): the command, the
# examples of the README. scripts/build-wheel.sh builds wheels that are whole, and tries them in bare systems. 77: skipped, as run.sh says.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${BANDMILL_PYTHON:-$root/.venv/bin/python} module=$1/python/bandmill/_native.abi3.so
if [ ! -e "$module" ] || ! "$python" -c 'import scikit_build_core' 2> /dev/null; then
    echo "skipped: no $module, or no scikit-build-core (cmake -DBM_PYTHON=ON; scripts/install-deps.sh --tests)"
    [ "${BANDMILL_REQUIRE_PYTHON:-0}" = 1 ] && exit 1
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
made() { (cd "$1" && "$python" -c "import sys; from scikit_build_core import build as b; b.build_$2(sys.argv[1], $3)" "$work" > "$work/log" 2>&1) || { cat "$work/log"; exit 1; }; }

made "$root/python" sdist None
mkdir "$work/source"
tar -xzf "$work"/bandmill-*.tar.gz -C "$work/source" --strip-components 1
[ -z "$(find "$work/source" -type l)" ] || { echo "links in the source distribution:"; find "$work/source" -type l; exit 1; }
cd "$root"
find CMakeLists.txt LICENSE LICENSES cmake include kernels src python/bandmill python/tools python/CMakeLists.txt python/pages.cmake packaging/man -type f ! -path '*__pycache__*' \
    | sed 's,^python/,,; t; s,^,core/,' | LC_ALL=C sort > "$work/wanted"
(cd "$work/source" && find . -type f) | sed 's,^\./,,' | LC_ALL=C sort > "$work/there"
LC_ALL=C comm -23 "$work/wanted" "$work/there" > "$work/missing"
[ ! -s "$work/missing" ] || { echo "not in the source distribution:"; cat "$work/missing"; exit 1; }

# As CMake makes it, but for the module, which is there.
cp "$module" "$work/source/bandmill/"
printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(stub NONE)' 'set(core "${CMAKE_CURRENT_SOURCE_DIR}/core")' 'include(pages.cmake)' \
    > "$work/source/CMakeLists.txt"
made "$work/source" wheel "{'wheel.platlib': 'true', 'wheel.py-api': 'cp39'}"
echo 'Licence of another' > "$work/licence-another.txt"
"$python" "$root/scripts/wheel-licences.py" "$work"/bandmill-*.whl 'MIT AND Zlib' "$work/licence-another.txt"
"$python" -m venv --without-pip "$work/venv"
"$python" -m pip --disable-pip-version-check --python "$work/venv/bin/python" install --quiet --no-index --no-deps "$work"/bandmill-*.whl
# The pages and completions lie where the shells and man look for them, and are those of the project.
while read -r from to; do
    cmp "$root/packaging/$from" "$work/venv/share/$to"
done << 'END'
completions/bandmill.bash bash-completion/completions/bandmill
completions/bandmill.fish fish/vendor_completions.d/bandmill.fish
completions/_bandmill zsh/site-functions/_bandmill
END
for page in "$root"/packaging/man/*.[15]; do cmp "$page" "$work/venv/share/man/man${page##*.}/${page##*/}"; done
[ -z "$(find "$work/venv/share/man" -name '*.3')" ]
# What it needs of others is that of the tests' own environment.
"$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/others.pth"
cd "$work"
"$work/venv/bin/python" "$root/scripts/try-wheel.py" "$root/python/README.md"
"$work/venv/bin/python" - <<'END'
from importlib.metadata import files, metadata, requires

about = metadata("bandmill")
assert about.get_all("Provides-Extra") and "parquet" in about.get_all("Provides-Extra"), about
assert any(r.startswith("pyarrow") and "parquet" in r for r in requires("bandmill")), requires("bandmill")
# Of what is compiled in, and of what a wheel carries (scripts/wheel-licences.py).
assert about["License-Expression"] == "Apache-2.0 AND BSD-2-Clause AND Unicode-3.0 AND MIT AND Zlib", about["License-Expression"]
named = sorted(name.rpartition("/")[2] for name in about.get_all("License-File"))
assert named == ["BSD-2-Clause.txt", "LICENSE", "Unicode-3.0.txt", "licence-another.txt"], named
there = {str(f).rpartition("/")[2]: f.locate().read_text("utf-8") for f in files("bandmill") if ".dist-info/licenses/" in str(f)}
assert sorted(there) == named and "Yann Collet" in there["BSD-2-Clause.txt"] and "Licence of another" in there["licence-another.txt"], there
assert about["Requires-Python"] == ">=3.9", about["Requires-Python"]
END
