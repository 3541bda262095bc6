# SPDX-License-Identifier: Apache-2.0
# --format hashes: .npy arrays made elsewhere, and arrays that are not what their header says.
# shellcheck shell=sh disable=SC2034,SC2154
# npy FILE "DESCR" "SHAPE" octal...: version 1.0, header padded to 128 bytes in all
npy() {
    file=$1 header="{'descr': '$2', 'fortran_order': False, 'shape': $3, }"
    shift 3
    { printf '\223NUMPY\001\000\166\000'; printf '%-117s\n' "$header"; for bytes in "$@"; do printf '%b' "$bytes"; done; } > "$file"
}
le4() { printf '\\0%03o\\0000\\0000\\0000' "$1"; }
le8() { printf '\\0%03o\\0000\\0000\\0000\\0000\\0000\\0000\\0000' "$1"; }

# three documents: {1,2}, {2,1}, {}
npy hashes.npy '<u4' '(4,)' "$(le4 1)" "$(le4 2)" "$(le4 2)" "$(le4 1)"
npy offsets.npy '<i8' '(4,)' "$(le8 0)" "$(le8 2)" "$(le8 4)" "$(le8 4)"
bm sign --format hashes hashes.npy --offsets offsets.npy --perms 4 -o out; exits 0
printf '0\n1\n2\n' | holds out/ids.txt
tail -c 48 out/signatures.npy | od -v -An -tu4 -w16 > rows
[ "$(sed -n 1p rows)" = "$(sed -n 2p rows)" ] || fail "rows 0 and 1 differ: $(cat rows)"
says rows '^ *4294967295 4294967295 4294967295 4294967295$'
rm -r out
bm pairs --format hashes hashes.npy --offsets offsets.npy; exits 0
printf 'id_a\tid_b\tjaccard\n0\t1\t1.000000\n' | holds ../out

refuses() {
    for command in sign dedup; do
        bm "$command" --format hashes "$1" --offsets "$2" -o out
        refused 3 "$3"
        absent out
    done
}
npy fall.npy '<i8' '(4,)' "$(le8 0)" "$(le8 3)" "$(le8 2)" "$(le8 4)"
refuses hashes.npy fall.npy 'fall\.npy'
npy late.npy '<i8' '(4,)' "$(le8 1)" "$(le8 2)" "$(le8 3)" "$(le8 4)"
refuses hashes.npy late.npy 'late\.npy'
npy over.npy '<i8' '(3,)' "$(le8 0)" "$(le8 2)" "$(le8 5)"
refuses hashes.npy over.npy 'over\.npy|hashes\.npy'
npy under.npy '<i8' '(3,)' "$(le8 0)" "$(le8 2)" "$(le8 3)"
refuses hashes.npy under.npy 'under\.npy|hashes\.npy'
npy zero.npy '<i8' '(0,)'
refuses hashes.npy zero.npy 'zero\.npy'
npy float.npy '<f8' '(4,)' "$(le8 0)" "$(le8 2)" "$(le8 4)" "$(le8 4)"
refuses hashes.npy float.npy 'float\.npy'
npy kind.npy '<f4' '(4,)' "$(le4 1)" "$(le4 2)" "$(le4 2)" "$(le4 1)"
refuses kind.npy offsets.npy 'kind\.npy'
npy big.npy '>u4' '(4,)' "$(le4 1)" "$(le4 2)" "$(le4 2)" "$(le4 1)"
refuses big.npy offsets.npy 'big\.npy'
npy short.npy '<u4' '(5,)' "$(le4 1)" "$(le4 2)" "$(le4 2)" "$(le4 1)"
refuses short.npy offsets.npy 'short\.npy'
npy huge.npy '<u8' '(9223372036854775807, 4)'
refuses huge.npy offsets.npy 'huge\.npy'
npy shape.npy '<u4' '(2, 2)' "$(le4 1)" "$(le4 2)" "$(le4 2)" "$(le4 1)"
refuses shape.npy offsets.npy 'shape\.npy'
sed 's/False/True /' hashes.npy > fortran.npy
refuses fortran.npy offsets.npy 'fortran\.npy'
printf 'not an array at all' > text.npy
refuses text.npy offsets.npy 'text\.npy'
refuses hashes.npy text.npy 'text\.npy'
head -c 40 hashes.npy > head.npy
refuses head.npy offsets.npy 'head\.npy'
: > none.npy
refuses none.npy offsets.npy 'none\.npy'
