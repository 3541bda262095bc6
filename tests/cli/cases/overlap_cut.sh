# SPDX-License-Identifier: Apache-2.0
# overlap --cut removes the parts that documents share with items from the records; all other bytes stay. filter repeats it.
# tests/reference/test_overlap_cut.py compares it with a model.
# shellcheck shell=sh disable=SC2086,SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
item() { printf '{"qid":%s,"question":"%s"}\n' "$1" "$2"; }
{ item 1 "$(words 1 20)"; item 2 "$(words 101 110)"; item 3 "$(words 10 30)"; } > items.jsonl
against='--against items.jsonl --against-text-field question --against-id-field qid --cut -q'
{
    printf '{"id":"alone","text":"%s"}\n' "$(words 1 20)"
    printf '{ "text" : "mine %s. and\\n\\t%s \\u00e9nd", "x":[1, 2],"id":"twice"}\r\n' "$(words 1 20)" "$(words 1 20)"
    printf '{"id":"both","text":"a %s b"}\n' "$(words 1 30)"
    printf '{"id":"short","text":"z %s z"}\n' "$(words 101 110)"
    printf '{"id":"none","text":"some text"}\n{"id":"empty","text":""}\n'
    printf '{"id":"white","text":"\\u3000%s\\n"}\n' "$(words 1 30)"
    printf '{"id":"bad","text":"\377 %s \355\240\200 \\ud800%s"}' "$(words 1 20)" "$(words 10 30)"
} > train.jsonl
bm overlap train.jsonl $against -o out; exits 0
holds out/cuts.tsv <<'END'
id	from	to	kept	kept_from	jaccard	reason	file	line
alone	0	70	1			overlap	train.jsonl	1
twice	5	75	1			overlap	train.jsonl	2
twice	82	152	1			overlap	train.jsonl	2
both	2	112	1			overlap	train.jsonl	3
short	2	51	2			overlap	train.jsonl	4
white	3	113	1			overlap	train.jsonl	7
bad	2	72	1			overlap	train.jsonl	8
bad	80	163	3			overlap	train.jsonl	8
END
holds out/removed.tsv <<'END'
id	kept	jaccard	reason	file	line	lost
alone			empty	train.jsonl	1	
white			empty	train.jsonl	7	
END
{
    printf '{ "text" : "mine . and\\n\\t \\u00e9nd", "x":[1, 2],"id":"twice"}\r\n'
    printf '{"id":"both","text":"a  b"}\n{"id":"short","text":"z  z"}\n{"id":"none","text":"some text"}\n{"id":"empty","text":""}\n'
    printf '{"id":"bad","text":"\377  \355\240\200 \\ud800"}'
} | holds out/kept.jsonl
bm overlap train.jsonl $against -o whole; exits 0; holds whole/overlap.tsv < out/overlap.tsv
bm filter out -q -o again; exits 0; holds again/kept.jsonl < out/kept.jsonl
bm overlap train.jsonl $against -o -; exits 0; holds ../out < out/kept.jsonl
bm overlap train.jsonl $against --kept no -o no; exits 0; holds no/cuts.tsv < out/cuts.tsv; absent no/kept.jsonl
bm overlap train.jsonl --against items.jsonl --against-text-field question --against-id-field qid --cut -o said; exits 0
says ../err '8 ranges cut \(632 B of text\); 6 documents kept, 2 left empty'
tr -d ' \n' < out/report.json > flat
says flat '"cut":1'
says flat '"cuts":8,"cut_bytes":632'

# a stretch that crosses fields is cut in each of them; a value that is no string stays
printf '{"id":"two","title":"x %s","n":7,"text":"%s y"}\n{"id":"all","title":"%s","n":8,"text":"%s"}\n' "$(words 1 12)" "$(words 13 20)" \
    "$(words 1 5)" "$(words 6 30)" > two.jsonl
bm overlap two.jsonl --text-field title --text-field text $against -o fields; exits 0
printf '{"id":"two","title":"x ","n":7,"text":" y"}\n' | holds fields/kept.jsonl
says fields/cuts.tsv '^two	2	40	1'
says fields/removed.tsv '^all			empty'
printf '{"id":"p","t":["x %s",7,null,"%s"]}\n' "$(words 1 20)" "$(words 10 30)" > parts.jsonl
bm overlap parts.jsonl --text-field 't[]' $against -o parts; exits 0
printf '{"id":"p","t":["x ",7,null,""]}\n' | holds parts/kept.jsonl

# other formats, compressed, and refusals
printf 'id,text\r\n1,"say ""%s"" so"\r\n' "$(words 1 20)" > in.csv
bm overlap in.csv $against -o csv; exits 0; printf 'id,text\r\n1,"say """" so"\r\n' | holds csv/kept.csv
gzip -c train.jsonl > packed.jsonl.gz
bm overlap packed.jsonl.gz $against --kept none -o gz; exits 0; holds gz/kept.jsonl < out/kept.jsonl
printf 'some text' > plain; bm overlap plain $against -o never; refused 2 '--cut with --format files'
bm filter out --annotate -o never; exits 2
absent never
