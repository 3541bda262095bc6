# --normalize: normal forms where libraries have had them wrong or differ, and `punct`. Two documents of one job are the same exactly when
# their normalised texts are; for byte shingles nothing but the normalised text counts.
# shellcheck shell=sh disable=SC2034,SC2154

# pair LIST A B: are texts A and B (JSON escapes) the same after the normalisers? In $same: 1.000000, less, or nothing.
pair() {
    printf '{"id":"a","text":"%s"}\n{"id":"b","text":"%s"}\n' "$2" "$3" > in.jsonl
    bm pairs in.jsonl --normalize "$1" --candidates all --threshold 0.01 --shingle "${kind:-byte:200}"
    exits 0
    same=$(awk 'NR == 2 { print $3 }' ../out)
    checks=$((checks + 1))
}
become() { pair "$@"; [ "$same" = 1.000000 ] || fail "$1: '$2' does not become '$3'"; }
differ() { pair "$@"; [ -z "$same" ] || fail "$1: '$2' and '$3' are the same ($same)"; }

# strip-accents: U+1712 is a mark (Mn) of class 0; the marks that it parted, which are not Mn, are put in order. Classes 216 and 9.
become strip-accents '\uD834\uDD66\u1712\uD807\uDF41' '\uD807\uDF41\uD834\uDD66'
become strip-accents 'a\u302E\u1712\u1B44' 'a\u1B44\u302E'
# U+11A7 stands before the first trailing consonant, and is none: U+AC00 U+11A7 is its own normal form.
for form in nfc nfkc strip-accents; do
    differ $form 'x\uAC00\u11A7' 'x\uAC00'
    become $form 'x\u1100\u1161\u11A7' 'x\uAC00\u11A7'
    become $form 'x\uAC00\u11A8' 'x\uAC01'
done
# Unicode 16.0 composes U+105D2 U+0307 to U+105C9; ours is 15.0, which has neither.
differ nfc 'x\uD801\uDDD2\u0307' 'x\uD801\uDDC9'

# punct drops each P and nothing else, last of all, before words are cut
for kind in word:3 'word:3 --words space' char:4 byte:4 byte:300; do
    # shellcheck disable=SC2086 # two words
    set -- $kind
    printf '{"id":"a","text":"%s"}\n{"id":"b","text":"%s"}\n{"id":"c","text":"%s"}\n' \
        "Don't stop: e.g. (re-do) the \$5 + 3 = ~8; \\u00abO\\u00f9\\u00bb, \\u4e2d\\u3002\\u6587\\u2026 [a_b] a/b" \
        "dont stop eg redo the \$5 + 3 = ~8 o\\u00f9 \\u4e2d\\u6587 ab ab" "nothing of this is like those others there" > in.jsonl
    bm pairs in.jsonl --normalize punct,lower --candidates all --threshold 0.9 --shingle "$@"; exits 0
    printf 'id_a\tid_b\tjaccard\na\tb\t1.000000\n' | holds ../out
    for isa in scalar avx2 avx512; do
        export BANDMILL_CPU="$isa"
        bm sign in.jsonl -o "$isa" --normalize lower,punct --shingle "$@"
        [ "$isa" = scalar ] || [ "$rc" = 0 ] || continue # this processor has it not
        exits 0
        checks=$((checks + 1))
        cmp -s "$isa/signatures.npy" scalar/signatures.npy || fail "$isa gives other words than scalar"
    done
    unset BANDMILL_CPU
    rm -rf scalar avx2 avx512
done
kind=byte:200
differ punct 'a+b' 'ab' # S is not P
become punct,strip-accents '\u00e9.e\u0301,' 'ee'
become nfkc,punct 'a\u2026b' 'ab' # one character, three dots, none
differ nfc,punct 'e.\u0301' '\u00e9' # dropped after the normal form, which is not made again
become nfc,punct 'e.\u0301' 'e!\u0301'

# it is provenance: signatures with and without it are not of one job, and resumed work is of the same normalisers
bm sign in.jsonl -o with --normalize lower,punct; exits 0
says with/manifest.json '"normalize": *"lower,punct"'
bm sign in.jsonl -o without --normalize lower; exits 0
bm dedup with without -o out
refused 7 '.*normalize.*'
bm sign in.jsonl -o out --normalize lower,punkt
refused 2 '.*--normalize.*"lower,punkt".*digits punct'
bm help sign; exits 0
says ../out 'digits punct'
