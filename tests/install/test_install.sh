#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_install.sh BUILD_DIR VERSION CMAKE -- install into an empty prefix, move it, and use it from outside: plain cc through pkg-config,
# shared and static, and find_package. Then what the shared library exports, and the example of docs/library.md.
set -eu
build=$1 version=$2 cmake=$3
pages=
if grep -q '^BM_PAGES:BOOL=ON' "$build/CMakeCache.txt"; then pages="share/man/man1/bandmill.1 share/man/man1/bandmill-index-build.1 share/man/man3/bandmill.3 share/man/man5/bandmill-formats.5
    share/bash-completion/completions/bandmill share/fish/vendor_completions.d/bandmill.fish share/zsh/site-functions/_bandmill"; fi
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}

"$cmake" --install "$build" --prefix "$work/first" > "$work/log" || { cat "$work/log"; exit 1; }
mv "$work/first" "$work/moved"
prefix=$work/moved
cp -r "$here/consumer" "$work/consumer"
cd "$work"
printf '{"text":"one and the same text here"}\n{"text":"one and the same text here"}\n{"text":"another"}\n' > in.jsonl

licences="share/doc/bandmill/LICENSE share/doc/bandmill/BSD-2-Clause.txt share/doc/bandmill/Unicode-3.0.txt"
for file in bin/bandmill include/bandmill/bandmill.h $pages $licences share/bandmill/tsan.supp; do
    [ -e "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done
sh "$here/search_paths.sh" "$prefix"
pc=$(find "$prefix" -name bandmill.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH="${pc%/*}"
[ "$(pkg-config --modversion bandmill)" = "$version" ] || { echo "pkg-config: wrong version"; exit 1; }
"$prefix/bin/bandmill" --version | grep -qx "bandmill $version"

# each public header stands alone, in C and in C++
for header in "$prefix"/include/bandmill/*.h; do
    echo "#include <bandmill/$(basename "$header")>" > alone.c
    # shellcheck disable=SC2046
    $cc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only $(pkg-config --cflags bandmill) alone.c
    if command -v c++ > /dev/null; then
        # shellcheck disable=SC2046
        c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ $(pkg-config --cflags bandmill) alone.c
    fi
done

# the pages that the headers name are there
cat "$prefix"/include/bandmill/*.h | grep -oE 'docs/[a-z-]+\.md' | sort -u > pages
[ "$(wc -l < pages)" -ge 5 ] || { echo "no pages named in the headers"; exit 1; }
while read -r page; do
    [ -s "$prefix/share/doc/bandmill/$page" ] || { echo "$page: named in a header, and not installed"; exit 1; }
done < pages

# shared
# shellcheck disable=SC2046
$cc -std=c11 -Wall -Wextra -Werror consumer/consumer.c -o shared $(pkg-config --cflags --libs bandmill)
LD_LIBRARY_PATH=$libdir ldd shared | grep -q "libbandmill\.so\.${version%.*} => $libdir" || { echo "no SONAME"; exit 1; }
LD_LIBRARY_PATH=$libdir ./shared "$version" in.jsonl out.shared

# static: the archive itself, and what Libs.private names
# shellcheck disable=SC2046
$cc -std=c11 -Wall -Wextra -Werror consumer/consumer.c -o static $(pkg-config --cflags --libs --static bandmill | sed 's/-lbandmill/-l:libbandmill.a/')
if ldd static | grep -q libbandmill; then echo "static: the shared library was linked"; exit 1; fi
./static "$version" in.jsonl out.static
cmp out.shared/removed.tsv out.static/removed.tsv

# find_package, in a project of plain C
"$cmake" -S consumer -B found -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$cmake" --build found > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for kind in shared static bandmill; do
    "found/consumer_$kind" "$version" in.jsonl "out.found.$kind"
done
if ldd found/consumer_static | grep -q libbandmill; then echo "find_package: the shared library was linked"; exit 1; fi

# the example of the manual is this one, and does what it says
[ "$(found/example in.jsonl out.example)" = "3 documents, 1 removed, keep = longest" ] || { echo "the example: wrong answer"; exit 1; }
[ "$(wc -l < out.example/kept.jsonl)" -eq 2 ]
if found/example missing.jsonl out.none 2> refused; then echo "the example: a missing input is no error"; exit 1; fi
grep -q "^missing.jsonl: " refused
sed 1d "$here/consumer/example.c" > example # the line of its licence
awk '/^```$/ { inside = 0 } inside { print } /^```c$/ { inside = 1 }' "$here/../../docs/library.md" | cmp - example ||
    { echo "docs/library.md shows another example"; exit 1; }

# nothing but bm_* is exported, and every function of the headers is (but for those that are inline)
node=BANDMILL_${version%.*}
nm -D --defined-only "$libdir/libbandmill.so" | awk -v node="$node" '$2 == "A" && $3 ~ "^" node "(@@|$)" { next } { print $3 }' | sort > exported
if grep -v "^bm_[a-z0-9_]*@@$node\$" exported; then echo "exported beside bm_*, or not of the version $node"; exit 1; fi
sed 's/@.*//' exported | sort > names
readelf -V -W shared | grep -q "Name: $node " || { echo "a program that links the library does not ask for $node"; exit 1; }
cat "$prefix"/include/bandmill/*.h | tr '\n' ' ' | grep -oE 'BM_API [^;(]*\(' | grep -oE 'bm_[a-z0-9_]+ ?\($' | tr -d ' (' | sort -u > promised
[ "$(wc -l < promised)" -gt 20 ] || { echo "no promises found in the headers"; exit 1; }
missing=$(comm -23 promised names)
[ -z "$missing" ] || { echo "in a header, not in the library: $missing"; exit 1; }
extra=$(comm -13 promised names)
[ -z "$extra" ] || { echo "exported, but in no public header: $extra"; exit 1; }

# removed again, as docs/install.md says
"$cmake" --install "$build" --prefix "$work/second" > "$work/log" || { cat "$work/log"; exit 1; }
xargs rm < "$build/install_manifest.txt"
[ -z "$(find "$work/second" ! -type d | tee /dev/stderr)" ] || { echo "left after uninstalling"; exit 1; }
echo "installed, moved, linked in 5 ways; $(wc -l < names) functions exported"
