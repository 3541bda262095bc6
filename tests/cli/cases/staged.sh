# SPDX-License-Identifier: Apache-2.0
# Signing on several machines, then dedup, filter and explain where the signatures and their inputs were copied to: the same as one run
# over all inputs. Three formats: JSON Lines (one of them in gzip, two below a directory), csv, and whole files, whose ids are their paths.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
doc() { printf '{"id":"%s","text":"%s"}\n' "$1" "$2"; }
row() { printf '%s,"%s"\n' "$1" "$2"; }
cut='--shingle word:1 --threshold 0.7 --perms 64 --bands 64 --rows 1' # J of neighbours 35/45; with 64 bands of one row no pair is missed
sign='--shingle word:1 --perms 64'
dedup='--threshold 0.7 --bands 64 --rows 1'

# NAME of the case, and the inputs of the three machines.
staged() {
    name=$1 one=$2 two=$3 three=$4
    mkdir -p "$name"
    (cd "$name" && "$PROGRAM" dedup $one $two $three $cut -q -o ../$name.all) || fail "one run"
    for input in "$one" "$two" "$three"; do
        mkdir -p "$name/$input.sig" && rmdir "$name/$input.sig" # its parents
        (cd "$name" && "$PROGRAM" sign $input $sign -q -o "$input.sig") || fail "sign"
    done
    # copied elsewhere, each with its inputs; and nothing is left where they were
    mkdir -p "moved.$name" && cp -R "$name/." "moved.$name" && rm -r "$name"
}

same_result() { # DIR: groups, removed documents and sources as of one run
    for file in groups.jsonl sources.tsv "${2:-removed.tsv}"; do holds "$1/$file" < "$name.all/$file"; done
}
same_kept() {
    checks=$((checks + 1))
    if [ -e $name.all/kept ]; then
        diff -r "$1/kept" $name.all/kept > ../differs || fail "kept documents differ: $(head -c 300 ../differs)"
    else
        cmp "$1/kept_ids.txt" $name.all/kept_ids.txt || fail "kept ids differ"
    fi
}

three_ways() { # A B: two ids of a chain
    dirs="moved.$name/$one.sig moved.$name/$two.sig moved.$name/$three.sig"
    # beside the signatures, below --sources, or in the current directory
    bm dedup $dirs $dedup --sources "moved.$name" -o $name.exact; exits 0
    ! grep -q warning ../err || fail "a warning"
    same_result $name.exact; same_kept $name.exact
    (cd "moved.$name" && "$PROGRAM" dedup $one.sig $two.sig $three.sig $dedup --verify exact -q -o ../$name.here) || fail "in its directory"
    same_result $name.here; same_kept $name.here
    bm filter $name.exact -q -o $name.filtered; exits 0 # dedup has said where they were found
    same_kept $name.filtered
    bm filter $name.here -q --sources "moved.$name" -o $name.again; exits 0
    same_kept $name.again
    bm explain $name.exact "$1" "$2" -q; exits 0; cp ../out explained
    bm explain $name.here "$1" "$2" -q --sources "moved.$name"; exits 0
    holds ../out < explained
    says ../out '^the shortest chain has [23] links:$'

    # by signature alone: the documents' lines are not known, but their inputs and ids
    bm dedup $dirs $dedup --verify signature --kept no -q -o $name.by; exits 0
    bm dedup $dirs $dedup --verify signature -q -o $name.ids; exits 0
    holds $name.by/sources.tsv < $name.ids/sources.tsv
    cut -f 1 $name.all/sources.tsv > names
    awk -F'\t' 'NR == FNR {known[$1]; next} FNR > 1 && !($5 in known && $6 == "")' names $name.by/removed.tsv > strange
    silent strange # each has the name of an input, and no line
    bm filter $name.by --sources "moved.$name" -q -o $name.by.kept; exits 0
    # the ids that are kept are those that are not removed, byte for byte in the order of the inputs
    ids_of "$name.by.kept" > kept.ids
    holds kept.ids < $name.ids/kept_ids.txt
    bm explain $name.by "$1" "$2" -q --sources "moved.$name"; exits 0
    bm filter $name.by -q -o gone; refused 4 '.*is not there any more'; absent gone
}

