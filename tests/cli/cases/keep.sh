# SPDX-License-Identifier: Apache-2.0
# --keep with lists of rules: fields of every format, what could not be compared, sources, none, and refusals.
# shellcheck shell=sh disable=SC2034,SC2154
text='one two three four five six seven eight nine'
put() { printf '{"id":"%s","text":"%s %s","score":%s,"lang":%s}\n' "$1" "$text" "$2" "$3" "$4"; }
{ put a more 9007199254740992 '"en"'; put b most 9007199254740993 '"de"'; put c much '"99"' null; put d many true '"fr"'; } > in.jsonl
set -- in.jsonl --shingle word:1 --threshold 0.5
kept() { sed -n 's/.*"kept":\([^,]*\),.*/\1/p' out/groups.jsonl | tr -d '"\n'; }
stays() {
    bm dedup in.jsonl --shingle word:1 --threshold 0.5 --keep "$2" -o out --force; exits 0
    checks=$((checks + 1))
    [ "$(kept)" = "$1" ] || fail "$(kept) stays under $2, not $1"
}
stays b max:score
stays a min:score
stays d 'order:lang=fr|de'
stays b 'order:lang=it|de|fr'
stays a 'order:lang=it'
stays d 'order:lang=it,last'
stays c 'order:score=99'
stays a 'sources:in.jsonl'
stays b 'shortest,max:score'
stays null none

bm dedup "$@" --keep max:score,order:lang=en -o said; exits 0
says ../err 'keep max:score: 0 of 4 documents have no value there, 1 one of another type'
says ../err 'keep order:lang=en: 1 of 4 documents have no value there, 0 one of another type'
says said/report.json '"keep": *"max:score,order:lang=en"'
tr -d ' \n' < said/report.json > flat
says flat '"keep_not_ranked":\[{"rule":"max:score","missing":0,"other":1},{"rule":"order:lang=en","missing":1,"other":0,"unlisted":2}\]'

# none: every member goes, and has no kept one; filter, explain and report read what was written
bm dedup "$@" --keep none --pairs -o none; exits 0
{ printf 'id\tkept\tjaccard\treason\tfile\tline\tlost\n'; for i in a:1 b:2 c:3 d:4; do printf '%s\t\t\tnear\tin.jsonl\t%s\t10\n' "${i%:*}" "${i#*:}"; done; } | holds none/removed.tsv
holds none/kept.jsonl < /dev/null
bm filter none -o filtered; exits 0; holds filtered/kept.jsonl < /dev/null
bm filter none --annotate -o annotated; exits 0; says annotated/annotated.jsonl '"bandmill":{"group":1,"size":4,"kept":false,"jaccard":null}'
bm explain none a d; exits 0
bm explain none --group 1; exits 0; says ../out '^group 1: 4 documents, 6 pairs, none is kept$'
bm explain none --group 1 --json; exits 0; says ../out '"kept":null,"documents":4'
bm report none -o none.html; exits 0
bm cluster none/pairs.tsv --keep none; exits 0; says ../out '"kept":null'; says ../err '4 removed|removed.*4'
bm report said -o said.html; exits 0

# rows of csv: a cell that is wholly a number is one, and a column that no row has is refused
printf 'id,text,n\na,%s x,9\nb,%s y,10\nc,%s z,010\n' "$text" "$text" "$text" > in.csv
bm dedup in.csv --shingle word:1 --threshold 0.5 --keep max:n -o csv; exits 0; says csv/groups.jsonl '"kept":"b"'
bm dedup in.csv --shingle word:1 --threshold 0.5 --keep max:nowhere,last -o csv2; refused 3 "--keep max:nowhere: no document has a field 'nowhere'"
absent csv2

# signatures: inputs are read again, and must be there
bm sign in.jsonl --shingle word:1 -o signed; exits 0
bm dedup signed --bands 64 --rows 1 --verify signature --threshold 0.5 --keep max:score -o later; exits 0; says later/groups.jsonl '"kept":"b"'
mv in.jsonl elsewhere.jsonl
bm dedup signed --bands 64 --rows 1 --threshold 0.5 --keep max:score -o gone; refused 7 'in.jsonl'
bm dedup signed --bands 64 --rows 1 --threshold 0.5 --keep longest -o gone; exits 0
mv elsewhere.jsonl in.jsonl

