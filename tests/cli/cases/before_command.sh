# SPDX-License-Identifier: Apache-2.0
# Options before the command, with their values; and errors for the names that other tools give to our options.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"one two three four five six"}\n' > a.jsonl
bm dedup a.jsonl -o plain; exits 0
[ -s ../err ] || fail "nothing was said"

bm -q dedup a.jsonl -o quiet; exits 0; silent ../err
bm --threads 4 dedup a.jsonl -o four; exits 0; says four/report.json '"threads": 4'
bm --threads=3 -qo three dedup a.jsonl; exits 0; says three/report.json '"threads": 3'; silent ../err
bm -o last -q --keep last -v dedup a.jsonl; refused 2 '--quiet with --verbose'
bm -o last --keep last dedup a.jsonl; exits 0; says last/removed.tsv '^a	b	'
bm --json dedup a.jsonl -o json; exits 0; says ../out '"kind": "dedup"'
for dir in quiet four three json; do holds "$dir/groups.jsonl" < plain/groups.jsonl; done

bm -h dedup; exits 0; says ../out '^Usage: bandmill dedup'
bm --json --version; exits 0; says ../out '^\{"schema":1,"version":'
bm -q --version; exits 0; says ../out '^bandmill [0-9]'
bm -q --help; exits 0; says ../out '^Usage: bandmill COMMAND'
bm help --version; exits 0; says ../out '^bandmill [0-9]'
bm --threads 4; refused 2 'no command'
bm --threads dedup a.jsonl -o out; refused 2 'unknown command "a.jsonl"'
bm --threads four dedup a.jsonl -o out; refused 2 '--threads: unusable value "four"'
bm --group 4 dedup a.jsonl -o out; refused 2 '--group is an option of explain, not of dedup'
bm --nothing 4 dedup a.jsonl -o out; refused 2 'unknown option --nothing'
bm -q dedpu a.jsonl -o out; refused 2 'unknown command "dedpu" \(did you mean dedup\?\)'
bm -- dedup a.jsonl -o out; refused 2 'no command'
bm - dedup; refused 2 'unknown command "-"'

while read -r word ours; do
    bm dedup a.jsonl -o out "$word" 128; refused 2 "unknown option $word \(here it is $ours"
    bm "$word=128" dedup a.jsonl -o out; refused 2 "unknown option $word \(here it is $ours"
done << 'EOF'
--num-perm --perms
--num_perm --perms
--Num-Perm --perms
--ngram --shingle word:N
--ngram-size --shingle word:N
--ngram_size --shingle word:N
--column --text-field
--output-dir -o
--output_dir -o
--jaccard --threshold
--similarity --threshold
--num-bands --bands
--workers --threads
--num-proc --threads
--num_proc --threads
--jobs --threads
--id-column --id-field
--overwrite --force
--input a path without an option
EOF
bm dedup a.jsonl -o out -j 4; refused 2 'unknown option -j \(here it is --threads N\)'
bm pairs a.jsonl --num-perm=64 --json; exits 2; says ../err '"message":"unknown option --num-perm \(here it is --perms K\)"'
bm inspect plain --num-perm 64; refused 2 'unknown option --num-perm \(bandmill help inspect' # no permutations to choose there
absent out
