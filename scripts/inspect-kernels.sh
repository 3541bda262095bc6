#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# inspect-kernels.sh [--json | --rates] [--check] [--only VENDOR] [--docs] [--tools] [--perms K] [--kernels DIR] [--few] [--row ROW] [--keep DIR] -- what the compilers of GPUs make of the kernels, without a GPU.
#
#   nvidia  clang (nvptx64-nvidia-nvcl, sm_80) with libclc -> PTX -> ptxas -> nvdisasm: sm_80 86 89 90 100 120; the loop also by an older ptxas
#   amd     clang (amdgcn-amd-amdhsa) with libclc -> assembly: gfx90a 942 1100 1201
#   intel   ocloc -> assembly: dg2 pvc tgllp
#
# Prints a table (--json: one JSON object; --rates: what each GPU of inspect-gpus.tsv could sign, by inspect-model.awk); --docs writes the first to
# bench/results/kernels.txt and the second into docs/gpu.md; --check exits with 1 where a kernel calls, spills or has scratch, where a signature
# loop takes more instructions than it may or reads shingles in less than 128 bits, or where docs/gpu.md has other rates; --tools prints the tools
# alone. Exits with 77 where a tool is missing; without --only, a vendor whose tools are missing is left out, with a message. Parameters are
# those of tuning/opencl.csv, or --row ROW, a line as there; kernels are those of kernels/ or --kernels DIR; --few leaves out most targets, and
# the kernels of texts and of oph.
#
# PTX is made for sm_80, which all drivers read. Tools come from .venv, where install-deps.sh --tests puts them, PATH, $CUDA_HOME or
# /usr/local/cuda, or $BM_CLANG $BM_LIBCLC $BM_PTXAS $BM_PTXAS_OLD $BM_NVDISASM $BM_OCLOC. clang and libclc must be of one LLVM version, since
# bitcode is not read by an older one ("Opaque pointers"): of those that are here ($BM_SYSTEM_ROOT stands before /usr and .venv, for tests) the
# first pair that fits is taken.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
json=no rates=no check=no docs=no tools=no few=no perms=128 keep='' kernels=$root/kernels given_row='' only=''
venv=${BM_SYSTEM_ROOT:-$root}/.venv

while (($#)); do
    case $1 in
    --json) json=yes ;;
    --rates) rates=yes ;;
    --check) check=yes ;;
    --only) only=${2:?--only needs nvidia, amd or intel} && shift ;;
    --docs) docs=yes ;;
    --tools) tools=yes ;;
    --few) few=yes ;;
    --perms) perms=${2:?--perms needs a number} && shift ;;
    --kernels) kernels=${2:?--kernels needs a folder} && shift ;;
    --row) given_row=${2:?--row needs a row} && shift ;;
    --keep) keep=${2:?--keep needs a folder} && shift ;;
    -h | --help)
        sed -n '3,19s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
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
# find_tool VARIABLE NAME FOLDER...: its path: given, in .venv, in PATH, or in a folder.
find_tool() {
    local given=${!1:-} name=$2 folder
    shift 2
    [[ -n $given ]] && { echo "$given"; return; }
    for folder in "$venv"/lib/python3*/site-packages/nvidia/cu[0-9]*/bin "$venv"/intel-gpu/usr/bin; do
        [[ -x $folder/$name ]] && { echo "$folder/$name"; return; }
    done
    command -v "$name" && return
    for folder in "$@"; do
        [[ -x $folder/$name ]] && { echo "$folder/$name"; return; }
    done
    return 1
}

# clangs: each that is here, once, those of .venv and then the one in PATH first.
clangs() {
    local name folder
    if [[ -n ${BM_CLANG:-} ]]; then
        echo "$BM_CLANG"
        return
    fi
    {
        for folder in "$venv"/llvm/usr/lib/llvm*/bin; do
            [[ -x $folder/clang ]] && echo "$folder/clang"
        done
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
    folders=("$venv"/llvm/usr/lib/clc "$system"/usr/lib{,64}/clc "$system"/usr/share/clc "$system"/usr/lib{,64}/llvm*/{share,lib}/clc)
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
        of_venv "$1" --version 2> /dev/null || true
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

# has VENDOR: it is asked for, or nobody asked.
has() { [[ ${only:-$1} == "$1" ]]; }
# without VENDOR WHAT: it is left out; where it was asked for, that is all.
without() {
    [[ $only != "$1" ]] || skip "$2"
    echo "inspect-kernels.sh: $1 is left out: $2" >&2
    case $1 in
    nvidia) nvidia=() ;;
    amd) amd=() ;;
    intel) intel=() ;;
    esac
}
# left_out TARGET WHY
left_out() { echo "inspect-kernels.sh: $1 is left out: $2" >&2; }

