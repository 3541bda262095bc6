#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_packages.sh BUILD_DIR CMAKE CC CXX -- the .deb packages, made of the objects of BUILD_DIR (reuse_objects.sh), without looking at what the
# program does: twice, in two folders, they are the same bytes; the library's package has the number of its SONAME, and that of a pretended next
# version can lie beside it; what they depend on, recommend and say of licences; hardening. 77: there are no tools of Debian.
# scripts/package.sh builds them whole, and tries them in a bare system.
set -eu
build=$1 cmake=$2 cc=$3 cxx=$4
for tool in dpkg-deb dpkg-shlibdeps ar readelf; do
    command -v $tool > /dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CMAKE_GENERATOR DEBFULLNAME DEBEMAIL
if command -v ninja > /dev/null; then
    export CMAKE_GENERATOR=Ninja
fi
export BANDMILL_REUSE="$build/src" SOURCE_DATE_EPOCH=1700000000
umask 022
failed=0
fail() {
    failed=1
    echo "FAILED: $*"
}
quiet() { "$@" > "$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }; }

# A copy of the sources, since one of them is to be another version.
mkdir "$work/source"
for part in CMakeLists.txt LICENSE LICENSES CHANGELOG.md cmake src include kernels packaging examples tests/race; do
    mkdir -p "$work/source/$(dirname $part)"
    cp -r "$root/$part" "$work/source/$part"
done
launcher="sh;$root/tests/install/reuse_objects.sh"
packages() { # FOLDER [target]: configures it, builds and packs; with a target that alone, for the package of the library
    folder=$1
    shift
    quiet "$cmake" -S "$work/source" -B "$work/$folder" -DCMAKE_INSTALL_PREFIX=/usr "-DCMAKE_INSTALL_LIBDIR=lib/$(gcc -print-multiarch)" -DCMAKE_SKIP_INSTALL_RPATH=ON \
        -DBM_TESTS=OFF -DBM_BENCH=OFF -DBM_PACKAGES=ON "-DCMAKE_C_COMPILER=$cc" "-DCMAKE_CXX_COMPILER=$cxx" "-DCMAKE_C_COMPILER_LAUNCHER=$launcher" \
        "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON
    quiet "$cmake" --build "$work/$folder" --parallel 2 ${1:+--target "$@"}
    (cd "$work/$folder" && quiet "${cmake%cmake}cpack" -G DEB -B deb ${1:+-D CPACK_COMPONENTS_ALL=library})
}
packages one
packages another-folder
n=0
for deb in "$work"/one/deb/*.deb; do
    n=$((n + 1))
    cmp "$deb" "$work/another-folder/deb/${deb##*/}" || fail "${deb##*/}: two builds of the same sources differ"
done
[ "$n" = 3 ] || fail "$n packages (expected 3)"

library=$(echo "$work"/one/deb/libbandmill0.1_*.deb)
[ -e "$library" ] || { fail "no package libbandmill0.1:" "$work"/one/deb/*; exit 1; }
files() { dpkg-deb --fsys-tarfile "$1" | tar -t | grep -v '/$' | LC_ALL=C sort; }
dpkg-deb -R "$library" "$work/library"
dpkg-deb -R "$work"/one/deb/bandmill_*.deb "$work/program"
field() { dpkg-deb -f "$library" "$1"; }
soname=$(readelf -d "$work"/library/usr/lib/*/libbandmill.so.*.*.* | sed -n 's/.*SONAME.*\[libbandmill\.so\.\(.*\)\]/\1/p')
[ "$(field Package)" = "libbandmill$soname" ] || fail "the package $(field Package) has libbandmill.so.$soname"
grep -rn 'package-name-doesnt-match-sonames' "$work/library/usr/share/lintian" && fail "the name is excused by an override"

# The next version beside this one: no file of both, and no field that would keep one of them out.
sed -i 's/^project(bandmill VERSION 0\.1\./project(bandmill VERSION 0.2./' "$work/source/CMakeLists.txt"
packages another-folder bandmill_shared package_files
next=$(echo "$work"/another-folder/deb/libbandmill0.2_*.deb)
[ -e "$next" ] || { fail "no package libbandmill0.2 of the next version"; exit 1; }
files "$library" > "$work/files"
files "$next" > "$work/next"
[ -z "$(LC_ALL=C comm -12 "$work/files" "$work/next" | tee /dev/stderr)" ] || fail "these files are in the packages of both versions"
for name in Conflicts Breaks Replaces Provides; do
    [ -z "$(dpkg-deb -f "$library" $name)$(dpkg-deb -f "$next" $name)" ] || fail "the packages have a field $name"
done

# What is linked, and what each job opens, is depended on; what one may open is recommended.
for name in libssl libsimdjson libc6; do
    field Depends | grep -q "$name" || fail "Depends: $(field Depends) (expected $name)"
done
for name in liblmdb0 libzstd1 liblzma5 liblz4-1 libbz2-1.0 libdeflate0 zlib1g ocl-icd-libopencl1; do
    field Recommends | grep -q "$name" || fail "Recommends: $(field Recommends) (expected $name)"
    field Depends | grep -q "$name" && fail "Depends: $name, which is opened where a job wants it"
done

for file in "$work"/library/usr/lib/*/libbandmill.so.*.*.* "$work/program/usr/bin/bandmill"; do
    readelf -d "$file" | grep -q 'FLAGS.*NOW' || fail "$file resolves symbols late"
done
grep -q -e '-D_FORTIFY_SOURCE=2' "$work/one/compile_commands.json" || fail "no _FORTIFY_SOURCE"
for package in library program; do
    for words in 'License: BSD-2-Clause' 'Yann Collet' 'Redistribution and use' 'License: Unicode-3.0' 'UNICODE LICENSE V3' 'License: Apache-2.0'; do
        cat "$work/$package"/usr/share/doc/*/copyright | grep -q "$words" || fail "the copyright file of $package does not have: $words"
    done
done
grep -qE '^ bm_sign[a-z_]*@BANDMILL_0\.1 0\.1\.0$|^ bm_[a-z0-9_]*@BANDMILL_0\.1 0\.1\.0$' "$work/library/DEBIAN/symbols" || fail "symbols have no versions"
exit $failed
