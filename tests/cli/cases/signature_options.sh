# SPDX-License-Identifier: Apache-2.0
# Options that contradict signatures are refused by name, for dedup and pairs; those that say what the signatures are, are fine. Signatures
# know how their documents were read, so options of reading are refused likewise.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154
printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"one two three four five six seven"}\n' > in.jsonl
bm sign in.jsonl --shingle char:4 --perms 64 -q -o sig; exits 0

contradicts() { # OPTION and value; what the message says of the signatures
    for command in 'dedup -o no' pairs; do
        bm $command sig $1; refused 2 "${1% *}( .*)? contradicts the signatures of sig \($2\)"; absent no
    done
}
agrees() {
    bm dedup sig $1 -q -o yes; exits 0; rm -r yes
    bm pairs sig $1 -q; exits 0
}
contradicts '--shingle char:5' char:4
contradicts '--shingle word:4' char:4
contradicts '--shingle word:5' char:4 # the default, asked for
agrees '--shingle char:4'
contradicts '--normalize lower,digits' invisible,lower
contradicts '--normalize none' invisible,lower
contradicts '--normalize lower' invisible,lower
agrees '--normalize invisible,lower'
contradicts '--words space' alnum
agrees '--words alnum'
contradicts '--short skip' whole
agrees '--short whole'
contradicts '--scheme oph' affine32
agrees '--scheme affine32'
agrees '--hash xxh3'
contradicts '--seed 2' 1
agrees '--seed 1'
bm pairs sig --perms 128; refused 2 '128 permutations asked for, the signatures have 64'
bm dedup sig --perms 32 -o no; refused 2 '32 permutations asked for, the signatures have 64'; absent no
agrees '--perms 64'
agrees '--perms 64 --shingle char:4 --seed 1 --scheme affine32 --format jsonl --on-error fail'
contradicts '--format csv' jsonl
agrees '--format jsonl'
agrees '--format auto'
contradicts '--text-field body' text
agrees '--text-field text'
contradicts '--id-field key' 'id, where there is one'
contradicts '--header no' 'as the fields say'
agrees '--duplicate-ids number' # of ids over all directories
contradicts '--on-error skip' fail
contradicts '--invalid-utf8 error' replace
contradicts '--max-doc-bytes 1M' 1073741824
agrees '--max-doc-bytes 1G'
bm pairs sig --on-error skip --max-errors 3; refused 2 '--(on-error|max-errors) '
bm pairs sig --include '*.jsonl'; refused 2 '--include means nothing for the signatures of sig'
bm dedup sig --exclude '*.gz' -o no; refused 2 '--exclude means nothing for the signatures of sig'; absent no

# signatures that are not of the defaults: these, asked for, contradict them as well
printf 'a\tone two\nb\tone two three\n' > in.tsv
bm sign in.tsv --id-field 1 --text-field 2 --on-error skip --duplicate-ids number --invalid-utf8 error --max-doc-bytes 1K --normalize none \
    --words space --short skip --scheme oph --perms 64 --seed 9 --header no -q -o sig2; exits 0
mv sig sig1; mv sig2 sig
agrees ''
agrees '--id-field 1 --text-field 2 --on-error skip --duplicate-ids number --invalid-utf8 error --max-doc-bytes 1K --normalize none --words space
    --short skip --scheme oph --perms 64 --seed 9 --header no --format tsv'
contradicts '--normalize lower' none
contradicts '--words alnum' space
contradicts '--short whole' skip
contradicts '--scheme affine32' oph
contradicts '--seed 1' 9
contradicts '--text-field text' 2
contradicts '--id-field 2' 1
contradicts '--header yes' no
contradicts '--duplicate-ids error' number
contradicts '--on-error fail' skip
contradicts '--invalid-utf8 replace' error
contradicts '--max-doc-bytes 1G' 1024
bm pairs sig --on-error skip --max-errors 3; refused 2 '--max-errors means nothing for the signatures of sig'
contradicts '--delimiter ;' '.t'
agrees '--delimiter \t'
# documents are not signatures: nothing is refused there
bm pairs in.jsonl --shingle word:5 --seed 1 -q; exits 0
