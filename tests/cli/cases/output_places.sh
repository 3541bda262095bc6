# SPDX-License-Identifier: Apache-2.0
# Where outputs may be written: below directories that do not exist yet, and in place of an empty directory.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"one two three four five six"}\n' > a.jsonl
echo 'no JSON' > bad.jsonl

bm dedup a.jsonl -o new/deep/out; exits 0
[ "$(ls new/deep)" = out ] || fail "beside the output: $(ls -A new/deep)"
bm pairs a.jsonl -o rows/deep/pairs.tsv --report said/report.json --histogram said/too/histogram.tsv; exits 0
printf 'id_a\tid_b\tjaccard\na\tb\t1.000000\n' | holds rows/deep/pairs.tsv
says said/report.json '"kind": "pairs"'
says said/too/histogram.tsv '^0.99	1.00	1$'
bm cluster rows/deep/pairs.tsv -o groups/groups.jsonl; exits 0
bm sign a.jsonl -o new/signatures; exits 0
bm filter new/deep/out -o kept/too; exits 0
bm explain new/deep/out a b -o why/this.txt; exits 0
rm -r new rows said groups kept why

# A job that fails takes them away again: what it made, and that alone.
bm dedup bad.jsonl -o new/deep/out; exits 3; absent new
bm pairs bad.jsonl -o new/deep/out; exits 3; absent new
bm dedup a.jsonl -o new/deep/out --device no-such-device; exits 5; absent new
mkdir mine
bm dedup bad.jsonl -o mine/deep/out; exits 3
[ -d mine ] || fail "a folder of the user's was removed"
[ -z "$(ls -A mine)" ] || fail "left over: $(ls -A mine)"
bm dedup a.jsonl -o mine/../a.jsonl/out; exits 2
bm dedup a.jsonl -o a.jsonl/deep/out; exits 4
if [ "$(id -u)" -ne 0 ]; then
    chmod a-w mine
    bm dedup a.jsonl -o mine/deep/out; refused 4 'mine/deep: .*[Pp]ermission'
    chmod u+w mine
fi
bm dedup a.jsonl -o new/out --json; exits 0; bm dedup a.jsonl -o new/out; refused 2 'new/out: .*--force'
rm -r new mine

# An interrupted job leaves its work there, and goes on from it.
i=0
while [ $i -lt 20000 ]; do
    echo "{\"id\":$i,\"text\":\"unlike $i $((i * 7919)) $((i * 104729)) any other $((i * 31)) text $((i * 17)) here\"}"
    i=$((i + 1))
done > many.jsonl
(ulimit -f 256; trap '' XFSZ; BANDMILL_SEAL_SECONDS=0 exec "$PROGRAM" dedup many.jsonl -o new/deep/out --batch-docs 500) > ../out 2> ../err; rc=$?
command_line='(limit of 128 kB a file) bandmill dedup many.jsonl -o new/deep/out'
exits 4
if [ -d new/deep/out.partial ]; then
    bm dedup many.jsonl -o new/deep/out --resume; exits 0
    [ "$(ls -A new/deep)" = out ] || fail "beside the output: $(ls -A new/deep)"
    rm -r new
fi
absent new

# An empty directory counts as no output; but for an input, a link, and one that is in use as a mount point.
mkdir void
bm dedup a.jsonl -o void; exits 0; says void/report.json '"kind": "dedup"'
rm -r void; mkdir void
bm sign a.jsonl -o void/ --force; exits 0; says void/manifest.json '"kind": "signatures"'
rm -r void; mkdir void
bm dedup bad.jsonl -o void; exits 3
[ -z "$(ls -A void)" ] || fail "something was left in the empty directory"
bm dedup void -o void; refused 2 'void: the output is the input void'
ln -s void link
bm dedup a.jsonl -o link; refused 2 'link: is a symbolic link'
: > void/mine
bm dedup a.jsonl -o void; refused 2 'void: .*--force'
rm void/mine
if mount -t tmpfs none void 2> /dev/null; then
    bm dedup a.jsonl -o void; refused 2 'void: is a mount point'
    umount void
fi

# "-" is standard output where rows are written, and no name of a file or a directory: nothing is called so by accident.
bm pairs a.jsonl -o - -q; exits 0
printf 'id_a\tid_b\tjaccard\na\tb\t1.000000\n' | holds ../out
bm sign a.jsonl -o -; refused 2 '--output: "-" is no directory \(expected its name, such as \./-\)'
for option in --report --histogram --histogram-svg; do
    bm pairs a.jsonl $option -; refused 2 "$option: \"-\" is no file"
done
bm tune --svg - --threshold 0.8; refused 2 '--svg: "-" is no file'
bm inspect -; refused 2 'inspect does not read standard input'
absent -
