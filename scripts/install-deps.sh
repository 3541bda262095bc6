#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install-deps.sh [--parquet] [--tests | --test-packages | --test-venv] [--quick] -- install what the build needs (Debian 12, Ubuntu 24.04)
#
#   --parquet        also Arrow for -DBM_PARQUET=ON: if the system has no Arrow C++, that of PyPI's pyarrow, in .venv
#   --tests          also what the tests need: Criterion, three OpenCL implementations and oclgrind, clang, gcc 11, Ninja and ccache,
#                    libabigail, jq, Java and PostgreSQL (no server is left running), a cross compiler and emulator for AArch64, and
#                    .venv with the Python packages of scripts/test-requirements.txt
#   --test-packages  the same without .venv
#   --test-venv      .venv alone
#   --quick          of what the tests need, only what `scripts/test.sh quick` uses: a tenth of the download
#
# It prints what it installs, as it goes. What is there already is left alone: then nothing is downloaded and no root is needed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

build_packages=(gcc g++ make cmake pkgconf libsimdjson-dev libzstd-dev zlib1g-dev libdeflate-dev liblzma-dev libbz2-dev liblz4-dev liblmdb-dev libutf8proc-dev libssl-dev libxxhash-dev libcurl4-openssl-dev
    opencl-c-headers ocl-icd-libopencl1)
quick_packages=(libcriterion-dev pocl-opencl-icd ninja-build ccache python3-venv python3-dev zstd xz-utils bzip2 lz4 abigail-tools jq)
test_packages=("${quick_packages[@]}" mesa-opencl-icd oclgrind clang libclang-rt-dev lld qemu-user-static postgresql openjdk-17-jre-headless man-db mandoc fish zsh)
if [[ $(uname -m) == x86_64 ]]; then
    test_packages+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
fi

# The versions that format and check the sources, and the browser that looks at the site; their tests skip elsewhere. And the compiler of
# Ubuntu 22.04, for its warnings.
bookworm=no
if grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
    bookworm=yes
    test_packages+=(chromium clang-format-14 clang-tidy-14 gcc-11 g++-11)
fi
# These are unpacked into .venv, not installed: Intel's driver for GPUs, which would be seen by every program here, with its compiler
# ocloc (clang, above, brings the LLVM that it needs); and what scripts/inspect-kernels.sh compiles with, since one libclc at a time can be
# installed and Mesa needs an older one.
intel_gpu_packages=(intel-opencl-icd libigc1 libigdfcl1 libigdgmm12 libopencl-clang14 libllvmspirvlib14)
llvm_packages=(clang-19 libclang-cpp19 libclang-common-19-dev libllvm19 libclc-19)

say() { printf '== %s (%d s)\n' "$*" "$SECONDS"; }

tests=no parquet=no quick=no
for argument in "$@"; do
    case $argument in
    --parquet) parquet=yes ;;
    --tests) tests=yes ;;
    --test-packages) tests=packages ;;
    --test-venv) tests=venv ;;
    --quick) quick=yes ;;
    -h | --help)
        sed -n '3,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    *)
        echo "install-deps.sh: unknown argument $argument (expected --parquet, --tests, --test-packages, --test-venv or --quick)" >&2
        exit 2
        ;;
    esac
done

is_installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2> /dev/null) == installed ]]; }

install_packages() {
    local missing=() package as_root=()
    for package in "$@"; do
        is_installed "$package" || missing+=("$package")
    done
    if ((${#missing[@]} == 0)); then
        say "packages: all $# are installed"
        return
    fi
    if ((EUID != 0)); then
        if ! command -v sudo > /dev/null; then
            echo "install-deps.sh: as root, run: apt-get install --no-install-recommends ${missing[*]}" >&2
            exit 1
        fi
        as_root=(sudo)
    fi
    say "packages: installing ${#missing[@]} of $# and what they need: ${missing[*]}"
    # PostgreSQL's package would make a database of its own and start it; the tests start theirs.
    if [[ " ${missing[*]} " == *" postgresql "* && ! -e /etc/postgresql-common/createcluster.conf ]]; then
        "${as_root[@]}" mkdir -p /etc/postgresql-common
        echo 'create_main_cluster = false' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf > /dev/null
    fi
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}

# pip_install ARGUMENT...: into .venv, with a line for each large download and every 15 seconds while packages are unpacked. Bytecode is made when
# a package is imported: making all of it takes as long as unpacking.
pip_install() {
    "$root/.venv/bin/python" -m pip install --disable-pip-version-check --no-compile --progress-bar off "$@" 2>&1 | {
        local line='' rc=0
        while true; do
            rc=0
            IFS= read -r -t 15 line || rc=$?
            case $rc:$line in
            0:*Downloading*.metadata*) ;;
            0:*Downloading*MB\)*) say "Python packages: ${line##* Downloading }" ;;
            0:Installing*) say "Python packages: unpacking $(wc -w <<< "${line#*: }") of them" ;;
            0:*ERROR* | 0:WARNING*) printf '%s\n' "$line" ;;
            0:*) ;;
            1:*) break ;;
            *) say "Python packages: $(find "$root"/.venv/lib/python3*/site-packages -maxdepth 1 -name '*.dist-info' | wc -l) are unpacked" ;;
            esac
        done
    }
}

