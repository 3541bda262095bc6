# SPDX-License-Identifier: Apache-2.0
# Which files are ours: jobs started at once on one output, work directories that are removed during a job, and files that are never cleared
# or replaced.
# shellcheck shell=sh disable=SC2034,SC2154
rounds=${BANDMILL_RACE_ROUNDS:-4} # of 2, 4 and 8 jobs each
waiting_inputs
bm dedup in.jsonl -o alone -q; exits 0

# whole OUT: it holds what one job alone writes, and nothing is left of any work.
whole() {
    checks=$((checks + 1))
    [ "$(ls -A "$1" 2> /dev/null)" = "$(ls -A alone)" ] || fail "$1 is not whole: $(ls -A "$1" 2>&1)"
    for file in alone/*; do
        case $file in
        */report.json) ;;
        *) cmp -s "$file" "$1/${file#alone/}" || fail "$1/${file#alone/} differs" ;;
        esac
    done
    [ -z "$(find . -name '*.partial*')" ] || fail "something is left: $(find . -name '*.partial*')"
}

# exactly one of N jobs ends with 0 and a whole output, the others with 9, or with 2 where they came after it
race() { # race N: once
    rm -rf raced
    jobs=
    for _ in $(seq "$1"); do
        "$PROGRAM" dedup in.jsonl -o raced -q --threads 1 2> ../err &
        jobs="$jobs $!"
    done
    codes=
    for job in $jobs; do
        wait "$job"
        codes="$codes $?"
    done
    command_line="$1 jobs at once"
    checks=$((checks + 1))
    [ "$(echo "$codes" | tr ' ' '\n' | grep -c '^0$')" = 1 ] || fail "not one ended with 0:$codes"
    [ -z "$(echo "$codes" | tr ' ' '\n' | grep -v -e '^$' -e '^[029]$')" ] || fail "other exit codes:$codes"
    whole raced
}
for n in 2 4 8; do
    for _ in $(seq "$rounds"); do race $n; done
done
rm -rf raced

ends() { # ends CODE: its input is whole now
    goes_on
    cp ../first.err ../err
    command_line='the first job'
    exits "$1"
}

# a work directory that was removed, or removed and made anew: its job ends with 4 and touches nothing of what is there now
first dedup - -o out -q
rm -r out.partial
ends 4
says ../err 'out\.partial: was removed, moved or made anew'
absent out
first dedup - -o out -q
mv out.partial aside
bm dedup in.jsonl -o out -q; exits 0; cp out/report.json ../report
ends 4
cmp -s out/report.json ../report || fail "the first job touched the output of the second"
[ -s aside/.bandmill-work ] || fail "what was moved away is gone"
rm -r aside out
first dedup - -o out -q
rm -r out.partial
mkdir out.partial
echo mine > out.partial/mine
ends 4
echo mine | holds out.partial/mine
[ "$(ls -A out.partial)" = mine ] || fail "the job left something in a directory that is not its own"
rm -r out.partial

# an empty directory there is nobody's
mkdir out.partial
bm dedup in.jsonl -o out -q; exits 0; whole out
rm -r out

# killed: all that it left is listed, and cleared by whichever job comes next
killed() { # killed ARGS…: a job that was killed when its marker was there, whatever else is (each call: tests/scale/killed_at_calls.py)
    # shellcheck disable=SC2069
    BANDMILL_SEAL_SECONDS=0 "$PROGRAM" "$@" --threads 1 --batch-docs 20 < fifo > /dev/null 2> /dev/null &
    job=$!
    exec 3> fifo
    head -n 150 in.jsonl >&3
    comes test -f out.partial/.bandmill-work
    kill -KILL $job
    wait $job 2> /dev/null
    exec 3>&-
}
killed sign - -o out
[ -e out.partial ] || fail "nothing is left of a job that was killed"
bm dedup in.jsonl -o out -q; exits 0; whole out
rm -r out

# what no job listed is named, and all beside it stays
for name in notes.txt .bandmill-notes output/notes.npy output/kept/notes.jsonl kept/notes.jsonl; do
    killed sign - -o out
    mkdir -p "out.partial/$(dirname "$name")"
    echo mine > "out.partial/$name"
    find out.partial -type f -exec cksum {} + | LC_ALL=C sort > ../before
    for command in dedup sign; do
        for more in -q --force --resume; do
            bm $command in.jsonl -o out $more; refused 2 "out\.partial: holds ${name%%/*}"
        done
    done
    bm filter alone -o out; refused 2 "out\.partial: holds ${name%%/*}"
    find out.partial -type f -exec cksum {} + | LC_ALL=C sort > ../after
    cmp -s ../before ../after || fail "a refused job changed what lay there"
    rm -r out.partial
