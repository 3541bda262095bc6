#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# format.sh [--check] -- clang-format (version 14 of Debian 12 decides) over every C source; --check only says which differ.
# CLANG_FORMAT names another program than the first one on PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mapfile -t files < <(find include src tests bench examples -type f \( -name '*.c' -o -name '*.h' -o -name '*.cpp' \) ! -name unicode_tables.c | LC_ALL=C sort)
tool=${CLANG_FORMAT:-clang-format}
case ${1:-} in
--check) "$tool" --dry-run --Werror "${files[@]}" ;;
'') "$tool" -i "${files[@]}" ;;
*)
    echo "format.sh: unknown argument $1 (expected --check)" >&2
    exit 2
    ;;
esac
