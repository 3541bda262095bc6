# SPDX-License-Identifier: Apache-2.0
# The signatures that README.md reads: those of the sample articles.
bandmill sign docs/examples/articles.jsonl -o signed -q
