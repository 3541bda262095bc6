# SPDX-License-Identifier: Apache-2.0
# A file that cannot be read to its end, with --on-error skip: the records before the failure count. The rest is one bad record, reported
# with the file and the line where it begins, and the run goes on: records = kept + removed + skipped. With --on-error fail: exit code 3 or
# 4.
# shellcheck shell=sh disable=SC2034,SC2154
for tool in xz bzip2 lz4 zstd gzip; do
    command -v "$tool" > /dev/null || skip "no $tool"
done
pack() {
    case $1 in
    gz) gzip -c ;; zst) zstd -qc ;; xz) xz -1c ;; bz2) bzip2 -1c ;; lz4) lz4 -qc -B4 ;;
    esac
}
# lines NAME FROM TO: records; each even one says what the one before it says
lines() {
    awk -v name="$1" -v from="$2" -v to="$3" 'BEGIN { for (i = from; i <= to; i++) { k = int((i + 1) / 2)
        printf "{\"id\":\"%s%d\",\"text\":\"line %d of %s, made of numbers as %d %d %d and %d\"}\n", name, i, k, name, k * 7919 % 100003, k * 104729 % 99991, k * 1299709 % 99989, k * 15485863 % 99971 } }'
}
count() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$2" | head -n 1; }

# adds_up REPORT: records = kept + removed + skipped
adds_up() {
    checks=$((checks + 1))
    [ "$(count records "$1")" -eq $(($(count kept "$1") + $(count removed "$1") + $(count skipped "$1"))) ] || fail "$1 does not add up"
}

lines a 1 40 > a.jsonl
lines c 1 40 > c.jsonl
lines b 1 20000 > b.jsonl
sed 's/.*"id":"\([^"]*\)".*/\1/' b.jsonl > b.ids
for kind in gz zst xz bz2 lz4; do
    pack $kind < b.jsonl > "whole.$kind"
    size=$(wc -c < "whole.$kind")
    head -c $((size * 2 / 3)) "whole.$kind" > "b.jsonl.$kind"
    bm dedup a.jsonl "b.jsonl.$kind" c.jsonl -o out; refused 3 "b\.jsonl\.$kind: "; absent out

    bm dedup a.jsonl "b.jsonl.$kind" c.jsonl --on-error skip -o out; exits 0
    adds_up out/report.json
    says out/report.json '"skipped": ?1\b'
    n=$(($(count documents out/report.json) - 80)) # of b
    checks=$((checks + 1))
    [ "$n" -gt 5000 ] && [ "$n" -lt 20000 ] || fail "$n documents of two thirds of 20000"
    says out/skipped.tsv "^b\.jsonl\.$kind	$((n + 1))	the rest of the file cannot be read: .*cut short"
    checks=$((checks + 1))
    [ "$(wc -l < out/skipped.tsv)" -eq 2 ] || fail "more than one record was skipped"
    says out/sources.tsv "^b\.jsonl\.$kind	40	$n	1	$((n / 2))	$((n - n / 2))\$"
    # kept: the odd lines of the part that was read, and all lines of the other files
    head -n "$n" b.jsonl | awk 'NR % 2' > odd
    case $kind in
    gz) gzip -dc ;; zst) zstd -qdc ;; xz) xz -dc ;; bz2) bzip2 -dc ;; lz4) lz4 -qdc ;;
    esac < "out/kept/b.jsonl.$kind" | cmp -s - odd || fail "kept of b.jsonl.$kind"
    awk 'NR % 2' c.jsonl | holds out/kept/c.jsonl
    for how in '--threads 1 --batch-docs 1000' '--threads 3 --batch-docs 7' '--memory 64M'; do
        case ${BANDMILL_TEST_SIZE:-normal}.$kind.$how in
        small.gz.*7 | small.zst.*64M | small.xz.*1000 | small.bz2.*7 | small.lz4.*64M) ;; # one of them for each kind
        small.*) continue ;;
        esac
        # shellcheck disable=SC2086
        bm dedup a.jsonl "b.jsonl.$kind" c.jsonl --on-error skip -o again $how; exits 0
        for file in skipped.tsv removed.tsv sources.tsv "kept/b.jsonl.$kind"; do holds "again/$file" < "out/$file"; done
        rm -r again
    done
    # finding and removing as two steps: the same part is read again
    bm dedup a.jsonl "b.jsonl.$kind" c.jsonl --on-error skip --kept no -o find; exits 0
    bm filter find -o clean; exits 0
    for file in a.jsonl "b.jsonl.$kind" c.jsonl; do holds "clean/kept/$file" < "out/kept/$file"; done
    adds_up clean/report.json
    cp "whole.$kind" "b.jsonl.$kind" # repaired: another file
    bm filter find -o repaired; refused 7 "b\.jsonl\.$kind: "; absent repaired
    rm -r out find clean

    # damage in the middle, and after the end
    { head -c $((size / 2)) "whole.$kind"; printf 'XXXXXXXXXXXXXXXX'; tail -c +$((size / 2 + 17)) "whole.$kind"; } > "b.jsonl.$kind"
    bm dedup a.jsonl "b.jsonl.$kind" c.jsonl --on-error skip -o out; exits 0
    adds_up out/report.json
    says out/sources.tsv '^c\.jsonl	[0-9]*	40	0	20	20$'
    says out/skipped.tsv "^b\.jsonl\.$kind	[0-9]*	the rest of the file cannot be read: "
    bm dedup a.jsonl "b.jsonl.$kind" c.jsonl --on-error skip -o again --threads 3 --batch-docs 7; exits 0
    for file in skipped.tsv removed.tsv sources.tsv; do holds "again/$file" < "out/$file"; done
    rm -r out again
    { cat "whole.$kind"; echo junk; } > "b.jsonl.$kind"
    bm sign "b.jsonl.$kind" --on-error skip -o out; exits 0
    holds out/ids.txt < b.ids
    says out/skipped.tsv "^b\.jsonl\.$kind	20001	the rest of the file cannot be read: "
    rm -r out

    # nothing of it can be read: cut in its first bytes, or something else
    for keep in 0 1 5; do
        head -c $keep "whole.$kind" > "b.jsonl.$kind"
        bm dedup "b.jsonl.$kind" --on-error skip -o out; exits 0
        says out/report.json '"records": ?1\b'
        says out/skipped.tsv "^b\.jsonl\.$kind	1	the file cannot be read: "
        rm -r out
    done
    rm "b.jsonl.$kind"