# --- JSON Lines ---
mkdir -p jsonl/m1 jsonl/m2 jsonl/m3/x/y
{ doc a "$(words 0 39)"; doc e "$(words 900 939)"; doc b "$(words 5 44)"; } > jsonl/m1/a.jsonl
{ doc c "$(words 10 49)"; doc x "$(words 100 139)"; doc copy "$(words 0 39)"; } | gzip -n > jsonl/m2/b.jsonl.gz
{ doc y "$(words 100 140)"; doc none "..."; } > jsonl/m3/x/c.jsonl
{ doc d "$(words 15 54)"; doc alone "$(words 300 339)"; } > jsonl/m3/x/y/d.jsonl
ids_of() { cat $(find "$1/kept" -type f ! -name '*.gz' | sort) | sed 's/.*"id":"\([^"]*\)".*/\1/' > plain.ids
    { head -n 2 plain.ids; gzip -dc "$1"/kept/m2/b.jsonl.gz | sed 's/.*"id":"\([^"]*\)".*/\1/'; tail -n +3 plain.ids; }; }
staged jsonl m1/a.jsonl m2/b.jsonl.gz m3/x
printf '{"group":1,"kept":"a","size":5,"members":["a","b","c","copy","d"]}\n{"group":2,"kept":"x","size":2,"members":["x","y"]}\n' |
    holds jsonl.all/groups.jsonl
three_ways a d

# --- an input that is missing or changed is named: 7 where exact was asked for, else by signature and a warning ---
dirs="moved.jsonl/m1/a.jsonl.sig moved.jsonl/m2/b.jsonl.gz.sig moved.jsonl/m3/x.sig"
named() { # PATTERN: what is said of the input
    for where in exact ''; do
        rm -rf out
        bm dedup $dirs $dedup --sources moved.jsonl ${where:+--verify $where} -o out
        if [ -n "$where" ]; then
            refused 7 "$1"; absent out
        else
            exits 0
            says ../err "^bandmill: warning: .*$1.*verified by signature only"
            says out/report.json '"verify": "signature"'
            holds out/groups.jsonl < jsonl.ids/groups.jsonl
        fi
    done
    bm pairs $dirs $dedup --sources moved.jsonl --verify exact; refused 7 "$1"
    bm pairs $dirs $dedup --sources moved.jsonl --candidates all; refused 7 "$1"
    bm pairs $dirs $dedup --sources moved.jsonl --candidates length; refused 7 "$1"
    bm pairs $dirs $dedup --sources moved.jsonl; exits 0; says ../err "warning: .*$1"
    bm dedup $dirs $dedup --sources moved.jsonl --verify signature -q -o quiet; exits 0; silent ../err; rm -r quiet
}
file=moved.jsonl/m3/x/y/d.jsonl
mv $file was
named 'm3/x/y/d\.jsonl: the file is not there any more'
bm filter jsonl.exact -o gone; refused 4 'm3/x/y/d\.jsonl'; absent gone
bm explain jsonl.exact a d; refused 4 'm3/x/y/d\.jsonl'
sed 's/w300/v300/' was > $file # the same size
named "$file: the file is not the one that .*x\.sig/manifest\.json was made from"
bm filter jsonl.exact -o gone; refused 7 "$file"; absent gone
bm explain jsonl.exact a d; refused 7 "$file"
head -c 100 was > cut; { cat cut; tail -c +101 was | tr '}"' '"}'; } > $file # the same size, and no JSON any more
named "$file: the file is not the one that .*x\.sig/manifest\.json was made from"
bm filter jsonl.by -o gone --sources moved.jsonl; refused 7 "$file"; absent gone
doc more x >> $file
named "$file: the file is not the one that .*x\.sig/manifest\.json was made from \(it has [0-9]+ bytes, had [0-9]+\)"
cp was $file
# a file of the same name and size that lies nearer is passed over, if its bytes are others
mkdir -p m3/x/y; sed 's/w300/v300/' was > m3/x/y/d.jsonl
bm dedup $dirs $dedup --sources moved.jsonl --verify exact -q -o nearer; exits 0
holds nearer/groups.jsonl < jsonl.all/groups.jsonl
rm -r m3
# beside the signatures, with nothing said
mkdir box; cp -R moved.jsonl/m1/. box; (cd box && mkdir m1 && mv a.jsonl m1)
bm dedup box/a.jsonl.sig $dedup --verify exact -q -o beside; exits 0
bm filter beside -q -o beside.kept; exits 0
mv box/m1 box/a.jsonl.sig/m1
bm dedup box/a.jsonl.sig $dedup --verify exact -q -o within; exits 0

