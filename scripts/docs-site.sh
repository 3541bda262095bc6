#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs-site.sh [-o DIR] [BANDMILL] -- the documentation as a site with search, in DIR (default build/site, which is replaced): open its
# index.html, no server or network is needed. BANDMILL (default build/release/bandmill) says what its options are. mkdocs is installed into
# build/site-venv; 77 where that is not possible.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source=$root/packaging/site venv=$root/build/site-venv out=$root/build/site
while (($# > 0)); do
    case $1 in
    -o)
        out=${2:?docs-site.sh: -o needs a directory}
        shift
        ;;
    -*)
        sed -n '3,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        [[ $1 == -h || $1 == --help ]] && exit 0
        exit 2
        ;;
    *) bandmill=$1 ;;
    esac
    shift
done
bandmill=${bandmill:-$root/build/release/bandmill}
[[ -x $bandmill ]] || {
    echo "docs-site.sh: there is no program at $bandmill (scripts/build.sh --preset release builds it)" >&2
    exit 2
}
if ! cmp -s "$source/requirements.txt" "$venv/requirements.txt"; then
    if ! python3 -m venv "$venv" || ! "$venv/bin/pip" install -q --disable-pip-version-check -r "$source/requirements.txt"; then
        echo "docs-site.sh: mkdocs could not be installed into $venv" >&2
        exit 77
    fi
    cp "$source/requirements.txt" "$venv/"
fi
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$venv/bin/python" "$source/stage.py" "$bandmill" "$pages"
mkdir -p "$out"
NO_MKDOCS_2_WARNING=1 SITE_PAGES=$pages SITE_OUT=$(cd "$out" && pwd) "$venv/bin/mkdocs" build --strict -f "$source/mkdocs.yml"
