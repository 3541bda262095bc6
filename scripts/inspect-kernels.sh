#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# inspect-kernels.sh [--json] [--check] [--docs] [--tools] [--perms K] [--kernels DIR] [--few] [--row ROW] [--keep DIR] -- what the compilers of GPUs make of the kernels, without a GPU.
#
#   NVIDIA  clang (nvptx64-nvidia-nvcl, sm_80) with libclc -> PTX -> ptxas for sm_80 and sm_90 -> nvdisasm
#   AMD     clang (amdgcn-amd-amdhsa, gfx90a) with libclc -> assembly
#
# Prints a table (--json: one JSON object); --docs writes it to bench/results/kernels.txt; --check exits with 1 where a kernel
# calls, spills or has scratch, or where the signature loop on sm_90 takes more than 1.6 instructions a shingle and permutation or reads
# shingles in less than 128 bits; --tools prints the tools alone. Exits with 77 where a tool is missing. Parameters are those of
# tuning/opencl.csv, or --row ROW, a line as there; kernels are those of kernels/ or --kernels DIR; --few leaves out those of texts and of oph.
#
# clang 14 knows no sm_90, hence PTX for sm_80. Tools come from PATH, $CUDA_HOME or /usr/local/cuda, .venv (PyPI nvidia-cuda-nvdisasm), or
# $BM_CLANG $BM_PTXAS $BM_NVDISASM $BM_LIBCLC. clang and libclc must be of one LLVM version, since bitcode is not read by an older one
# ("Opaque pointers"): of those that are here ($BM_SYSTEM_ROOT stands before /usr, for tests) the first pair that fits is taken.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
json=no check=no docs=no tools=no few=no perms=128 keep='' kernels=$root/kernels given_row=''

while (($#)); do
    case $1 in
    --json) json=yes ;;
    --check) check=yes ;;
    --docs) docs=yes ;;
    --tools) tools=yes ;;
    --few) few=yes ;;
    --perms) perms=${2:?--perms needs a number} && shift ;;
    --kernels) kernels=${2:?--kernels needs a folder} && shift ;;
    --row) given_row=${2:?--row needs a row} && shift ;;
    --keep) keep=${2:?--keep needs a folder} && shift ;;
    -h | --help)
        sed -n '3,17s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    *)
        echo "inspect-kernels.sh: unknown argument $1" >&2
        exit 2
        ;;
    esac
    shift
done

skip() {
    echo "inspect-kernels.sh: skipped: $1" >&2
    exit 77
}
# find_tool VARIABLE NAME FOLDER...: its path, or skip.
find_tool() {
    local given=${!1:-} name=$2 folder
    shift 2
    [[ -n $given ]] && { echo "$given"; return; }
    command -v "$name" && return
    for folder in "$@"; do
        [[ -x $folder/$name ]] && { echo "$folder/$name"; return; }
    done
    return 1
}

