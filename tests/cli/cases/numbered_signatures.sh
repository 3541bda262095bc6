# SPDX-License-Identifier: Apache-2.0
# numbered_signatures: directories that were each signed with --duplicate-ids number give the ids that all their inputs give at once, so that
# filter, which reads the inputs again, leaves out the documents that dedup removed. An id of an input that looks numbered is refused there.
# shellcheck shell=sh disable=SC2034,SC2154
texts() { # ID TEXT...: a record each
    id=$1; shift
    for text in "$@"; do printf '{"id":"%s","text":"%s"}\n' "$id" "$text"; done
}
texts a 'one two three four five six' 'seven eight nine ten eleven twelve' > x.jsonl
texts a 'red green blue black white pink' 'sun moon star sky sea sand' > y.jsonl
texts a 'one two three four five six' 'cat dog bird fish frog toad' > z.jsonl
texts a#3 'oak elm ash yew fir pine' >> z.jsonl # not the number that the next a gets in z: an id of its own
for name in x y z; do bm sign $name.jsonl --duplicate-ids number -o s$name; exits 0; done

bm dedup x.jsonl y.jsonl z.jsonl --duplicate-ids number -o direct; exits 0
bm dedup sx sy sz --verify signature --duplicate-ids number -o staged; exits 0
cut -f 1-5 direct/removed.tsv > right; cut -f 1-5 staged/removed.tsv > ours
cmp -s right ours || fail "other ids are removed: $(diff right ours)"
cmp -s direct/groups.jsonl staged/groups.jsonl || fail "other groups: $(diff direct/groups.jsonl staged/groups.jsonl)"

# The a#3 of z is doubtful to whoever has signatures only; without it filter keeps what dedup kept.
bm filter staged -o kept; refused 3 "z\.jsonl:3: the id 'a#3' looks numbered"; absent kept
sed 's/a#3/b#3/' z.jsonl > w.jsonl # nobody removed is a b
bm sign w.jsonl --duplicate-ids number -o sw; exits 0
bm dedup sx sy sw --verify signature --duplicate-ids number -o other; exits 0
bm filter other -o kept; exits 0
[ "$(wc -l < kept/kept/w.jsonl)" -eq 2 ] && grep -q 'b#3' kept/kept/w.jsonl || fail "filter keeps other documents of w.jsonl"
rm -r kept
bm filter direct -o kept; exits 0; rm -r kept
sed -i 3d z.jsonl; rm -r sz direct staged
bm sign z.jsonl --duplicate-ids number -o sz; exits 0
bm dedup x.jsonl y.jsonl z.jsonl --duplicate-ids number -o direct; exits 0
bm dedup sx sy sz --verify signature --duplicate-ids number -o staged; exits 0
bm filter staged -o kept; exits 0
for name in x y z; do cmp -s direct/kept/$name.jsonl kept/kept/$name.jsonl || fail "filter keeps other documents of $name.jsonl: $(cat kept/kept/$name.jsonl)"; done
