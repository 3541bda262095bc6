#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# package.sh [--try] [--container] [DIR] -- build the packages (libbandmill0.1, libbandmill-dev, bandmill) as .deb and .rpm below DIR
# (build/package: deb/ and rpm/), and have lintian look at them.
#
#   --try        install, use, upgrade over an older version, remove and purge them in a bare Debian 12 (debootstrap, as root, with a network);
#                the library's example is built there against libbandmill-dev. Then the same with the .rpm, whose requirements rpm resolves
#                against the libraries of that system.
#   --container  run the steps of packaging/Containerfile in such a root
#
# BM_MAINTAINER='NAME <ADDRESS>' says who answers for the packages (else DEBFULLNAME and DEBEMAIL). SOURCE_DATE_EPOCH dates them (else the
# last commit): the same sources give the same files below share/ on any machine.
# BANDMILL_ROOT names a folder where the bare system is kept for the next time; without it one is made, and removed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
try=no container=no dir=$root/build/package
for argument in "$@"; do
    case $argument in
    --try) try=yes ;;
    --container) container=yes ;;
    -h | --help)
        sed -n '3,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    -*)
        echo "package.sh: unknown argument $argument (expected --try, --container or a folder)" >&2
        exit 2
        ;;
    *) dir=$argument ;;
    esac
done

say() { printf '== %s\n' "$*"; }
fail() {
    echo "package.sh: $*" >&2
    exit 1
}

# --- build ---
build() { # LIBDIR ZSH_FUNCTIONS
    local launcher=()
    command -v ccache > /dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    cmake -S "$root" -B "$dir" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr "-DCMAKE_INSTALL_LIBDIR=$1" "-DBM_ZSH_FUNCTIONS=$2" -DCMAKE_SKIP_INSTALL_RPATH=ON \
        "-DBM_MAINTAINER=${BM_MAINTAINER:-}" -DBM_TESTS=OFF -DBM_BENCH=OFF -DBM_PACKAGES=ON "${launcher[@]}" > "$dir/configure.log"
    cmake --build "$dir" --parallel "$(nproc)" > "$dir/build.log" || {
        tail -n 40 "$dir/build.log" >&2
        exit 1
    }
}
pack() { # KIND TO [option...]
    local kind=$1 to=$2
    shift 2
    rm -rf "${dir:?}/$to"
    (cd "$dir" && cpack -G "$kind" -B "$dir/$to" "$@") > "$dir/cpack.log" 2>&1 || {
        cat "$dir/cpack.log" >&2
        exit 1
    }
    rm -rf "$dir/$to/_CPack_Packages"
    ls "$dir/$to"
}
# Fields that CPack has not written itself, and what a program that links the library will depend on.
check_deb() {
    local name multi_arch got tree
    while read -r name multi_arch; do
        got=$(dpkg-deb -f "$dir/deb/${name}"_*.deb Multi-Arch)
        [[ $got == "$multi_arch" ]] || fail "$name: Multi-Arch: $got (expected $multi_arch)"
    done <<< $'bandmill foreign\nlibbandmill0.1 same\nlibbandmill-dev same'
    tree=$(mktemp -d)
    dpkg-deb -R "$dir"/deb/libbandmill0.1_*.deb "$tree/run"
    gcc -I"$root/include" "$root/tests/install/consumer/example.c" -o "$tree/example" "$tree"/run/usr/lib/*/libbandmill.so.0.1
    for got in "$tree"/run/usr/lib/*/libbandmill.so.0.1.*; do # hardened
        readelf -d "$got" | grep -q 'FLAGS.*NOW' || fail "$got resolves symbols late"
        nm -D "$got" | grep -q '__.*_chk' || fail "$got calls no function of _FORTIFY_SOURCE"
    done
    mkdir "$tree/debian"
    printf 'Source: example\n\nPackage: example\nArchitecture: any\n' > "$tree/debian/control"
    got=$(cd "$tree" && dpkg-shlibdeps -O -Srun example 2> shlibdeps.log) || {
        cat "$tree/shlibdeps.log" >&2
        exit 1
    }
    rm -rf "$tree"
    [[ $got == *'libbandmill0.1 (>= '* ]] || fail "a program that links the library depends on: $got"
}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
if [[ -z ${SOURCE_DATE_EPOCH:-} ]] && date=$(git -C "$root" log -1 --format=%ct 2> /dev/null); then
    export SOURCE_DATE_EPOCH=$date
