# SPDX-License-Identifier: Apache-2.0
# Outputs of ours that were changed after we wrote them: every command that reads one reports it, names the file, exits with 7 and leaves
# nothing at its target. Here bits are flipped all over each file; it is truncated, lengthened, and loses a block.
# shellcheck shell=sh disable=SC2034,SC2154
awk 'BEGIN { srand(7)
    for (i = 0; i < 80; i++) {
        if (i % 4 != 3) { text = ""; for (w = 0; w < 40; w++) text = text " " int(rand() * 900) }
        else sub(/ [0-9]+$/, " other", text)
        printf "{\"id\":\"d%d\",\"text\":\"%s\"}\n", i, text
        if (i == 30) print "broken"
    } }' > in.jsonl
bm sign in.jsonl -o sig --on-error skip; exits 0
bm dedup in.jsonl -o out --on-error skip --pairs --threshold 0.6; exits 0
pair=$(sed -n 2p out/removed.tsv | cut -f 1,2)
mkdir ../whole && cp -R sig out ../whole

# reads NAME: by all commands that read this file of ours back; each is refused, or (NAME none) none is
reads() {
    command=$1 damaged=$2
    case $command in
    dedup) bm dedup sig -o made --verify signature ;;
    pairs) bm pairs sig -o made --verify signature ;;
    filter) bm filter out -o made ;;
    annotate) bm filter out --annotate -o made ;;
    explain) bm explain out $pair ;;
    cluster) bm cluster out/pairs.tsv -o made ;;
    esac
    if [ "$damaged" = none ]; then
        exits 0
        rm -rf made
    else
        refused 7 ".*$damaged"
        absent made
    fi
}

flip() { printf "\\$(printf %03o $(($(od -An -tu1 -j "$2" -N 1 "$1") ^ $3)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

# damage FILE COMMAND...: in each of these ways
damage() {
    file=$1
    shift
    size=$(wc -c < "$file")
    bit=1 step=0
    while [ $step -le 9 ]; do
        at=$(((size - 1) * step / 9))
        case ${BANDMILL_TEST_SIZE:-normal}.$step in small.[1245]) step=$((step + 1)); continue ;; esac
        flip "$file" $at $bit
        for command in "$@"; do reads "$command" "$file"; done
        cp "../whole/$file" "$file"
        bit=$((bit == 128 ? 1 : bit * 2)) step=$((step + 1))
    done
    for how in half last longer zeros; do
        case $file.$how in
        *.json.last | *.json.longer) continue ;; # a newline at the end of JSON says nothing
        esac
        case $how in
        half) head -c $((size / 2)) "../whole/$file" > "$file" ;;
        last) head -c $((size - 1)) "../whole/$file" > "$file" ;;
        longer) { cat "../whole/$file"; printf '\n'; } > "$file" ;;
        zeros) { head -c $((size / 2)) "../whole/$file"; head -c 24 /dev/zero; tail -c +$((size / 2 + 25)) "../whole/$file"; } > "$file" ;;
        esac
        cmp -s "$file" "../whole/$file" && continue # it was zeros
        for command in "$@"; do reads "$command" "$file"; done
    done
    cp "../whole/$file" "$file"
}

for command in dedup pairs filter annotate explain cluster; do reads $command none; done
for file in signatures.npy content_hash.npy n_shingles.npy n_bytes.npy ids.txt sources.tsv skipped.tsv; do damage sig/$file dedup; done
damage sig/signatures.npy pairs
damage sig/ids.txt pairs
for file in removed.tsv sources.tsv skipped.tsv; do damage out/$file filter; done
damage out/removed.tsv annotate
damage out/groups.jsonl annotate explain
damage out/pairs.tsv explain cluster
damage sig/manifest.json dedup pairs
damage out/report.json filter explain
