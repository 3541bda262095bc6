#!/usr/bin/env bash
# install-deps.sh [--parquet] [--tests | --test-packages | --test-venv] -- install what building needs (Debian 12, Ubuntu 24.04); with --parquet
# also Arrow for -DBM_PARQUET=ON: where the system has no Arrow C++, that of PyPI's pyarrow, in .venv; with --tests also what the tests need:
# Criterion, three OpenCL implementations and oclgrind, clang, gcc 11, Ninja and ccache, libabigail, jq, Java and PostgreSQL (no server is left running), a cross
# compiler and emulator for AArch64, and .venv with the Python packages of scripts/test-requirements.txt; with --test-packages or --test-venv
# all but .venv, or .venv alone.
#
# What is there already is left alone: then nothing is downloaded and no root is needed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

build_packages=(gcc g++ make cmake pkgconf libsimdjson-dev libzstd-dev zlib1g-dev libdeflate-dev liblzma-dev libbz2-dev liblz4-dev liblmdb-dev libutf8proc-dev libssl-dev libxxhash-dev libcurl4-openssl-dev
    opencl-c-headers ocl-icd-libopencl1)
test_packages=(libcriterion-dev pocl-opencl-icd mesa-opencl-icd oclgrind clang libclang-rt-dev lld ninja-build ccache python3-venv python3-dev zstd xz-utils bzip2 lz4 qemu-user-static abigail-tools jq postgresql openjdk-17-jre-headless man-db mandoc fish zsh)
if [[ $(uname -m) == x86_64 ]]; then
    test_packages+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
fi

# What scripts/inspect-kernels.sh compiles kernels with (one libclc at a time can be installed, and Mesa needs this one), and the versions
# that format and check the sources, and the browser that looks at the site; their tests skip elsewhere. And the compiler of Ubuntu
# 22.04, for its warnings.
if grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
    test_packages+=(chromium libclc-15 clang-15 clang-format-14 clang-tidy-14 gcc-11 g++-11)
fi

say() { printf '== %s\n' "$*"; }

tests=no parquet=no
for argument in "$@"; do
    case $argument in
    --parquet) parquet=yes ;;
    --tests) tests=yes ;;
    --test-packages) tests=packages ;;
    --test-venv) tests=venv ;;
    -h | --help)
        sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    *)
        echo "install-deps.sh: unknown argument $argument (expected --parquet, --tests, --test-packages or --test-venv)" >&2
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
    say "packages: installing ${missing[*]}"
    # PostgreSQL's package would make a database of its own and start it; the tests start theirs.
    if [[ " ${missing[*]} " == *" postgresql "* && ! -e /etc/postgresql-common/createcluster.conf ]]; then
        "${as_root[@]}" mkdir -p /etc/postgresql-common
        echo 'create_main_cluster = false' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf > /dev/null
    fi
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
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
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --no-deps "$(grep '^pyarrow==' "$root/scripts/test-requirements.txt")"
    fi
}

# .venv as test-requirements.txt wants it; a stamp inside says which list it was made from.
make_venv() {
    local venv=$root/.venv list=$root/scripts/test-requirements.txt
    if ! cmp -s "$list" "$venv/made-from.txt"; then
        say "Python packages: into .venv"
        rm -f "$venv/made-from.txt"
        python3 -m venv "$venv"
        # Bytecode is made of what is imported, when it is: of all of it that takes as long as unpacking.
        "$venv/bin/pip" install --quiet --disable-pip-version-check --no-compile -r "$list"
        # Of these only the code that is compared with is wanted, not what they depend on (text-dedup: TensorFlow).
        sed -n 's/^# alone: //p' "$list" | xargs -r "$venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps
        cp "$list" "$venv/made-from.txt"
    else
        say "Python packages: .venv is as wanted"
    fi
    # The OpenCL implementations of the tests, and no others: OCL_ICD_VENDORS points here. Mesa's, which few tests load, in a folder of its
    # own (tests/parity/test_mesa.sh).
    local vendors=$venv/vendors intel=$venv/lib/libintelocl.so mesa=/etc/OpenCL/vendors/rusticl.icd
    mkdir -p "$vendors" "$venv/vendors-mesa"
    cp /etc/OpenCL/vendors/pocl.icd "$vendors/pocl.icd"
    if [[ -e $intel ]]; then
        realpath "$intel" > "$vendors/intel.icd" # where it lies: .venv may be a link from a working tree that will be gone
    fi
    if [[ -e $mesa ]]; then
        cp "$mesa" "$venv/vendors-mesa/rusticl.icd"
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
yes | packages) install_packages "${build_packages[@]}" "${test_packages[@]}" ;;
esac
case $tests in
yes | venv) make_venv ;;
esac
if [[ $parquet == yes ]]; then
    make_arrow
fi