done
cp -R alone out.partial
for more in -q --force --resume; do
    bm dedup in.jsonl -o out $more; refused 2 'out\.partial: is a complete output of bandmill'
done
bm filter alone -o out --force; refused 2 'out\.partial: is a complete output'
mv out.partial moved; mkdir out.partial; cp in.jsonl out.partial
bm dedup out.partial/in.jsonl -o out; exits 2
bm dedup - -o out < out.partial/in.jsonl; exits 2
cmp -s in.jsonl out.partial/in.jsonl || fail "an input was cleared"
rm -r out.partial moved

# --force removes what the old report lists, and nothing else
for name in kept.bak pairs.tsv kept.jsonl.orig kept/a.jsonl .hidden; do
    cp -R alone out
    mkdir -p "out/$(dirname "$name")"
    echo mine > "out/$name"
    bm dedup in.jsonl -o out --force; refused 2 "out: holds ${name%%/*}.*, which its report does not list"
    bm filter alone -o out --force; refused 2 "out: holds"
    echo mine | holds "out/$name"
    rm -r out
done
cp -R alone out
bm dedup in.jsonl -o out --force -q; exits 0; whole out
rm -r out

# the sealed work of another job is cleared by no command without --force
interrupted() {
    awk 'BEGIN { for (i = 0; i < 30000; i++) print "{\"id\":" i ",\"text\":\"unlike " i " " i * 7919 " " i * 104729 " any other " i * 31 " text " i * 17 "\"}" }' > many.jsonl
    (ulimit -f 512; trap '' XFSZ; BANDMILL_SEAL_SECONDS=0 exec "$PROGRAM" dedup many.jsonl -o out --batch-docs 500 --threads 1 "$@") > ../out 2> ../err
    grep -q '^documents' out.partial/.bandmill-journal || fail "nothing was sealed"
}
interrupted
find out.partial -type f -exec cksum {} + | LC_ALL=C sort > ../before
bm filter alone -o out; refused 2 'out\.partial: [0-9]+ documents .*saved.*--resume.*--force'
bm sign in.jsonl -o out; refused 2 'out\.partial: [0-9]+ documents .*saved'
find out.partial -type f -exec cksum {} + | LC_ALL=C sort > ../after
cmp -s ../before ../after || fail "another command touched sealed work"
bm filter alone -o out --force; exits 0; absent out.partial
rm -r out

# a journal cannot lead anywhere else: what it names must be listed by the marker and bear this job's name
mkdir temp precious
interrupted --memory 64M --temp-dir temp
sets=$(basename temp/.bandmill-*-sets)
[ -f "temp/$sets" ] || fail "no sets in --temp-dir"
cp "temp/$sets" "precious/$sets"
echo mine > precious/.bandmill-mine
cat > ../forge.py <<'END'
"""forge.py JOURNAL PATH: the journal with PATH as that of its sets, and right checksums: XXH3 64, seeded with that of the line before.
forge.py JOURNAL --older VERSION: as that version would have written it, which knew no pieces of files."""
import sys
import xxhash
check = 0
for line in open(sys.argv[1], "rb").read().splitlines():
    text = line.rsplit(b"\t", 1)[0]
    if sys.argv[2] == "--older":
        if text.startswith(b"digests\t"):
            continue
        if text.startswith(b"program\t") and sys.argv[3]:
            text = b"program\t" + sys.argv[3].encode() + b"\t" + text.split(b"\t")[2]
    elif text.startswith(b"sets\t"):
        text = b"sets\t" + sys.argv[2].encode()
    check = xxhash.xxh3_64_intdigest(text, seed=check)
    sys.stdout.buffer.write(text + b"\t%016x\n" % check)
