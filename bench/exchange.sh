#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exchange.sh BANDMILL OUT.json -- how fast are `export` and `import` of each form, beside `cp` of the same signatures? 200,000 of 128 words
# (102 MB), in memory; whole process, median of 5.
set -eu
[ $# -eq 2 ] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
exec python3 "$(dirname "$0")/exchange.py" "$@"
