#!/usr/bin/env bash
# inspect-kernels.sh [--json] [--check] [--docs] [--tools] [--perms K] [--kernels DIR] [--few] [--row ROW] [--keep DIR] -- what the compilers of GPUs make of the kernels, without a GPU.
#
#   NVIDIA  clang (nvptx64-nvidia-nvcl, sm_80) with libclc -> PTX -> ptxas for sm_80 and sm_90 -> nvdisasm
#   AMD     clang (amdgcn-amd-amdhsa, gfx90a) with libclc -> assembly
#
# Prints a table (--json: one JSON object); --docs writes it between the marks of docs/kernels.md; --check exits with 1 where a kernel
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
        sed -n '2,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
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
if [[ $tools == yes ]]; then
    printf 'clang\t%s\t%s\nlibclc\t%s\t%s\nptxas\t%s\nnvdisasm\t%s\n' "$clang_version" "$clang" "$libclc_version" "$libclc" "$ptxas" "$nvdisasm"
    exit 0
fi

work=$keep
[[ -n $work ]] || { work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT; }
mkdir -p "$work"

# row_of VENDOR: the columns of the row of opencl.csv for a GPU of this vendor, by name, as shell assignments.
row_of() {
    awk -F, -v vendor="$1" -v row="$given_row" '
        /^#/ || NF < 5 { next }
        !head { for (i = 1; i <= NF; i++) name[i] = $i; head = 1; next }
        row != "" && !best { next }
        ($1 == "*") && ($2 == "*" || index(tolower(vendor), tolower($2))) && ($3 == "*" || $3 == "gpu") {
            fit = 1 + ($3 != "*") + 2 * ($2 != "*")
            if (fit > best) { best = fit; row = $0 }
        }
        END { n = split(row, value, ","); for (i = 4; i <= n; i++) printf "%s=%s ", name[i], value[i] }
    ' "$kernels/tuning/opencl.csv"
}

# options_of VENDOR: -D of sign_gpu.cl as cl_tune.c works them out for many permutations.
options_of() {
    local shape lanes acc each group tile pack whole part batch lend unroll team teams
    eval "$(row_of "$1")"
    team=$(((perms + each - 1) / each))
    teams=$((group / team > 0 ? group / team : 1))
    # shellcheck disable=SC2154 # by row_of
    echo "-DBM_PERMS=$perms -DBM_BANDS=16 -DBM_ROWS=$((perms / 16)) -DBM_SPLIT_GROUP=64 -DBM_EACH=$each -DBM_TEAM=$team" \
        "-DBM_TEAMS=$teams -DBM_TILE=$tile -DBM_UNROLL=$unroll -DBM_TEXT_KIND=0 -DBM_TEXT_K=5 -DBM_TEXT_GROUP=$((team * teams))"
}

# compile VENDOR OUT clang-option...: the program of the GPU shape.
compile() {
    local vendor=$1 out=$2 options
    shift 2
    read -r -a options <<< "$(options_of "$vendor")"
    {
        printf '#include "%s"\n' "$kernels"/{affine32.h,band_keys.cl,sign_gpu.cl}
        if [[ $few == no ]]; then
            printf '#include "%s"\n' "$kernels"/{xxh3.h,text_hash.cl,text_count.cl,content_hash.h,text_content.cl}
            echo '#define bm_sign bm_sign_oph' # of another program, seen in the same run
            printf '#include "%s"\n' "$kernels"/{oph.h,oph_donors.cl,sign_oph_gpu.cl}
        fi
    } > "$work/program.cl"
    "$clang" -w -x cl -cl-std=CL1.2 -O3 -Xclang -finclude-default-header "${options[@]}" "$@" -S -o "$out" "$work/program.cl"
}

each_of() { options_of "$1" | sed 's/.*BM_EACH=\([0-9]*\).*/\1/'; }
group_of() { options_of "$1" | sed 's/.*BM_TEAM=\([0-9]*\) -DBM_TEAMS=\([0-9]*\).*/\1*\2/'; }

compile NVIDIA "$work/nvidia.ptx" -target nvptx64-nvidia-nvcl -march=sm_80 -Xclang -mlink-builtin-bitcode -Xclang "$libclc/nvptx64--nvidiacl.bc"
compile AMD "$work/amd.s" -target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -Xclang -mlink-builtin-bitcode -Xclang "$libclc/amdgcn--amdhsa.bc"

rows=$work/rows.tsv
: > "$rows"
for arch in sm_80 sm_90; do
    "$ptxas" -v -arch=$arch "$work/nvidia.ptx" -o "$work/$arch.cubin" 2> "$work/$arch.txt"
    # -ndf: without the targets of branches by the stack, which nothing here reads and a fifth of the time goes to.
    "$nvdisasm" -c -ndf "$work/$arch.cubin" > "$work/$arch.sass"
    awk -v arch=$arch -v each="$(each_of NVIDIA)" -v group="$(($(group_of NVIDIA)))" -f "$root/scripts/inspect-nvidia.awk" \
        "$work/nvidia.ptx" "$work/$arch.txt" "$work/$arch.sass" >> "$rows"
done
awk -v arch=gfx90a -v each="$(each_of AMD)" -f "$root/scripts/inspect-amd.awk" "$work/amd.s" >> "$rows"

status=0
awk -F'\t' -v json=$json -v check=$check -v wanted="$([[ $few == no ]] && echo 24 || echo 9)" -v perms="$perms" -v clang="$("$clang" --version | head -n 1)" -v libclc="$libclc_version" \
    -v ptxas="$("$ptxas" --version | tail -n 2 | head -n 1)" -f "$root/scripts/inspect-report.awk" "$rows" > "$work/report" || status=$?
if [[ $docs == yes ]]; then
    awk -v report="$work/report" '
        /<!-- generated: end -->/ { inside = 0 }
        !inside { print }
        /<!-- generated: begin/ { inside = 1; print ""; while ((getline line < report) > 0) print line; print "" }
    ' "$root/docs/kernels.md" > "$work/kernels.md"
    cp "$work/kernels.md" "$root/docs/kernels.md"
else
    cat "$work/report"
fi
exit "$status"
