#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# News articles and statutes: which article a cropped one was cut from, the longest run of words that two texts have in common, and the list of
# all distances.
. "$(dirname "$0")/../frame.sh"
need_python
if ! articles=$(shared_data minhash_articles/articles_100.train) || ! texts=$(shared_data textreuse); then
    echo 'skipped: no articles and statutes (../shared/data/minhash_articles and ../shared/data/textreuse beside the tree)'
    exit 77
fi
PYTHONPATH=$examples "$python" "$here/articles.py" "$bandmill" "$scratch" "$articles" "${articles%.train}.truth" "$texts" > "$scratch/numbers"
numbers < "$scratch/numbers"
