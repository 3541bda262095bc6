# SPDX-License-Identifier: Apache-2.0
# --resume: a job that a signal ended is continued and gives the same bytes; what --resume refuses.
# shellcheck shell=sh disable=SC2034,SC2154
awk 'BEGIN {
    srand(7)
    for (i = 0; i < 40000; i++) {
        if (i % 5 != 4) { text = ""; for (w = 0; w < 12; w++) text = text " w" int(rand() * 3000) }
        if (i % 1000 == 77) print ""
        else if (i % 1000 == 78) print "{broken"
        else printf "{\"id\":%d,\"text\":\"%s%s\"}\n", i, text, i % 10 == 9 ? " more" : ""
    }
}' > in.jsonl
cp -p in.jsonl other.jsonl

for job in sign dedup share; do
    options='--on-error skip'
    command=sign
    case $job in
    dedup) command=dedup options="$options --pairs --removed gz" ;;
    sign) options="$options --band-keys" ;;
    share) options="$options --band-keys --shard 2/3" ;;
    esac
    # shellcheck disable=SC2086
    bm $command in.jsonl $options -o whole
    exits 0
    for pair in INT:130 TERM:143; do
        # shellcheck disable=SC2086
        start_and_stop "${pair%%:*}" $command in.jsonl $options -o out
        exits "${pair##*:}"
        says ../err '^bandmill: .*--resume'
        tail -n 1 ../err > ../last
        says ../last '^bandmill: .*interrupted'

        # refused, and the work stays as it is
        find out.partial -type f -exec cksum {} + > ../before
        for other in '--seed 2:seed' '--threshold 0.7:(threshold|bands)' '--shingle char:9:shingle' '--on-error fail:on.error|skip'; do
            # shellcheck disable=SC2086
            bm $command in.jsonl $options ${other%:*} -o out --resume; refused 7 "out.partial: .*(${other##*:})"
        done
        if [ $job = share ]; then
            bm sign in.jsonl --on-error skip --shard 3/3 -o out --resume; refused 7 'out.partial: .*shard'
        fi
        if [ $command = dedup ]; then
            bm dedup in.jsonl --on-error skip --pairs --removed zst -o out --resume; refused 7 'out.partial: .*removed'
        fi
        # shellcheck disable=SC2086
        bm $command other.jsonl $options -o out --resume; refused 7 '.*jsonl'
        touch in.jsonl
        # shellcheck disable=SC2086
        bm $command in.jsonl $options -o out --resume; refused 7 '.*in.jsonl'
        touch -r other.jsonl in.jsonl
        find out.partial -type f -exec cksum {} + > ../after
        cmp -s ../before ../after || fail "a refused job changed the work"

        # shellcheck disable=SC2086
        bm $command in.jsonl $options -o out --resume --threads 2 --memory 512M --progress always --json
        exits 0
        the_same whole
    done
    rm -r out whole
done

# every pair, without bands; bands are another job
every='--on-error skip --candidates all'
# shellcheck disable=SC2086
bm dedup in.jsonl $every -o whole; exits 0
# shellcheck disable=SC2086
start_and_stop TERM dedup in.jsonl $every -o out; exits 143
bm dedup in.jsonl --on-error skip -o out --resume; refused 7 'out.partial: .*candidates'
# shellcheck disable=SC2086
bm dedup in.jsonl $every -o out --resume --threads 2 --memory 64M; exits 0; says ../err 'resuming after'; the_same whole
rm -r out whole

# elements of an array, several on a line and bad ones among them; and another delimiter is another job
awk 'BEGIN { printf "[" } $0 != "" { sub(/^{broken/, "{\"broken\":tru}"); printf "%s%s", (NR > 1 ? "," : ""), $0 } NR % 7 == 0 { print "" } END { print "]" }' \
    in.jsonl > in.json