END
python=${BANDMILL_PYTHON:-python3}
if "$python" -c 'import xxhash' 2> /dev/null; then
    cp out.partial/.bandmill-journal ../journal
    for version in "" 0.0.9; do
        "$python" ../forge.py ../journal --older "$version" > out.partial/.bandmill-journal || fail "no forged journal"
        find out.partial -type f -exec cksum {} + | LC_ALL=C sort > ../before
        bm dedup many.jsonl -o out --resume; refused 7 "out\.partial: .*(another version saved the work of the interrupted job|it had 'program.*0\.0\.9)"
        find out.partial -type f -exec cksum {} + | LC_ALL=C sort > ../after
        cmp -s ../before ../after || fail "the work of another version was touched"
    done
    for path in "$PWD/precious/$sets" "$PWD/precious/.bandmill-mine" "$PWD/in.jsonl" "$PWD/temp/../precious/$sets" "/../$sets"; do
        "$python" ../forge.py ../journal "$path" > out.partial/.bandmill-journal || fail "no forged journal"
        find precious in.jsonl -type f -exec cksum {} + | LC_ALL=C sort > ../before
        bm dedup many.jsonl -o out --resume; refused 7 'out\.partial: its journal names a file that this job did not make'
        find precious in.jsonl -type f -exec cksum {} + | LC_ALL=C sort > ../after
        cmp -s ../before ../after || fail "a forged journal led to $path"
    done
    cp -R out.partial ../forged
    bm dedup many.jsonl -o out --force -q; exits 0
    find precious in.jsonl -type f -exec cksum {} + | LC_ALL=C sort > ../after
    cmp -s ../before ../after || fail "what a forged journal names was removed"
    rm -r out temp; mkdir temp
    interrupted --memory 64M --temp-dir temp
elif [ "${BANDMILL_REQUIRE_PYTHON:-0}" = 1 ]; then
    fail "no Python with xxhash to forge a journal"
fi
bm dedup many.jsonl -o out --resume --temp-dir precious -q; exits 0
[ -z "$(ls -A temp)" ] || fail "left in --temp-dir: $(ls -A temp)"
rm -r out temp

# --resume of a job that is done says so; of any other it is an existing output
for command in sign dedup; do
    bm $command in.jsonl -o out -q; exits 0
    find out -type f -exec cksum {} + | LC_ALL=C sort > ../before
    bm $command in.jsonl -o out --resume; exits 0
    says ../err '^bandmill: out: the output of this very job is there already: it is done'
    says ../err '^bandmill: 400 documents'
    touch in.jsonl # the same bytes
    bm $command in.jsonl -o ./out/ --resume --force --threads 3 --memory 1G --report said.json --json; exits 0
    cmp -s said.json out/*t.json || fail "another report than the output's"
    cmp -s ../out said.json || fail "another summary than the report"
    bm $command in.jsonl some.jsonl -o out --resume; refused 2 'out: the output exists already'
    for more in '--shingle word:3' '--threshold 0.7' '--seed 2' '--duplicate-ids number'; do
        # shellcheck disable=SC2086
        [ $command = sign ] && [ "${more#--threshold}" != "$more" ] || { bm $command in.jsonl -o out --resume $more; refused 2 'out: the output exists already'; }
    done
    [ $command = sign ] && more=--band-keys || more=--pairs
    bm $command in.jsonl -o out --resume $more; refused 2 'out: the output exists already'
    sed 's/neighbour/xeighbour/' in.jsonl > changed.jsonl
    cp in.jsonl ../in.jsonl
    cat changed.jsonl > in.jsonl # as many bytes
    bm $command in.jsonl -o out --resume; refused 2 'out: the output exists already'
    cat ../in.jsonl > in.jsonl
    mv out/sources.tsv ..
    bm $command in.jsonl -o out --resume; refused 2 'out: the output exists already'
    mv ../sources.tsv out
    find out -type f -exec cksum {} + | LC_ALL=C sort > ../after
    cmp -s ../before ../after || fail "the output was touched"
    rm -r out said.json
done
bm dedup in.jsonl -o out -q; exits 0
bm dedup in.jsonl -o out --resume --kept zst; refused 2 'out: the output exists already'
bm dedup in.jsonl -o out --resume --kept no; refused 2 'out: the output exists already'
# killed after its rename, it has left its marker, which goes now
mkdir out.partial
printf 'bandmill work directory 1\noutput/kept.jsonl\n' > out.partial/.bandmill-work
bm dedup in.jsonl -o out --resume; exits 0; absent out.partial; whole out
