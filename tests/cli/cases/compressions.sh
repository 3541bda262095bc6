# SPDX-License-Identifier: Apache-2.0
# xz, bzip2 and LZ4 work like gzip and Zstandard: they are recognised by the first bytes, on stdin too, and kept files have the compression
# of their input. The programs xz, bzip2, lz4, zstd and gzip pack and unpack the data here.
# shellcheck shell=sh disable=SC2034,SC2154
for tool in xz bzip2 lz4 zstd gzip; do
    command -v "$tool" > /dev/null || skip "no $tool"
done
i=0
while [ $i -lt 3000 ]; do
    echo "{\"id\":$i,\"text\":\"a line of many, number $((i / 2)), some $((i / 2 * 7919 % 10007)) and $((i / 2 * 104729 % 3001)) more\"}"
    i=$((i + 1))
done > a.jsonl
bm dedup a.jsonl -o plain; exits 0
says plain/report.json '"removed": ?1500\b'

# pack KIND < plain > packed; unpack KIND the other way
pack() {
    case $1 in
    gz) gzip -c ;; zst) zstd -qc ;; xz) xz -1c ;; bz2) bzip2 -1c ;; lz4) lz4 -qc ;;
    esac
}
unpack() {
    case $1 in
    gz) gzip -dc ;; zst) zstd -qdc ;; xz) xz -dc ;; bz2) bzip2 -dc ;; lz4) lz4 -qdc ;;
    esac
}

for kind in gz zst xz bz2 lz4; do
    pack $kind < a.jsonl > "a.jsonl.$kind"
    bm dedup "a.jsonl.$kind" -o out; exits 0
    sed "s/a\.jsonl/&.$kind/" plain/removed.tsv | holds out/removed.tsv
    unpack $kind < "out/kept.jsonl.$kind" > kept; holds plain/kept.jsonl < kept
    cp "out/kept.jsonl.$kind" first
    rm -r out
    bm dedup "a.jsonl.$kind" -o out --batch-docs 7 --threads 3; exits 0
    holds "out/kept.jsonl.$kind" < first # the compressed bytes too
    rm -r out

    # stdin, and a name that says nothing: by the first bytes
    command_line="bandmill dedup - < a.jsonl.$kind"
    "$PROGRAM" dedup - -o out < "a.jsonl.$kind" > ../out 2> ../err; rc=$?
    exits 0
    sed 's/a\.jsonl/-/' plain/removed.tsv | holds out/removed.tsv
    unpack $kind < "out/kept.jsonl.$kind" > kept; holds plain/kept.jsonl < kept
    rm -r out
    cp "a.jsonl.$kind" plainname.jsonl
    bm sign plainname.jsonl -o out; exits 0
    says out/manifest.json '"documents": ?3000\b'
    rm -r out

    # one stream after another, an empty one between
    { head -n 1000 a.jsonl | pack $kind; : | pack $kind; tail -n 2000 a.jsonl | pack $kind; } > "two.jsonl.$kind"
    bm dedup "two.jsonl.$kind" -o out; exits 0
    holds out/groups.jsonl < plain/groups.jsonl
    rm -r out
    bm dedup "a.jsonl.$kind" -o out --kept none; exits 0; holds out/kept.jsonl < plain/kept.jsonl; rm -r out
    bm dedup "a.jsonl.$kind" -o out --kept gz; exits 0; gzip -dc out/kept.jsonl.gz > kept; holds plain/kept.jsonl < kept; rm -r out
    : | pack $kind > "none.jsonl.$kind"
    bm sign "none.jsonl.$kind" -o out; exits 0; silent out/ids.txt; rm -r out

    # damage: cut short, a byte changed, bytes after the end, another compression than the name says
    size=$(wc -c < "a.jsonl.$kind")
    for keep in 0 1 5 11 $((size / 2)) $((size - 2)); do
        head -c "$keep" "a.jsonl.$kind" > "cut.jsonl.$kind"
        bm sign "cut.jsonl.$kind" -o out; refused 3 "cut\.jsonl\.$kind: "; absent out
    done
    { head -c $((size / 2)) "a.jsonl.$kind"; printf 'XXXXXXXX'; tail -c +$((size / 2 + 9)) "a.jsonl.$kind"; } > "broken.jsonl.$kind"
    bm sign "broken.jsonl.$kind" -o out; refused 3 "broken\.jsonl\.$kind: "; absent out
    { cat "a.jsonl.$kind"; echo junk; } > "tail.jsonl.$kind"
    bm sign "tail.jsonl.$kind" -o out; refused 3 "tail\.jsonl\.$kind: "; absent out
    cp a.jsonl "text.jsonl.$kind"
    bm sign "text.jsonl.$kind" -o out; refused 3 "text\.jsonl\.$kind: the name promises"; absent out
done

# padding of xz: zeros in fours
{ cat a.jsonl.xz; printf '\0\0\0\0\0\0\0\0'; cat none.jsonl.xz; printf '\0\0\0\0'; } > padded.jsonl.xz
bm dedup padded.jsonl.xz -o out; exits 0; holds out/groups.jsonl < plain/groups.jsonl; rm -r out
{ cat a.jsonl.xz; printf '\0\0\0'; } > padded.jsonl.xz
bm sign padded.jsonl.xz -o out; refused 3 'padded\.jsonl\.xz: '; absent out

# a dictionary of 2^27 bytes is read, a larger one is not
xz -c --lzma2=preset=0,dict=128MiB < a.jsonl > dict.jsonl.xz
bm sign dict.jsonl.xz -o out; exits 0; rm -r out
xz -c --lzma2=preset=0,dict=192MiB < a.jsonl > dict.jsonl.xz
bm sign dict.jsonl.xz -o out; refused 3 'dict\.jsonl\.xz: .*2\^27'; absent out

# kinds beside each other; endings in capitals
mkdir mixed
for kind in gz zst xz bz2 lz4; do
    sed "s/\"id\":\([0-9]*\)/\"id\":\"$kind-\1\"/" a.jsonl | pack $kind > "mixed/$kind.JSONL.$(echo $kind | tr a-z A-Z)"
done
bm dedup mixed -o out; exits 0
says out/report.json '"documents": ?15000\b'
for kind in gz zst xz bz2 lz4; do
    file=out/kept/$kind.JSONL.$(echo $kind | tr a-z A-Z)
    unpack $kind < "$file" > kept || fail "$file does not unpack"
done
unpack bz2 < out/kept/bz2.JSONL.BZ2 | sed 's/"bz2-\([0-9]*\)"/\1/' | holds plain/kept.jsonl
rm -r out

# the old format of lz4 has no frames
lz4 -qlc a.jsonl > old.jsonl
bm sign old.jsonl -o out; refused 3 'old\.jsonl: .*LZ4'; absent out

# two files of one name to keep: what helps is said
gzip -c a.jsonl > pair.jsonl.gz; cp a.jsonl pair.jsonl
bm dedup pair.jsonl pair.jsonl -o pair --duplicate-ids number; refused 2 'two inputs would both be kept as kept/pair.jsonl \(leave one out, or use --kept no\)$'
bm dedup pair.jsonl pair.jsonl.gz -o pair --duplicate-ids number --kept none; refused 2 '.* \(leave one out, or use --kept same, or no\)$'
