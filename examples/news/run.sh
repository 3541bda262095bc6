#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# News: an article among different advertisements under stop word shingles, words and characters; and pages at six thresholds by three kinds
# of candidates, timed.
#
#   run.sh [PAGES]    that are compared at each threshold (600)
. "$(dirname "$0")/../frame.sh"
need_python
pages=${1:-600}
[ "$pages" = 600 ] || stand_in "$pages pages"
PYTHONPATH=$examples "$python" "$here/news.py" "$bandmill" "$scratch" "$pages"
numbers < "$scratch/numbers"
[ -n "${EXAMPLES_TABLE:-}" ] || cat "$scratch/times"
