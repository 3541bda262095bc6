# SPDX-License-Identifier: Apache-2.0
# A corpus under the name that docs/pairing.md uses.
cp docs/examples/articles.jsonl corpus.jsonl
