# SPDX-License-Identifier: Apache-2.0
# What a job finds where its first batch, item or unit is empty is what it finds where an empty one is the last. One thread and batches
# of one document: buffers are new when they are asked for nothing.
# shellcheck shell=sh disable=SC2086,SC2154
printf '{"id":%s,"text":"%s"}\n' 0 '' > first.jsonl
printf '{"id":%s,"text":"%s"}\n' 1 'a b c d e f g h i\nj k l m n o p' 2 'a b c d e f g h i\nj k l m n o p' > rest.jsonl
cat first.jsonl >> rest.jsonl
sed '$d' rest.jsonl >> first.jsonl

for options in '' '--shingle char:3' '--verify none' '--verify contained' '--cluster star' '--weights tfidf' '--memory 64M' \
    '--unit line --min-words 1' '--unit paragraph --min-words 1' '--unit span:3' '--unit line --threshold 0.7 --shingle word:1 --min-words 1'; do
    for order in first rest; do
        bm dedup $order.jsonl $options --threads 1 --batch-docs 1 -o $order; exits 0
        cut -f 1-4 $order/removed.tsv | sed 's/first.jsonl.*//; s/rest.jsonl.*//' | sort > $order.removed
        sort $order/kept.jsonl > $order.kept
        bm overlap rest.jsonl --against $order.jsonl --min-words 1 --shingle word:2 --threads 1 --batch-docs 1 -o $order.overlap; exits 0
        rm -r $order $order.overlap
    done
    holds first.removed < rest.removed
    holds first.kept < rest.kept
done