# clangs: each that is here, once, the one in PATH first.
clangs() {
    local name folder
    if [[ -n ${BM_CLANG:-} ]]; then
        echo "$BM_CLANG"
        return
    fi
    {
        command -v clang || true
        for ((name = 30; name > 10; name--)); do command -v "clang-$name" || true; done
        for folder in "${BM_SYSTEM_ROOT:-}"/usr/lib{,64}/llvm*/bin; do
            [[ -x $folder/clang ]] && echo "$folder/clang"
        done
    } | awk '!seen[$0]++'
}
# libclcs: each folder that has what is linked here.
libclcs() {
    local folder system=${BM_SYSTEM_ROOT:-} folders
    folders=("$system"/usr/lib{,64}/clc "$system"/usr/share/clc "$system"/usr/lib{,64}/llvm*/{share,lib}/clc)
    [[ -z ${BM_LIBCLC:-} ]] || folders=("$BM_LIBCLC")
    for folder in "${folders[@]}"; do
        [[ -r $folder/nvptx64--nvidiacl.bc && -r $folder/amdgcn--amdhsa.bc ]] && echo "$folder"
    done
    return 0
}
# llvm_of PROGRAM | FILE.bc: the version of LLVM that it says.
llvm_of() {
    if [[ $1 == *.bc ]]; then
        grep -aoE -m 1 'clang version [0-9.]+[0-9]' "$1" || true
    else
        "$1" --version 2> /dev/null || true
    fi | sed -nE '1s/.*clang version ([0-9.]+[0-9]).*/\1/p'
}
# choose_llvm: clang and libclc, with their versions.
choose_llvm() {
    local seen=''
    while read -r libclc; do
        libclc_version=$(llvm_of "$libclc/nvptx64--nvidiacl.bc")
        seen+="${seen:+, }libclc ${libclc_version:-of an unknown version} ($libclc)"
    done < <(libclcs)
    [[ -n $seen ]] || skip "no libclc with nvptx64--nvidiacl.bc and amdgcn--amdhsa.bc (package libclc-15, say)"
    while read -r clang; do
        clang_version=$(llvm_of "$clang")
        seen="clang ${clang_version:-of an unknown version} ($clang), $seen"
        while read -r libclc; do
            libclc_version=$(llvm_of "$libclc/nvptx64--nvidiacl.bc")
            [[ -n $clang_version && ${clang_version%%.*} == "${libclc_version%%.*}" ]] && return
        done < <(libclcs)
    done < <(clangs)
    [[ $seen == clang* ]] || skip "no clang"
    skip "no clang and libclc of one LLVM version: $seen"
}

