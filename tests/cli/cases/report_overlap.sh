# SPDX-License-Identifier: Apache-2.0
# report of a result of overlap: how many items have which coverage, the items that are held most, both texts with the run marked, files that hold
# most first; hostile texts, texts that are gone, refusals.
# shellcheck shell=sh disable=SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
doc() { printf '{"id":"%s","text":"%s"}\n' "$1" "$2"; }
mkdir tests
{
    doc whole "<b>$(words 1 19)"
    doc half "$(words 101 137)"  # 25 shingles, of which 13 stand in a document
    doc less "$(words 201 237)"  # 12 stand there
    doc few "a few words"
    doc twice "$(words 301 320)" # two documents hold it
} > tests/items.jsonl
{ doc a "nothing"; doc b "$(words 900 1400) <i>$(words 1 19)</i> $(words 1500 1900)"; doc e "x"; } > one.jsonl
{ doc c "\\u202e $(words 101 125) $(printf '\377') and on"; doc d "$(words 201 224)"; } > two.jsonl
{ doc f "$(words 301 320)"; doc g "before $(words 301 320) $(words 101 125)"; } > three.jsonl
bm overlap one.jsonl two.jsonl three.jsonl --against tests -o dir -q; exits 0
bm report dir -o page.html; exits 0; silent ../out
says ../err 'bandmill: 3 texts shown, 0 not available; [0-9,]+ bytes'
says page.html '^<title>Overlap: 3 items found</title>$'
says page.html '^<h1>3 of 5 items stand in 4 of 7 documents</h1>$'
says page.html '<dd data-count="items_too_short">1</dd>'
says page.html '<dd data-count="overlap_rows">5</dd>'
checks=$((checks + 1))
! grep -qE 'https?:|style="|<link|@import|url\(' page.html || fail "the page asks for something"

# the histogram has each item that is looked for, by its coverage
says page.html '^<tr><td class="n">0\.48</td><td class="n">0\.49</td><td class="n">1</td></tr>$'
says page.html '^<tr><td class="n">0\.52</td><td class="n">0\.53</td><td class="n">1</td></tr>$'
says page.html '^<tr><td class="n">0\.87</td><td class="n">0\.88</td><td class="n">1</td></tr>$'
says page.html '^<tr><td class="n">0\.99</td><td class="n">1\.00</td><td class="n">1</td></tr>$'
says page.html 'data-low="0\.48" data-pairs="1"><title>0\.48 to 0\.49: 1 item</title>'

# of equal coverage the one that more documents hold comes first; files that hold most
sed -n 's/.*<summary>.*<span class="name">\(.*\)<\/span> and <span class="name">\(.*\)<\/span>.*/\1 \2/p' page.html > shown
holds shown <<'END1'
twice f
whole b
half c
END1
sed -n 's/^<tr><td><span class="name">\(.*\.jsonl\)<\/span>.*/\1/p' page.html > files
holds files <<'END1'
three.jsonl
one.jsonl
two.jsonl
END1

# the run is marked in both; text far from it is left out; no text is markup
says page.html "<div class=\"side\" dir=\"auto\">&lt;b&gt;<mark>$(words 1 19)</mark></div>"
says page.html "<span class=\"gap\"> \[… 2,[0-9]{3} bytes …\] </span>[0-9][0-9 w]* &lt;i&gt;<mark>$(words 1 19)</mark>&lt;/i&gt; .*1,[0-9]{3} bytes …\] </span></div>"
says page.html "<span class=\"u\">U\+202E</span> <mark>$(words 101 125)</mark> . and on"
says page.html "<mark>$(words 101 125)</mark> w126 .* w137"
bm report dir --json -q; exits 0
says ../out '"item":"half","shingles":25,"documents":2,"coverage":0\.52,"together":0\.52,"file":"tests/items\.jsonl","line":2,"document":"c","hits":13,"longest":25,'
says ../out '"items_held":3,"most_held":\[\{"item":"twice"'
bm report dir --pairs 1 --json -q; exits 0
says ../out '"items_held":3,"most_held":\[\{"item":"twice"[^]]*\]\},"document_text":\{[^]]*\]\}\}\]'
bm report dir --text-bytes 100 -o short.html -q; exits 0
says short.html '<span class="gap"> \[… 2,[0-9]{3} bytes …\] </span>[0-9w ]{20,25}&lt;i&gt;<mark>w1 w2 [0-9w ]{40,46}</mark><span class="gap"> \[… [0-9,]+ bytes …\] </span></div>'

# where items are cut out of documents, few of these are removed
bm overlap one.jsonl two.jsonl three.jsonl --against tests -o cut --cut -q; exits 0
bm report cut -o cut.html -q; exits 0
says cut.html '^<h1>3 of 5 items found; 5 cuts in 7 documents</h1>$'
says cut.html '1 document of which nothing is left is removed'

# texts that are gone
printf ' ' >> two.jsonl
bm report dir -o gone.html; exits 0
says ../err 'texts are missing: two\.jsonl'
says gone.html '<p>1 of 3 inputs is gone or has changed since overlap read it'
says gone.html "<div class=\"side\" dir=\"auto\">$(words 101 137)</div>"
mv tests/items.jsonl items.jsonl
bm report dir -o gone.html --force; exits 0
says ../err 'texts of the items are missing: .*items\.jsonl'
says gone.html 'The texts of the items could not be read'
says gone.html "<mark>$(words 1 19)</mark>"
bm report dir --sources . --json -q; exits 0

# nothing is held; refusals
doc alone "$(words 5000 5100)" > none.jsonl
bm overlap one.jsonl --against none.jsonl -o none -q; exits 0
bm report none -o none.html; exits 0
says none.html 'No document holds an item\.'
printf 'b\tright\n' > labels.tsv
bm report dir --sample-labels labels.tsv -o x.html; refused 2 '--sample-labels of dir, which overlap wrote'
printf 'x' >> dir/items.tsv
bm report dir --json; exits 7
