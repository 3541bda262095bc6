# SPDX-License-Identifier: Apache-2.0
# Files that are not what their name or format says: one line of error, the right exit code, and nothing at the target.
# shellcheck shell=sh disable=SC2034,SC2154
i=0
while [ $i -lt 2000 ]; do
    echo "{\"id\":$i,\"text\":\"line $i of a file that is long enough to be compressed into more than one block $((i * 7919 % 1000))\"}"
    i=$((i + 1))
done > a.jsonl
gzip -k a.jsonl

# refuses CODE 'ERE' INPUT...: by every command that reads
refuses() {
    code=$1 ere=$2
    shift 2
    for command in sign dedup; do
        bm "$command" "$@" -o out
        refused "$code" "$ere"
        absent out
    done
    bm pairs "$@" -o out.tsv
    refused "$code" "$ere"
    absent out.tsv
}

size=$(wc -c < a.jsonl.gz)
for keep in 1 5 17 $((size / 2)) $((size - 4)) $((size - 1)); do
    head -c "$keep" a.jsonl.gz > cut.jsonl.gz
    refuses 3 'cut\.jsonl\.gz' cut.jsonl.gz
done
{ head -c $((size / 2)) a.jsonl.gz; printf 'XXXXXXXX'; tail -c +$((size / 2 + 9)) a.jsonl.gz; } > broken.jsonl.gz
refuses 3 'broken\.jsonl\.gz' broken.jsonl.gz
{ cat a.jsonl.gz; echo junk; } > tail.jsonl.gz
refuses 3 'tail\.jsonl\.gz' tail.jsonl.gz
if command -v zstd > /dev/null; then
    zstd -q a.jsonl
    size=$(wc -c < a.jsonl.zst)
    for keep in 1 5 $((size / 2)) $((size - 1)); do
        head -c "$keep" a.jsonl.zst > cut.jsonl.zst
        refuses 3 'cut\.jsonl\.zst' cut.jsonl.zst
    done
fi
head -c 100 a.jsonl.gz > stdin.gz
bm sign - -o out < stdin.gz; refused 3 ''; absent out

cp a.jsonl plain.jsonl.gz
refuses 3 'plain\.jsonl\.gz.*gz' plain.jsonl.gz
cp a.jsonl plain.jsonl.zst
refuses 3 'plain\.jsonl\.zst.*Zstandard' plain.jsonl.zst
printf 'PAR1\025\004\025\000PAR1' > p.parquet
refuses 3 'p\.parquet.*Parquet' p.parquet
cp p.parquet p.jsonl
refuses 3 'p\.jsonl.*Parquet' p.jsonl
printf 'ARROW1\000\000' > a.arrow
refuses 3 'a\.arrow.*Arrow' a.arrow
printf '\3757zXZ\000' > a.jsonl.xz
refuses 3 'a\.jsonl\.xz.*xz' a.jsonl.xz
printf 'BZh91AY&SY' > a.jsonl.bz2
refuses 3 'a\.jsonl\.bz2.*bz' a.jsonl.bz2
printf 'PK\003\004' > a.zip
refuses 3 'a\.zip.*zip' a.zip

mkdir empty hidden
refuses 3 'empty' empty
touch hidden/.a hidden/_b
refuses 3 'hidden' hidden
refuses 4 'missing\.jsonl' missing.jsonl
printf 'a.jsonl\nmissing.jsonl\n' > list
refuses 4 'missing\.jsonl' --files-from list
refuses 4 'nolist' --files-from nolist
ln -s loop loop
refuses 4 'loop' loop
if [ "$(id -u)" -eq 0 ]; then
    refuses 4 '/proc/self/mem' --format lines /proc/self/mem
else
    cp a.jsonl closed.jsonl
    chmod 000 closed.jsonl
    refuses 4 'closed\.jsonl' closed.jsonl
fi
printf 'id\ttext\na\tx\n' > t.tsv
refuses 2 '.*format' a.jsonl t.tsv

# one id twice: in a file, and in two
printf '{"id":"x","text":"a"}\n{"id":"y","text":"b"}\n{"id":"x","text":"c"}\n' > twice.jsonl
refuses 3 'twice\.jsonl:3: .*x' twice.jsonl
printf '{"id":"y","text":"b"}\n' > other.jsonl
printf '{"id":"x","text":"a"}\n{"id":"y","text":"b"}\n' > one.jsonl
refuses 3 'other\.jsonl:1: .*y' one.jsonl other.jsonl
bm sign twice.jsonl --duplicate-ids number -o out; exits 0
printf 'x\ny\nx#2\n' | holds out/ids.txt
rm -r out

# an empty file is 0 documents and exit 0
: > none.jsonl
bm sign none.jsonl -o out; exits 0
silent out/ids.txt
says out/manifest.json '"documents": ?0\b'
rm -r out
bm dedup none.jsonl -o out; exits 0
silent out/kept.jsonl
rm -r out
bm pairs none.jsonl; exits 0
printf 'id_a\tid_b\tjaccard\n' | holds ../out
: | gzip > none.jsonl.gz
bm sign none.jsonl.gz -o out; exits 0
rm -r out

bm pairs a.jsonl --device no-such-device; refused 5 '.*no-such-device'
bm sign a.jsonl --device opencl:97.0 -o out; refused 5 '.*opencl:97\.0'; absent out
