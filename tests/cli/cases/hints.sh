# SPDX-License-Identifier: Apache-2.0
# hints.sh -- mistakes that the program recognises, and its messages, in place of a surprising result or an unhelpful error.
# shellcheck shell=sh disable=SC2034,SC2154
text='one two three four five six seven eight'
silent_about() { checks=$((checks + 1)); ! grep -qE "$1" ../err || fail "stderr says $1"; }
{ printf '{"id":"a","text":"%s"}\n' "$text"; printf '{"id":"b","text":"%s"}\n' "$text"; } > in.jsonl
printf '%s\n%s\nanother line\n' "$text" "$text" > lines.txt

# a file of lines is one document, where nothing says more; two files are two, and what a format was given for is meant
lines='^bandmill: warning: lines\.txt is one document \(--format lines: each of its lines is one\)$'
bm dedup lines.txt -o one; exits 0; says ../err "$lines"
bm pairs lines.txt; exits 0; says ../err "$lines"
bm pairs lines.txt --format lines; exits 0; silent_about 'is one document'; says ../out '^lines.txt:1	lines.txt:2	1\.000000$'
bm pairs lines.txt --format files; exits 0; silent_about 'is one document'
cp lines.txt again.txt; bm pairs lines.txt again.txt; exits 0; silent_about 'is one document'
bm sign in.jsonl -q -o signed; exits 0
bm dedup lines.txt --against signed -o new; exits 0; silent_about 'is one document'

# an output that is called like a file is a directory
for command in dedup sign; do
    bm $command in.jsonl -o "$command.tsv"; exits 0
    says ../err "written to $command\.tsv, a directory"
    [ -d "$command.tsv" ] || fail "$command.tsv is no directory"
done
bm filter dedup.tsv -o some.jsonl.gz; exits 0; says ../err '^bandmill: filtered in .* written to some\.jsonl\.gz, a directory in which the kept documents lie'
for kind in xz bz2 lz4 zst; do
    bm dedup in.jsonl -o "clean.jsonl.$kind"; exits 0
    says ../err "written to clean\.jsonl\.$kind, a directory in which the kept documents lie"
done
bm dedup in.jsonl -o v1.5; exits 0; silent_about ', a directory'
bm pairs in.jsonl -o pairs.tsv; exits 0; silent_about ', a directory'
bm dedup in.jsonl -q -o quiet.tsv; exits 0; silent ../err

# the result of an earlier job: which of its files was meant?
for command in 'dedup -o no' pairs 'sign -o no' tune 'index build no'; do
    # shellcheck disable=SC2086
    bm $command v1.5; refused 2 'v1\.5: is a result of bandmill \(its documents are in v1\.5/kept\.jsonl\)$'; absent no
done
bm dedup in.jsonl -o none --kept no; exits 0
bm dedup none -o no; refused 2 'none: is a result of bandmill, without kept documents$'; absent no
bm pairs v1.5 --include 'kept*'; exits 0
bm pairs v1.5/kept.jsonl; exits 0
mkdir folder; cp in.jsonl folder/; printf '{"id":"report","text":"a report of others"}\n' > folder/report.json
bm pairs folder; exits 0; says ../out '^a	b	1\.000000$'

# nothing to read
: > empty.jsonl
bm dedup empty.jsonl -o nothing; exits 0; says ../err '^bandmill: the input is empty: there is nothing to do$'
bm pairs empty.jsonl; exits 0; says ../err 'the input is empty'
bm dedup in.jsonl -o something; exits 0; silent_about 'is empty'
printf '\n{}\n' > bad.jsonl
bm pairs bad.jsonl --on-error skip; exits 0; silent_about 'is empty'

# words of other tools
for word in num_perm=9 minhash-length=9 permutations=9; do bm dedup in.jsonl "--$word" -o no; refused 2 'unknown option --[a-z_-]+ \(here it is --perms K\)$'; done
for word in min-similarity=.9 jaccard_threshold=.9 sim-threshold=.9; do bm pairs in.jsonl "--$word"; refused 2 'unknown option --[a-z_-]+ \(here it is --threshold T\)$'; done
bm dedup --input in.jsonl -o no; refused 2 'unknown option --input \(here it is a path without an option\)$'
absent no
