# SPDX-License-Identifier: Apache-2.0
# An input that breaks in the midst of a job: what was done is sealed, the error says how to go on, and once the input is repaired --resume
# goes on to the bytes that a job over the repaired inputs gives. What stands before the sealed place must be what it was.
# shellcheck shell=sh disable=SC2034,SC2154
export BANDMILL_SEAL_SECONDS=0
docs() { # docs FROM TO: every fifth is like the one before
    awk -v from="$1" -v to="$2" 'BEGIN {
        for (i = from; i < to; i++) {
            if (i % 5 != 4) { srand(i + 1); text = ""; for (w = 0; w < 12; w++) text = text " w" int(rand() * 3000) }
            printf "{\"id\":%d,\"text\":\"%s\"}\n", i, text
        }
    }'
}
docs 0 2000 > a.jsonl
docs 2000 4000 > good.jsonl
docs 4000 5000 > c.jsonl
touch -d '2020-01-01' a.jsonl good.jsonl c.jsonl
{ head -n 1500 good.jsonl; echo '{"id":9999,"text":'; tail -n 500 good.jsonl; } > broken.jsonl

# the_same: every file of `out` has the bytes of the one in `whole`, reports but for "run"
the_same() {
    checks=$((checks + 1))
    [ "$(ls -A out)" = "$(ls -A whole)" ] || fail "other files: $(ls -A out)"
    for file in out/*; do
        case $file in
        */report.json | */manifest.json) ;;
        *) diff -r "$file" "whole/${file#out/}" > ../diff || fail "$file differs: $(head -n 3 ../diff)" ;;
        esac
    done
    absent out.partial
    rm -r out
}
# breaks COMMAND…: the job ends on the broken record, and what was done before it is sealed
breaks() {
    rm -rf out out.partial
    bm "$@" --threads 1 --batch-docs 100 -o out
    refused 3 'b.jsonl:1501: .*; [0-9]+ documents before it are saved in out\.partial: once it is repaired, the same command with --resume continues'
    checks=$((checks + 1))
    sealed=$(sed -n 's/.*; \([0-9]*\) documents before it.*/\1/p' ../err)
    [ "${sealed:-0}" -ge 3400 ] && [ "$sealed" -le 3500 ] || fail "$sealed documents are sealed of 3,500 before the broken one"
    [ ! -e out ] || fail "there is an output"
}

for command in 'sign --band-keys' 'dedup --pairs'; do
    cp -p good.jsonl b.jsonl
    # shellcheck disable=SC2086
    bm $command a.jsonl b.jsonl c.jsonl -o whole --force -q; exits 0
    # repaired by hand; by leaving the record out, with later records changed; with a later file changed too
    cp broken.jsonl b.jsonl
    # shellcheck disable=SC2086
    breaks $command a.jsonl b.jsonl c.jsonl
    # still broken: what was sealed stays, and it is said again
    # shellcheck disable=SC2086
    bm $command a.jsonl b.jsonl c.jsonl --threads 1 --batch-docs 100 -o out --resume -q
    refused 3 'b.jsonl:1501: .*saved in out\.partial.*--resume'
    cp -p good.jsonl b.jsonl
    # shellcheck disable=SC2086
    bm $command a.jsonl b.jsonl c.jsonl -o out --resume --threads 2; exits 0; says ../err "resuming after $sealed documents"; the_same

    # what stands before the place may not change: in the file that broke, nor in one before it
    cp broken.jsonl b.jsonl
    # shellcheck disable=SC2086
    breaks $command a.jsonl b.jsonl c.jsonl
    sed '700s/w1/v1/' good.jsonl > b.jsonl
    # shellcheck disable=SC2086
    bm $command a.jsonl b.jsonl c.jsonl -o out --resume -q; refused 7 'b.jsonl: has changed before the place'
    head -n 900 good.jsonl > b.jsonl
    # shellcheck disable=SC2086
    bm $command a.jsonl b.jsonl c.jsonl -o out --resume -q; exits 7
    cp -p good.jsonl b.jsonl
    touch a.jsonl
    # shellcheck disable=SC2086
    bm $command a.jsonl b.jsonl c.jsonl -o out --resume -q; refused 7 '.*a.jsonl has changed'
    touch -d '2020-01-01' a.jsonl
    # what stands behind it may, and so may the files behind
    head -n 1800 good.jsonl > b.jsonl
    docs 4000 4700 > c.jsonl
    # shellcheck disable=SC2086
    bm $command a.jsonl b.jsonl c.jsonl -o whole --force -q; exits 0
    # shellcheck disable=SC2086
    bm $command a.jsonl b.jsonl c.jsonl -o out --resume -q; exits 0; the_same
    docs 4000 5000 > c.jsonl
done

# repaired, gone on with, interrupted by a second broken file, and gone on with again: from then on the first one must stay as it is
cp broken.jsonl b.jsonl
breaks dedup a.jsonl b.jsonl c.jsonl
cp -p good.jsonl b.jsonl
echo '{broken' >> c.jsonl
bm dedup a.jsonl b.jsonl c.jsonl --threads 1 --batch-docs 100 -o out --resume -q; refused 3 'c.jsonl:1001: .*; 5000 documents before it are saved'
touch b.jsonl
bm dedup a.jsonl b.jsonl c.jsonl -o out --resume -q; refused 7 '.*b.jsonl has changed'
touch -r good.jsonl b.jsonl
docs 4000 5000 > c.jsonl
bm dedup a.jsonl b.jsonl c.jsonl -o whole --force -q; exits 0
bm dedup a.jsonl b.jsonl c.jsonl -o out --resume -q; exits 0; the_same

# a compressed file that breaks off: repaired, it has other bytes, and the same content
gzip -c good.jsonl > whole.gz
head -c 40000 whole.gz > b.jsonl.gz
rm -rf out.partial
bm dedup a.jsonl b.jsonl.gz --threads 1 --batch-docs 100 -o out; refused 3 'b.jsonl.gz: .*; [0-9]+ documents before it are saved'
gzip -1 -c good.jsonl > b.jsonl.gz
bm dedup a.jsonl b.jsonl.gz -o whole --force -q; exits 0
bm dedup a.jsonl b.jsonl.gz -o out --resume -q; exits 0; the_same

# a file that vanishes
cp -p good.jsonl b.jsonl
chmod 000 b.jsonl
if [ ! -r b.jsonl ]; then
    bm dedup a.jsonl b.jsonl --threads 1 --batch-docs 100 -o out -q; exits 4
    chmod 644 b.jsonl
    rm -rf out out.partial
fi
chmod 644 b.jsonl

# a job of seconds that nobody asked to seal leaves nothing: it begins again
unset BANDMILL_SEAL_SECONDS
cp broken.jsonl b.jsonl
bm dedup a.jsonl b.jsonl c.jsonl -o out -q; refused 3 'b.jsonl:1501: '; absent out
