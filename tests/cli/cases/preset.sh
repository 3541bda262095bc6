# SPDX-License-Identifier: Apache-2.0
# `--preset` gives the same bytes as the options that it stands for. Other options override it, and it reports what it cannot reproduce.
for i in $(seq 1 12); do
    printf '{"id":%s,"text":"One two, three four-five six! %s seven eight nine ten eleven twelve thirteen fourteen %s"}\n' "$i" "$((i / 2))" "$i"
done > a.jsonl

# same NAME OPTIONS...: sign with the preset, and with these options
same() {
    name=$1
    shift
    bm sign a.jsonl -o "p-$name" --preset "$name"
    exits 0
    says ../err "^bandmill: --preset $name: "
    bm sign a.jsonl -o "o-$name" "$@"
    exits 0
    cmp -s "p-$name/signatures.npy" "o-$name/signatures.npy" || fail "$name: other words"
    for folder in "p-$name" "o-$name"; do sed -n '/"provenance"/,/"counts"/p' "$folder/manifest.json" > "../$folder"; done
    cmp -s "../p-$name" "../o-$name" || fail "$name: another provenance or plan: $(diff "../p-$name" "../o-$name" | head -n 4)"
    # An option beside the preset that has the preset's own value changes nothing, alone or with all others.
    repeats "$name" "$@"
    while [ $# -gt 0 ]; do
        [ "$1" = --bands ] || repeats "$name" "$1" "$2"
        [ "$1" != --bands ] || repeats "$name" "$1" "$2" "$3" "$4"
        shift 2
    done
}

# repeats NAME OPTIONS...: sign with the preset and with these options, which say what it says; its files lie in p-NAME.
repeats() {
    preset=$1
    shift
    bm sign a.jsonl -q --force -o repeated --preset "$preset" "$@"
    exits 0
    cmp -s "p-$preset/signatures.npy" repeated/signatures.npy || fail "$preset beside $*: other words"
    sed -n '/"provenance"/,/"counts"/p' repeated/manifest.json | cmp -s "../p-$preset" - || fail "$preset beside $*: another provenance or plan"
}
same datasketch --hash sha1 --scheme affine32 --perms 128 --seed 1
same datatrove --shingle word:5 --normalize lower,strip-accents,digits --words alnum --hash xxh64 --scheme datatrove --seed 1 --perms 112 \
    --bands 14 --rows 8
same nemo --shingle char:24 --normalize none --words alnum --hash murmur3 --scheme nemo --seed 42 --perms 260 --bands 20 --rows 13
same text-dedup --shingle word:5 --normalize lower --words text-dedup --hash sha1 --scheme text-dedup --seed 42 --perms 240
same lance --shingle word:3 --normalize lower --words alnum --hash xxh64 --scheme lance --seed 42 --perms 128 --bands 16 --rows 8
same slimpajama --shingle char:5 --normalize nfc,lower,punct --words alnum --hash sha1 --scheme legacy --seed 1 --perms 128 --bands 16 --rows 8
same SEDD --shingle word:13 --normalize lower --words space --hash sha1 --scheme legacy --seed 1 --perms 128 --bands 9 --rows 13

# options beside it win, in whatever order
bm sign a.jsonl --shingle word:2 -o won --preset lance --seed 5 --perms 64
exits 0
says won/manifest.json '"shingle": "word:2"'
says won/manifest.json '"seed": 5'
says won/manifest.json '"perms": 64'
says won/manifest.json '"scheme": "lance"'
bm sign a.jsonl -o other --preset nemo --scheme affine32
exits 0
says other/manifest.json '"hash": "xxh3"'
bm dedup a.jsonl -o recall --preset nemo --recall 0.9 --threshold 0.7
exits 0
bm dedup a.jsonl -o t --preset text-dedup
exits 0
says t/report.json '"threshold": 0.7'
bm tune --preset text-dedup -q
exits 0

# of signatures, what contradicts them
bm dedup p-lance -o none --preset nemo
exits 2
says ../err '^bandmill: --scheme nemo contradicts the signatures of p-lance'
absent none
bm dedup p-lance -o again --preset lance
exits 0
bm sign a.jsonl -o none --preset spark
refused 2 '.*datasketch'
bm import p-lance/signatures.npy --from npy -o imported --preset lance
exits 0
bm sign a.jsonl -o quiet --preset SEDD -q
exits 0
silent ../err
bm help sign
says ../out 'datatrove cuts words with a tokenizer \(spaCy'