done

# the checksum of a gzip member is at its end
{ head -c $(($(wc -c < whole.gz) - 8)) whole.gz; printf 'XXXX'; tail -c 4 whole.gz; } > b.jsonl.gz
bm sign b.jsonl.gz -o out; refused 3 'b\.jsonl\.gz: '; absent out
bm sign b.jsonl.gz --on-error skip -o out; exits 0
holds out/ids.txt < b.ids
says out/skipped.tsv '^b\.jsonl\.gz	20001	the rest of the file cannot be read: broken gzip data'
bm dedup b.jsonl.gz --on-error skip --max-errors 0 -o none; refused 3 'b\.jsonl\.gz:20001: .*--max-errors'; absent none
# from signatures, with the texts read again
bm dedup out --verify exact -o found; exits 0
adds_up found/report.json
rm -r out found

# standard input: read again from its copy
head -c 200000 whole.gz > cut.gz
bm dedup cut.gz --format jsonl --on-error skip -o file; exits 0
command_line='bandmill dedup - < cut.gz'
"$PROGRAM" dedup - --on-error skip -o out < cut.gz > ../out 2> ../err; rc=$?
exits 0
holds out/kept.jsonl.gz < file/kept.jsonl.gz
sed 's/^cut\.gz/-/' file/skipped.tsv | holds out/skipped.tsv
rm -r out file

# files that cannot be opened or read
ln -s loop loop.jsonl
mem=
if [ "$(id -u)" -eq 0 ]; then # who reads everything but this
    mem=/proc/self/mem
