# SPDX-License-Identifier: Apache-2.0
# index: the words of the command line, and refusals with exit 2 and one line.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"a","text":"one two three four five six"}\n' > a.jsonl
printf '{"id":"b","text":"seven eight nine ten eleven"}\n' > b.jsonl
bm index; refused 2 'index without a command \(expected build, add, remove, info, check or compact\)'
bm index --help; exits 0; says ../out '^  index build +make an index'
bm help index; exits 0; says ../out '^  index compact +'
bm help; says ../out '^  index add +add documents'
for command in build add remove info check compact; do
    bm help index "$command"; exits 0; says ../out "^Usage: bandmill index $command \[options\] INDEX"; silent ../err
    bm index "$command" --help; exits 0; says ../out "^Usage: bandmill index $command"
    bm index "$command"; refused 2 'no index \(expected its directory\)'
    [ "$command" = build ] || { bm index "$command" nowhere a.jsonl --ids x 2> /dev/null; [ "$rc" != 0 ] || fail "no index is there"; }
done
bm help index build add; refused 2 'help takes one command'
bm index buld x; refused 2 'unknown command "index buld" \(did you mean index build\?\)'
bm index build idx; refused 2 'no input'
bm -q index --threads 1 build idx a.jsonl; exits 0; silent ../err
bm index add idx; refused 2 'no input'
bm index remove idx; refused 2 'no ids \(expected some after the index, or --ids FILE\)'
for command in info check compact; do
    bm index "$command" idx more; refused 2 "index $command takes one index"
    bm index "$command" nowhere; refused 4 'nowhere: cannot open the index'
    bm index "$command" a.jsonl; refused 7 'a.jsonl: is not an index'
done
bm index add a.jsonl b.jsonl; refused 7 'a.jsonl: is not an index'
bm index remove nowhere x; refused 4 'nowhere: '
bm index add idx b.jsonl --force; refused 2 '--force is an option of .*, not of index add'
bm index add idx b.jsonl --recall .9; refused 2 '--recall is an option of '
bm index build idx b.jsonl --unique; refused 2 '--unique is an option of index add, not of index build'
bm index add idx b.jsonl --follow; refused 2 '--follow without --unique'
bm index add idx b.jsonl --unique --follow; refused 2 '--follow reads standard input alone'
bm index add idx --unique --follow --resume < /dev/null; refused 2 '--resume needs inputs that can be read again'
bm index add idx b.jsonl --threshold .9; refused 2 '--threshold without --unique'
bm index add idx - --resume < b.jsonl; refused 2 '--resume needs inputs that can be read again'
bm index build new a.jsonl --duplicate-ids maybe; refused 2 '--duplicate-ids: .*error.*number.*skip.*replace'
bm dedup a.jsonl -o out --duplicate-ids skip; refused 2 '--duplicate-ids: '
bm index build new a.jsonl --store keys; refused 2 '--store: '

# options that contradict the fixed settings of an index
while read -r options; do
    # shellcheck disable=SC2086 # words
    bm index add idx b.jsonl $options
    refused 2 "${options%% *} ${options##* } contradicts the index idx \(.*\)"
done <<'END'
--shingle char:5
--normalize none
--words space
--short skip
--scheme oph
--seed 2
--perms 64
END
bm index add idx b.jsonl --bands 2 --rows 3; refused 2 '--bands 2 contradicts the index idx \(13\)'
bm index add idx b.jsonl --bands 13 --rows 3; refused 2 '--rows 3 contradicts the index idx \(7\)'
bm index add idx b.jsonl --seed 1 --shingle word:5 --perms 128 --bands 13 --rows 7 -q; exits 0
bm index build other a.jsonl --seed 5 --normalize none -q; exits 0
bm index add other b.jsonl --seed 1; refused 2 '--seed 1 contradicts the index other \(5\)'
bm index add other b.jsonl --normalize lower; refused 2 '--normalize lower contradicts the index other \(none\)'
bm index add other b.jsonl -q; exits 0
bm index check other --json; exits 0
# an index is no input of other commands, nor its own
bm index add idx idx; refused 2 'idx: the output is the input idx'
bm index add idx a.jsonl --report idx/data.mdb; [ "$rc" = 2 ] || fail "a report in place of the index"
bm index check idx; exits 0
