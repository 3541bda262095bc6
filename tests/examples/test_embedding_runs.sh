#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_embedding_runs.sh PROGRAM -- a program of examples/embedding ends well; the one of an index is given a directory to make.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $1 in
*index) "$1" "$work/new" ;;
*) "$1" ;;
esac > "$work/out" || { cat "$work/out"; exit 1; }
[ -s "$work/out" ] || { echo "it prints nothing"; exit 1; }
