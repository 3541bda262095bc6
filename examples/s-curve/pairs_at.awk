# SPDX-License-Identifier: Apache-2.0
# pairs_at.awk -- pairs of documents whose Jaccard similarity is known: awk -v pairs=N -f pairs_at.awk < /dev/null
#
# For s = .2 to .8, N pairs as rows `id<TAB>text`: 100 words in the union, of which 100 s stand in both documents and each other word in one.
# The words of a pair stand in no other pair, so that each pair is a trial of its own.
BEGIN {
    union = 100
    for (tenths = 2; tenths <= 8; tenths++)
        for (p = 0; p < pairs; p++) {
            stem = tenths "x" p "x"
            shared = union * tenths / 10
            a = b = ""
            for (i = 0; i < union; i++) {
                word = " " stem i
                if (i < shared) { a = a word; b = b word }
                else if (i % 2) a = a word
                else b = b word
            }
            printf "%s\t%s\n%s\t%s\n", stem "a", substr(a, 2), stem "b", substr(b, 2)
        }
}
