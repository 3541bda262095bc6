# SPDX-License-Identifier: Apache-2.0
# --memory also holds if one record, one row or one of our own files is large: the program stays within the limit, or an error names a
# --memory that is enough. Here with small limits and small files; tests/scale/bombs.sh has them in full size.
# shellcheck shell=sh disable=SC2034,SC2154
python=$PYTHON

# peak MIB COMMAND…: its exit code in $rc; it was resident with MIB and 64 more at most.
peak() {
    bound=$1
    shift
    command_line="bandmill $*"
    "$python" -IS -c 'import os, sys
_, status, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))' "$PROGRAM" "$@" > ../out 2> ../err
    rc=$?
    resident=$(($(tail -n 1 ../out) / 1024))
    sed -i '$d' ../out
    checks=$((checks + 1))
    [ "${BANDMILL_TEST_SIZE-}" = small ] || [ $resident -le $((bound + 64)) ] || fail "$resident MiB resident, --memory ${bound}M"
}
# named: the --memory that the last error names, in MiB
named() { sed -n 's/.*(at least \([0-9]*\)M).*/\1/p' ../err; }

# write BEGIN END FIRST LAST FORMAT: the format for each number, which stands for every %d
write() {
    "$python" -IS -c 'import sys
begin, end, first, last, form = sys.argv[1:]
parts = form.split("%d")
sys.stdout.write(begin + "".join(map(lambda n: str(n).join(parts), range(int(first), int(last) + 1))) + end)' "$@"
}

printf '{"id":"a","text":"one two three"}\n{"id":"b","text":"one two three"}\n{"id":"c","text":"other words"}\n' > docs.jsonl
bm dedup docs.jsonl -q -o found; exits 0
bm sign docs.jsonl -q -o signed; exits 0

# --- files of ours ---
# A manifest of 100 MB that holds little. The name that makes it ours stands at its beginning.
padded() { # padded FILE [BYTES]: of 100 MB now
    sed '$d' "$1" > head
    { cat head; printf ',"more":"'; "$python" -IS -c 'import sys; sys.stdout.write("a" * int(sys.argv[1]))' "${2-100000000}"; printf '"}\n'; } > "$1"
    rm head
}
cp -r found large; padded large/report.json
peak 24 filter large docs.jsonl --memory 24M --threads 2 -q -o no; refused 6 'large/report\.json: .*--memory \(at least 287M\)'; absent no
peak 24 explain large a b --memory 24M --threads 2 -q; refused 6 'large/report\.json: .*--memory \(at least 287M\)'
cp -r signed large.signed; padded large.signed/manifest.json
peak 24 dedup large.signed --memory 24M --threads 2 -q -o no; refused 6 'large\.signed/manifest\.json: .*--memory \(at least 287M\)'; absent no
# what looks at it, and what would replace it: the old output stays
for place in large large/report.json large.signed; do
    peak 24 inspect $place --memory 24M; refused 6 "$place.*: 100[0-9]+ bytes .*--memory \(at least 287M\)"
