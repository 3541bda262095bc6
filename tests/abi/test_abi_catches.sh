#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_abi_catches.sh [fine|broken] -- check.sh refuses what would break a program that was built before (broken), and lets pass what would
# not (fine): copies of the headers, each with some changes, against a dump of the headers as they are. Exit 77 without abidiff.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
headers=$here/../../include/bandmill
if ! command -v abidiff > /dev/null; then
    [ "${CI:-}" = true ] && exit 1
    exit 77
fi
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
mkdir "$room/dumps"
number() { sed -n "s/^#define BM_VERSION_$1 \([0-9]*\)$/\1/p" "$headers/version.h"; }
sh "$here/dump.sh" "$here/../../include" "$room/dumps/bandmill-$(number MAJOR).$(number MINOR).abi"
failed=0 n=0 row='' only=${1:-all}

# try EXPECTED NAME FILE SED... -- EXPECTED: `fine`, or words that the refusal has. and_also EXPECTED...: likewise, in one copy with what
# comes next, up to a `try`, which looks at it; each refusal must be told, and what is told is one (check.sh). The words are of one change of
# the row alone.
and_also() {
    expected=$1 name=$2 file=$3
    shift 3
    case $only/$expected in fine/fine | all/*) ;; fine/* | broken/fine) return ;; esac
    n=$((n + 1))
    [ -n "$row" ] || { rm -rf "$room/include"; mkdir "$room/include"; cp -r "$headers" "$room/include/"; : > "$room/wanted"; }
    row=$name
    printf '%s|%s\n' "$name" "$expected" >> "$room/wanted"
    for expression in "$@"; do
        cp "$room/include/bandmill/$file" "$room/before"
        sed -i -E "$expression" "$room/include/bandmill/$file"
        if cmp -s "$room/before" "$room/include/bandmill/$file"; then
            echo "$name: '$expression' changes nothing in $file: the test has to follow the headers"
            failed=1
        fi
    done
}
try() {
    and_also "$@"
    [ -n "$row" ] || return 0
    row=''
    if BM_ABI_DUMPS=$room/dumps sh "$here/check.sh" "$room/include" > "$room/out" 2>&1; then
        answer=fine
    else
        answer=$(cat "$room/out")
    fi
    while IFS='|' read -r name expected; do
        case $answer in
        *"$expected"*) ;;
        *)
            printf '%s: expected "%s", got:\n%s\n' "$name" "$expected" "$answer"
            failed=1
            ;;
        esac
    done < "$room/wanted"
}

parts='/^typedef struct bm_text_options/,/^\}/'
flags='/^typedef struct bm_device_options/,/^\}/'
sign='/^typedef struct bm_sign_options/,/^\}/'

# --- what a program built before does not notice ---
and_also fine 'a new function' job.h 's/^BM_API bm_status bm_inspect\(/BM_API int bm_more(int x);\n&/'
and_also fine 'a field at the end of options' job.h '/^\} bm_sign_options;/i uint64_t later;'
and_also fine 'two of them' job.h '/^\} bm_dedup_options;/i uint64_t later; bool last;'
and_also fine 'a field at the end of a summary' explain.h '/^\} bm_explain_summary;/i uint64_t later;'
and_also fine 'a field at the end of what the library makes' job.h '/^\} bm_counts;/i uint64_t later;'
try fine 'a reserved word becomes a field' types.h "$parts s/uint64_t reserved\[5\];/uint64_t later; uint64_t reserved[4];/"
try fine 'all of them do' types.h "$parts s/uint64_t reserved\[5\];/double later[5];/"
and_also fine 'reserved flags become a field' types.h "$flags s/reserved_flags/flags/"
and_also fine 'a new value behind the others' types.h 's/BM_KEEP_NONE /BM_KEEP_NONE, BM_KEEP_NEWEST /'
and_also fine 'a new option before their number' option_names.h 's/^    BM_N_OPTIONS/    BM_OPTION_LATER,\n&/'
and_also fine 'a new constant' types.h 's/^#define BM_PERMS_MAX .*/&\n#define BM_LATER_MAX 7u/'
and_also fine 'a new type and a function that takes it' device.h \
    's/^BM_API void bm_device_list_close/typedef struct bm_later { int x; } bm_later;\nBM_API int bm_later_x(const bm_later *later);\n&/'
try fine 'another name of a parameter' job.h 's/bm_inspect\(const char \*path/bm_inspect(const char *where/'

# --- what breaks it: rows of changes that do not touch each other ---
and_also 'gone: [F	bm_inspect' 'a function is gone' job.h '/^BM_API bm_status bm_inspect\(/d'
and_also "'bool resume' offset changed" 'a field in the midst of options' job.h "$sign s/^    bool resume;/    uint64_t early;\n&/"
and_also 'bm_text_options has 96 bytes (88)' 'a part grows' types.h "$parts s/reserved\[5\]/reserved[6]/"
and_also 'BM_KEEP_LAST' 'values change places' types.h 's/BM_KEEP_FIRST,/BM_KEEP_LAST,/; t; s/BM_KEEP_LAST,/BM_KEEP_FIRST,/'
and_also 'BM_VERIFY_NONE' 'a value is gone' types.h 's/^    BM_VERIFY_NONE,$//' 's/^    BM_VERIFY_CONTAINED /    BM_VERIFY_CONTAINED = 4 /'
and_also 'recall' 'fields in another order' types.h 's/double threshold, recall;/double recall, threshold;/'
try 'bm_error has' 'a longer message' status.h 's/char message\[1024\]/char message[2048]/'

and_also 'bm_status (char const*, char**)' 'a parameter less' job.h 's/(bm_inspect\(const char \*path, char \*\*json), bm_error \*err/\1/'
and_also 'field early of struct bm_sign_options' 'a field where the compiler leaves bytes unused' job.h "$sign s/^    bool band_keys;/&\n    bool early;/"
and_also 'bm_text_options has 80 bytes (88)' 'a part shrinks' types.h "$parts s/reserved\[5\]/reserved[4]/"
and_also 'BM_KEEP_LONGEST' 'a value between' types.h 's/BM_KEEP_LAST,/BM_KEEP_LAST, BM_KEEP_NEWEST,/'
and_also 'BM_ERR_PIPE' 'a status has another number' status.h 's/X\(BM_ERR_PIPE, 11,/X(BM_ERR_PIPE, 21,/'
try 'bm_cluster_result has 48 bytes (40)' 'a struct at the end of another' cluster.h 's/groups, largest, removed; /groups, largest, removed, later; /'

and_also 'float (bm_summary const*)' 'another type comes back' job.h 's/^BM_API double bm_summary_seconds/BM_API float bm_summary_seconds/'
and_also 'gone: [M	bm_sign_options	band_keys' 'a field is gone' job.h "$sign s/^    bool band_keys;.*//"
and_also 'is new, and not in reserved words' 'a field in the unused bytes of a part' types.h 's/^    bool files_from_nul;.*/&\n    bool early;/'
and_also 'BM_OPTION_KEEP' 'a new option in the midst' option_names.h 's/^    BM_OPTION_KEEP,/    BM_OPTION_LATER,\n&/'
and_also 'BM_NORM_NFKC' 'a bit changes' types.h 's/BM_NORM_NFKC = 1u << 1/BM_NORM_NFKC = 1u << 7/'
try 'cancelled' 'a callback takes more' types.h 's/\(\*cancelled\)\(void \*ctx\)/(*cancelled)(void *ctx, int n)/'

and_also 'int8_t], was [M	bm_sign_options	band_keys' 'a field of another type, with one at the end' job.h "$sign s/^    bool band_keys;/    int8_t band_keys;/" \
    '/^\} bm_sign_options;/i uint64_t later;'
and_also 'is [M	bm_text_options	words' 'a reserved word moves to the front' types.h "$parts s/reserved\[5\]/reserved[4]/" "$parts s/^    bm_words words;/uint64_t early;\n&/"
and_also 'BM_PERMS_MAX' 'a limit changes' types.h 's/^#define BM_PERMS_MAX .*/#define BM_PERMS_MAX 2048u/'
and_also 'is [T	bm_write_fn	long' 'a callback type gives back another type' types.h 's/typedef int \(\*bm_write_fn\)/typedef long (*bm_write_fn)/'
try 'struct bm_summary was opaque' 'an opaque struct is opened' job.h 's/^typedef struct bm_summary bm_summary;/typedef struct bm_summary { int x; } bm_summary;/'

and_also 'field early of struct bm_sign_options' 'one between, with one at the end' job.h "$sign s/^    bool band_keys;/&\n    bool early;/" \
    '/^\} bm_sign_options;/i uint64_t later;'
and_also 'bm_later_options has a struct_size and is not in the list' 'options that nobody listed' job.h \
    's/^BM_API bm_status bm_inspect\(/typedef struct bm_later_options { size_t struct_size; } bm_later_options;\nBM_API void bm_later(const bm_later_options *options);\n&/'
try 'bm_str has 24 bytes (16)' 'a struct that never changes' types.h '/^\} bm_str;/i size_t later;'

try 'there is none for libbandmill.so' 'another SOVERSION without a dump' version.h 's/BM_VERSION_MINOR .*/BM_VERSION_MINOR 99/'

[ "$only" != fine ] || { echo "$n changes"; exit "$failed"; }

# --- and the symbols of the library itself ---
sh "$here/surface.sh" "$here/../../include" "$room/whole.so" "libbandmill.so.$(number MAJOR).$(number MINOR)"
sed '/ bm_inspect(/d' "$room/whole.so.c" > "$room/less.c"
sed 's/ bm_inspect(/ bm_undeclared(/' "$room/whole.so.c" > "$room/other.c"
cp "$room/whole.so.c" "$room/whole.c"
cp "$room/whole.so.c" "$room/unversioned.c"
printf 'BANDMILL_%s { global: bm_*; local: *; };\n' "$(number MAJOR).$(number MINOR)" > "$room/exports.map"
for kind in whole less other unversioned; do
    library=$room/$kind script=-Wl,--version-script=$room/exports.map words='^< bm_inspect$'
    [ "$kind" != unversioned ] || { script='' words='^bm_inspect$'; }
    "${CC:-cc}" -w -shared -nostdlib -fPIC -fvisibility=hidden -I "$here/../../include" $script \
        "-Wl,-soname,libbandmill.so.$(number MAJOR).$(number MINOR)" "$room/$kind.c" -o "$library"
    n=$((n + 1))
    if BM_ABI_DUMPS=$room/dumps sh "$here/check.sh" "$here/../../include" "$library" > "$room/out" 2>&1; then
        [ "$kind" = whole ] || { echo "a library with $kind functions passes"; failed=1; }
    elif [ "$kind" = whole ]; then
        cat "$room/out"
        failed=1
    elif ! grep -q "$words" "$room/out"; then
        echo "a library with $kind functions: bm_inspect is not named"
        failed=1
    fi
done
echo "$n changes"
exit "$failed"
