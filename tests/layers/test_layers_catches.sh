#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_layers_catches.sh -- prove that the checks of this folder refuse what they should, and nothing else. The tree is made of the real
# table of rooms (plants.awk): in each room every include and every call that its row does not name must be refused, by the check of the
# includes, by that of the symbols, and by the linker. Then one violation of each other rule at a time in a clean tree.
set -u
unset BANDMILL_TEST_CACHE # what clang-tidy found here is for nobody else
here=$(cd "$(dirname "$0")" && pwd)
table=$here/../../src/rooms.tsv
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
failed=0
cases=0

rows() { awk -f "$here/rooms.awk" -f "$here/plants.awk" -v mode="$1" "$table"; }

fresh_tree() {
    rm -rf "${tree:?}"
    mkdir -p "$tree"
    cd "$tree" || exit 2
    awk -F '\t' '!/^#/ { print $2; print ($1 == "cli" ? "tests/cli" : "tests/unit/" $1) }' "$table" | xargs mkdir -p docs bench examples
    cp "$table" src/rooms.tsv
    rows clean
}
# change FILE: what is put into it is undone by `restore`.
changed=
change() { changed="$changed $1"; }
restore() {
    for old in $changed; do
        if [ -e "$work/clean/$old" ]; then cp "$work/clean/$old" "$old"; else rm -f "$old"; fi
    done
    changed=
}

wrong() { failed=$((failed + 1)); printf '%s\n' "$@" | cut -c 1-300 | head -n 30; }

# passes NAME COMMAND...: the check says that all is well.
passes() {
    name=$1
    shift
    cases=$((cases + 1))
    out=$("$@" 2>&1) || wrong "refused, and should not be: $name" "$out"
}

# refuses NAME PATTERN COMMAND...: the check fails, with a line that matches.
refuses() {
    name=$1 pattern=$2
    shift 2
    cases=$((cases + 1))
    if out=$("$@" 2>&1) || ! printf '%s\n' "$out" | grep -q -- "$pattern"; then
        wrong "not caught: $name (by $pattern)" "  said: $out"
    fi
}

# put FILE LINES...: append the lines to FILE; a and test_more get a number, so that each plant has a file of its own. The path: $file.
put() {
    file=$1
    shift
    case ${file##*/} in a.* | test_more.*) file=${file%.*}$plants.${file##*.} ;; esac
    plants=$((plants + 1))
    change "$file"
    mkdir -p "${file%/*}"
    for line in "$@"; do printf '%s\n' "$line" >> "$file"; done
}
plants=0
# expect RULE FILE LINES...: with these lines in FILE the checks of the sources must fail and name both. Many are planted in one tree, and
# looked at by `judge`: when a file comes a second time, and at the end. A line of FILE itself must say it, so that none hides another.
expect() {
    rule=$1 file=$2
    shift 2
    case "$changed " in *" $file "*) judge ;; esac
    put "$file" "$@"
    printf '%s\t%s\n' "${file##*/}:.*$rule" "$file: $(printf '%s ' "$@" | tr '\n\t' '  ' | cut -c 1-200)" >> "$work/planted"
}
judge() {
    sh "$here/check_layers.sh" "$tree" > "$work/said" 2>&1 && wrong "check_layers.sh finds nothing wrong"
    while IFS='	' read -r pattern name; do
        cases=$((cases + 1))
        grep -q -- "$pattern" "$work/said" || wrong "not caught: $name (by $pattern)" "  said: $(cat "$work/said")"
    done < "$work/planted"
    : > "$work/planted"
    restore
}
# accept FILE LINES...: the checks must pass with these. All of them in one tree, behind the last `judge`.
accept() {
    cases=$((cases + 1))
    put "$@"
}

# edit ROOM COLUMN WORD: add the word to a row of the tree's table.
edit() {
    change src/rooms.tsv
    awk -F '\t' -v OFS='\t' -v room="$1" -v column="$2" -v word="$3" '$1 == room { $column = $column == "" ? word : $column " " word } { print }' "$table" > src/rooms.tsv
}

