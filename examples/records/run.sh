#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two lists of people: pairs that agree in a field, their scores, the share of wrong ones estimated from a date that no score looked at, and
# the matches.
#
#   run.sh                                    3,000 households that are made up, and FEBRL's dataset 1 where it is at hand
#   run.sh [-o MATCHES] HOUSEHOLDS            so many households
#   run.sh [-o MATCHES] FEBRL                 a file of FEBRL's records: originals and copies (.csv as FEBRL writes it)
#   run.sh [-o MATCHES] [-c COLUMNS] [-t TRUTH] A B    any two tables with a header, of commas or (.tsv) tabs
#
# MATCHES is written: id_a, id_b, points. COLUMNS says what is what (README.md); TRUTH has an id of each list a line.
. "$(dirname "$0")/../frame.sh"
need_python

# link ARGUMENTS
link() {
    PYTHONPATH=$examples:$here "$python" "$here/records.py" "$bandmill" "$scratch" "$@" > "$scratch/numbers" || status=$?
    numbers < "$scratch/numbers"
}

status=0
if [ $# != 0 ]; then
    stand_in "$*"
    link "$@"
    exit "$status"
fi
link 3000
if febrl=$(shared_data febrl_dataset1/docs.tsv); then
    link "$febrl"
else
    stand_in 'without the records of FEBRL'
fi
exit "$status"
