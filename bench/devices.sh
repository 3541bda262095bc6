#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# devices.sh BANDMILL ISA OUT.json -- `bandmill bench` on one core with this native instruction set (and the OpenCL devices that are
# here, for the best one), with machine, command and commit.
set -eu
[ $# -eq 3 ] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
exec python3 "$(dirname "$0")/devices.py" "$@"
