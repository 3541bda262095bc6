# SPDX-License-Identifier: Apache-2.0
# Options: help, version, and refusals with exit 2 and one line.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"a","text":"one two three"}\n' > a.jsonl

bm; exits 2; silent ../out; says ../err '^  dedup +[a-z]'; says ../err '^Usage: bandmill COMMAND'
bm --json; exits 2; silent ../out; says ../err '^\{"error":\{"exit":2,"status":"usage","file":null,"line":null,"message":"no command'
bm -q; refused 2 'no command'
bm --help; exits 0; says ../out '^  dedup '; silent ../err
bm help; exits 0; says ../out 'bandmill COMMAND'
for command in sign dedup pairs filter inspect devices bench help; do
    bm help "$command"; exits 0; says ../out "^Usage: bandmill $command"; silent ../err
    bm "$command" --help; exits 0; says ../out "^Usage: bandmill $command"
done
bm help sign; says ../out '--format auto\|jsonl\|.*\|parquet\|wet$' # and not signatures, which no document is
bm dedup -h nonsense --keep last; exits 0; says ../out '^Usage: bandmill dedup'
bm --version; exits 0; says ../out '^bandmill [0-9]+\.[0-9]+\.[0-9]+$'; says ../out '^kernels +[0-9a-f]{16}$'; says ../out '^Unicode +[0-9]+\.'; says ../out '^format +[0-9]+$'; says ../out '^tables +(Arrow [0-9]|none \(Parquet and Arrow files need bandmill-parquet\)$)'
bm --version --json; exits 0; says ../out '^\{"schema":1,"version":.*"format":[0-9]+,"tables":("Arrow [0-9.]+"|null)\}$'

bm dedpu a.jsonl -o out; refused 2 'unknown command "dedpu" \(did you mean dedup\?\)'
for command in merge estimate; do
    bm "$command" a.jsonl; refused 2 "the command $command is not in this version"
done
for option in --containment --dry-run; do
    bm dedup a.jsonl -o out "$option"; refused 2 "${option%%=*} is not in this version"
done
bm dedup a.jsonl -o out --shingle stopword; refused 2 '--shingle: .*byte:K or stopword:K'
bm dedup a.jsonl -o out --stopwords en; refused 2 '--stopwords is for --shingle stopword:K$'
bm dedup a.jsonl -o out --shingle stopword:2 --stopwords; refused 2 '--stopwords'
bm dedup a.jsonl -o out --bag=yes; refused 2 '--bag'
bm dedup a.jsonl -o out --scheme legacy --hash xxh3; refused 2 '--hash xxh3 with --scheme legacy \(it goes with sha1\)'
bm dedup a.jsonl -o out --hash md5; refused 2 '--hash: .*"md5".*xxh3 xxh64 sha1 murmur3'

bm dedup a.jsonl -o out --treshold 0.7; refused 2 'unknown option --treshold \(did you mean --threshold\?\)'
bm dedup a.jsonl -o out -z; refused 2 'unknown option -z'
for command in pairs filter cluster explain bench; do
    bm "$command" a.jsonl --resume; refused 2 "--resume is an option of sign, not of $command"
done
bm pairs a.jsonl --keep last; refused 2 '--keep is an option of dedup, not of pairs'
bm dedup a.jsonl; refused 2 'no output \(expected -o DIR\); -o - is stdout'
bm dedup -o out; refused 2 'no input'
bm pairs; refused 2 'no input'
bm filter -o out; refused 2 'no input'
bm inspect; refused 2 'no input'
bm devices a.jsonl; refused 2 'devices takes no input'
bm help nothing; refused 2 'unknown command "nothing"'
bm help sign dedup; refused 2 'help takes one command'
bm dedup '' -o out; refused 2 'an empty argument'
bm dedup a.jsonl -o; refused 2 '--output needs a value \(expected DIR\)'
bm dedup a.jsonl -o --force; refused 2 '--output needs a value'

for bad in --perms=0 --perms=1025 --perms=12x --perms= --seed=-1 --seed=4294967296 --threshold=0 --threshold=1.5 --threshold=x --recall=1.5 \
    --recall=0 --shingle=word --shingle=word:0 --shingle=word:1025 --normalize=upper --words=all --short=no --verify=maybe --cluster=none \
    --keep=best --kept=bz2 --threads=0 --threads=5000 --memory=4GX --memory=0 --max-doc-bytes=-1 --max-errors=x --on-error=no --header=2 \
    --format=xml --duplicate-ids=ok --invalid-utf8=skip --batch-docs=0 --progress=sometimes --force=yes; do
    bm dedup a.jsonl -o out "$bad"
    refused 2 "${bad%%=*}.*(expected|takes no value)"
done
for size in 512M 4G 4GB 4GiB 4gib 524288KB 1TiB; do
    bm dedup a.jsonl -o out --force --memory "$size"; exits 0
    case $size in 512M | 524288KB) bytes=536870912 ;; 1TiB) bytes=1099511627776 ;; *) bytes=4294967296 ;; esac
    says out/report.json "\"memory_limit_bytes\": $bytes\b"
    rm -r out
done
bm dedup a.jsonl -o out --bands 4; refused 2 '--bands without --rows'
bm dedup a.jsonl -o out --bands 64 --rows 4 --perms 128; refused 2 '--bands 64 --rows 4 use 256 permutations \(expected at most 128\)'
bm dedup a.jsonl -o out --max-errors 3; refused 2 '--max-errors without --on-error skip'
# the least K for threshold 0.1 at recall 0.95: one row, ln(0.05)/ln(0.9) = 28.4, so 29 bands
bm dedup a.jsonl -o out --threshold 0.1 --perms 28; refused 2 '.*\b29\b'
bm dedup a.jsonl -o out --threshold 0.1 --perms 29; exits 0
rm -r out
absent out

# --json: one object on stderr, for errors in the options too, whatever their place
bm dedup a.jsonl -o out --perms 0 --json
exits 2; silent ../out
says ../err '^\{"error":\{"exit":2,"status":"usage","file":null,"line":null,"message":"--perms: .*"\}\}$'
bm --nothing --json; exits 2; says ../err '^\{"error":\{"exit":2'
bm dedup nofile.jsonl -o out --json
exits 4
says ../err '^\{"error":\{"exit":4,"status":"io","file":"nofile.jsonl","line":null,"message":".+"\}\}$'
absent out

# the environment
BANDMILL_CPU=mmx bm pairs a.jsonl; refused 2 '.*mmx'
BANDMILL_CPU=scalar bm pairs a.jsonl; exits 0
BANDMILL_DEVICE=no-such-device bm pairs a.jsonl; exits 5