for wrong in best max: order:a order:a= none,first first,none ',' 'first,,last' sources:; do
    bm dedup in.jsonl --keep "$wrong" -o no; refused 2 "--keep '"
    absent no
done
printf 'a line\n' > lines.txt
bm dedup lines.txt --format lines --keep max:a -o no; refused 2 "--keep looks at field 'a', and inputs of lines have no fields"
bm dedup lines.txt --format files --keep min:a -o no; refused 2 "--keep looks at field 'a'"
bm dedup in.csv --header no --text-field 2 --keep max:n -o no; refused 2 "field 'n' of --keep is a name"
bm cluster none/pairs.tsv --keep max:a; refused 2 '--keep'

# --max-group-size: a chain of six documents, each with 8 of 12 words of the one before, becomes stars
words() { seq -s ' ' "$1" "$(($1 + 9))"; }
for i in 1 2 3 4 5 6; do printf '{"id":"%s","text":"%s"}\n' "$i" "$(words $((i * 2)))"; done > chain.jsonl
set -- chain.jsonl --shingle word:1 --threshold 0.6 --bands 64 --rows 1
bm dedup "$@" --max-group-size 6 -o whole; exits 0
printf '{"group":1,"kept":"1","size":6,"members":["1","2","3","4","5","6"]}\n' | holds whole/groups.jsonl
silent_about() { checks=$((checks + 1)); ! grep -q "$2" "$1" || fail "$1 says $2"; }
silent_about whole/report.json divided
for more in '' --pairs '--memory 64M --threads 8'; do
    bm dedup "$@" --max-group-size 5 $more -o parts --force; exits 0
    says ../err '1 component of more than 5 documents was divided into stars'
    printf '{"group":1,"kept":"1","size":2,"members":["1","2"]}\n{"group":2,"kept":"3","size":2,"members":["3","4"]}\n{"group":3,"kept":"5","size":2,"members":["5","6"]}\n' | holds parts/groups.jsonl
done
says parts/report.json '"divided": *1'; says parts/report.json '"max_group_size": *5'
bm explain parts 1 2; exits 0; says ../out '^groups are components, but 1 of them that was larger than the job allowed was divided into stars$'
bm explain parts 1 3; exits 1; says ../err 'components that were too large were divided into stars'
bm dedup "$@" --max-group-size 5 --cluster star -o no; refused 2 '--max-group-size divides components, and --cluster is star'
bm dedup "$@" --max-group-size 1 -o no; refused 2 '--max-group-size.*1'

# a template that joins more than 1 % of the documents, and more than 1,000
awk 'BEGIN { for (i = 0; i < 1200; i++) printf "{\"id\":%d,\"text\":\"our terms of use of this page number %d\"}\n", i, i }' > template.jsonl
bm dedup template.jsonl --shingle word:1 --threshold 0.7 --bands 64 --rows 1 -o template; exits 0
says ../err 'one group has 1200 of 1200 documents.*--cluster star, --max-group-size, --weights tfidf'
tr -d ' \n' < template/report.json > flat
says flat '"dominant_group":\{"size":1200,"helps":\["clusterstar","max_group_size","weightstfidf"\]\}'
# of 200, plain keeps one; only the number tells two of them apart, and with weights all else counts for nothing
head -n 200 template.jsonl > some.jsonl
bm dedup some.jsonl --shingle word:1 --threshold 0.7 --bands 64 --rows 1 -o some; exits 0; says some/report.json '"removed": 199,'
bm dedup some.jsonl --shingle word:1 --threshold 0.7 --bands 64 --rows 1 --weights tfidf -o some --force; exits 0; says some/report.json '"removed": 0,'
bm dedup "$@" --max-group-size 5 --verify contained -o no; refused 2 '--max-group-size with --verify contained'
