#!/bin/sh
# check_tidy.sh ROOT BUILD [analyzer] -- clang-tidy 14 over every source of src/ that BUILD compiles, with the checks of .clang-tidy: those
# that look at the code as it is written (ten seconds), or with `analyzer` those that walk its paths too (minutes). Exit 77 (skipped) where
# that version is not installed.
#
# Sources in which nothing was found are remembered in BUILD, with all that this followed from (tidy_keys.awk), and not looked at again.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$1 build=$2 checks=-clang-analyzer-*
[ "${3:-}" = analyzer ] && checks=
for tool in clang-tidy-14 clang-tidy; do
    "$tool" --version 2> /dev/null | grep -q 'version 14\.' && break
    tool=
done
[ -n "$tool" ] || { echo "skipped: clang-tidy 14 is not installed"; exit 77; }
known=$build/tidy-${3:-written}.known
find "$root/src" "$root/include" "$root/kernels" -name '*.[ch]' ! -name unicode_tables.c | LC_ALL=C sort | xargs sha256sum |
    awk -v root="$root" -v commands="$build/compile_commands.json" -f "$here/tidy_keys.awk" | grep "^$root/src/" | LC_ALL=C sort -u > "$known.now"
[ -s "$known.now" ] || { echo "no sources of $root/src in $build/compile_commands.json"; exit 1; }
# What all of them follow from.
{ "$tool" --version; echo "$checks"; cat "$root/.clang-tidy" "$0" "$here/tidy_keys.awk"; } | sha256sum >> "$known.now"
touch "$known"
if [ "$(tail -n 1 "$known")" = "$(tail -n 1 "$known.now")" ]; then
    grep -vxF -f "$known" "$known.now"
else
    sed '$d' "$known.now"
fi | cut -f 1 | uniq > "$known.look"
xargs -r -n 16 "$tool" -p "$build" --quiet ${checks:+"--checks=$checks"} < "$known.look" 2> /dev/null || exit 1
echo "$(sed '$d' "$known.now" | cut -f 1 | uniq | wc -l) sources, $(wc -l < "$known.look") of them looked at"
rm "$known.look"
mv "$known.now" "$known"