# --- csv, with a field that holds a newline, and a bad row ---
mkdir -p csv/m1 csv/m2 csv/m3
{ echo id,text; row a "$(words 0 39)"; row e "$(words 900 930)
$(words 931 939)"; row b "$(words 5 44)"; } > csv/m1/a.csv
{ echo text,id; echo "\"$(words 10 49)\",c"; echo "\"$(words 100 139)\",x"; } | gzip -n > csv/m2/b.csv.gz
{ echo id,text; row y "$(words 100 140)"; echo bad; row d "$(words 15 54)"; row alone "$(words 300 339)"; } > csv/m3/c.csv
cut="$cut --on-error skip --id-field id"; sign="$sign --on-error skip --id-field id"
ids_of() { { tail -n +2 "$1/kept/m1/a.csv"; gzip -dc "$1/kept/m2/b.csv.gz" | tail -n +2 | sed 's/.*,/&/; s/.*",\(.*\)/\1,/'; tail -n +2 "$1/kept/m3/c.csv"; } |
    grep , | sed 's/,.*//'; }
staged csv m1/a.csv m2/b.csv.gz m3/c.csv
three_ways a d
holds csv.exact/skipped.tsv < csv.all/skipped.tsv
holds csv.by/skipped.tsv < csv.all/skipped.tsv
says csv.by/sources.tsv '^m3/c\.csv	5	3	1	'
says csv.by/report.json '"records": 9'

# --- whole files, whose ids are the paths that they had ---
mkdir -p files/m1 files/m2 files/m3/x
words 0 39 > files/m1/a.txt; words 900 939 > files/m1/e.txt; words 5 44 > files/m2/b.txt; words 10 49 > files/m3/x/c.txt
words 15 54 > files/m3/x/d.txt; words 300 339 > files/m3/z.txt
cut='--shingle word:1 --threshold 0.7 --perms 64 --bands 64 --rows 1'; sign='--shingle word:1 --perms 64'
ids_of() { cat "$1/kept_ids.txt"; }
staged files m1 m2 m3
three_ways m1/a.txt m3/x/d.txt

# --- inputs of several machines that had one name: their rows are told apart, and kept where they lie ---
mkdir -p r1 r2
{ doc a "$(words 0 39)"; doc q "$(words 500 539)"; } > r1/part.jsonl
{ doc b "$(words 0 39)"; doc r "$(words 600 639)"; } > r2/part.jsonl
for r in r1 r2; do (cd $r && "$PROGRAM" sign part.jsonl $sign -q -o sig) || fail sign; done
bm dedup r1/sig r2/sig $dedup --verify exact -q -o r.out; exits 0
doc r "$(words 600 639)" | holds r.out/kept/r2/part.jsonl
holds r.out/kept/r1/part.jsonl < r1/part.jsonl
bm filter r.out -q -o r.kept; exits 0
holds r.kept/kept/r2/part.jsonl < r.out/kept/r2/part.jsonl
bm dedup r1/sig r2/sig $dedup --verify signature -q -o r.by; exits 0
bm filter r.by r1/part.jsonl r2/part.jsonl -q -o r.by.kept; exits 0
holds r.by.kept/kept/r2/part.jsonl < r.out/kept/r2/part.jsonl
holds r.by.kept/kept/r1/part.jsonl < r1/part.jsonl
# and without ids of their own: the lines of both have one name, unless they are numbered
for r in r1 r2; do (cd $r && "$PROGRAM" sign part.jsonl --id-field none $sign -q -o lines) || fail sign; done
bm dedup r1/lines r2/lines $dedup --verify exact -o no; refused 3 "part\.jsonl:1: the id 'part\.jsonl:1' was seen before"; absent no
for verify in exact signature; do
    bm dedup r1/lines r2/lines $dedup --verify $verify --duplicate-ids number -q -o numbered.$verify; exits 0
    printf '{"group":1,"kept":"part.jsonl:1","size":2,"members":["part.jsonl:1","part.jsonl:1#2"]}\n' | holds numbered.$verify/groups.jsonl
    bm filter numbered.$verify r1/part.jsonl r2/part.jsonl -q -o numbered.$verify.kept; exits 0
    holds numbered.$verify.kept/kept/r2/part.jsonl < r.out/kept/r2/part.jsonl
done

# --- a tree that is moved whole, its inputs neither beside the signatures nor above them ---
mkdir -p project/data/en project/out there
doc a "$(words 0 39)" > project/data/en/part.jsonl
doc b "$(words 1 40)" > project/data/last.jsonl
(cd project/out && "$PROGRAM" sign ../data/en/part.jsonl "$PWD/../data/last.jsonl" $sign -q -o deep/sig) || fail sign
says project/out/deep/sig/manifest.json '"inputs_from_here": ?\['
says project/out/deep/sig/manifest.json '"\.\./\.\./\.\./data/en/part\.jsonl",?$'
says project/out/deep/sig/manifest.json '"\.\./\.\./\.\./data/last\.jsonl",?$'
(cd project/out && "$PROGRAM" sign ../data/en/part.jsonl ../data/last.jsonl $sign -q -o deep/alike) || fail sign
tr -d ' \n' < project/out/deep/alike/manifest.json > flat
says flat '"inputs_from_here":\{"names_begin":"","paths_begin":"\.\./\.\./"\}' # no second list of the same names
for head in '{"names_begin":"..","paths_begin":7}' '{"names_begin":"elsewhere"}' '{"names_begin":"elsewhere","paths_begin":""}'; do
    cp -r project/out/deep/alike broken
    tr -d '\n' < broken/manifest.json | sed -E "s|\"inputs_from_here\": *\{[^}]*\}|\"inputs_from_here\": $head|; s|, *\"report_xxh3_128\": \"[0-9a-f]*\"||" > edited
    mv edited broken/manifest.json
    bm dedup broken $dedup -o no; refused 7 'broken/manifest\.json: "inputs_from_here" is missing or wrong'
    rm -r broken
done
mv project there/moved
for from in . there/moved/data/en there; do
    sig=$PWD/there/moved/out/deep/alike
    (cd "$from" && "$PROGRAM" dedup "$sig" $dedup --verify exact -q --force -o "$OLDPWD/whole") || fail "from $from"
    printf '{"group":1,"kept":"a","size":2,"members":["a","b"]}\n' | holds whole/groups.jsonl
done
for from in . there/moved/data/en there; do
    sig=$PWD/there/moved/out/deep/sig
    (cd "$from" && "$PROGRAM" dedup "$sig" $dedup --verify exact -q --force -o "$OLDPWD/whole") || fail "from $from"
    printf '{"group":1,"kept":"a","size":2,"members":["a","b"]}\n' | holds whole/groups.jsonl
done
(cd there/moved/out && "$PROGRAM" dedup deep/sig $dedup --verify exact -q -o ../whole) || fail "in it"
mv there/moved there/again
bm filter there/again/whole -q -o filtered; exits 0
find filtered/kept -name part.jsonl -exec cat {} + | holds there/again/data/en/part.jsonl
# another file where the name leads, of that size or not, does not hide it
mkdir -p data/en x && doc z "$(words 0 39)" > data/en/part.jsonl
(cd x && "$PROGRAM" dedup ../there/again/out/deep/sig $dedup --verify exact -q --force -o ../whole) || fail "beside another"
printf '{"group":1,"kept":"a","size":2,"members":["a","b"]}\n' | holds whole/groups.jsonl
# one that was changed is named
doc a "$(words 2 41)" > there/again/data/en/part.jsonl
bm dedup there/again/out/deep/sig $dedup --verify exact -o no; refused 7 '.*data/en/part\.jsonl: '; absent no

# --- what does not go together ---
(cd r2 && "$PROGRAM" sign part.jsonl $sign --seed 2 -q -o seeded; "$PROGRAM" sign part.jsonl $sign --id-field id -q -o other)
bm dedup r1/sig r2/seeded -o no; refused 7 'r2/seeded/manifest\.json: provenance\.seed differs from that of r1/sig/manifest\.json'; absent no
bm dedup r1/sig r2/other -o no; refused 7 'r2/other/manifest\.json: provenance\.id_field differs from that of r1/sig/manifest\.json'; absent no
doc a x > r2/part.jsonl
(cd r2 && rm -r sig && "$PROGRAM" sign part.jsonl $sign -q -o sig)
bm dedup r1/sig r2/sig --verify signature -o no; refused 3 "part\.jsonl.*'a'"; absent no
"$PROGRAM" sign - $sign -q -o piped < r1/part.jsonl
bm dedup piped $dedup --verify exact -o no; refused 7 'piped/manifest\.json: its input was standard input'; absent no
bm dedup piped $dedup -o yes; exits 0; says ../err 'warning: piped/manifest\.json: its input was standard input'
bm filter yes r1/part.jsonl -q -o yes.kept; exits 0
holds yes.kept/kept.jsonl < r1/part.jsonl
command_line='bandmill filter yes -'
"$PROGRAM" filter yes - -q -o yes.piped < r1/part.jsonl > ../out 2> ../err; rc=$?; exits 0
holds yes.piped/kept.jsonl < r1/part.jsonl