case ${only:-amd} in
nvidia | amd | intel) ;;
*)
    echo "inspect-kernels.sh: --only $only: no such vendor (expected nvidia, amd or intel)" >&2
    exit 2
    ;;
esac
nvidia=() amd=() intel=()
if [[ $few == yes ]]; then
    ! has nvidia || nvidia=(sm_80 sm_90)
    ! has amd || amd=(gfx90a)
    ! has intel || intel=(dg2)
else
    ! has nvidia || nvidia=(sm_80 sm_86 sm_89 sm_90 sm_100 sm_120)
    ! has amd || amd=(gfx90a gfx942 gfx1100 gfx1201)
    ! has intel || intel=(dg2 pvc tgllp)
fi

cuda=${CUDA_HOME:-/usr/local/cuda}/bin
clang='' clang_version='' libclc_version='' ptxas='' ptxas_old='' nvdisasm='' ocloc=''
# The libraries of what is unpacked in .venv, not installed.
of_venv() { LD_LIBRARY_PATH="$venv/llvm/usr/lib/x86_64-linux-gnu:$venv/intel-gpu/usr/lib/x86_64-linux-gnu:${LD_LIBRARY_PATH:-}" "$@"; }
if has nvidia || has amd; then
    choose_llvm
fi
if has nvidia; then
    ptxas=$(find_tool BM_PTXAS ptxas "$cuda") || without nvidia "no ptxas (CUDA toolkit, or PyPI nvidia-cuda-nvcc in .venv)"
    nvdisasm=$(find_tool BM_NVDISASM nvdisasm "$cuda") || without nvidia "no nvdisasm (CUDA toolkit, or PyPI nvidia-cuda-nvdisasm in .venv)"
    ptxas_old=${BM_PTXAS_OLD:-$(echo "$venv"/lib/python3*/site-packages/nvidia/cuda_nvcc/bin/ptxas)}
    [[ -x $ptxas_old ]] || ptxas_old=''
fi
if [[ $tools == yes ]]; then
    printf 'clang\t%s\t%s\nlibclc\t%s\t%s\nptxas\t%s\nnvdisasm\t%s\n' "$clang_version" "$clang" "$libclc_version" "$libclc" "$ptxas" "$nvdisasm"
    exit 0
fi
if has intel; then
    ocloc=$(find_tool BM_OCLOC ocloc) || without intel "no ocloc (package intel-opencl-icd, or in .venv)"
fi
shape=${BM_KERNEL_SHAPE:-$root/build/release/tests/kernels/kernel_shape}
[[ -x $shape ]] || skip "no $shape (scripts/build.sh --preset release -- kernel_shape)"

# Targets that this version of a tool does not know.
known=()
for arch in "${nvidia[@]}"; do
    if grep -q "'$arch'" <<< "$("$ptxas" --help)"; then known+=("$arch"); else left_out "$arch" "this ptxas does not know it"; fi
done
nvidia=("${known[@]}") known=()
for arch in "${amd[@]}"; do
    if of_venv "$clang" --target=amdgcn-amd-amdhsa -mcpu="$arch" -nogpulib -x cl -fsyntax-only /dev/null 2> /dev/null; then
        known+=("$arch")
    else
        left_out "$arch" "clang $clang_version does not know it"
    fi
done
amd=("${known[@]}")

work=$keep
[[ -n $work ]] || { work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT; }
mkdir -p "$work"

# A program is that of a SCHEME: affine32, or another with wide.cl.
declare -A defines=([affine32]='' [affine64]='-DBM_WIDE_MIX -DBM_WORD=ulong' [legacy]=-DBM_WIDE_LOW [datatrove]='-DBM_WIDE_PRIME -DBM_WORD=ulong'
    [lance]=-DBM_WIDE_LANCE)

