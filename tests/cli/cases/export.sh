# SPDX-License-Identifier: Apache-2.0
# `export`: which files it adds to those of a form, what it refuses, and that a failed export leaves nothing.
# (tests/reference/test_exchange.py and test_datatrove.py check that the other tools read the files.)
for i in $(seq 1 40); do
    printf '{"id":"doc %s","text":"%s"}\n' "$i" "one two three four five six seven $i $((i * 7)) eight nine"
done > a.jsonl
bm sign a.jsonl -o signed --perms 32
exits 0
bm sign a.jsonl -o binned --perms 32 --scheme oph
exits 0

# each form has its files, and a report that is ours
for form in leanminhash npy tsv milvus datatrove; do
    bm export signed --to $form -o x-$form --bands 4 --rows 8
    case $form in
    datatrove) exits 0 ;;
    *) refused 2 "--bands and --rows mean nothing for signatures in the form of $form" && bm export signed --to $form -o x-$form && exits 0 ;;
    esac
    says ../err "^bandmill: exported in "
    bm inspect x-$form
    exits 0
done
bm export signed --to leanminhash -o again
says ../err "leanminhash has no place for ids, numbers of shingles and provenance: these are in ids.txt, n_shingles.npy and report.json"
for file in ids.txt n_shingles.npy signatures.leanminhash; do
    cmp -s again/$file x-leanminhash/$file || fail "$file differs from one run to the next"
done
cmp -s x-npy/ids.txt signed/ids.txt || fail "other ids"
cmp -s x-npy/signatures.npy signed/signatures.npy || fail "other words"
bm export signed --to npy -o bands --what bands --bands 4 --rows 8
exits 0
bm sign a.jsonl -o keyed --perms 32 --band-keys --bands 4 --rows 8
cmp -s bands/band_keys.npy keyed/band_keys.npy || fail "keys of bands are not those of sign --band-keys"
bm export keyed --to npy -o planned --what bands
cmp -s planned/band_keys.npy keyed/band_keys.npy || fail "the plan is not that of the directory"
bm export signed --to tsv -o j --json
exits 0
says ../out '"kind": ?"export"'

# an existing output stays, unless it is ours and --force is given
bm export signed --to tsv -o x-tsv
refused 2 "x-tsv: "
bm export signed --to npy -o x-tsv --force
exits 0
absent x-tsv/signatures.tsv
mkdir mine && echo mine > mine/report.json
bm export signed --to tsv -o mine --force
refused 2 "mine"
says mine/report.json mine

# values that a form cannot hold; inputs that are no directory of signatures
bm export binned --to leanminhash -o none
refused 2 "--to leanminhash has no place for signatures of the scheme oph \(affine32, affine64 or legacy\)"
bm sign a.jsonl -o wide --perms 32 --scheme affine64 -q
bm export wide --to datatrove --bands 4 --rows 8 -o none
refused 2 "--to datatrove has no place for signatures of the scheme affine64"
bm export wide --to leanminhash -o x-wide -q
exits 0
bm import x-wide --from leanminhash -o b-wide -q
exits 0
cmp -s b-wide/signatures.npy wide/signatures.npy || fail "other words of 64 bits"
bm export signed --to milvus --what bands -o none
refused 2 "--what bands is for npy, tsv, arrow and parquet"
bm export signed --to milvus --threshold 0.5 -o none
refused 2 "--threshold means nothing for signatures in the form of milvus"
bm export signed --to npy --recall 0.5 -o none
refused 2 "--recall means nothing for signatures in the form of npy"
# a given threshold decides before the bands of the directory, and these before the bands of the tool
bm export keyed --to datatrove --threshold 0.3 -o asked -v
exits 0
says ../err "finds 9[5-9].* of the pairs at 0.3$"
bm export signed --to datatrove --bands 9 --rows 9 -o none
refused 2 ".*(perms|permutations)"
bm export a.jsonl --to npy -o none
refused 2 "a.jsonl: is no directory of signatures"
bm export signed -o none
refused 2 "no form \(expected --to"
bm export signed --to spark -o none
refused 2 ".*spark"
bm export --to npy -o none
refused 2 "0 inputs \(expected one directory that sign wrote\)"
bm export signed --to npy -o signed/inside
refused 2 ".*"
absent none signed/inside

# each file that is read is compared with the manifest
for file in signatures.npy ids.txt n_shingles.npy sources.tsv; do
    cp -r signed damaged
    printf 'X' | dd of=damaged/$file bs=1 seek="$(($(wc -c < damaged/$file) - 2))" conv=notrunc 2> /dev/null
    bm export damaged --to datatrove -o none --bands 4 --rows 8
    refused 7 "damaged/$file"
    absent none
    rm -rf damaged
done