cuda=${CUDA_HOME:-/usr/local/cuda}/bin
choose_llvm
ptxas=$(find_tool BM_PTXAS ptxas "$cuda") || skip "no ptxas (CUDA toolkit)"
nvdisasm=$(find_tool BM_NVDISASM nvdisasm "$cuda" "$root"/.venv/lib/python3*/site-packages/nvidia/*/bin) ||
    skip "no nvdisasm (CUDA toolkit, or PyPI nvidia-cuda-nvdisasm in .venv)"
shape=${BM_KERNEL_SHAPE:-$root/build/release/tests/kernels/kernel_shape}
[[ $tools == yes || -x $shape ]] || skip "no $shape (scripts/build.sh --preset release -- kernel_shape)"
if [[ $tools == yes ]]; then
    printf 'clang\t%s\t%s\nlibclc\t%s\t%s\nptxas\t%s\nnvdisasm\t%s\n' "$clang_version" "$clang" "$libclc_version" "$libclc" "$ptxas" "$nvdisasm"
    exit 0
fi

work=$keep
[[ -n $work ]] || { work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT; }
mkdir -p "$work"

# A program is that of a SCHEME: affine32, or another with wide.cl.
declare -A defines=([affine32]='' [affine64]='-DBM_WIDE_MIX -DBM_WORD=ulong' [legacy]=-DBM_WIDE_LOW [datatrove]='-DBM_WIDE_PRIME -DBM_WORD=ulong'
    [lance]=-DBM_WIDE_LANCE)

# options_of SCHEME PERMS: -D of sign_gpu.cl for the shape that is in each, team, teams, tile, unroll.
options_of() {
    # shellcheck disable=SC2154 # read by inspect
    echo "-DBM_PERMS=$2 -DBM_BANDS=16 -DBM_ROWS=$(($2 / 16)) -DBM_SPLIT_GROUP=64 -DBM_EACH=$each -DBM_TEAM=$team -DBM_TEAMS=$teams" \
        "-DBM_TILE=$tile -DBM_UNROLL=$unroll -DBM_TEXT_KIND=0 -DBM_TEXT_K=5 -DBM_TEXT_GROUP=$((team * teams)) ${defines[$1]}"
}

# sources_of SCHEME PARTS: the program; with PARTS all, the kernels of texts and of oph, which are seen in the same run.
sources_of() {
    local files=({affine32.h,band_keys.cl})
    [[ $1 == affine32 ]] || files+=({affine64.h,wide.cl})
    files+=({teams.cl,sign_gpu.cl})
    [[ $2 != all ]] || files+=({xxh3.h,text_hash.cl,text_count.cl,content_hash.h,text_content.cl})
    printf '#include "%s"\n' "${files[@]/#/$kernels/}"
    [[ $2 != all ]] || printf '#define bm_sign bm_sign_oph\n%s' "$(printf '#include "%s"\n' "$kernels"/{oph.h,oph_donors.cl,sign_oph_gpu.cl})"
    echo
}

# compile OUT clang-option...: work/program.cl.
compile() {
    local out=$1
    shift
    "$clang" -w -x cl -cl-std=CL1.2 -O3 -Xclang -finclude-default-header "$@" -S -o "$out" "$work/program.cl"
}

# inspect SCHEME PERMS PARTS ROWS ARCH...: a row a kernel for each.
inspect() {
    local scheme=$1 perms=$2 parts=$3 rows=$4 each team teams tile unroll arch vendor built='' vars options hash_bytes=8
    shift 4
    [[ $scheme != affine32 && $scheme != legacy ]] || hash_bytes=4
    sources_of "$scheme" "$parts" > "$work/program.cl"
    for arch in "$@"; do
        vendor=NVIDIA
        [[ $arch != gfx* ]] || vendor='Advanced Micro Devices'
        read -r each team teams tile unroll < <("$shape" "$vendor" "$perms" ${given_row:+"$given_row"})
        read -r -a options <<< "$(options_of "$scheme" "$perms")"
        vars=(-v arch="$arch" -v scheme="$scheme" -v perms="$perms" -v each="$each" -v team="$team" -v teams="$teams" -v tile="$tile"
            -v hash_bytes=$hash_bytes -f "$root/scripts/inspect-model.awk")
        if [[ $arch == gfx* ]]; then
            compile "$work/amd.s" "${options[@]}" -target amdgcn-amd-amdhsa -mcpu="$arch" -nogpulib -Xclang -mlink-builtin-bitcode -Xclang "$libclc/amdgcn--amdhsa.bc"
            awk -v warp=64 "${vars[@]}" -f "$root/scripts/inspect-amd.awk" "$work/amd.s" >> "$rows"
            continue
        fi
        [[ -n $built ]] || compile "$work/nvidia.ptx" "${options[@]}" -target nvptx64-nvidia-nvcl -march=sm_80 -Xclang -mlink-builtin-bitcode -Xclang "$libclc/nvptx64--nvidiacl.bc"
        built=yes
        "$ptxas" -v -arch="$arch" "$work/nvidia.ptx" -o "$work/$arch.cubin" 2> "$work/$arch.txt"
        # -ndf: without the targets of branches by the stack, which nothing here reads and a fifth of the time goes to.
        "$nvdisasm" -c -ndf "$work/$arch.cubin" > "$work/$arch.sass"
        awk -v warp=32 "${vars[@]}" -f "$root/scripts/inspect-nvidia.awk" "$work/nvidia.ptx" "$work/$arch.txt" "$work/$arch.sass" >> "$rows"
    done
}

rows=$work/rows.tsv signs=$work/signs.tsv
: > "$rows"
: > "$signs"
if [[ $few == yes ]]; then
    inspect affine32 "$perms" few "$rows" sm_80 sm_90 gfx90a
else
    inspect affine32 "$perms" all "$rows" sm_80 sm_90 gfx90a
    for each_perms in 16 91 112 128 256 260; do inspect affine32 $each_perms few "$signs" sm_90 gfx90a; done
    for scheme in affine64 legacy datatrove lance; do inspect $scheme "$perms" few "$signs" sm_90; done
fi

status=0
awk -F'\t' -v json=$json -v check=$check -v wanted="$([[ $few == no ]] && echo 24 || echo 9)" -v few=$few -v perms="$perms" \
    -v clang="$("$clang" --version | head -n 1)" -v libclc="$libclc_version" \
    -v ptxas="$("$ptxas" --version | tail -n 2 | head -n 1)" -f "$root/scripts/inspect-report.awk" "$rows" "$signs" > "$work/report" || status=$?
[[ $docs == no ]] || cp "$work/report" "$root/bench/results/kernels.txt"
[[ $docs == yes ]] || cat "$work/report"
exit "$status"
