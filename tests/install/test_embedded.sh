#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_embedded.sh HOW BUILD_DIR VERSION CMAKE CC CXX -- a project builds Bandmill as a part of itself, by HOW: add_subdirectory or FetchContent
# from a local folder. It gets the targets that find_package gives, and loses nothing: no cache variable changes (embedded/CMakeLists.txt). There
# is no program, and nothing of ours is installed, unless the project asks. What links the static library exports none of its functions.
set -eu
how=$1 build=$2 version=$3 cmake=$4 cc=$5 cxx=$6
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CMAKE_GENERATOR
if command -v ninja > /dev/null; then
    export CMAKE_GENERATOR=Ninja
fi
export BANDMILL_REUSE="$build/src"
quiet() { "$@" > "$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }; }

configure() { # [option...]
    quiet "$cmake" -S "$here/embedded" -B "$work/build" "-DHOW=$how" "-DBANDMILL=$(cd "$here/../.." && pwd)" "-DCONSUMER=$here/consumer/consumer.c" \
        "-DCMAKE_C_COMPILER=$cc" "-DCMAKE_CXX_COMPILER=$cxx" "-DCMAKE_C_COMPILER_LAUNCHER=sh;$here/reuse_objects.sh" \
        "-DCMAKE_CXX_COMPILER_LAUNCHER=sh;$here/reuse_objects.sh" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@"
    grep -E 'CMake (Error|Warning)' "$work/log" && { cat "$work/log"; exit 1; }
    return 0
}
# Whoever builds the whole of it configures twice: what is in the cache then is what the first time left there.
configure
configure
for flag in -O3 PARENTS_OWN; do # for our sources, though the parent has no build type
    grep -q -e "$flag .*src/base/error\.c" "$work/build/compile_commands.json" || { echo "our sources are compiled without $flag"; exit 1; }
done
quiet "$cmake" --build "$work/build" --parallel 2
[ -z "$(find "$work/build" -name bandmill -type f -o -name 'room_bench*')" ] || { echo "the program was built"; exit 1; }

cd "$work"
printf '{"text":"one and the same text here"}\n{"text":"one and the same text here"}\n{"text":"another"}\n' > in.jsonl
for kind in shared static bandmill; do
    "build/consumer_$kind" "$version" in.jsonl "out.$kind"
done
ldd build/consumer_shared > ldd.shared
ldd build/consumer_bandmill > ldd.bandmill
ldd build/consumer_static > ldd.static
grep -q libbandmill ldd.shared && grep -q libbandmill ldd.bandmill || { echo "bandmill::shared: the static library was linked"; exit 1; }
grep libbandmill ldd.static && { echo "bandmill::static: the shared library was linked"; exit 1; }

exported() { # PLUGIN
    nm -D --defined-only "$1" | awk '$2 == "T" { print $3 }' > exported
    grep -qx plugin_first_word exported || { echo "$1 does not export its function"; exit 1; }
    if grep '^bm_' exported; then echo "$1 exports functions of ours"; exit 1; fi
}
exported build/libplugin.so
# Without CMake's targets too.
# shellcheck disable=SC2046
$cc -shared -fPIC "$here/embedded/plugin.c" -o plain.so -I "$here/../../include" "$(find build -name libbandmill.a)" $(pkg-config --libs simdjson libutf8proc) -lstdc++ -lpthread -lm
exported plain.so

if [ "$how" != add_subdirectory ]; then # what follows does not depend on it
    echo "$how: built, linked in 3 ways, a plugin exports $(wc -l < exported) function"
    exit 0
fi
quiet "$cmake" --install build --prefix "$work/installed"
[ "$(cd installed && find . -type f)" = ./bin/consumer_static ] || { echo "installed beside the project's own:"; find installed -type f; exit 1; }
configure -DBM_INSTALL=ON -DBUILD_SHARED_LIBS=OFF
quiet "$cmake" --build build --target consumer_bandmill bandmill_shared
ldd build/consumer_bandmill > ldd.bandmill
grep libbandmill ldd.bandmill && { echo "BUILD_SHARED_LIBS=OFF: the shared library was linked"; exit 1; }
quiet "$cmake" --install build --prefix "$work/asked"
for file in include/bandmill/bandmill.h lib*/libbandmill.a bin/consumer_static; do
    [ -n "$(find asked -path "asked/$file" -o -path "asked/lib/*/libbandmill.a")" ] || { echo "BM_INSTALL=ON: not installed: $file"; exit 1; }
done
[ ! -e asked/bin/bandmill ] || { echo "BM_INSTALL=ON installs the program too"; exit 1; }
echo "$how: built, linked in 3 ways, a plugin exports $(wc -l < exported) function"