array='--format json --on-error skip'
# shellcheck disable=SC2086
bm dedup in.json $array -o whole; exits 0
says whole/report.json '"skipped": ?40\b'
# shellcheck disable=SC2086
start_and_stop TERM dedup in.json $array -o out; exits 143
bm dedup in.json --format jsonl --on-error skip -o out --resume; refused 7 'out.partial: .*format'
# shellcheck disable=SC2086
bm dedup in.json $array -o out --resume; exits 0; says ../err 'resuming after'; the_same whole
rm -r out whole
sed 's/^{"id":\([0-9]*\),"text":/\1;/; s/}$//; /broken/d; /^$/d; 1s/^/id;text\n/' in.jsonl > in.csv
bm dedup in.csv --delimiter ';' -o whole; exits 0
start_and_stop TERM dedup in.csv --delimiter ';' -o out; exits 143
bm dedup in.csv --text-field 'id;text' -o out --resume; refused 7 'out.partial: .*(delimiter|text.field)'
bm dedup in.csv --delimiter '|' -o out --resume; refused 7 'out.partial: .*delimiter'
bm dedup in.csv --delimiter ';' -o out --resume; exits 0; the_same whole
rm -r out whole

# nothing to go on with: from the beginning. Sealed documents are discarded only with --force, which says so; --resume goes before it.
bm dedup in.jsonl --on-error skip -o whole; exits 0
bm dedup in.jsonl --on-error skip -o out --resume; exits 0; the_same whole
start_and_stop TERM dedup in.jsonl --on-error skip -o out; exits 143
find out.partial -type f -exec cksum {} + > ../before
bm dedup in.jsonl --on-error skip -o out; refused 2 'out.partial: [0-9]+ documents .*saved.*--resume.*--force'
bm dedup in.jsonl --on-error skip --seed 3 -o out; refused 2 'out.partial: [0-9]+ documents .*saved.*--resume.*--force'
find out.partial -type f -exec cksum {} + > ../after
cmp -s ../before ../after || fail "a refused job changed the work"
bm dedup in.jsonl --on-error skip -o out --resume --force; exits 0; says ../err 'resuming after'; the_same whole
rm -r out
start_and_stop TERM dedup in.jsonl --on-error skip -o out; exits 143
bm dedup in.jsonl --on-error skip -o out --force; exits 0; says ../err '^bandmill: warning: .*out.partial.*discards'; the_same whole
rm -r out
# what a job left that has sealed nothing is cleared, and so is what nobody can go on from
mkdir out.partial
: > out.partial/.bandmill-work
bm dedup in.jsonl --on-error skip -o out -q; exits 0; the_same whole
mkdir out.partial
: > out.partial/.bandmill-work
echo 'no line of ours' > out.partial/.bandmill-journal
bm dedup in.jsonl --on-error skip -o out --force; exits 0; the_same whole
rm -r out

# names that a journal of lines and tabs must not take for its own: the work is gone on with, or begun anew without a trace of the old one
odd=$(printf 'odd\nt\\n\tdir')
mkdir "$odd"
cp -p in.jsonl "$odd.jsonl"
bm dedup "$odd.jsonl" --on-error skip -o whole --force; exits 0
start_and_stop TERM dedup "$odd.jsonl" --on-error skip --memory 64M --temp-dir "$odd" -o out; exits 143
[ "$(find "$odd" -name '.bandmill-*-sets')" ] || fail "no sets in --temp-dir"
bm dedup "$odd.jsonl" --on-error skip --temp-dir . -o out --resume; exits 0; the_same whole
[ ! "$(ls -A "$odd")" ] || fail "sets are left in --temp-dir"
start_and_stop TERM dedup "$odd.jsonl" --on-error skip --memory 64M --temp-dir "$odd" -o out; exits 143
bm dedup "$odd.jsonl" --on-error skip -o out --force; exits 0; the_same whole
[ ! "$(ls -A "$odd")" ] || fail "sets are left in --temp-dir"
rm -r out

# what can be read once only
head -n 20 in.jsonl | "$PROGRAM" dedup - -o out --resume > ../out 2> ../err
rc=$?
command_line='bandmill dedup - -o out --resume'
refused 2 '--resume needs inputs that can be read again'
absent out

# a quiet job says it too; a wrong number of seconds is no number
start_and_stop INT dedup in.jsonl --on-error skip -o out -q; exits 130
says ../err '^bandmill: interrupted .*--resume'
rm -r out.partial
export BANDMILL_SEAL_SECONDS=often
bm dedup in.jsonl --on-error skip -o out; refused 2 ".*BANDMILL_SEAL_SECONDS is 'often'"
unset BANDMILL_SEAL_SECONDS
