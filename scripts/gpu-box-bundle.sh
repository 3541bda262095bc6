#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu-box-bundle.sh DIR [BUILD] -- what gpu-box.sh may need on a machine without a network, into DIR: the packages (.deb) that building and
# the parity tests need, with all they depend on but the C library and the compiler, for this machine's distribution and processor; and
# where a build folder is given its programs. gpu-box-bundle.sh --unpack DIR PREFIX -- unpack the packages of DIR below PREFIX, without root.
#
# More .deb files may be put into DIR by hand, such as the driver's libnvidia-compute or nvidia-opencl-icd.
set -euo pipefail

packages=(cmake make pkgconf libsimdjson-dev libzstd-dev zlib1g-dev libdeflate-dev liblzma-dev libbz2-dev liblz4-dev liblmdb-dev libutf8proc-dev libssl-dev libxxhash-dev opencl-c-headers
    ocl-icd-libopencl1 libcriterion-dev)
# The machine has these, or none of the others helps.
base='^(libc6.*|libc-.*|linux-libc-dev|libgcc-.*|gcc-.*-base|libstdc\+\+.*|libcrypt-dev|libcrypt1|libnsl.*|libtirpc.*|rpcsvc-proto|debconf.*|cdebconf|dpkg.*|perl.*|tar|install-info)$'

if [[ ${1:-} == --unpack ]]; then
    from=${2:?a bundle} prefix=${3:?a prefix}
    mkdir -p "$prefix"
    shopt -s nullglob
    for package in "$from"/*.deb; do
        if command -v dpkg-deb > /dev/null; then
            dpkg-deb -x "$package" "$prefix"
        else
            data=$(ar t "$package" | grep '^data\.tar')
            ar p "$package" "$data" | case $data in
                *.zst) zstd -dc ;;
                *.xz) xz -dc ;;
                *.gz) gzip -dc ;;
                *) cat ;;
            esac | tar -x -C "$prefix"
        fi
    done
    # An absolute link is meant from the prefix on.
    find "$prefix" -type l | while read -r link; do
        target=$(readlink "$link")
        if [[ $target == /* && $target != "$prefix"/* && -e $prefix$target ]]; then
            ln -sfn "$prefix$target" "$link"
        fi
    done
    exit 0
fi

dir=${1:?usage: gpu-box-bundle.sh DIR [BUILD]} build=${2:-}
mkdir -p "$dir"
dir=$(realpath -e "$dir")
mapfile -t all < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
    "${packages[@]}" | grep '^[a-z0-9]' | sed 's/:any$//' | sort -u | grep -Ev "$base")
(cd "$dir" && apt-get download -q "${all[@]}")
if [[ -n $build ]]; then
    mkdir -p "$dir/programs/tests/parity" "$dir/programs/bench"
    cp "$build/bandmill" "$dir/programs/"
    cp "$build"/tests/parity/test_parity_opencl "$dir/programs/tests/parity/" 2> /dev/null || true
    for file in planted kernel_tune gpu_figures trace/libOpenCL.so.1 unchecked/bandmill; do
        if [[ -e $build/bench/$file ]]; then
            install -D -m 755 "$build/bench/$file" "$dir/programs/bench/$file"
        fi
    done
fi
{
    # shellcheck disable=SC1091
    . /etc/os-release && echo "$PRETTY_NAME $(uname -m)"
    git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse HEAD 2> /dev/null || true
    (cd "$dir" && printf '%s\n' *.deb)
} > "$dir/BUNDLE.txt"
echo "gpu-box-bundle.sh: ${#all[@]} packages, $(du -sh "$dir" | cut -f1); copy it and the tree to the machine, there: scripts/gpu-box.sh --from DIR"