fi
say "packages for Debian"
build "lib/$(gcc -print-multiarch)" zsh/vendor-completions
pack DEB deb
check_deb
pack DEB deb-before -D CPACK_PACKAGE_VERSION=0.0.1
if command -v lintian > /dev/null; then
    lintian --allow-root --fail-on error "$dir"/deb/*.deb
fi
if command -v rpmbuild > /dev/null; then
    say "packages of RPM"
    build lib64 zsh/site-functions
    pack RPM rpm
    pack RPM rpm-before -D CPACK_PACKAGE_VERSION=0.0.1
fi
[[ $try == yes || $container == yes ]] || exit 0

# --- a bare system ---
bare=${BANDMILL_ROOT:-}
if [[ -z $bare ]]; then
    bare=$(mktemp -d)/root
fi
leave() {
    umount "$bare/proc" 2> /dev/null || true
    [[ -n ${BANDMILL_ROOT:-} ]] || rm -rf "${bare%/root}"
}
trap leave EXIT
if [[ ! -e $bare/etc/debian_version ]]; then
    say "a bare Debian 12"
    debootstrap --variant=minbase bookworm "$bare" > "$dir/debootstrap.log" || {
        tail "$dir/debootstrap.log" >&2
        exit 1
    }
fi
cp /etc/resolv.conf "$bare/etc/"
mount -t proc proc "$bare/proc"
inside() { chroot "$bare" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive sh -euc "$1"; }
apt() { inside "apt-get -qq -o Dpkg::Use-Pty=0 $1 > /tmp/apt.log 2>&1 || { cat /tmp/apt.log; exit 1; }"; }
# The main job, on the text that a bare system has: the licences of its packages.
use() {
    inside 'cd /tmp && rm -rf result && bandmill --version | head -n 1
        bandmill dedup --format files /usr/share/doc/*/copyright /usr/share/common-licenses -o result -q
        test -s result/removed.tsv && test -s result/groups.jsonl && bandmill inspect result > /dev/null
        echo "$(($(wc -l < result/removed.tsv) - 1)) near-duplicates among $(awk -F "\t" "NR > 1 { n += \$3 } END { print n }" result/sources.tsv) licences"'
}
gone() { # nothing of the packages is left, nor in the linker's cache
    inside 'test -z "$(find / -xdev -name "*bandmill*" ! -path "/tmp/*" ! -path "/proc/*" ! -path "/var/log/*" ! -path "/var/lib/apt/*" ! -path "/var/cache/*" | tee -a /dev/stderr)"
        ! ldconfig -p | grep bandmill'
}

try_deb() {
    cp -r "$dir/deb" "$dir/deb-before" "$bare/tmp/"
    cp "$root/tests/install/consumer/example.c" "$bare/tmp/"
    apt update
    say "install the version before, use it"
    apt "install --no-install-recommends /tmp/deb-before/*.deb"
    use
    say "upgrade, use it"
    apt "install --no-install-recommends /tmp/deb/*.deb"
    inside 'dpkg -s bandmill libbandmill0.1 libbandmill-dev | grep -E "^(Package|Status|Version)"; dpkg --audit; dpkg -V bandmill libbandmill0.1 libbandmill-dev || true'
    use
    inside 'test "$(bandmill help dedup | tail -n 6 | grep -c bandmill)" = 3 && ldconfig -p | grep -q libbandmill.so.0.1'
    say "the library's example, built there"
    apt "install --no-install-recommends gcc libc6-dev pkgconf"
    inside 'cd /tmp && cc example.c -o example $(pkg-config --cflags --libs bandmill) && rm -rf out
        printf "{\"text\":\"one and the same text here\"}\n{\"text\":\"one and the same text here\"}\n{\"text\":\"another\"}\n" > in.jsonl
        test "$(./example in.jsonl out)" = "3 documents, 1 removed, keep = longest"'
    say "remove, purge"
    apt "remove bandmill libbandmill0.1 libbandmill-dev"
    inside "dpkg --purge bandmill libbandmill0.1 libbandmill-dev 2> /dev/null"
    gone
}

