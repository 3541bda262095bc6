# SPDX-License-Identifier: Apache-2.0
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

# invisible goes first, before what composes, and before words are cut; it is not nfkc, punct or strip-accents
become invisible 'so\u00ADft a\u200B\u200Bb\u2060c\uFEFF' 'soft a  bc'
become invisible '\u2764\uFE0F,\u0301 1\uFE0F\u20E3' '\u2764, 1\u20E3'
become invisible,nfc 'e\u200D\u0301' '\u00e9'
differ nfc 'xe\u200D\u0301' 'x\u00e9'
become invisible,punct 'a.\u0301b' 'ab'
differ invisible,nfkc '\u3164a\u00B4' 'a ' # a mark that nfkc makes of a symbol comes later, and stays
for kind in word:3 'word:3 --words space' 'word:3 --words text-dedup' stopword:2 char:4 byte:4 'word:2 --bag' 'word:3 --normalize invisible,nfc,lower'; do
    # shellcheck disable=SC2086 # two words
    set -- $kind
    printf '{"id":"a","text":"%s"}\n{"id":"b","text":"%s"}\n{"id":"c","text":"%s"}\n' \
        "The \u00ad\u202asoft\u202c hy\u00adphens of \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645, \ufeff\u2764\ufe0f and the 3\ufe0f wa\u2060ys to \u845b\udb40\udd00\u57ce e\u034f\u0301 " \
        "the soft hyphens of \u0645\u06cc\u062e\u0648\u0627\u0647\u0645, \u2764 and the 3 ways to \u845b\u57ce e\u0301 " "nothing of this is like those others there" > in.jsonl
    bm pairs in.jsonl --candidates all --threshold 0.9 --shingle "$@"; exits 0
    printf 'id_a\tid_b\tjaccard\na\tb\t1.000000\n' | holds ../out
    for isa in scalar avx2 avx512; do
        export BANDMILL_CPU="$isa"
        bm sign in.jsonl -o "$isa" --shingle "$@"
        [ "$isa" = scalar ] || [ "$rc" = 0 ] || continue # this processor has it not
        exits 0
        checks=$((checks + 1))
        cmp -s "$isa/signatures.npy" scalar/signatures.npy || fail "$isa gives other words than scalar"
    done
    unset BANDMILL_CPU
    rm -rf scalar avx2 avx512
done
kind=byte:200
printf '{"id":"a","text":"one two so\\u00adft three four five six"}\n{"id":"b","text":"one two soft three four five six"}\n{"id":"c","text":"nothing of this is like those others there"}\n' > in.jsonl
bm sign in.jsonl -o weighed --weights tfidf; exits 0
bm pairs weighed --threshold 0.9; exits 0
says ../out '^a	b	1\.000000$'
bm dedup in.jsonl -o out; exits 0
bm explain out a b; exits 0
says ../out 'the longest run of both: 7 words, bytes 0 to 34 of a, 0 to 32 of b' # of a with what was dropped
rm -rf out

# it is provenance: signatures with and without it are not of one job, and resumed work is of the same normalisers
bm sign in.jsonl -o with --normalize lower,punct; exits 0
says with/manifest.json '"normalize": *"lower,punct"'
bm sign in.jsonl -o without --normalize lower; exits 0
bm dedup with without -o out
refused 7 'without/manifest\.json: provenance\.normalize differs from that of with/manifest\.json \(here lower, there lower,punct; signatures made alike: --normalize lower,punct for both\)'
# Signatures of older versions have not the step `invisible`, which is a default: they decide, or are named.
bm sign in.jsonl -o now; exits 0
says now/manifest.json '"normalize": *"invisible,lower"'
bm dedup without now -o out; refused 7 'now/manifest\.json: provenance\.normalize differs .*\(here invisible,lower, there lower; .*: --normalize lower for both\)'
bm dedup now without -o out; refused 7 'without/manifest\.json: .*: --normalize lower for both\)'
bm index build older without; exits 0
bm index add older now; refused 7 'now: provenance\.normalize differs from that of the index older .*: --normalize lower for both\)'
bm index build newer now; exits 0
bm index add newer without; refused 7 'without: .*: --normalize lower for both\)'
bm dedup now --against without -o out; refused 7 'without: .*: --normalize lower for both\)'
bm dedup without --against newer -o out; refused 7 'newer: .*: --normalize lower for both\)'
for base in older without; do
    bm dedup in.jsonl --against $base -o old-$base; exits 0
    says old-$base/report.json '"normalize": *"lower"'
    bm dedup in.jsonl --against $base -o out --normalize invisible,lower; refused 2 '--normalize invisible,lower contradicts the index .*\(lower\)'
done
sed 's/"id":"/&new /' in.jsonl > more.jsonl
bm query older more.jsonl; exits 0
says ../out '^new a	a	1\.000000$'
[ "$(grep -c '^new [ab]' ../out)" = 2 ] || fail 'a soft hyphen is dropped in an index that has it not'
bm query newer more.jsonl; exits 0
[ "$(grep -c '^new [ab]' ../out)" = 4 ] || fail 'a soft hyphen is not dropped'
bm query older more.jsonl --normalize invisible,lower; refused 2 '--normalize invisible,lower contradicts the index older \(lower\)'
bm index add older more.jsonl; exits 0
bm index info older; exits 0
says ../out '^  normalize: lower$'
bm sign in.jsonl -o out --normalize lower,punkt
refused 2 '.*--normalize.*"lower,punkt".*digits punct'
bm help sign; exits 0
says ../out 'digits punct'
