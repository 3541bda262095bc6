#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_embedding_runs.sh PROGRAM -- a program of examples/embedding succeeds. An index is made in a new directory; the job with a progress
# meter reads a corpus that is written here, once to its end and once cancelled.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $1 in
*index) "$1" "$work/new" ;;
*own_buckets) "$1" cpu ;;
*progress)
    sh "$(dirname "$0")/../../examples/embedding/texts.sh" > "$work/texts.jsonl"
    "$1" "$work/texts.jsonl" "$work/result"
    code=0
    "$1" "$work/texts.jsonl" "$work/cancelled" --cancel || code=$?
    [ "$code" = 130 ] && [ ! -e "$work/cancelled" ]
    ;;
*) "$1" ;;
esac > "$work/out" || { cat "$work/out"; exit 1; }
[ -s "$work/out" ] || { echo "it prints nothing"; exit 1; }