done
if [ "${BANDMILL_TEST_SIZE-}" != small ]; then peak 287 inspect large --memory 287M; exits 0; says ../out '^digests: ok$'; fi
peak 24 dedup docs.jsonl --memory 24M --threads 2 --force -q -o large; refused 6 'large/report\.json: .*--memory \(at least [0-9]+M\)'; absent large.partial
says large/report.json '"removed": 1'
cp -r found less; padded less/report.json 5000000
peak 24 dedup docs.jsonl --memory 24M --threads 2 --force -q -o less; refused 6 'less/report\.json: .*--memory \(at least [0-9]+M\)'; absent less.partial
peak "$(named)" dedup docs.jsonl --memory "$(named)M" --threads 2 --force -q -o less; exits 0; holds less/removed.tsv < found/removed.tsv
# one that stands where the job would work is told by its beginning
mv large less.partial
peak 24 dedup docs.jsonl --memory 24M --threads 2 --force -q -o less; refused 2 'less\.partial: is a complete output of bandmill'
mv less.partial large; rm -r less
# What is shown may be longer than what is read: here each number takes a line, indented as deep as it lies.
cp -r found deep
"$python" -IS - deep/report.json << 'END'
import re, sys
text = open(sys.argv[1]).read().replace('"report_xxh3_128"', '"was"')
deep = "[" * 60 + ",".join("1" * 200000) + "]" * 60
open(sys.argv[1], "w").write(text.replace('"plan":', '"plan":' + deep + ',"other":', 1))
END
peak 24 inspect deep/report.json --memory 24M; refused 6 'deep/report\.json: what it says does not fit into --memory \(at least [0-9]+M\)'
peak "$(named)" inspect deep/report.json --memory "$(named)M"; exits 0; says ../out '^plan: '
# and a row of groups may have any number of members
cp -r found wide
write '{"group":1,"kept":"0","size":1200000,"members":["0"' ']}
' 1 1199999 ',"member number %d"' > wide/groups.jsonl
peak 24 inspect wide/groups.jsonl --memory 24M; refused 6 'wide/groups\.jsonl:1: a line of [0-9]+ bytes does not fit into --memory \(at least [0-9]+M\)'
peak "$(named)" inspect wide/groups.jsonl --memory "$(named)M"; exits 0; says ../out '^largest: 1200000$'
rm -r deep wide
# a large document of that name in a folder of documents is one of them
mkdir corpus; cp large.signed/manifest.json corpus/manifest.json; sed -i 's/"bandmill"/"another"/' corpus/manifest.json
cp docs.jsonl corpus
bm dedup corpus --format files --max-doc-bytes 1M --on-error skip --memory 24M --threads 2 -q -o documents; exits 0
says documents/report.json '"records": 2'
rm -r large large.signed corpus

# Rows that nothing ends, and more rows than fit. As many are named as sources.tsv counts.
cp -r found hole; truncate -s 3G hole/removed.tsv
peak 24 filter hole docs.jsonl --memory 24M --threads 2 -q -o no; refused 7 'hole/removed\.tsv:3: the line is longer than'; absent no
cp -r found rows
printf 'file\tfirst_row\tdocuments\tskipped\tremoved\tkept\ndocs.jsonl\t0\t800002\t0\t800000\t2\n' > rows/sources.tsv
write 'id	kept	jaccard	reason	file	line
' '' 1 800000 'b%d	a	1.000000	identical	docs.jsonl	%d
' > rows/removed.tsv; relist rows
peak 24 filter rows docs.jsonl --memory 24M --threads 2 -q -o no; refused 6 '.* records do not fit into --memory of 24M \(at least [0-9]+M\)'; absent no
memory=$(named)
peak "$memory" filter rows docs.jsonl --memory "${memory}M" --threads 2 -q -o no; refused 7 'rows/report\.json: counts\.removed is 1 '; absent no
rm -r hole rows

# Members of groups, one in a row and all in one.
cp -r found groups
write '{"group":1,"kept":"0","size":300000,"members":["0"' ']}
' 1 299999 ',"member number %d"' > groups/groups.jsonl; relist groups
peak 24 filter groups docs.jsonl --annotate --memory 24M --threads 2 -q -o no; refused 6 '.*--memory of 24M \(at least [0-9]+M\)|.*does not fit into --memory \(at least [0-9]+M\)'; absent no
peak "$(named)" filter groups docs.jsonl --annotate --memory "$(named)M" --threads 2 -q -o no
write '' '' 1 150000 '{"group":%d,"kept":"a%d","size":2,"members":["a%d","b%d"]}
' > groups/groups.jsonl; relist groups
peak 24 filter groups docs.jsonl --annotate --memory 24M --threads 2 -q -o no; refused 6 'the members of groups do not fit into --memory of 24M \(at least [0-9]+M\)'; absent no
peak "$(named)" filter groups docs.jsonl --annotate --memory "$(named)M" --threads 2 -q -o no; refused 7 'groups/removed\.tsv:2: '; absent no
rm -r groups

# --- documents ---
# A million of two bytes: what a batch takes is not their text.
"$python" -IS -c 'print("a\n" * 1000000, end="")' > short.txt
peak 48 sign short.txt --format lines --memory 48M --threads 2 -q -o none
refused 6 'the first [0-9]+ documents and [0-9]+ bad records do not fit into --memory of 48M \(at least [0-9]+M\)'; absent none
sed -i 's/a/bad/' short.txt # each a bad record
peak 48 sign short.txt --format jsonl --on-error skip --memory 48M --threads 2 -q -o none
refused 6 'the first [0-9]+ documents and [0-9]+ bad records do not fit into --memory of 48M \(at least [0-9]+M\)'; absent none
head -n 100000 short.txt > few.txt
peak 48 sign few.txt --format lines --memory 48M --threads 2 -q -o few; exits 0
rm -r short.txt few.txt few