# Arrow where the build looks for it (src/parquet/CMakeLists.txt): the system's, or that in .venv, of the version that the tests use.
make_arrow() {
    local venv=$root/.venv
    if pkg-config --exists arrow parquet; then
        say "Arrow: the system's"
    elif "$venv/bin/python" -c 'import pyarrow' 2> /dev/null; then
        say "Arrow: that of pyarrow in .venv"
    else
        say "Arrow: installing pyarrow into .venv"
        [[ -e $venv/bin/python ]] || python3 -m venv "$venv"
        pip_install --no-deps "$(grep '^pyarrow==' "$root/scripts/test-requirements.txt")"
    fi
}

# unpack_packages NAME PACKAGE...: into .venv/NAME. Where they cannot be fetched, the tests that need them are skipped.
unpack_packages() {
    local folder=$root/.venv/$1 fetched
    shift
    if [[ $(cat "$folder/packages.txt" 2> /dev/null) == "$*" ]]; then
        say "unpacked packages: $folder is as wanted"
        return
    fi
    say "unpacked packages: $* into $folder"
    fetched=$(mktemp -d)
    if (cd "$fetched" && apt-get download -q "$@" > log 2>&1); then
        rm -rf "$folder"
        mkdir -p "$folder"
        find "$fetched" -name '*.deb' -exec dpkg-deb -x {} "$folder" \;
        echo "$*" > "$folder/packages.txt"
    else
        say "unpacked packages: left out: $(grep '^E:' "$fetched/log" | tail -n 1)"
    fi
    rm -rf "$fetched"
}

# .venv with the packages of test-requirements.txt, or of its first part; a copy of the list inside says what it was made from.
make_venv() {
    local venv=$root/.venv all=$root/scripts/test-requirements.txt list alone=()
    list=$(if [[ $quick == yes ]]; then sed '/^# All other tests/,$d' "$all"; else cat "$all"; fi)
    if [[ ! -e $venv/made-from.txt ]] || { ! cmp -s "$all" "$venv/made-from.txt" && [[ $list != "$(< "$venv/made-from.txt")" ]]; }; then
        say "Python packages: $(grep -c '^[a-z]' <<< "$list") and what they need, into .venv"
        rm -f "$venv/made-from.txt"
        python3 -m venv "$venv"
        pip_install -r <(printf '%s\n' "$list")
        # Of these only the code that is compared with is wanted, not what they depend on (text-dedup: TensorFlow).
        mapfile -t alone < <(sed -n 's/^# alone: //p' <<< "$list")
        ((${#alone[@]} == 0)) || pip_install --no-deps "${alone[@]}"
        printf '%s\n' "$list" > "$venv/made-from.txt"
    else
        say "Python packages: .venv is as wanted"
    fi
    if [[ $quick == no && $bookworm == yes && $(uname -m) == x86_64 ]]; then
        unpack_packages intel-gpu "${intel_gpu_packages[@]}"
        unpack_packages llvm "${llvm_packages[@]}"
    fi
    # The OpenCL implementations of the tests, and no others: OCL_ICD_VENDORS points here. Mesa's and Intel's for GPUs, which few tests load,
    # in folders of their own (tests/parity/test_mesa.sh, test_intel_gpu.sh).
    local vendors=$venv/vendors intel=$venv/lib/libintelocl.so mesa=/etc/OpenCL/vendors/rusticl.icd
    local intel_gpu=$venv/intel-gpu/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so
    mkdir -p "$vendors" "$venv/vendors-mesa" "$venv/vendors-intel-gpu"
    cp /etc/OpenCL/vendors/pocl.icd "$vendors/pocl.icd"
    if [[ -e $intel ]]; then
        realpath "$intel" > "$vendors/intel.icd" # where it lies: .venv may be a link from a working tree that will be gone
    fi
    if [[ -e $mesa ]]; then
        cp "$mesa" "$venv/vendors-mesa/rusticl.icd"
    fi
    if [[ -e $intel_gpu ]]; then
        realpath "$intel_gpu" > "$venv/vendors-intel-gpu/intel-gpu.icd"
    fi
}

if ! command -v dpkg-query > /dev/null; then
    echo "install-deps.sh: this is not Debian or Ubuntu; docs/install.md lists what is needed" >&2
    exit 1
fi
if [[ $parquet == yes ]]; then
    build_packages+=(python3-venv)
fi
case $tests in
no) install_packages "${build_packages[@]}" ;;
yes | packages)
    [[ $quick == no ]] || test_packages=("${quick_packages[@]}")
    install_packages "${build_packages[@]}" "${test_packages[@]}"
    ;;
esac
case $tests in
yes | venv) make_venv ;;
esac
if [[ $parquet == yes ]]; then
    make_arrow
fi