# rpm of this system, on the root: a package of no files stands for what dpkg has installed there, with the names that rpm would have made of
# its libraries. So rpm itself says whether all that ours require is there.
rpm_there() { rpm --root "$bare" "$@" 2> >(grep -v -e 'use Alien' -e 'you know what you are doing' >&2); } # which Debian's rpm says each time
system_rpm() {
    local work
    work=$(mktemp -d)
    {
        printf 'Name: debian-system\nVersion: 12\nRelease: 1\nSummary: what dpkg has installed\nLicense: many\nBuildArch: noarch\nAutoReqProv: no\n'
        find "$bare"/usr/lib -name '*.so*' -type f -exec /usr/lib/rpm/elfdeps --provides {} \; | sort -u | sed 's/^/Provides: /'
        echo 'Provides: rtld(GNU_HASH)' # of every glibc since 2006
        local file
        for file in /bin/sh /sbin/ldconfig /usr/bin/pkg-config; do
            [[ ! -e $bare$file ]] || echo "Provides: $file"
        done
        printf '%%description\nIt has no files.\n%%files\n'
    } > "$work/debian-system.spec"
    rpmbuild --quiet -bb --define "_topdir $work" --define "_rpmdir $dir" --define '_build_name_fmt debian-system.rpm' "$work/debian-system.spec"
    rm -rf "$work"
}
try_rpm() {
    command -v rpmbuild > /dev/null && [[ -d $dir/rpm ]] || return 0
    say "the same with rpm"
    if rpm_there --test -i "$dir"/rpm/*.rpm 2> /dev/null; then
        fail "rpm finds what the packages require where nothing is"
    fi
    apt "install --no-install-recommends libsimdjson14 libutf8proc2 libssl3 libzstd1 liblmdb0 liblz4-1 libbz2-1.0 zlib1g libdeflate0 liblzma5"
    system_rpm
    rpm_there -i "$dir/debian-system.rpm"
    rpm_there -i "$dir"/rpm-before/*.rpm
    use
    rpm_there -U "$dir"/rpm/*.rpm
    use
    rpm_there -q bandmill libbandmill0.1 libbandmill-dev
    rpm_there -V bandmill libbandmill0.1 libbandmill-dev
    inside 'cd /tmp && cc example.c -o example-rpm -I/usr/include /usr/lib64/libbandmill.so -Wl,-rpath,/usr/lib64 && rm -rf out && ./example-rpm in.jsonl out'
    if rpm_there -e libbandmill0.1 2> /dev/null; then
        fail "libbandmill0.1 went, and libbandmill-dev requires it"
    fi
    rpm_there -e bandmill libbandmill0.1 libbandmill-dev debian-system
    gone
}

# The Containerfile's own lines: RUN and COPY and ENV, as they stand.
try_container() {
    say "the steps of packaging/Containerfile"
    local line settings=''
    apt update
    sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' "$root/packaging/Containerfile" | grep -vE '^(#|$)' | while IFS= read -r line; do
        echo "$line" | cut -c 1-120
        case $line in
        'RUN '*) inside "$settings ${line#RUN }" > "$dir/container.log" 2>&1 || {
            tail "$dir/container.log" >&2
            exit 1
        } ;;
        'COPY *.deb /packages/') mkdir -p "$bare/packages" && cp "$dir"/deb/*.deb "$bare/packages/" ;;
        'ENV '*) settings="export ${line#ENV };" ;;
        'FROM '*bookworm* | 'WORKDIR '* | 'ENTRYPOINT ["bandmill"]') ;;
        *) fail "packaging/Containerfile has a line that is not known here: $line" ;;
        esac
    done
    apt "purge bandmill libbandmill0.1 ocl-icd-libopencl1 clinfo"
    rm -rf "$bare/etc/OpenCL"
    gone
}
if [[ $try == yes ]]; then
    try_deb
    try_rpm
fi
if [[ $container == yes ]]; then
    try_container
fi
say "all of it held"
