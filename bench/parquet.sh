#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# parquet.sh BANDMILL DOCUMENTS.jsonl OUT.json -- what does `dedup` of Parquet (zstd) take, beside `dedup` of the same documents as
# JSON Lines, with one thread and with two? Whole process, median of 7.
set -eu
[ $# -eq 3 ] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
exec "${BANDMILL_PYTHON:-python3}" "$(dirname "$0")/parquet.py" "$@"
