#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_tidy.sh ROOT BUILD [analyzer] -- clang-tidy 14 over every source of src/ that BUILD compiles, with the checks of .clang-tidy: those
# that look at the code as it is written (ten seconds), or with `analyzer` those that walk its paths too (minutes). Exit 77 (skipped) where
# that version is not installed.
#
# Sources in which nothing was found are remembered, with all that this followed from (tidy_keys.awk), and not looked at again: in BUILD, or
# where compiled kernels are kept too (tests/kernels_kept.sh), for other clones.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$1 build=$2 checks=-clang-analyzer-*
[ "${3:-}" = analyzer ] && checks=
for tool in clang-tidy-14 clang-tidy; do
    version=$("$tool" --version 2> /dev/null)
    case $version in *'version 14.'*) break ;; esac
    tool=
done
[ -n "$tool" ] || { echo "skipped: clang-tidy 14 is not installed"; exit 77; }
kept=${BANDMILL_TEST_CACHE:-$build}
mkdir -p "$kept"
known=$kept/tidy-${3:-written}.known now=$build/tidy.now look=$build/tidy.look
find "$root/src" "$root/include" "$root/kernels" \( -name '*.[ch]' -o -name '*.def' \) ! -name unicode_tables.c | LC_ALL=C sort | xargs sha256sum |
    awk -v root="$root" -v commands="$build/compile_commands.json" -f "$here/tidy_keys.awk" | grep "^$root/src/" | LC_ALL=C sort -u |
    sed "s|$build|BUILD|g; s|$root/|ROOT/|g; s|$root|ROOT|g" > "$now"
[ -s "$now" ] || { echo "no sources of $root/src in $build/compile_commands.json"; exit 1; }
# What all of them follow from.
{ echo "$version"; echo "$checks"; cat "$root/.clang-tidy" "$0" "$here/tidy_keys.awk"; } | sha256sum >> "$now"
touch "$known"
if [ "$(tail -n 1 "$known")" = "$(tail -n 1 "$now")" ]; then
    grep -vxF -f "$known" "$now"
else
    sed '$d' "$now"
fi | cut -f 1 | uniq | sed "s|^ROOT|$root|" > "$look"
xargs -r -n 16 "$tool" -p "$build" --quiet ${checks:+"--checks=$checks"} < "$look" 2> /dev/null || exit 1
echo "$(sed '$d' "$now" | cut -f 1 | uniq | wc -l) sources, $(wc -l < "$look") of them looked at"
rm "$look"
cp "$now" "$known.$$" && mv "$known.$$" "$known"
