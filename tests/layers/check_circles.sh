#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_circles.sh ROOT PARTS -- no circle of units, within a room or between rooms, by include and by symbol (edges.sh); prints each circle
# with what ties it, exit 1 if there is any.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
edges=$(mktemp)
trap 'rm -f "$edges"' EXIT
sh "$here/edges.sh" "$1" "$2" > "$edges"
LC_ALL=C sort -u "$edges" | awk -f "$here/circles.awk"
