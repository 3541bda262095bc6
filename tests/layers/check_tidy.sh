#!/bin/sh
# check_tidy.sh ROOT BUILD [analyzer] -- clang-tidy 14 over every source of src/ that BUILD compiles, with the checks of .clang-tidy: those
# that look at the code as it is written (ten seconds), or with `analyzer` those that walk its paths too (minutes). Exit 77 (skipped) where
# that version is not installed.
set -u
root=$1 build=$2 checks=-clang-analyzer-*
[ "${3:-}" = analyzer ] && checks=
for tool in clang-tidy-14 clang-tidy; do
    "$tool" --version 2> /dev/null | grep -q 'version 14\.' && break
    tool=
done
[ -n "$tool" ] || { echo "skipped: clang-tidy 14 is not installed"; exit 77; }
files=$(sed -n "s|^ *\"file\": \"\($root/src/.*\.c\)\",*$|\1|p" "$build/compile_commands.json" | grep -v '/unicode_tables\.c$' | LC_ALL=C sort -u)
[ -n "$files" ] || { echo "no sources of $root/src in $build/compile_commands.json"; exit 1; }
# shellcheck disable=SC2086 # names of sources hold no blanks
printf '%s\n' $files | xargs -n 16 "$tool" -p "$build" --quiet ${checks:+"--checks=$checks"} 2> /dev/null || exit 1
echo "$(printf '%s\n' $files | wc -l) sources"
