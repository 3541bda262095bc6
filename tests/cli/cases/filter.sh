# SPDX-License-Identifier: Apache-2.0
# filter if there are only ids to filter by: for whole files, and for arrays of hashes made elsewhere. The ids are those of dedup wherever
# the inputs are now; inputs that changed are refused.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
find='--shingle word:1 --threshold 0.7 --perms 64 --bands 64 --rows 1'

# --- files: a is kept of a, b (35 of 45 words shared) and of a third like it ---
mkdir texts
words 0 39 > texts/a; words 5 44 > texts/b; words 900 939 > texts/c; words 1 40 > texts/d
bm dedup texts --format files $find -q -o out; exits 0
printf 'texts/a\ntexts/c\n' | holds out/kept_ids.txt
bm filter out -q -o same; exits 0
holds same/kept_ids.txt < out/kept_ids.txt
mv texts elsewhere
bm filter out elsewhere -q -o moved; exits 0 # ids are what dedup called them
holds moved/kept_ids.txt < out/kept_ids.txt
bm filter out -q -o no; refused 4 'texts/a: the file is not there any more'; absent no
mkdir box; mv elsewhere box/texts
bm filter out --sources box -q -o found; exits 0
holds found/kept_ids.txt < out/kept_ids.txt
says found/report.json '"kept": 2'
words 900 938 > box/texts/c; printf ' w93x\n' >> box/texts/c # the same size
bm filter out --sources box -o no; refused 7 'box/texts/c: the file is not the one that out/report\.json was made from'; absent no
words 900 939 > box/texts/c
# repeated ids are numbered as dedup did
mv box/texts texts
bm dedup texts/a texts/c texts/a --format files --duplicate-ids number --shingle word:1 --keep last -q -o twice; exits 0
printf 'texts/c\ntexts/a#2\n' | holds twice/kept_ids.txt
bm filter twice -q -o twice.kept; exits 0
holds twice.kept/kept_ids.txt < twice/kept_ids.txt
# a bad record is not kept
printf 'w1 \377' > texts/e
bm dedup texts --format files $find --invalid-utf8 error --on-error skip -q -o skipped; exits 0
holds skipped/kept_ids.txt < out/kept_ids.txt
bm filter skipped -q -o skipped.kept; exits 0
holds skipped.kept/kept_ids.txt < out/kept_ids.txt
says skipped.kept/report.json '"records": 5'

# --- arrays of hashes: {1,2}, {2,1}, {3}, {} ---
npy() {
    file=$1 header="{'descr': '$2', 'fortran_order': False, 'shape': ($3,), }"
    shift 3
    { printf '\223NUMPY\001\000\166\000'; printf '%-117s\n' "$header"; printf '%b' "$@"; } > "$file"
}
le4() { for n; do printf '\\0%03o\\0000\\0000\\0000' "$n"; done; }
le8() { for n; do printf '\\0%03o\\0000\\0000\\0000\\0000\\0000\\0000\\0000' "$n"; done; }
npy h.npy '<u4' 5 "$(le4 1 2 2 1 3)"
npy o.npy '<i8' 5 "$(le8 0 2 4 5 5)"
bm dedup --format hashes h.npy --offsets o.npy --perms 16 --bands 16 --rows 1 -q -o hashed; exits 0
printf '0\n2\n3\n' | holds hashed/kept_ids.txt
bm filter hashed -q -o hashed.kept; exits 0
holds hashed.kept/kept_ids.txt < hashed/kept_ids.txt
bm filter hashed h.npy -q -o hashed.given; exits 0
holds hashed.given/kept_ids.txt < hashed/kept_ids.txt
bm explain hashed 0 1 -q; exits 0; says ../out '1\.000000'
# each file has the digest of its own bytes
bm sign --format hashes h.npy --offsets o.npy --perms 16 -q -o sig; exits 0
says sig/manifest.json '"file": "h.npy"'
says sig/manifest.json '"file": "o.npy"'
if python=$(command -v "$PYTHON") && "$python" -c 'import xxhash' 2> ../err; then
    for file in h.npy o.npy; do
        says sig/manifest.json "$("$python" -c 'import sys, xxhash; print(xxhash.xxh3_128_hexdigest(open(sys.argv[1], "rb").read()))' $file)"
    done
fi
changed() { # FILE: it is named, by whatever reads it again
    bm dedup sig --verify exact -o no; refused 7 "$1: the file is not the one that sig/manifest\.json was made from"; absent no
    bm dedup sig -q -o by; exits 0; says by/report.json '"verify": "signature"'; rm -r by
    bm filter hashed -o no; refused 7 "$1: the file is not the one that hashed/report\.json was made from"; absent no
    bm explain hashed 0 1; refused 7 "$1: the file is not the one"
}
bm dedup sig --verify exact --bands 16 --rows 1 -q -o exact; exits 0
holds exact/groups.jsonl < hashed/groups.jsonl
cp h.npy h.was; npy h.npy '<u4' 5 "$(le4 1 2 2 1 4)"
changed h.npy
cp h.was h.npy; cp o.npy o.was; npy o.npy '<i8' 5 "$(le8 0 2 4 4 5)"
changed o.npy
npy o.npy '<i8' 5 "$(le8 0 2 1 4 5)" # and no offsets any more
changed o.npy
mkdir there; mv h.npy there; mv o.was there/o.npy; rm o.npy
bm dedup sig --sources there --verify exact --bands 16 --rows 1 -q -o moved.exact; exits 0
holds moved.exact/groups.jsonl < hashed/groups.jsonl
bm filter moved.exact -q -o moved.kept; exits 0
holds moved.kept/kept_ids.txt < hashed/kept_ids.txt

# --- tables of the directory that do not fit each other ---
printf '{"id":"a","text":"x y"}\n{"id":"b","text":"x y"}\n{"id":"c","text":"z"}\n' > in.jsonl
bm dedup in.jsonl -q -o good; exits 0
spoil() { rm -rf bad; cp -R good bad; sed -i "$2" "bad/$1"; relist bad; bm filter bad -o no; refused 7 "$3"; absent no; }
spoil sources.tsv 's/^in/on/' 'bad/sources\.tsv:2: not the inputs that the report names'
spoil sources.tsv '2d' 'bad/sources\.tsv: 0 inputs'
spoil sources.tsv 's/	1	2$/	2	1/' 'bad/removed\.tsv: 1 rows'
spoil sources.tsv 's/	1	2$/	x	2/' 'bad/sources\.tsv:2: field 5'
spoil removed.tsv 's/in\.jsonl/on.jsonl/' 'bad/removed\.tsv:2: not the rows that sources\.tsv counts'
spoil removed.tsv '2d' 'bad/removed\.tsv: 0 rows'
spoil removed.tsv 's/	2	0$/	7	0/' 'bad/report\.json: 0 of its 1 removed'
rm bad/sources.tsv; bm filter bad -o no; refused 7 'bad/sources\.tsv: the file is missing'; absent no
