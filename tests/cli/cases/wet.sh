# SPDX-License-Identifier: Apache-2.0
# --format wet: Common Crawl's text files. What is a document, its id, what is kept, and refusals.
# shellcheck shell=sh disable=SC2034,SC2154
text='one two three four five six seven eight nine ten'
# record TYPE NAME TEXT
record() { printf 'WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: http://%s.org/\r\nWARC-Record-ID: <urn:uuid:%s>\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n' "$1" "$2" "$2" "${#3}" "$3"; }
{ record warcinfo info 'Software-Info: none'; record conversion a "$text"; record conversion b "$text"; record conversion c 'another text, of nobody else'; } > x.warc.wet
{ record warcinfo info 'Software-Info: none'; record conversion a "$text"; record conversion c 'another text, of nobody else'; } > stays

bm dedup x.warc.wet -o out; exits 0; holds out/kept.warc.wet < stays
printf 'id\tkept\tjaccard\treason\tfile\tline\tlost\n<urn:uuid:b>\t<urn:uuid:a>\t1.000000\tidentical\tx.warc.wet\t17\t0\n' | holds out/removed.tsv
says out/report.json '"input_format": ?"wet"'
bm filter out -o again; exits 0; holds again/kept.warc.wet < stays
bm explain out '<urn:uuid:a>' '<urn:uuid:b>'; exits 0
bm report out -o page.html; exits 0; says page.html 'one two three'
bm sign x.warc.wet --id-field uri -o signed; exits 0; printf 'http://a.org/\nhttp://b.org/\nhttp://c.org/\n' | holds signed/ids.txt
bm dedup signed -o from; exits 0; holds from/kept.warc.wet < stays
"$PROGRAM" dedup - --format wet -o piped -q < x.warc.wet || fail "of standard input: $?"
holds piped/kept.warc.wet < stays

# a member of gz a record, as Common Crawl's files have; several files; the removed ones
bm dedup x.warc.wet --kept gz --removed none -o packed; exits 0
gzip -dc packed/kept.warc.wet.gz > got; holds got < stays
[ "$(grep -c "$(printf '\037\213\010')" -a packed/kept.warc.wet.gz)" -ge 1 ] || fail 'no member'
{ record warcinfo info 'Software-Info: none'; record conversion b "$text"; } | holds packed/removed.warc.wet
bm dedup packed/kept.warc.wet.gz -o same; exits 0; [ -f same/kept.warc.wet.gz ] || fail 'no kept.warc.wet.gz'
mkdir many; cp x.warc.wet many/CC.WARC.WET; record conversion d "$text" > many/more.warc.wet
bm dedup many -o several; exits 0; holds several/kept/CC.WARC.WET < stays; : | holds several/kept/more.warc.wet
bm dedup many -o - -q; exits 0; holds ../out < stays

# bad records: place and field
{ cat x.warc.wet; printf 'WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: many\r\n\r\nlost\r\n\r\n'; record conversion d 'still another'; } > bad.warc.wet
bm dedup bad.warc.wet -o no; refused 3 'bad\.warc\.wet:33: broken record: no Content-Length in its header that is a number'; absent no
bm dedup bad.warc.wet -o some --on-error skip; exits 0; says some/skipped.tsv '^bad\.warc\.wet	33	.*Content-Length'; says some/skipped.tsv '^bad\.warc\.wet	37	.*does not begin with'
says some/kept.warc.wet 'still another'
head -c -20 x.warc.wet > cut.warc.wet
bm sign cut.warc.wet -o no; refused 3 'cut\.warc\.wet:[0-9]+: broken record: (Content-Length is more|no )'; absent no
printf 'WARC/1.0\nWARC-Type: conversion\nContent-Length: 1\n\nx\n\n' > bare.warc.wet
bm sign bare.warc.wet -o bare; exits 0; printf 'bare.warc.wet:1\n' | holds bare/ids.txt
bm sign bare.warc.wet --id-field uri -o no; refused 3 'bare\.warc\.wet:1: no WARC-Target-URI'
bm sign x.warc.wet --id-field WARC-Date -o no; refused 2 "--id-field 'WARC-Date' of wet \(id, uri or none\)"
bm sign x.warc.wet --text-field body -o no; refused 2 '--text-field with inputs of wet'
bm dedup x.warc.wet --keep max:score -o no; refused 2 "--keep looks at field 'score', and inputs of wet have no fields"
bm filter out --annotate -o no; refused 2 '--annotate: these records have no place for a group'
absent no