fi
bm dedup a.jsonl missing.jsonl loop.jsonl -o out; refused 4 'missing\.jsonl: cannot open'; absent out
# shellcheck disable=SC2086
bm dedup a.jsonl missing.jsonl loop.jsonl $mem c.jsonl --format jsonl --on-error skip -o out; exits 0
adds_up out/report.json
says out/skipped.tsv '^missing\.jsonl	1	the file cannot be read: cannot open: '
says out/skipped.tsv '^loop\.jsonl	1	the file cannot be read: cannot open: '
if [ -n "$mem" ]; then says out/skipped.tsv '^/proc/self/mem	1	the file cannot be read: cannot read: '; fi
says out/sources.tsv '^c\.jsonl	40	40	0	20	20$'
bm filter out -o clean; exits 0
kept=$(find out/kept -name c.jsonl) # below all folders, where an input lies elsewhere
holds "clean/${kept#out/}" < "$kept"
rm -r out clean
printf 'a.jsonl\nmissing.jsonl\nc.jsonl\n' > list
bm sign --files-from list --on-error skip -o out; exits 0
says out/skipped.tsv '^missing\.jsonl	1	'
rm -r out
# but none at all is no matter of records
bm dedup missing.jsonl --on-error skip -o out; refused 4 'missing\.jsonl: cannot open'; absent out
printf 'PK\003\004' > z.jsonl
bm dedup z.jsonl --on-error skip -o out; refused 3 'z\.jsonl: .*zip'; absent out
bm dedup z.jsonl a.jsonl --on-error skip -o out; exits 0
says out/skipped.tsv '^z\.jsonl	1	the file cannot be read: .*zip'
rm -r out

# tables: the header is not a record; a field that was open is part of the rest
{ printf 'id,text\n1,"one, two"\n2,"three\nfour"\n3,"five'; } > t.csv
gzip -c t.csv > t.csv.gz
{ head -c $(($(wc -c < t.csv.gz) - 8)) t.csv.gz; printf 'XXXX'; tail -c 4 t.csv.gz; } > u.csv.gz
bm sign u.csv.gz --on-error skip -o out; exits 0
printf '1\n2\n' | holds out/ids.txt
printf 'file\tline\treason\nu.csv.gz\t5\tthe rest of the file cannot be read: broken gzip data (incorrect data check)\n' | holds out/skipped.tsv
rm -r out

# `files`: a document that breaks off is the bad record
mkdir docs
printf 'some words of a text' > docs/a.txt
printf 'other words of another text' | gzip -c | head -c 30 > docs/b.txt.gz
printf 'some words of a text' > docs/c.txt
bm dedup docs --on-error skip -o out; exits 0
printf 'docs/a.txt\n' | holds out/kept_ids.txt
says out/skipped.tsv '^docs/b\.txt\.gz	1	the file cannot be read: '
adds_up out/report.json
bm filter out docs -o clean; exits 0
holds clean/kept_ids.txt < out/kept_ids.txt
rm -r out clean

# an array of JSON that ends in the middle
printf '[{"id":1,"text":"a"},\n{"id":2,"text":"b"},\n{"id":3,"te' > cut.json
printf '[{"id":4,"text":"c"}]' > whole.json
bm dedup cut.json whole.json --format json -o out; refused 3 'cut\.json:3: '; absent out
bm dedup cut.json whole.json --format json --on-error skip -o out; exits 0
adds_up out/report.json
says out/report.json '"documents": ?3\b'
says out/skipped.tsv '^cut\.json	3	the rest of the file cannot be read: broken JSON'
rm -r out

# --resume goes on after a broken file
gzip -c b.jsonl | head -c 150000 > cut.jsonl.gz
set -- dedup cut.jsonl.gz missing.jsonl c.jsonl --on-error skip
bm "$@" -o whole; exits 0
sealed() { grep -c '^documents' out.partial/.bandmill-journal 2> /dev/null || true; }
for try in $(seq 50); do
    rm -rf out out.partial
    command_line="kill -INT bandmill $*"
    BANDMILL_SEAL_SECONDS=0 env --default-signal=INT "$PROGRAM" "$@" -o out --threads 1 --batch-docs 50 > ../out 2> ../err &
    job=$!
    while kill -STOP $job 2> /dev/null && [ ! -e out ] && [ "$(sealed)0" -lt 100 ]; do
        kill -CONT $job
        sleep 0.01
    done
    kill -INT $job 2> /dev/null
    kill -CONT $job 2> /dev/null
    wait $job
    rc=$?
    [ -e out ] || break # else it was done before anybody looked
done
exits 130
printf '{"id":"now","text":"it is there"}\n' > missing.jsonl
bm "$@" -o out --resume; refused 7 '.*the input missing\.jsonl'
rm missing.jsonl
bm "$@" -o out --resume; exits 0
for file in skipped.tsv removed.tsv sources.tsv groups.jsonl kept/cut.jsonl.gz kept/c.jsonl; do holds "out/$file" < "whole/$file"; done
