# SPDX-License-Identifier: Apache-2.0
# The files that README.md speaks of: the example's articles in each of the forms.
cp docs/examples/articles.jsonl articles.jsonl
mkdir texts crawl
jq -r '.text' articles.jsonl | split -l 1 - texts/t
split -l 3 articles.jsonl crawl/c --additional-suffix=.jsonl
zstd -q crawl/c*.jsonl
for part in crawl/*.zst; do mv "$part" "part-$(basename "$part")"; done
gzip -q crawl/c*.jsonl
jq -r '["id", "text"], [.id, .text] | @tsv' articles.jsonl | awk '!/^id\ttext$/ || !seen++' > corpus.tsv