# --- lines that are followed ---
# One that is too long is not held, one whose shingles are too many is not answered, and what is named does; others are answered beside it.
bm index build small docs.jsonl -q; exits 0
bm index build other docs.jsonl -q; exits 0
follow() { # follow MIB
    peak "$1" query small --follow --memory "$1M" -q --skip-same-id < lines
}
printf '{"id":"x","text":"one two three"}\n' > short.line
"$python" -IS -c 'print("{\"id\":\"long\",\"text\":\"" + "word " * 8000000 + "\"}")' > long.line    # 40 MB of few words
"$python" -IS -c 'print("{\"id\":\"wide\",\"text\":\"" + " ".join(map(str, range(1000000))) + "\"}")' > wide.line # 7 MB of many
cat short.line long.line short.line > lines
follow 64; exits 6; says ../err '^bandmill: -:2: a record of 400000[0-9]+ bytes does not fit into --memory of 64M \(at least [0-9]+M\)'
printf 'x\ta\t1.000000\nx\tb\t1.000000\n\n' | holds ../out
follow "$(named)"; exits 0; printf 'x\ta\t1.000000\nx\tb\t1.000000\n\n\nx\ta\t1.000000\nx\tb\t1.000000\n\n' | holds ../out
cat wide.line short.line wide.line > lines
follow 32; exits 6; says ../err '^bandmill: -:1: a record of 68[0-9]+ bytes does not fit into --memory of 32M \(at least [0-9]+M\)'
follow "$(named)"; exits 0; printf '\nx\ta\t1.000000\nx\tb\t1.000000\n\n\n' | holds ../out
memory=$(named)
peak 32 index add other --unique --follow --memory 32M -q < lines; exits 6; says ../err '^bandmill: -:1: a record of 68[0-9]+ bytes does not fit into --memory of 32M \(at least [0-9]+M\)'
peak "$(named)" index add other --unique --follow --memory "$(named)M" --duplicate-ids number -q < lines; exits 0
printf '\nx\ta\t1.000000\n\nwide\twide\t1.000000\n\n' | holds ../out
bm index check other; exits 0
rm -r small other lines ./*.line

# --- windows of decoders ---
# Of 128 MiB each, as the first bytes say: a stream of xz, and a frame of Zstandard by hand (a header, and an empty last block). They are refused before
# they are read; behind another frame such a one is met while reading.
"$python" -IS - << 'END'
import lzma
text = b"one two three\n" * 3
for mib in 8, 128:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": mib << 20, "preset": 0}]
    open(f"{mib}.xz", "wb").write(lzma.compress(text, lzma.FORMAT_XZ, filters=filters))
def frame(log): # one raw block
    return b"\x28\xb5\x2f\xfd\x00" + bytes([(log - 10) << 3]) + (len(text) << 3 | 1).to_bytes(3, "little") + text
open("128.zst", "wb").write(frame(27))
open("later.zst", "wb").write(frame(17) + frame(27))
END
cat 8.xz 128.xz > later.xz
for file in 128.xz 128.zst; do
    peak 64 sign $file --format lines --memory 64M --threads 2 -q -o none
    refused 6 "$file: the compressed data asks for a window of 134217728 bytes, which does not fit into --memory of 64M \(at least [0-9]+M\)"; absent none
    memory=$(named)
    peak "$memory" sign $file --format lines --memory "${memory}M" --threads 2 -q -o $file.out; exits 0
    says $file.out/manifest.json '"documents": 3'
done
peak 24 sign 8.xz --format lines --memory 24M --threads 2 -q -o 8.xz.out; exits 0
for file in later.xz later.zst; do
    peak 64 sign $file --format lines --memory 64M --threads 2 -q -o none
    refused 6 "$file: the .* data asks for a window of more than 8 MiB, .*--memory leaves for one \(at least 2048M for any\)"; absent none
    bm sign $file --format lines --memory 2048M --threads 2 -q -o $file.out; exits 0
    says $file.out/manifest.json '"documents": 6'
done
