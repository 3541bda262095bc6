# SPDX-License-Identifier: Apache-2.0
# An interrupted job has left files that were changed since. Either --resume reports it and names the file (7), or it ignores what was
# damaged and writes the same bytes as an undisturbed job. Until it has finished there is nothing at the target.
# shellcheck shell=sh disable=SC2034,SC2154
awk 'BEGIN { srand(11)
    for (i = 0; i < 60; i++) {
        if (i % 5 != 4) { text = ""; for (w = 0; w < 30; w++) text = text " " int(rand() * 900) }
        else sub(/ [0-9]+$/, " other", text)
        printf "{\"id\":\"d%d\",\"text\":\"%s\"}\n", i, text
    } }' > whole.jsonl
export BANDMILL_SEAL_SECONDS=0

job() {
    case $kind in
    sign) bm sign in.jsonl --band-keys --threshold 0.6 "$@" ;;
    dedup) bm dedup in.jsonl --threshold 0.6 "$@" ;;
    esac
}

flip() { printf "\\$(printf %03o $(($(od -An -tu1 -j "$2" -N 1 "$1") ^ $3)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

# goes_on FILE STRICT: with this file damaged
goes_on() {
    checks=$((checks + 1))
    job --resume -q -o out
    if [ "$rc" = 7 ]; then
        refused 7 ".*($1|out\.partial: the input in\.jsonl has changed)" # of a journal: that the input was broken is forgotten
        [ ! -e out ] || fail "something at the target"
    elif [ "$1" = .bandmill-work ] && [ "$rc" -eq 2 ]; then
        refused 2 'out\.partial' # nobody says that it is ours
        [ ! -e out ] || fail "something at the target"
    elif [ "$rc" != 0 ] || [ "$2" = yes ]; then
        fail "exit code $rc after $1 was damaged, expected 7"
    else
        diff -rq -x '*.json' right out > ../differing || fail "$(cat ../differing) after $1 was damaged"
        for output in right/*.json; do
            [ "$(grep '"outputs"' "$output")" = "$(grep '"outputs"' "out/${output#right/}")" ] || fail "other outputs after $1 was damaged"
        done
    fi
    rm -rf out out.partial
    cp -Rp sealed out.partial
}

# damage FILE FROM STRICT: from that byte on
damage() {
    file=out.partial/$1
    size=$(wc -c < "$file")
    bit=1 step=0
    while [ $step -le 7 ]; do
        case ${BANDMILL_TEST_SIZE:-normal}.$step in small.[1346]) bit=$((bit * 2)) step=$((step + 1)); continue ;; esac
        flip "$file" $(($2 + (size - 1 - $2) * step / 7)) $bit
        goes_on "$1" "$3"
        bit=$((bit * 2)) step=$((step + 1))
    done
    head -c $((size / 2)) "sealed/$1" > "$file"
    goes_on "$1" "$3"
    { head -c $((size / 2)) "sealed/$1"; head -c 64 /dev/zero; tail -c +$((size / 2 + 65)) "sealed/$1"; } > "$file"
    goes_on "$1" "$3"
    printf 'more' >> "$file"
    goes_on "$1" no
}

# Arrays that were sealed to the last row are compared at the end, when their digests are taken. The report is longer than all files before it.
kind=sign
head -n 20 whole.jsonl > in.jsonl
bm sign in.jsonl --perms 8 --band-keys --threshold 0.6 -o right; exits 0
blocks=$((($(wc -c < right/manifest.json) - 1) / 512))
(ulimit -f $blocks; bm sign in.jsonl --perms 8 --band-keys --threshold 0.6 -q -o out; refused 4 'out\.partial/output/manifest\.json: ')
says out.partial/.bandmill-journal '^documents	20	0	1	'
cp -Rp out.partial sealed
job() { bm sign in.jsonl --perms 8 --band-keys --threshold 0.6 "$@"; }
goes_on nothing no
for array in signatures content_hash band_keys; do damage output/$array.npy 128 yes; done
rm -r right sealed out.partial
job() {
    case $kind in
    sign) bm sign in.jsonl --band-keys --threshold 0.6 "$@" ;;
    dedup) bm dedup in.jsonl --threshold 0.6 "$@" ;;
    overlap) bm overlap in.jsonl --against items.jsonl --shingle word:8 --threshold 0.1 "$@" ;;
    esac
}

awk 'NR % 7 == 3' whole.jsonl > items.jsonl
for kind in sign dedup overlap; do
    cp whole.jsonl in.jsonl
    job -o right; exits 0
    { head -n 50 whole.jsonl; echo '{"id":'; tail -n 10 whole.jsonl; } > in.jsonl
    job -o out --batch-docs 1; refused 3 'in\.jsonl:51: .* 50 documents before it are saved'
    [ ! -e out ] || fail "something at the target"
    mv out.partial sealed
    cp -Rp sealed out.partial
    cp whole.jsonl in.jsonl
    goes_on nothing no
    # the head of an array is written anew at the end
    [ $kind != sign ] || for array in signatures content_hash band_keys; do damage output/$array.npy 128 yes; done
    damage .bandmill-documents 0 yes
    [ $kind != dedup ] || damage .bandmill-sets 0 no
    damage .bandmill-journal 0 no
    damage .bandmill-work 0 no
    rm -r right sealed out.partial
done
