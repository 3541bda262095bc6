#!/bin/sh
# Two lists of people: pairs that agree in a field, their scores, and the share of wrong ones estimated from a date that no score looked at.
#
#   run.sh [HOUSEHOLDS|FEBRL.tsv]    so many households that are made up (3,000), or a table of FEBRL's records instead
. "$(dirname "$0")/../frame.sh"
need_python

# link DATA
link() {
    PYTHONPATH=$examples:$here "$python" "$here/records.py" "$bandmill" "$scratch" "$1" > "$scratch/numbers" || status=$?
    numbers < "$scratch/numbers"
}

status=0
if [ $# = 1 ]; then
    case $1 in
    *[!0-9]*) stand_in "$1" ;;
    *) stand_in "$1 households" ;;
    esac
    link "$1"
    exit "$status"
fi
link 3000
if febrl=$(shared_data febrl_dataset1/docs.tsv); then
    link "$febrl"
else
    stand_in 'without the records of FEBRL'
fi
exit "$status"
