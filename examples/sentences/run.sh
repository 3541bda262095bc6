#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Five sentences and three edits of each: which edits does each sentence find?
#
#   run.sh [QUERIES TARGETS]    files of a sentence a line; target t belongs to query t modulo the number of queries
. "$(dirname "$0")/../frame.sh"
need_python

# ask NAME QUERIES TARGETS
ask() {
    PYTHONPATH=$examples "$python" "$here/sentences.py" "$bandmill" "$scratch" "$@" > "$scratch/numbers"
    numbers < "$scratch/numbers"
}

if [ $# = 2 ]; then
    stand_in "sentences of yours"
    ask "$1" "$1" "$2"
    exit
fi
if study=$(shared_data study_case); then
    ask 'the study case' "$study/queries.txt" "$study/targets.txt"
else
    stand_in 'without the sentences of the study case'
fi
ask 'sentences of ours' "$here/queries.txt" "$here/targets.txt"
