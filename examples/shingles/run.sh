#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shingles of characters: those of abcab, those that a word changed touches, and tokens of 4 bytes.
#
#   run.sh [FILE...]    counts the tokens of these texts (a book of 65 kB)
#
# token_collisions is a part of the build, where the program bandmill lies too.
. "$(dirname "$0")/../frame.sh"
program=$(dirname "$(command -v "$bandmill")")/examples/token_collisions
[ -x "$program" ] || die "no program $program (a build makes it: cmake --build build/release --target token_collisions)"

# pieces TEXT K: each run of K characters of TEXT, once, with _ for a blank.
pieces() {
    awk -v text="$1" -v k="$2" 'BEGIN {
        for (i = 1; i + k - 1 <= length(text); i++) {
            piece = substr(text, i, k)
            if (!seen[piece]++) { gsub(/ /, "_", piece); print piece }
        }
    }'
}

# shingles_of NAME TEXT K: rows `text<TAB>id` for the program: TEXT as document NAME, then each piece of it as a document of its own. Bytes,
# not characters, since blanks at the ends of a piece must stay.
shingles_of() {
    printf '%s\t%s\n' "$2" "$1"
    pieces "$2" "$3" | while read -r piece; do
        printf '%s\t%s\n' "$(printf '%s' "$piece" | tr _ ' ')" "$piece"
    done
}

# in_common FILE K [OPTION...]: id of both and similarity of each pair of documents that have a shingle in common.
in_common() {
    file=$1 k=$2
    shift 2
    "$bandmill" pairs "$file" --format tsv --header no --text-field 1 --id-field 2 --shingle "byte:$k" --candidates all --threshold 0.0001 -q "$@"
}

# size FILE TEXT: how many shingles a text has, of the pairs of it and its pieces.
size() {
    awk -v text="$2" '$1 == text { printf "%.0f\n", 1 / $3; exit }' "$1"
}

# A piece is a document of one shingle: the sets of the text that hold it have 1/n in common with it, and n of them are all there are.
shingles_of abcab abcab 2 > "$scratch/abcab.tsv"
in_common "$scratch/abcab.tsv" 2 > "$scratch/abcab.pairs"
number '2-shingles of abcab' 'ab bc ca' "$(awk '$1 == "abcab" { printf "%s%s", between, $2; between = " " }' "$scratch/abcab.pairs")" exact
number '2-shingles of abcab: how many' 3 "$(size "$scratch/abcab.pairs" abcab)" exact
in_common "$scratch/abcab.tsv" 2 --bag > "$scratch/bag.pairs"
number '2-shingles of abcab as a bag: how many' none "$(size "$scratch/bag.pairs" abcab)" none

which='The dog which chased the cat'
that='The dog that chased the cat'
{
    shingles_of which "$which" 3
    printf '%s\t%s\n' "$that" that
} > "$scratch/dog.tsv"
in_common "$scratch/dog.tsv" 3 > "$scratch/dog.pairs"
# Those of the first sentence that have nothing in common with the second.
awk '
    $1 == "which" && $2 != "that" { order[++n] = $2; first[$2] = 1 }
    $2 == "that" && $1 != "which" { delete first[$1] }
    END { for (i = 1; i <= n; i++) if (order[i] in first) { printf "%s%s", between, order[i]; between = " " } }' "$scratch/dog.pairs" > "$scratch/differ"
number '3-shingles that "which" has and "that" has not' 'g_w _wh whi hic ich ch_ h_c' "$(cat "$scratch/differ")" exact
number '3-shingles that "which" has and "that" has not: how many' 7 "$(wc -w < "$scratch/differ" | tr -d ' ')" exact
number 'similarity of the two sentences' none "$(awk '$1 == "which" && $2 == "that" { print $3 }' "$scratch/dog.pairs")" none

if [ $# -gt 0 ]; then
    stand_in "$*"
else
    set -- "$examples/texts/remember_me_1865.txt"
fi
"$program" 9 "$@" > "$scratch/nine"
"$program" 4 "$@" > "$scratch/four"
number '9-shingles of a book' none "$(awk '$1 == 4 { print $2 }' "$scratch/nine")" none
number '4-shingles of a book, which would fit 4 bytes as they are' none "$(awk '$1 == 4 { print $2 }' "$scratch/four")" none
for bytes in 4 3 2; do
    number "9-shingles: tokens of $bytes bytes" none "$(awk -v b=$bytes '$1 == b { print $3 }' "$scratch/nine")" none
    number "9-shingles: pairs with one token of $bytes bytes" "$(awk -v b=$bytes '$1 == b { print $5 }' "$scratch/nine")" \
        "$(awk -v b=$bytes '$1 == b { print $4 }' "$scratch/nine")" "$(awk -v b=$bytes '$1 == b { printf "%.2f", 3 * sqrt($5) }' "$scratch/nine")" \
        "the work prints none: beside it n(n-1)/2 / 2^$((8 * bytes)), within 3 standard deviations"
done