# options_of SCHEME PERMS: -D of the kernels for the shape that is in each, team, teams, tile, unroll, text_group.
options_of() {
    # shellcheck disable=SC2154 # read by inspect
    echo "-DBM_PERMS=$2 -DBM_BANDS=16 -DBM_ROWS=$(($2 / 16)) -DBM_SPLIT_GROUP=64 -DBM_EACH=$each -DBM_TEAM=$team -DBM_TEAMS=$teams" \
        "-DBM_TILE=$tile -DBM_UNROLL=$unroll -DBM_TEXT_KIND=0 -DBM_TEXT_K=5 -DBM_TEXT_GROUP=$text_group ${defines[$1]}"
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
    of_venv "$clang" -w -x cl -cl-std=CL1.2 -O3 -Xclang -finclude-default-header "$@" -S -o "$out" "$work/program.cl"
}

# assemble ARCH PTXAS: work/ARCH.{cubin,txt,sass} of work/nvidia.ptx.
assemble() {
    "$2" -v -arch="$1" "$work/nvidia.ptx" -o "$work/$1.cubin" 2> "$work/$1.txt"
    # -ndf: without the targets of branches by the stack, which nothing here reads and a fifth of the time goes to. It warns of older files.
    "$nvdisasm" -c -ndf "$work/$1.cubin" > "$work/$1.sass" 2> /dev/null
}
# describe ARCH OPTION...: work/ARCH.txt with the description of work/program.cl by ocloc, and a folder work/ARCH with its assembly.
describe() {
    local arch=$1 device=${1/dg2/acm-g10} # dg2 alone is an early stepping
    shift
    rm -rf "${work:?}/$arch" "$work/${arch}"*.bin
    mkdir "$work/$arch"
    IGC_ShaderDumpEnable=1 IGC_DumpToCustomDir=$work/$arch of_venv "$ocloc" compile -q -file "$work/program.cl" -device "$device" -out_dir "$work" \
        -output "$arch" -options "-cl-std=CL1.2 $*" -internal_options -cl-intel-allow-zebin > "$work/$arch.log" ||
        { cat "$work/$arch.log" >&2; return 1; }
    grep -aE '^ +(- )?(name|simd_size|slm_size|type|size): ' "$work/${arch}"*.bin > "$work/$arch.txt"
}
# inspect SCHEME PERMS PARTS ROWS ARCH...: a row a kernel for each; sm_90/old: of the older ptxas.
inspect() {
    local scheme=$1 perms=$2 parts=$3 rows=$4 each team teams tile unroll text_group arch vendor built='' vars options hash_bytes=8
    shift 4
    [[ $scheme != affine32 && $scheme != legacy ]] || hash_bytes=4
    sources_of "$scheme" "$parts" > "$work/program.cl"
    for arch in "$@"; do
        case $arch in
        sm_*) vendor=NVIDIA ;;
        gfx*) vendor=AMD ;;
        *) vendor=Intel ;;
        esac
        read -r each team teams tile unroll text_group < <("$shape" "$vendor" "$perms" ${given_row:+"$given_row"})
        read -r -a options <<< "$(options_of "$scheme" "$perms")"
        vars=(-v arch="${arch%/old}" -v scheme="$scheme" -v perms="$perms" -v each="$each" -v team="$team" -v teams="$teams" -v tile="$tile" -v text_group="$text_group"
            -v hash_bytes=$hash_bytes -v name="${arch/\/old/ ($old_version)}" -f "$root/scripts/inspect-model.awk")
        case $vendor in
        AMD)
            compile "$work/amd.s" "${options[@]}" -target amdgcn-amd-amdhsa -mcpu="$arch" -nogpulib -Xclang -mlink-builtin-bitcode -Xclang "$libclc/amdgcn--amdhsa.bc"
            awk "${vars[@]}" -f "$root/scripts/inspect-amd.awk" "$work/amd.s" >> "$rows"
            ;;
        Intel)
            describe "$arch" "${options[@]}"
            awk -v native=$([[ $arch == pvc ]] && echo 16 || echo 8) "${vars[@]}" -f "$root/scripts/inspect-intel.awk" "$work/$arch.txt" \
                "$work/$arch"/*.asm >> "$rows"
            ;;
        NVIDIA)
            if [[ -z $built ]]; then
                compile "$work/nvidia.ptx" "${options[@]}" -target nvptx64-nvidia-nvcl -march=sm_80 -Xclang -mlink-builtin-bitcode -Xclang "$libclc/nvptx64--nvidiacl.bc"
                sed -i 's/^\.version .*/.version 7.0/' "$work/nvidia.ptx" # clang writes the latest, which it does not need
                built=yes
            fi
            assemble "${arch%/old}" "$([[ $arch == */old ]] && echo "$ptxas_old" || echo "$ptxas")"
            arch=${arch%/old}
            awk -v warp=32 "${vars[@]}" -f "$root/scripts/inspect-nvidia.awk" "$work/nvidia.ptx" "$work/$arch.txt" "$work/$arch.sass" >> "$rows"
            ;;
        esac
    done
}
# version_of PTXAS: "13.5"
version_of() { [[ -z $1 ]] || "$1" --version | sed -nE 's/.*release ([0-9.]+),.*/\1/p'; }

