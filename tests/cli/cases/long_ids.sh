# SPDX-License-Identifier: Apache-2.0
# long_ids: an id of 15 MiB comes back from every file that is written and through every command that reads it; one byte more is a bad
# record, in every format. (That rows of such ids fit where every byte is escaped is asserted in result_tables.c.)
# shellcheck shell=sh disable=SC2034,SC2154
most=15728640
repeat() { head -c "$2" /dev/zero | tr '\0' "$1"; } # CHARACTER N
one='one two three four five six seven eight nine ten'
{ # ids that differ in their first byte
    for first in a b; do printf '{"id":"%s' $first; repeat x $((most - 1)); printf '","text":"%s"}\n' "$one"; done
    printf '{"id":"c","text":"%s eleven"}\n' "$one"
} > in.jsonl

bm dedup in.jsonl --threshold 0.6 --pairs -o out; exits 0
[ "$(wc -c < out/removed.tsv)" -gt $((most * 3)) ] || fail "ids are missing in removed.tsv"
bm inspect out out/pairs.tsv out/groups.jsonl; exits 0
bm cluster out/pairs.tsv -o groups.jsonl; exits 0
bm filter out -o kept; exits 0
cmp -s out/kept.jsonl kept/kept.jsonl || fail "filter keeps another document"
[ "${BANDMILL_TEST_SIZE:-normal}" = small ] || { bm explain out --group 1; exits 0; }
bm sign in.jsonl -o signed; exits 0
bm dedup signed --threshold 0.6 -o from_signatures; exits 0
cmp -s out/groups.jsonl from_signatures/groups.jsonl || fail "groups differ"
rm -r out signed from_signatures groups.jsonl kept

repeat x $((most + 1)) > id
{ printf '{"id":"'; cat id; printf '","text":"a"}\n{"id":"b","text":"b"}\n'; } > long.jsonl
{ printf '['; head -n 1 long.jsonl; printf ',{"id":"b","text":"b"}]'; } > long.json
{ printf 'id\ttext\n'; cat id; printf '\ta\nb\tb\n'; } > long.tsv
{ printf 'id,text\n"'; cat id; printf '",a\nb,b\n'; } > long.csv
inputs='long.jsonl long.json long.tsv long.csv'
[ "${BANDMILL_TEST_SIZE:-normal}" != small ] || inputs='long.jsonl long.csv'
for input in $inputs; do
    bm dedup $input -o out; refused 3 "$input:[12]: the id has 15728641 bytes \(at most 15728640; --on-error skip uses the other records\)"; absent out
    bm dedup $input --on-error skip -o out; exits 0
    says out/skipped.tsv "^$input	[12]	the id has 15728641 bytes"
    bm filter out -o kept; exits 0
    rm -r out kept
done
printf '{"id":1' > number.jsonl; repeat 0 $most >> number.jsonl; printf ',"text":"a"}\n' >> number.jsonl
bm sign number.jsonl -o out; refused 3 'number.jsonl:1: the id has 15728641 bytes'
