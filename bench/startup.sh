#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# startup.sh BANDMILL OUT.json -- how long the shortest commands take: --version, and sign of one short file on the CPU and on the
# first OpenCL device with a warm cache. Whole process, median of 20.
set -eu
[ $# -eq 2 ] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
exec python3 "$(dirname "$0")/startup.py" "$@"
