#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_format.sh ROOT -- every C source is formatted as clang-format 14 does; exit code 77 (skipped) if that version is not installed.
set -eu
root=$1
for tool in clang-format-14 clang-format; do
    if "$tool" --version 2> /dev/null | grep -q 'version 14\.'; then
        CLANG_FORMAT=$tool exec "$root/scripts/format.sh" --check
    fi
done
echo "skipped: clang-format 14 is not installed"
exit 77
