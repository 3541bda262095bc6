# SPDX-License-Identifier: Apache-2.0
# pairs --format keys: band keys made elsewhere. A key of all one bits is in no bucket of its band; what means nothing for keys is refused.
# shellcheck shell=sh disable=SC2034,SC2154
# npy FILE "DESCR" "SHAPE" octal...: version 1.0, header padded to 128 bytes in all
npy() {
    file=$1 header="{'descr': '$2', 'fortran_order': False, 'shape': $3, }"
    shift 3
    { printf '\223NUMPY\001\000\166\000'; printf '%-117s\n' "$header"; for bytes in "$@"; do printf '%b' "$bytes"; done; } > "$file"
}
key() { printf '\\0%03o\\0000\\0000\\0000\\0000\\0000\\0000\\0000' "$1"; }
none='\0377\0377\0377\0377\0377\0377\0377\0377'

# five rows of two bands: 0 and 2 share the key of the first, 1 and 4 that of the second (0); 3 and 4 have none of the first, 0 and 3
# none of the second; 5 is 5 in each band, which is not the same band
npy keys.npy '<u8' '(6, 2)' "$(key 7)" "$none" "$(key 8)" "$(key 0)" "$(key 7)" "$(key 9)" "$none" "$none" "$none" "$(key 0)" "$(key 5)" "$(key 5)"
bm pairs --format keys --verify none keys.npy --report r.json; exits 0
printf 'id_a\tid_b\tjaccard\n0\t2\t\n1\t4\t\n' | holds ../out
says r.json '"documents": 6'
says r.json '"empty": 1' # row 3 is in no bucket
says r.json '"plan": null'
says r.json '"input_format": "keys"'
bm inspect r.json; exits 0
bm pairs --format keys --verify none keys.npy --json -q; exits 0
says ../out '"id_a": ?"0"'
bm pairs --format keys --verify none --candidates lsh keys.npy --histogram-svg h.svg -o p.tsv --threads 1 --batch-docs 1; exits 0
says h.svg 'band keys made elsewhere'
printf 'id_a\tid_b\tjaccard\n0\t2\t\n1\t4\t\n' | holds p.tsv
npy no.npy '<u8' '(0, 3)'
bm pairs --format keys --verify none no.npy; exits 0
printf 'id_a\tid_b\tjaccard\n' | holds ../out

# what the keys cannot give, and what means nothing for them
bm pairs --format keys keys.npy; refused 2 '--format keys .*--verify none'
for verify in exact signature; do bm pairs --format keys --verify $verify keys.npy; refused 2 '.*--verify none'; done
for rule in all length; do bm pairs --format keys --verify none --candidates $rule keys.npy; refused 2 "--candidates $rule"; done
for option in '--threshold 0.8' '--recall 0.95' '--bands 2' '--rows 1' '--perms 128' '--scheme affine32' '--hash xxh3' '--seed 1' '--device cpu' \
    '--normalize invisible,lower' '--words alnum' '--shingle word:5' '--short whole' '--text-field text' '--id-field id' '--header no' \
    '--duplicate-ids error' '--on-error fail' '--identical all' '--sample 2' '--offsets keys.npy' '--max-doc-bytes 1G'; do
    # shellcheck disable=SC2086
    bm pairs --format keys --verify none keys.npy $option; refused 2 "${option%% *} means nothing for --format keys"
done
bm sign --format keys keys.npy -o out; refused 2 '--format keys is for pairs'; absent out
bm dedup --format keys keys.npy -o out --verify none; refused 2 '--format keys is for pairs'; absent out
bm pairs --format keys --verify none keys.npy no.npy; refused 2 '--format keys takes one'

# arrays that are not what they should be
npy four.npy '<u4' '(2, 2)' "$(key 1)" "$(key 2)"
npy flat.npy '<u8' '(2,)' "$(key 1)" "$(key 2)"
npy signed.npy '<i8' '(1, 2)' "$(key 1)" "$(key 2)"
npy wide.npy '<u8' '(2, 0)'
npy short.npy '<u8' '(2, 2)' "$(key 1)" "$(key 2)" "$(key 3)"
npy long.npy '<u8' '(1, 2)' "$(key 1)" "$(key 2)" "$(key 3)"
npy big.npy '>u8' '(1, 2)' "$(key 1)" "$(key 2)"
head -c 60 keys.npy > cut.npy
printf 'no array' > words.npy
for name in four flat signed wide short long big cut words gone; do
    bm pairs --format keys --verify none $name.npy -o p2.tsv
    code=3; [ $name = gone ] && code=4
    refused $code "$name\.npy: "
    absent p2.tsv
done