rows=$work/rows.tsv signs=$work/signs.tsv old_version=$(version_of "$ptxas_old")
: > "$rows"
: > "$signs"
# some ARCH: it, where it is inspected.
some() { [[ " ${nvidia[*]} ${amd[*]} " != *" $1 "* ]] || echo "$1"; }
all=("${nvidia[@]}" "${amd[@]}" "${intel[@]}")
inspect affine32 "$perms" "$([[ $few == yes ]] && echo few || echo all)" "$rows" "${all[@]}"
if [[ $few == no ]]; then
    mapfile -t two < <(some sm_90; some gfx90a)
    mapfile -t one < <(some sm_90)
    if [[ -n $ptxas_old && ${#nvidia[@]} -gt 0 ]]; then
        inspect affine32 "$perms" few "$signs" sm_80/old sm_90/old
    fi
    for each_perms in 16 91 112 256 260; do inspect affine32 $each_perms few "$signs" "${two[@]}"; done
    for scheme in affine64 legacy datatrove lance; do inspect $scheme "$perms" few "$signs" "${one[@]}"; done
fi

# neo_version: of Intel's driver, which ocloc is part of.
neo_version() { strings -n 8 "$(dirname "$ocloc")"/../lib/*/intel-opencl/libigdrcl.so 2> /dev/null | grep -xE -m 1 '[0-9]{2}\.[0-9]{2}\.[0-9]{5}' | sed 's/^/ /'; }
made_with=$(
    [[ -z $clang ]] || echo "$(of_venv "$clang" --version | head -n 1), libclc $libclc_version"
    [[ -z $ptxas ]] || echo "ptxas $(version_of "$ptxas")${old_version:+ and $old_version}"
    [[ -z $ocloc ]] || echo "ocloc$(neo_version)"
)
made_with=${made_with//$'\n'/; }
commit=$(git -C "$root" log -1 --format=%h 2> /dev/null || true)
# report OPTION...: of the rows.
report() {
    awk -F'\t' -v few=$few -v perms="$perms" -v targets="${#all[@]}" -v made_with="$made_with" -v commit="$commit" "$@" -f "$root/scripts/inspect-report.awk" "$rows" "$signs"
}
rates_of() { awk -F'\t' -v perms="$perms" -f "$root/scripts/inspect-rates.awk" "$rows" "$signs" "$root/scripts/inspect-gpus.tsv"; }

status=0
report -v json=$json -v check=$check > "$work/report" || status=$?
# docs/gpu.md has these rates, where tools are those that it was made with.
if [[ $check == yes && $few == no && $kernels == "$root/kernels" && -z $given_row ]] && grep -qF "$made_with" "$root/bench/results/kernels.txt"; then
    other=$(rates_of | grep -vxFf "$root/docs/gpu.md" || true)
    [[ -z $other ]] || { printf 'inspect-kernels.sh: docs/gpu.md has other rates than (scripts/inspect-kernels.sh --docs):\n%s\n' "$other" >&2; status=1; }
fi
if [[ $docs == yes ]]; then
    cp "$work/report" "$root/bench/results/kernels.txt"
    rates_of > "$work/rates"
    awk -v rates="$work/rates" '
        /^\| GPU \| target \|/ { while ((getline line < rates) > 0) print line; inside = 1 }
        inside && /^\|/ { next }
        { inside = 0; print }' "$root/docs/gpu.md" > "$work/gpu.md"
    cp "$work/gpu.md" "$root/docs/gpu.md"
elif [[ $rates == yes ]]; then
    rates_of
else
    cat "$work/report"
fi
exit "$status"
