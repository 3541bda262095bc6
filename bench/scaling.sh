#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scaling.sh BANDMILL PLANTED OUT.json [DOCUMENTS] -- the time per document of `dedup` at 1, 2, 4 and 8 times DOCUMENTS (100,000).
set -eu
[ $# -ge 3 ] || { sed -n '3s/^# //p' "$0" >&2; exit 2; }
exec python3 "$(dirname "$0")/scaling.py" "$@"
