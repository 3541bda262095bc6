# SPDX-License-Identifier: Apache-2.0
# report of parts of documents: those that are repeated most and the files that repeat them, documents before and after; hostile texts, texts that
# are gone, refusals.
# shellcheck shell=sh disable=SC2154
banner='We keep two cookies on your machine &amp; tell <b>nobody</b>.'
{
    printf '{"id":"a","text":"%s\\nmine"}\n{"id":"b","text":"yours\\n%s\\nand a line of eight words that comes twice here"}\n' "$banner" "$banner"
    printf '{"id":"empty","text":"%s\\n"}\n' "$banner"
} > one.jsonl
{
    printf '{"id":"c","text":"\\u202e\377\\n%s\\nAnd a line of eight words, that comes twice here.\\n<i>"}\n' "$banner"
    printf '{"id":"d","text":"%s\\nx\\n%s\\ny"}\n' "$banner" "$banner"
} > two.jsonl
bm dedup one.jsonl two.jsonl --unit line -o dir -q; exits 0
bm report dir -o page.html; exits 0; silent ../out
says ../err 'bandmill: 3 texts shown, 0 not available; [0-9,]+ bytes'
says page.html '^<title>Parts of documents: 6 cuts</title>$'
says page.html '^<h1>6 cuts in 5 documents, [0-9,]+ bytes of text</h1>$'
says page.html '<dd data-count="removed">1</dd>'
says page.html '<dd data-count="groups">2</dd>'
says page.html '<p class="lede">Lines that repeat another one were cut .* fewer than 8 words stay. 1 document of which only white space is left is removed.</p>'
checks=$((checks + 1))
! grep -qE 'https?:|style="|<link|@import|url\(|<b>nobody|<i>' page.html || fail "the page asks for something, or a text is markup"

# those repeated most, with their files; no text is markup
sed -n 's/^<tr><td><span class="name">\(.*\)<\/span><\/td><td class="n">\(.*\)<\/td><td><span class="name">\(.*\)<\/span><\/td><td class="n">\(.*\)<\/td><td class="n">\(.*\)<\/td><td><span class="name">\(.*\)<\/span><\/td><td class="n">\(.*\)<\/td><\/tr>$/\2 \3 \4 \5 \6 \7/p' page.html > shown
holds shown <<'END1'
5 a 0 2 two.jsonl 3
1 b 68 1 two.jsonl 1
END1
says page.html '<summary><span class="value">5</span>stays in <span class="name">a</span> at byte 0</summary>'
says page.html '^<div class="side" dir="auto">yours$'

# before and after: the documents that lost most, of which something is left; a broken byte and a hidden character before the cut
sed -n 's/.*<summary><span class="value">\(.*\)<\/span>bytes cut out of <span class="name">\(.*\)<\/span><\/summary>/\1 \2/p' page.html > documents
holds documents <<'END1'
124 d
112 c
62 b
END1
says page.html '<p class="who"><b>After</b> <span class="name">d</span> · 3 bytes, line 2 of <span class="name">two.jsonl</span></p>'
bm report dir --json; exits 0
says ../out '"repeated_units":2,"most_repeated":\[\{"cuts":5,"kept":"a","kept_from":0,"files":2,"most_in":"two.jsonl","cuts_there":3,"document":"b","from":6,'
says ../out '"document":"d","line":2,"cut_bytes":124,"found":true,"bytes":127,"begin":0,"text":"[^"]*","cuts":\[\[0,62\],\[64,126\]\]'
bm report dir --pairs 1 --json; exits 0; says ../out '"repeated_units":2,"most_repeated":\[\{"cuts":5,[^]]*\]\}\}\],"before'

# spans may overlap; what they have in common counts once
printf '{"id":1,"text":"a b c d e f x"}\n{"id":2,"text":"y b c d e"}\n{"id":3,"text":"a b c d z q"}\n{"id":4,"text":"c d e f a b c d"}\n' > spans.jsonl
bm dedup spans.jsonl --unit span:3 --min-words 3 -o spans -q; exits 0
bm report spans -o spans.html; exits 0
says spans.html 'Stretches of words or characters that stood before \(word:3 and longer\)'
bm report dir --sample-labels one.jsonl -o never.html; refused 2 '--sample-labels'
bm dedup one.jsonl --unit line --min-words 20 -o nothing -q; exits 0
bm report nothing -o nothing.html; exits 0; says nothing.html '^<p>Nothing was cut.</p>$'

# texts that are gone
mv two.jsonl gone.jsonl
bm report dir -o page.html --force; exits 0; says ../err 'two.jsonl'
says page.html '^<p>1 of 2 inputs is gone'
says page.html '<summary><span class="value">5</span>stays in'
says page.html '^<p class="gap">The text is not shown: its input is gone, or not what it was.</p>$'