# objects ROOT KIND: compile the files KIND_*.c into $work/KIND, and list them as PARTS (edges.sh).
objects() {
    mkdir -p "$work/$2"
    files=$(find "$1/src" -name "$2_*.c")
    # shellcheck disable=SC2086 # names hold no blanks
    (cd "$work/$2" && "${CC:-cc}" -c -fPIC -fvisibility=hidden -I"$1" -I"$1/src" -I"$1/include" $files) || exit 2
    for object in "$work/$2/$2"_*.o; do
        room=${object##*/"$2"_}
        printf 'object\t%s\t%s\n' "${room%.o}" "$object"
    done
}

# ---- the rooms, all of them

fresh_tree
cp -r "$tree" "$work/clean"
passes 'a clean tree' sh "$here/check_layers.sh" "$tree"
objects "$work/clean" u > "$work/parts"
"${CC:-cc}" -shared -o "$work/libplanted.so" "$work/u/u_base.o" || exit 2
printf 'shared\tbandmill\t%s\n' "$work/libplanted.so" >> "$work/parts"
passes 'symbols of a clean tree' sh "$here/check_symbols.sh" "$tree" "$work/parts"
passes 'links of a clean tree' sh "$here/check_links.sh" "$tree" "$work/parts"
passes 'a clean tree has no circle' sh "$here/check_circles.sh" "$tree" "$work/parts"

rows forbidden > "$work/forbidden"
sh "$here/check_layers.sh" "$tree" > "$work/said" && wrong 'no include was refused'
awk -F '\t' -v said="$work/said" '
    BEGIN { while ((getline line < said) > 0) all = all "\n" line }
    function refused(text) { return index(all, text) > 0 }
    $2 ~ /^</ { n++; if (!refused("room " $1 " includes " $2)) { print "not caught: " $2 " in room " $1; bad++ }; next }
    { n++ }
    # In kernels/ a path is one below kernels/.
    $1 == "kernels" { if (!refused("plant_kernels.h:" ++k ": include:")) { print "not caught: an include of " $2 " in kernels"; bad++ }; next }
    !refused("/r_" $2 ".h\" of room " $2 "\n") || all !~ ("room " $1 " includes \"[a-z_/]*/r_" $2 "\\.h\" of room " $2) {
        print "not caught: an include of room " $2 " in room " $1; bad++ }
    END { print n " includes of other rooms and libraries, " bad + 0 " not caught"; exit bad > 0 || n < 100 }' "$work/forbidden" || failed=$((failed + 1))

objects "$tree" plant > "$work/plants"
cat "$work/parts" "$work/plants" > "$work/all"
sh "$here/check_symbols.sh" "$tree" "$work/all" > "$work/said" && wrong 'no symbol was refused'
awk -F '\t' -v said="$work/said" '
    BEGIN { while ((getline line < said) > 0) all = all "\n" line }
    $2 ~ /^<|^(public|kernels|program)$/ || $1 ~ /^(public|kernels|program)$/ { next }
    { n++; text = $1 == "cli" ? "plant_cli: symbol: uses bm_of_" $2 " of " : "plant_" $1 ": symbol: room " $1 " uses bm_of_" $2 " of room " $2 }
    !index(all, text) { print "not caught: a call of room " $2 " in room " $1; bad++ }
    END { print n " calls of other rooms, " bad + 0 " not caught"; exit bad > 0 || n < 100 }' "$work/forbidden" || failed=$((failed + 1))
while IFS='	' read -r kind room path; do
    { cat "$work/parts"; printf '%s\t%s\t%s\n' "$kind" "$room" "$path"; } > "$work/one"
    refuses "the linker: room $room" "room $room does not link" sh "$here/check_links.sh" "$tree" "$work/one" "$room"
done < "$work/plants"

rm -rf "${tree:?}"
cp -r "$work/clean" "$tree"
cd "$tree" || exit 2

# ---- the table

# planted_row RULE ROOM COLUMN WORD: the row of ROOM with one word more is refused.
planted_row() {
    restore
    edit "$2" "$3" "$4"
    refuses "the row of $2 with $4" "rooms\.tsv:.*: $1: .*$2" sh "$here/check_layers.sh" "$tree"
}
planted_row table base 3 sketch
planted_row table cpu 3 opencl
planted_row table sketch 3 sketch
planted_row table lsh 3 attic
planted_row table lsh 3 base
planted_row table inmem 3 opencl
planted_row table cli 3 base
planted_row table tune 3 bench
planted_row table lsh 4 zlib
planted_row table lsh 4 curl
restore
edit cpu 3 lsh
refuses 'a row that names a room in vain' 'unused: room cpu may see lsh' sh "$here/check_symbols.sh" "$tree" "$work/parts"

# ---- symbols of libraries, and of the shared library

# plant_symbols ROOM LINES...: an object more of that room.
plant_symbols() {
    room=$1
    shift
    printf '%s\n' "$@" > "$work/x.c"
    "${CC:-cc}" -c -fPIC -o "$work/x.o" "$work/x.c" || exit 2
    { cat "$work/parts"; printf 'object\t%s\t%s\n' "$room" "$work/x.o"; } > "$work/one"
}
restore
echo 'int deflate(void) { return 0; }' > "$work/z.c"
"${CC:-cc}" -shared -fPIC -o "$work/libz.so" "$work/z.c" || exit 2
call='int deflate(void); int bm_x(void); int bm_x(void) { return deflate(); }'
plant_symbols lsh "$call"
printf 'library\tzlib\t%s\n' "$work/libz.so" >> "$work/one"
refuses 'a call of zlib in lsh' 'src/lsh/x: library: uses deflate of zlib' sh "$here/check_symbols.sh" "$tree" "$work/one"
plant_symbols input "$call"
printf 'library\tzlib\t%s\n' "$work/libz.so" >> "$work/one"
passes 'a call of zlib in input' sh "$here/check_symbols.sh" "$tree" "$work/one"
plant_symbols text '#include <pthread.h>' 'int bm_x(void); int bm_x(void) { return pthread_self() != 0; }'
refuses 'a thread in text' 'src/text/x: library: uses pthread_self of threads' sh "$here/check_symbols.sh" "$tree" "$work/one"
"${CC:-cc}" -shared -fPIC -o "$work/libmore.so" "$work/u/u_base.o" "$work/z.c" || exit 2
{ cat "$work/parts"; printf 'shared\tbandmill\t%s\n' "$work/libmore.so"; } > "$work/one"
refuses 'an export that no header declares' 'export: declares no deflate' sh "$here/check_symbols.sh" "$tree" "$work/one"

# What the room `program` declares is for the program, though it is not exported.
restore
plant_symbols cli 'int bm_of_base(void); int bm_x(void); int bm_x(void) { return bm_of_base(); }'
refuses 'a call of what is not exported' 'src/cli/x: symbol: uses bm_of_base' sh "$here/check_symbols.sh" "$tree" "$work/one"
refuses 'a link of what is not exported' 'room cli does not link' sh "$here/check_links.sh" "$tree" "$work/one" cli
change src/program/more.h
mkdir -p src/program
echo 'int bm_of_base(void);' > src/program/more.h
passes 'a call of what the room program declares' sh "$here/check_symbols.sh" "$tree" "$work/one"
passes 'a link of what the room program declares' sh "$here/check_links.sh" "$tree" "$work/one" cli

# ---- what a reader has to walk through

# longer NAME FILE LINES...: with these lines the count NAME, and no other, is one more than it was.
longer() {
    name=$1 file=$2
    shift 2
    restore
    change "$file"
    for line in "$@"; do printf '%s\n' "$line" >> "$file"; done
    refuses "$name by $file" "^$name: $((was + 1)), at most $was$" sh "$here/check_walk.sh" "$tree" "$work/walk.tsv"
    cases=$((cases + 1))
    [ "$(printf '%s\n' "$out" | grep -c 'at most')" = 1 ] || wrong "more than $name grew by $file" "$out"
}
restore
echo 'VALUE(K, "k", "k", PLACE_TEXT(shingle_k), UINT32)' > src/options/rows.def # for all of them
sed 's/^\([a-z].*\)\t.*/\1\t999/' "$here/walk.tsv" > "$work/walk.tsv"
passes 'bounds that are far off' sh "$here/check_walk.sh" "$tree" "$work/walk.tsv" lower
passes 'bounds as they are' sh "$here/check_walk.sh" "$tree" "$work/walk.tsv"
cases=$((cases + 1))
grep -q 999 "$work/walk.tsv" && wrong 'a bound was not lowered'
was=0
longer files_naming_delimiter src/lsh/w.c 'int delimiter;' 'int g(int delimiter);'
longer job_forks src/lsh/w.c 'if (kind == BM_JOB_SIGN) f();'
longer status_ladders src/lsh/w.c '    if (status == BM_OK && n > 0)'
longer fields_repeated src/lsh/w.c 'typedef struct w_options {' '    uint32_t shingle_k, shingle_k;' '} w_options;'
was=$(sed -n 's/^one_includer\t//p' "$work/walk.tsv")
longer one_includer src/lsh/w.h 'int w(void);'
rm src/options/rows.def
restore

# ---- options

real=$here/../..
options() { awk -f "$here/options.awk" "$real/src/options/rows.def" "$real/include/bandmill/types.h" "$1"; }
passes 'the options as they are' options "$real/include/bandmill/job.h"
sed 's/^    uint64_t max_group_size;.*/&\n    uint32_t planted;/' "$real/include/bandmill/job.h" > "$work/job.h"
refuses 'a member of options without a row' 'bm_dedup_options.planted: no row' options "$work/job.h"

# ---- circles

# circle NAME PATTERN FILE=LINE...: a tree of these files, and objects of its sources.
circle() {
    name=$1 pattern=$2
    shift 2
    restore
    cp "$work/parts" "$work/one"
    for pair in "$@"; do change "${pair%%=*}"; echo "${pair#*=}" >> "${pair%%=*}"; done
    for pair in "$@"; do
        file=${pair%%=*}
        case $file in *.h) continue ;; esac
        stem=${file##*/}
        "${CC:-cc}" -c -fPIC -I"$tree/src" -I"$tree" -I"$tree/include" -o "$work/${stem%.c}.o" "$file" || exit 2
        room=$(dirname "$file")
        printf 'object\t%s\t%s\n' "${room##*/}" "$work/${stem%.c}.o" >> "$work/one"
    done
    refuses "$name" "$pattern" sh "$here/check_circles.sh" "$tree" "$work/one"
}
circle 'two files that include each other' 'src/lsh/b -> src/lsh/a: include' \
    'src/lsh/a.h=int bm_a(void);' 'src/lsh/b.h=int bm_b(void);' 'src/lsh/a.c=#include "lsh/b.h"' 'src/lsh/b.c=#include "lsh/a.h"'
circle 'two files that call each other' 'src/lsh/a -> src/lsh/b: bm_b' \
    'src/lsh/a.c=int bm_b(void); int bm_a(void); int bm_a(void) { return bm_b(); }' \
    'src/lsh/b.c=int bm_a(void); int bm_b(void); int bm_b(void) { return bm_a(); }'
circle 'an include one way, a call the other' 'src/lsh/b -> src/lsh/a: bm_a' \
    'src/lsh/b.h=int bm_b(void);' 'src/lsh/a.c=#include "lsh/b.h"' 'src/lsh/a.c=int bm_a(void); int bm_a(void) { return 1; }' \
    'src/lsh/b.c=int bm_a(void); int bm_b(void); int bm_b(void) { return bm_a(); }'
circle 'three rooms' 'circle of 3 units' \
    'src/lsh/a.c=#include "text/b.h"' 'src/text/b.h=#include "sketch/c.h"' 'src/sketch/c.h=#include "lsh/a.h"' 'src/lsh/a.h=#pragma once'
circle 'headers of kernels' 'kernels/a -> kernels/b: include' 'kernels/a.h=#include "b.h"' 'kernels/b.h=#include "a.h"'
circle 'public headers' 'include/bandmill/b -> include/bandmill/a: include' \
    'include/bandmill/a.h=#include <bandmill/b.h>' 'include/bandmill/b.h=#include <bandmill/a.h>'

# ---- includes, calls, names

restore
: > "$work/planted"
expect layer src/text/a.c '  #  include <pthread.h>'
expect layer src/text/a.c '#include <unistd.h>'
expect layer include/bandmill/a.h '#include <stdio.h>'
expect layer src/odd/a.c 'int x;'
expect include src/text/a.c '#include "text/missing.h"'
expect include src/text/a.c '#include <bandmill/missing.h>'
expect include src/text/a.c '#include "../lsh/r_lsh.h"'
expect include kernels/a.h '#include "../src/lsh/r_lsh.h"'
expect banned src/cli/a.c 'void f(char *a) { strcpy(a, "x"); }'
expect banned src/input/a.c 'int f(char *a) { return atoi (a); }'
expect library src/input/a.c '/* c */ void f(void) { printf("x"); }'
expect library src/base/a.c 'void f(void) { abort(); }'
expect library src/match/a.c 'void f(void) { exit(1); }'
expect library src/lsh/a.c 'void f(void) { fputs("x", stderr); }'
expect environment src/opencl/a.c 'const char *f(void) { return getenv("HOME"); }'
expect environment src/opencl/cl_cache.c 'const char *f(void) { return getenv("PATH"); }'
expect environment src/opencl/cl_cache.c 'const char *f(const char *name) { return getenv(name); }'
expect option src/input/a.c 'const char *t = "too long (--max-doc-bytes)";'
expect option src/input/a.c 'const char *t = "--%s is needed";'
expect option src/devices/a.c 'const char *t = "none (`bandmill devices` lists them)";'
expect usage src/lsh/a.c 'int f(void) { return bm_fail(err, BM_ERR_USAGE, "no"); }'
expect usage src/lsh/a.c 'int f(void) { return bm_fail_at(err, BM_ERR_USAGE, path, 0, "no"); }'
expect usage src/lsh/a.c '        err, BM_ERR_USAGE, path, 0, "no");'
expect unique src/input/u_lsh.c 'int x;'
expect name src/input/util.c 'int x;'
expect 'path of one machine' docs/a.md 'see /wor''k/x'
tested='/* SPDX-License-Identifier: Apache-2.0 */
/* a.c -- x.'
expect tested src/lsh/a.c 'int x;'
expect tested src/lsh/a.c "$tested Nothing. */" '/* Tests: tests/cli/test_u_cli.c */'
expect tested src/lsh/a.c "$tested" ' * Tests: tests/unit/lsh/test_gone.c */'
expect tested src/lsh/a.c "$tested" ' * Tests: tests/cli/test_u_cli.c tests/unit/lsh/test_gone.c */'
expect tested src/lsh/a.c "$tested" ' * Tests: src/lsh/u_lsh.c */'

judge

# What is well: all of it at once.
accept src/opencl/libraries_opencl.h '/* getenv("X"), "--x" */ #define T "a -- b"' '// exit(1)'
accept src/cli/a.c "$tested" ' *' ' * Tests: tests/cli/test_u_cli.c, tests/unit/lsh/test_u_lsh.c. */' 'const char *t = "--x";'
accept src/opencl/cl_cache.c "$tested" ' * Tests: tests/cli/test_u_cli.c */' 'void f(void) { g(getenv("XDG_CACHE_HOME"), getenv("HOME")); }'
passes 'what looks like a violation and is none' sh "$here/check_layers.sh" "$tree"

# ---- licences

licences=$work/licences
mkdir -p "$licences/src/corpus" "$licences/build"
echo '/* SPDX-License-Identifier: Apache-2.0 */' > "$licences/src/a.c"
printf '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n' > "$licences/a.sh"
echo 'int made;' > "$licences/build/made.c"
passes 'sources with their licence' sh "$here/check_licences.sh" "$licences"
echo 'int x; /* SPDX-License-Identifier: Apache-2.0 */' > "$licences/src/corpus/b.h"
refuses 'a header without a licence' '^src/corpus/b\.h:1: licence: ' sh "$here/check_licences.sh" "$licences"
echo '/* SPDX-License-Identifier: MIT */' > "$licences/src/corpus/b.h"
refuses 'another licence' '^src/corpus/b\.h:1: licence: ' sh "$here/check_licences.sh" "$licences"

# ---- the form of sources

form=$work/form
mkdir -p "$form/src/lsh" "$form/tests/world"
form() { printf '%s\n' "$@" > "$form/src/lsh/a.c"; }
check_form() { sh "$here/check_form.sh" "$form"; }
echo 'ReflowComments: false' > "$form/.clang-format"
wide=$(printf '%097d' 0)
form '/* a.c -- its head.' ' *' ' *     a drawing    of two columns' ' *' " * $wide" ' */' '#include "lsh/a.h"' '' \
    '/* === a part ===' ' *' " * It begins so.   Text behind a full stop. */" "static int own(int x);" 'int bm_a(void)' '{' '    f(1);' '}' \
    '#include "lsh/join_loops.h"' "/* $(printf '\303\244%.0s' $(seq 94)) */"
passes 'sources of good form' check_form
form "/* $wide */"; refuses 'a long line' '^src/lsh/a\.c:1: columns: 103 ' check_form
form 'int x;' '#include "lsh/a.h"'; refuses 'an include behind code' '^src/lsh/a\.c:2: include: ' check_form
form 'bm_status bm_other(int x);'; refuses 'a prototype in a source' '^src/lsh/a\.c:1: prototype: ' check_form
form 'int x;' '/* other -- the head of a file. */'; refuses 'the head of another file' '^src/lsh/a\.c:2: section: ' check_form
form '/* a.c -- its head.' ' *     memory   chunks that begin' ' * here file     [ keys | frequencies ] */'
refuses 'a drawing that was wrecked' '^src/lsh/a\.c:3: drawing: ' check_form
form 'int x;'
of_test() { printf '%s\n' "$1" > "$form/tests/a.c"; }
echo 'int a(void) { return mkdtemp(x) + rand_r(&s); }' > "$form/tests/world/b.h"
of_test 'uint64_t a(uint64_t *state) { return world_random(state) + strand(1); } /* mkdtemp(x) */'
passes 'tests that ask their world' check_form
for own in 'mkdtemp(path)' 'mkstemp(path)' 'rand_r(&seed)' 'x * UINT64_C(6364136223846793005)' 'x * 1664525 + 1013904223' \
    'x * 1103515245u + 12345u' '(z ^ z >> 30) * 0xBF58476D1CE4E5B9u'; do
    of_test "long a(void) { return $own; }"; refuses "a test with $own" '^tests/a\.c:1: world: ' check_form
done
rm "$form/tests/a.c"
echo 'ReflowComments: true' > "$form/.clang-format"; refuses 'a formatter that wrecks drawings' '^\.clang-format:1: reflow: ' check_form

# ---- functions that are external for tests alone

external=$work/external
mkdir -p "$external"
object() { printf '%s\n' "$2" > "$external/$1.c" && "${CC:-cc}" -c -o "$external/$1.o" "$external/$1.c"; }
check_external() { sh "$here/check_external.sh" "$external" "$external/parts" "$external/bound"; }
object a 'int bm_inner(void) { return 1; } int bm_called(void) { return bm_inner(); }'
object b 'int bm_called(void); int main(void) { return bm_called(); }'
printf 'object\tlsh\t%s\n' "$external/a.o" "$external/b.o" > "$external/parts"
printf 'functions_for_tests\t1\n' > "$external/bound"
passes 'as many functions for tests as allowed' check_external
printf 'functions_for_tests\t0\n' > "$external/bound"
refuses 'a function that only tests call' '^bm_inner	' check_external

# ---- clang-tidy, which does not look twice at what it knows

tidy=$work/tidy
mkdir -p "$tidy/src/lsh" "$tidy/include" "$tidy/kernels" "$tidy/build"
cp "$here/../../.clang-tidy" "$tidy/"
echo '#include "lsh/deep.h"' > "$tidy/src/lsh/a.h"
echo 'int bm_same(int x);' > "$tidy/src/lsh/deep.h"
printf '%s\n' '#include "a.h"' 'int bm_same(int x) { return x; }' > "$tidy/src/lsh/a.c"
echo 'int bm_b(int x); int bm_b(int x) { return x; }' > "$tidy/src/lsh/b.c"
for name in a b; do
    printf '{\n  "directory": "%s",\n  "command": "cc -Isrc -c src/lsh/%s.c",\n  "file": "%s/src/lsh/%s.c"\n},\n' "$tidy" $name "$tidy" $name
done | sed '1s/^/[/; $s/,$/]/' > "$tidy/build/compile_commands.json"
bug='static inline int bm_f(int x) { return x == 1 || x == 1; }'
# looked N NAME: all is well, and N of the two sources were looked at.
looked() { refuses "$2" "^2 sources, $1 of them" sh -c 'sh "$0" "$1" "$1/build"; exit 1' "$here/check_tidy.sh" "$tidy"; }
if sh "$here/check_tidy.sh" "$tidy" "$tidy/build" > "$work/said"; then
    looked 0 'what is known is not looked at again'
    echo '/* more */' >> "$tidy/src/lsh/b.c"
    looked 1 'a source that changed is looked at'
    echo "$bug" >> "$tidy/src/lsh/deep.h"
    refuses 'a header of a header that changed' 'deep.h:.*misc-redundant-expression' sh "$here/check_tidy.sh" "$tidy" "$tidy/build"
    refuses 'what was found is found again' 'deep.h:.*misc-redundant-expression' sh "$here/check_tidy.sh" "$tidy" "$tidy/build"
    echo 'int bm_same(int x);' > "$tidy/src/lsh/deep.h"
    looked 0 'what is as it was is known'
    sed -i 's/cc -Isrc/cc -DX -Isrc/' "$tidy/build/compile_commands.json"
    looked 2 'other commands'
    echo '# more' >> "$tidy/.clang-tidy"
    looked 2 'other checks'
elif [ $? -ne 77 ]; then
    wrong 'clang-tidy refuses what it should not' "$(cat "$work/said")"
fi

echo "$cases cases, $failed wrong"
[ "$failed" -eq 0 ]
