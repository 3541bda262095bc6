#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_records.sh EXAMPLES -- examples/records over tables that it was not made on: two files with columns of other names, with and without the
# truth; dates that say nothing; a column that is not there. Expected values follow from how the tables are made.
set -eu
run=$1/records/run.sh
python=${BANDMILL_PYTHON:-python3}
command -v "$python" > /dev/null || { echo "skipped: no Python ($python)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0

# 300 people of both lists, without errors but in every tenth number; 200 of each list alone, of whom 100 share a town and nothing else.
"$python" - << 'END'
import random
rng = random.Random(5)
word = lambda: "".join(rng.choice("bcdfglmnprst") + rng.choice("aeiou") for _ in range(4))
day = lambda: f"{rng.randrange(1920, 2000)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
number = lambda: str(rng.randrange(10**7, 10**8))
both = [(word(), word(), f"{rng.randrange(1, 200)} {word()} road", number(), day()) for _ in range(300)]
alone = [[(word(), word(), f"{rng.randrange(1, 200)} {word()} road", number(), day()) for _ in range(200)] for _ in range(2)]
towns = [word() for _ in range(20)]
with open("truth.csv", "w") as file:
    file.writelines(f"a{i},b{i}\n" for i in range(300))
for letter, others in zip("ab", alone):
    for name, dates in ((letter, True), (letter + "-same", False)):
        with open(name + ".csv", "w") as file:
            file.write("key,first,last,street,town,phone,born\n")
            for i, (first, last, street, phone, born) in enumerate(both + others):
                if letter == "b" and i < 300 and i % 10 == 0:
                    phone = phone[::-1]
                town = towns[i % 20] if i < 400 else ""
                file.write(f"{letter}{i},{first},{last},{street},{town},{phone},{born if dates else '1950-01-01'}\n")
END
columns='id=key name=first,last address=street number=phone date=born key=last key=town key=phone'

# runs CLAIM STATUS ARGUMENTS...
runs() {
    claim=$1 want=$2
    shift 2
    status=0
    sh "$run" "$@" > said 2>&1 || status=$?
    [ "$status" = "$want" ] || { echo "FAILED: $claim: ended with $status (expected $want)"; cat said; failed=1; }
}

# says CLAIM PATTERN
says() {
    grep -q -e "$2" said || { echo "FAILED: $1: does not say $2"; cat said; failed=1; }
}

runs 'two tables with the truth' 0 -o matches.tsv -c "$columns" -t truth.csv a.csv b.csv
says 'its precision' 'precision of the matches *1\.000'
says 'its recall' 'recall of the matches, of 300 pairs of one person *1\.000'
[ "$(head -n 1 matches.tsv)" = "$(printf 'id_a\tid_b\tpoints\tright')" ] || { echo "FAILED: another header"; failed=1; }
[ "$(grep -c 'yes$' matches.tsv)" = 300 ] || { echo "FAILED: not 300 matches"; failed=1; }

runs 'two tables without the truth' 0 -o unknown.tsv -c "$columns" a.csv b.csv
! grep -q 'truth\|precision' said || { echo "FAILED: a truth that nobody knows"; failed=1; }
[ "$(cut -f 1,2 unknown.tsv)" = "$(cut -f 1,2 matches.tsv)" ] || { echo "FAILED: other matches without the truth"; failed=1; }

runs 'dates that say nothing' 0 -o same.tsv -c "$columns" -t truth.csv a-same.csv b-same.csv
says 'that there is no estimate' 'no estimate'
[ "$(grep -c 'yes$' same.tsv)" -ge 270 ] || { echo "FAILED: no matches without an estimate"; failed=1; }

runs 'a column that is not there' 1 -c 'id=key name=nobody address=street number=phone date=born key=last' a.csv b.csv
says 'its name' 'a.csv has no column nobody'
exit $failed
