#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu-box.sh [options] -- all that can be said about Bandmill on this machine's GPU, without a network and without root: build, known
# answers, parity, figures against the limits of the device, every command of some batches, jobs with 1, 2, 4 and 8 devices, tuning. The
# result is one JSON file and one tarball beside it, to be sent to us. Both say nothing of hosts and users; docs/gpu-figures.md explains them.
#
#   --device LIST      as bandmill takes it (gpu); a missing device is a failure. `pocl` stands for PoCL, to try the script without a GPU
#   --from DIR         a bundle: what the system lacks is taken from there
#   --program-dir DIR  a build folder: nothing is built
#   --work DIR         where it works (build/gpu-box)
#   --out FILE         the JSON (bench/results/gpu-NAME.json, NAME being the device's; with --quick WORK/result.json); the tarball has the
#                      same name, but for .tar.gz
#   --steps LIST       only these, separated by commas; what earlier calls left in WORK stays in the JSON. In their order:
#                      setup build machine facts self-test open identity rates trace sizes perms text bench job devices tune parity
#   --gigabytes N      of documents for the step `devices` (1; with --quick .002)
#   --minutes N        so long at most from the end of the step `build` on (15; 0: no limit): then figures are repeated less often, and steps
#                      that are not reached are left out, which the JSON says
#   --commit ID        what is measured, where there is no git here
#   --quick            small inputs, one repeat, no search in the step `tune`: does the script work?
#   --bundle DIR       on a machine with a network and the same distribution: download into DIR what building needs; with --program-dir
#                      also that folder's programs, for a machine without a compiler
#
# Every step is run, whatever became of the others; what failed stands in the JSON and on stderr, and the exit code is 1. 2: usage. Every
# program that is called has a limit of time ($BM_BOX_SECONDS lowers all of them): drivers hang.
#
# A driver often brings libnvidia-opencl.so without telling any loader (containers): then a folder of ICD files is made here. Its compiler
# needs other libraries of the driver (libnvidia-nvvm, libnvidia-ptxjitcompiler), whose folder is put on the library path. No loader:
# libOpenCL.so.1 is looked for in the bundle and in CUDA. $BM_DRIVER_DIRS: more folders with drivers, separated by colons.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 2

all_steps=(setup build machine facts self-test open identity rates trace sizes perms text bench job devices tune parity)
device=gpu minutes=15 gigabytes='' from='' given='' work=build/gpu-box out='' steps='' commit='' quick=no bundle=''

usage() {
    sed -n '3,32s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit "$1"
}
while (($#)); do
    case $1 in
    --quick) quick=yes ;;
    -h | --help) usage 0 ;;
    --device | --gigabytes | --minutes | --from | --program-dir | --work | --out | --steps | --commit | --bundle)
        (($# > 1)) || { echo "gpu-box.sh: $1 needs a value" >&2; exit 2; }
        case $1 in
        --device) device=$2 ;;
        --gigabytes) gigabytes=$2 ;;
        --minutes) minutes=$2 ;;
        --from) from=$(realpath -e -- "$2") || exit 2 ;;
        --program-dir) given=$(realpath -e -- "$2") || exit 2 ;;
        --work) work=$2 ;;
        --out) out=$2 ;;
        --steps) steps=$2 ;;
        --commit) commit=$2 ;;
        --bundle) bundle=$2 ;;
        esac
        shift
        ;;
    *)
        echo "gpu-box.sh: unknown argument $1" >&2
        exit 2
        ;;
    esac
    shift
done
if [[ -n $bundle ]]; then
    exec "$root/scripts/gpu-box-bundle.sh" "$bundle" "$given"
fi
[[ $device == pocl ]] && device=Portable
IFS=, read -r -a wanted <<< "${steps:-$(IFS=, && echo "${all_steps[*]}")}"
for step in "${wanted[@]}"; do
    [[ " ${all_steps[*]} " == *" $step "* ]] || { echo "gpu-box.sh: no step $step (expected ${all_steps[*]})" >&2; exit 2; }
done

[[ $minutes =~ ^([0-9]+|[0-9]*[.][0-9]+)$ ]] || { echo "gpu-box.sh: --minutes $minutes (expected a number)" >&2; exit 2; }
most_seconds=$(awk -v m="$minutes" 'BEGIN { printf "%d", m * 60 }')
mkdir -p "$work"/{parts,logs,vendors,visit} && work=$(realpath -e "$work") || exit 2
build=${given:-$work/build} visit=$work/visit
export BANDMILL_CACHE_DIR=$work/cache LC_ALL=C
unset BANDMILL_DEVICE BANDMILL_CPU BANDMILL_TUNING BANDMILL_CL_SHAPE BANDMILL_CL_ROW BANDMILL_CL_LIMIT BANDMILL_CL_TEXT

# --- helpers ---

say() { printf '== %s\n' "$*" >&2; }
# json_string TEXT
json_string() {
    local text=${1//\\/\\\\}
    text=${text//\"/\\\"}
    text=${text//$'\n'/\\n}
    text=${text//$'\t'/ }
    printf '"%s"' "$(printf '%s' "$text" | tr -d '\000-\037')"
}
# shown COMMAND...: without a path of this machine.
shown() {
    local text="$*"
    text=${text//$build\//BUILD/}
    text=${text//$work\//WORK/}
    [[ -z $from ]] || text=${text//$from/BUNDLE}
    text=${text//$root\//}
    printf '%s' "$text"
}
# What a program may take: the seconds given, $BM_BOX_SECONDS, and what is left of --minutes, but for some seconds to end in.
deadline=0 # 0: none, or not yet
limit_of() {
    local limit=$(($1 < ${BM_BOX_SECONDS:-$1} ? $1 : ${BM_BOX_SECONDS:-$1})) left=$((deadline - SECONDS))
    ((deadline == 0 || left >= limit)) || limit=$((left > 10 ? left : 10))
    echo "$limit"
}
# Seconds of a step in which figures are repeated; a step whose figures are measured once has none.
declare -A share=([sizes]=80 [text]=60 [job]=60)
time_is_left() { ((most_seconds == 0 || SECONDS - began < ${share[$step]:-0})); }
# briefly COMMAND...: what takes a moment, unless something is wrong.
briefly() { timeout -k 5 "$(limit_of 60)" "$@"; }
late='' # " (...)" where the last `run` was ended
# A program of `run` goes on in the background, or the shell would hear TERM and INT only when it has ended.
running=''
stop() {
    [[ -z $running ]] || { kill "$running" && wait "$running"; } 2> /dev/null
    exit "$1"
}
trap 'stop 143' TERM
trap 'stop 130' INT
# run SECONDS OUT COMMAND...: its exit code; stdout to OUT, stderr to the step's log.
run() {
    local limit to=$2 rc
    limit=$(limit_of "$1")
    shift 2
    commands+=("$(shown "$@")")
    printf '+ %s\n' "$*" >> "$log"
    timeout -k 5 "$limit" "$@" > "$to" 2>> "$log" &
    running=$!
    wait "$running"
    rc=$?
    running=''
    late=''
    ((rc != 124 && rc != 137)) || late=" (it did not end within $limit s)"
    return "$rc"
}
fail() {
    why=${why:-$1$late}
    return 1
}
# figure FILE DEVICE WHAT: the median of a row of `bench --json`; DEVICE is a prefix.
figure() {
    awk -v device="\"$2" -v what="\"$3\"" -F': ' '
        { sub(/^ */, ""); sub(/,$/, "") }
        $1 == "\"device\"" { here = index($2, device) == 1 }
        $1 == "\"what\"" { this = $2 == what }
        $1 == "\"median\"" && here && this { print $2; exit }' "$1"
}
# field FILE KEY SPEC: a member of the object with that spec in `devices --json`, which is one line.
field() {
    tr '{' '\n' < "$1" | grep -F "\"spec\":\"$3\"" | head -n 1 |
        sed -n "s/.*\"$2\":\(\"\([^\"]*\)\"\|\([0-9.]*\)\).*/\2\3/p"
}
# ratio A B: A/B with three decimals, or null.
ratio() { awk -v a="${1:-0}" -v b="${2:-0}" 'BEGIN { if (a + 0 > 0 && b + 0 > 0) printf "%.3f", a / b; else printf "null" }'; }
number() { printf '%s' "${1:-null}"; }

# --- where things are: before every step, since steps may be run one by one ---

driver_dirs() {
    printf '%s\n' "${BM_DRIVER_DIRS:-}" "${LD_LIBRARY_PATH:-}" | tr ':' '\n'
    briefly ldconfig -p 2> /dev/null | sed -n 's/.* => \(.*\)\/[^/]*$/\1/p' | sort -u
    printf '%s\n' /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib /usr/lib/aarch64-linux-gnu /usr/local/nvidia/lib64 /usr/local/nvidia/lib \
        /usr/lib/wsl/lib /run/opengl-driver/lib /usr/local/cuda/compat /usr/local/cuda/lib64 /usr/local/cuda/targets/*/lib
}
# find_library NAME...: the first that is there.
find_library() {
    local folder name
    while read -r folder; do
        for name in "$@"; do
            [[ -n $folder && -e $folder/$name ]] && { printf '%s\n' "$folder/$name"; return 0; }
        done
    done < <(driver_dirs)
    return 1
}
prefix=$work/prefix
use_prefix() {
    local lib
    for lib in "$prefix"/usr/lib/*-linux-gnu "$prefix"/lib/*-linux-gnu; do
        [[ -d $lib ]] && LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    done
    export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" PATH="$PATH:$prefix/usr/bin"
}
# The ICD files that are registered, and one for a driver of NVIDIA that is not.
find_drivers() {
    local registered=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors} loader
    nvidia=$(find_library libnvidia-opencl.so.1) || nvidia=
    loader=$(find_library libOpenCL.so.1) || loader=
    if [[ -n $nvidia ]] && ! grep -qs libnvidia-opencl "$registered"/*.icd; then
        rm -f "$work"/vendors/*.icd
        cp "$registered"/*.icd "$work/vendors/" 2> /dev/null
        printf '%s\n' "$nvidia" > "$work/vendors/nvidia.icd"
        export OCL_ICD_VENDORS=$work/vendors
        made_icd=true
    fi
    if [[ -n $loader ]] && ! briefly ldconfig -p 2> /dev/null | grep -q 'libOpenCL\.so\.1 '; then
        LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(dirname "$loader")
        export LD_LIBRARY_PATH
    fi
}
# The libraries that the compiler of NVIDIA's driver opens by their names: those beside the driver itself, or elsewhere; their folders go
# on the library path, unless the loader knows these very files.
find_helpers() {
    local name folder file found
    missing_helpers=()
    [[ -n $nvidia ]] || return 0
    for name in libnvidia-nvvm libnvidia-ptxjitcompiler; do
        found=''
        while read -r folder && [[ -z $found ]]; do
            for file in ${folder:+"$folder/$name".so.*}; do
                [[ -e $file ]] && found=$file && break
            done
        done < <(dirname "$nvidia"; dirname "$(realpath "$nvidia")"; driver_dirs)
        folder=$(dirname "$found")
        if [[ -z $found ]]; then
            missing_helpers+=("$name")
        elif [[ :${LD_LIBRARY_PATH:-}: != *:$folder:* ]] && ! briefly ldconfig -p 2> /dev/null | grep -qF " => $found"; then
            LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
            export LD_LIBRARY_PATH
        fi
    done
}
# What to do about them, in words.
helper_words() {
    if ((${#missing_helpers[@]} > 0)); then
        echo "the driver's ${missing_helpers[*]} is not here (package libnvidia-compute-VERSION of the same version, or \$BM_DRIVER_DIRS)"
    else
        echo "are libnvidia-nvvm and libnvidia-ptxjitcompiler there, and of the driver's version?"
    fi
}
. "$root/scripts/gpu-box-figures.sh"
nvidia='' made_icd=false missing_helpers=()
use_prefix
find_drivers
find_helpers

# --- the steps. Each sets `result` to JSON; what fails says why. ---

step_setup() {
    if [[ -n $from ]]; then
        run 300 /dev/null "$root/scripts/gpu-box-bundle.sh" --unpack "$from" "$prefix" || fail "the bundle cannot be unpacked" || return
        use_prefix
        find_drivers
        find_helpers
    fi
    local smi=null
    if command -v nvidia-smi > /dev/null; then
        run 60 "$work/smi" nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,memory.total,pcie.link.gen.max,pcie.link.width.max --format=csv
        smi=$(json_string "$(cat "$work/smi")$late")
        [[ -z $late ]] || say "setup: nvidia-smi$late"
        late=''
    fi
    result="{\"libnvidia_opencl\": $([[ -n $nvidia ]] && echo true || echo false), \"icd_file_made_here\": $made_icd,
  \"missing_helper_libraries\": $(json_string "${missing_helpers[*]}"), \"nvidia_smi\": $smi}"
    ((${#missing_helpers[@]} == 0)) || say "setup: $(helper_words): kernels may not build, with an empty log"
    if [[ $device == gpu && -e /proc/driver/nvidia/version && -z $nvidia ]]; then
        fail "the NVIDIA driver here has no libnvidia-opencl.so.1 (package libnvidia-compute-VERSION or nvidia-opencl-icd of the same version)"
    fi
}

# Does the system have all that building needs?
system_builds() {
    local package header
    for package in libdeflate libzstd liblzma liblz4 libutf8proc libcrypto simdjson zlib; do
        briefly pkg-config --exists "$package" 2>> "$log" || return 1
    done
    for header in xxhash.h bzlib.h lmdb.h CL/cl.h; do
        printf '#include <%s>\n' "$header" | briefly "${CC:-cc}" -E - > /dev/null 2>> "$log" || return 1
    done
}
step_build() {
    local options=(-DCMAKE_BUILD_TYPE=Release -DBM_BENCH=ON) source=system
    if [[ -n $given ]]; then
        result='{"built": false}'
        [[ -x $build/bandmill ]] || fail "no bandmill in --program-dir"
        return
    fi
    if ! command -v "${CC:-cc}" > /dev/null || ! command -v cmake > /dev/null; then
        if [[ -n $from && -x $from/programs/bandmill ]]; then
            mkdir -p "$build" && cp -r "$from/programs/." "$build/"
            result='{"built": false, "programs": "of the bundle"}'
            return 0
        fi
        fail "no compiler or no cmake here, and no programs in the bundle"
        return
    fi
    if ! system_builds && [[ -d $prefix/usr ]]; then
        source=bundle
        options+=("-DCMAKE_PREFIX_PATH=$prefix/usr")
        local lib
        lib=$(dirname "$(find "$prefix/usr/lib" -name libzstd.so | head -n 1)")
        PKG_CONFIG_LIBDIR=$(find "$prefix/usr" -name pkgconfig -type d | paste -sd :)
        export PKG_CONFIG_SYSROOT_DIR=$prefix PKG_CONFIG_LIBDIR
        export LIBRARY_PATH=$lib${LIBRARY_PATH:+:$LIBRARY_PATH}
    fi
    briefly pkg-config --exists criterion 2>> "$log" && options+=(-DBM_TESTS=ON) || options+=(-DBM_TESTS=OFF)
    run 1800 /dev/null "$root/scripts/build.sh" "$build" "${options[@]}" -- bandmill planted kernel_tune gpu_figures cl_trace bandmill_unchecked || fail "the build failed (log: $build/build.log)" || return
    if [[ ${options[*]} == *BM_TESTS=ON* ]]; then
        run 1800 /dev/null cmake --build "$build" --target test_parity_opencl || fail "the parity tests do not build" || return
    fi
    result="{\"built\": true, \"libraries\": \"$source\", \"compiler\": $(json_string "$(briefly "${CC:-cc}" --version | head -n 1)")}"
}

# list_devices: the listing, which is kept for all steps; one that fails is not asked for again.
list_devices() {
    [[ -s $work/devices.json ]] && return
    [[ -z $no_device ]] || return
    if run 120 "$work/devices.new" "$build/bandmill" devices --json; then
        mv "$work/devices.new" "$work/devices.json"
    else
        no_device="the devices cannot be listed$late"
    fi
    [[ -z $no_device ]]
}
# The devices that --device means, of the listing: the spec, and whether it is usable, a line each.
meant_devices() {
    tr '{' '\n' < "$work/devices.json" | awk -v list="$device" '
        function member(key) { return match($0, "\"" key "\":\"[^\"]*\"") ? substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5) : "" }
        function fits(word) {
            if (word == "gpu" || word == "all" || word == "auto") return kind == "gpu" && usable
            if (word == "opencl") return usable
            if (word ~ /^opencl:/) return word == spec
            return word != "" && index(tolower(name "\n" platform), word)
        }
        BEGIN { n = split(tolower(list), words, ",") }
        /"spec":"opencl:/ {
            spec = member("spec"); kind = member("kind"); name = member("name"); platform = member("platform"); usable = /"usable":true/
            for (i = 1; i <= n; i++) if (fits(words[i])) { print spec, usable ? "yes" : "no"; next }
        }'
}
# The first device that is meant: its row in the listing.
choose_device() {
    local usable=''
    list_devices && read -r spec usable < <(meant_devices)
    if [[ -z $no_device && -z $spec ]]; then
        no_device="no device matches --device $device"
    elif [[ -z $no_device && $usable == no ]]; then
        no_device="$spec cannot be used: $(field "$work/devices.json" why "$spec")"
    fi
    late=''
    [[ -z $no_device ]] || fail "$no_device" || return
    name=$(field "$work/devices.json" name "$spec") platform=$(field "$work/devices.json" platform "$spec")
    driver=$(field "$work/devices.json" driver "$spec") units=$(field "$work/devices.json" compute_units "$spec")
    clock=$(field "$work/devices.json" clock_mhz "$spec") kind=$(field "$work/devices.json" kind "$spec")
}
no_device='' spec=''

step_self-test() {
    rm -f "$work/devices.json"
    no_device='' spec=''
    choose_device || return
    run 600 "$work/tested.json" "$build/bandmill" devices --self-test --json
    local rc=$? words
    [[ -s $work/tested.json ]] && result=$(cat "$work/tested.json")
    [[ $rc == 0 ]] && return
    [[ $(field "$work/tested.json" self_test "$spec") == passed ]] && return # another device failed; the JSON says so
    words=$(field "$work/tested.json" self_test_error "$spec")
    [[ $words != *'left no log'* ]] || words+="; $(helper_words)"
    fail "the self-test of $spec failed${words:+: $words}"
}

step_parity() {
    choose_device || return
    local program n=0
    for program in "$build"/tests/parity/test_parity_*; do
        [[ -x $program && ! -d $program ]] || continue
        BANDMILL_REQUIRE_OPENCL=1 BANDMILL_TEST_DEVICE=$spec run 900 "$work/parity.txt" "$program" || fail "$(basename "$program") failed"
        cat "$work/parity.txt" >> "$log"
        n=$((n + 1))
    done
    result="{\"programs\": $n, \"passed\": $(sed -n 's/.*Passing: \([0-9]*\).*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')}"
    ((n > 0)) || fail "no parity program was built (no Criterion)"
    [[ -z $why ]]
}

# Documents for `identity` and `job`.
documents() {
    [[ -s $work/$1.jsonl ]] && return
    if [[ -x $build/bench/planted ]]; then
        run 1800 "$work/$1.jsonl" "$build/bench/planted" "$1"
    else
        awk -v n="$1" 'BEGIN { srand(3); for (i = 0; i < n; i++) { t = ""; if (i % 3) { for (j = 0; j < 150; j++) t = t sprintf(" w%x", rand() * 65536) }
            else t = last " edited" i; last = t; printf "{\"id\":\"d%d\",\"text\":\"%s\"}\n", i, t } }' > "$work/$1.jsonl"
    fi
}
# The same bytes from the device as from the native CPU, through the program.
step_identity() {
    choose_device || return
    local n=20000 options checks=0 file on
    [[ $quick == yes ]] && n=1000
    documents "$n" || fail "the documents cannot be made" || return
    for options in '--perms 128 --band-keys' '--perms 16 --shingle char:5' '--perms 256 --words space --band-keys' '--perms 1024' \
        '--perms 100 --shingle byte:8' '--scheme oph'; do
        for on in cpu "$spec"; do
            # shellcheck disable=SC2086 # options are words
            run 300 /dev/null "$build/bandmill" sign "$work/$n.jsonl" -q --force --device "$on" $options -o "$work/identity-${on%%:*}" && continue
            tail -n 1 "$log" | grep -q 'made by the native CPU only' && continue 2 # a scheme that has no kernel
            fail "sign $options fails on $on"
        done
        for file in "$work"/identity-cpu/*.npy; do
            checks=$((checks + 1))
            cmp -s "$file" "$work/identity-opencl/$(basename "$file")" || fail "sign $options: $(basename "$file") differs from the CPU's"
        done
    done
    result="{\"documents\": $n, \"files_compared\": $checks}"
    [[ -z $why ]]
}

# Texts to the device instead of hashes: the same bytes from either, how long each takes, and what the program's own trial says.
step_text() {
    choose_device || return
    local n=100000 repeats=3 taken shingles='char:5 byte:8 word:5' shingle form r file begin rows=''
    [[ $quick == yes ]] && n=1000 repeats=1 shingles=char:5
    documents "$n" || fail "the documents cannot be made" || return
    for shingle in $shingles; do
        taken=0
        run 300 /dev/null "$build/bandmill" sign "$work/$n.jsonl" -q --force --shingle "$shingle" --device cpu -o "$work/text-cpu" ||
            fail "sign --shingle $shingle fails on the CPU" || return
        rm -f "$work"/text-seconds-*
        for ((r = 0; r < repeats; r++)); do
            ((r == 0)) || time_is_left || break
            taken=$((taken + 1))
            for form in off on trial; do
                begin=$(date +%s.%N)
                run 300 /dev/null env "BANDMILL_CL_TEXT=$form" "$build/bandmill" sign "$work/$n.jsonl" -q --force --shingle "$shingle" \
                    --device "$spec" -o "$work/text-$form" || fail "sign --shingle $shingle fails with BANDMILL_CL_TEXT=$form" || return
                awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { printf "%.3f\n", b - a }' >> "$work/text-seconds-$form"
                for file in signatures.npy n_shingles.npy content_hash.npy; do
                    cmp -s "$work/text-cpu/$file" "$work/text-$form/$file" ||
                        fail "sign --shingle $shingle, BANDMILL_CL_TEXT=$form: $file differs from the CPU's"
                done
            done
        done
        rows+="${rows:+,
  }{\"shingle\": \"$shingle\", \"repeats\": $taken, \"hashes_seconds\": $(middle "$work/text-seconds-off"),
   \"text_seconds\": $(middle "$work/text-seconds-on"), \"chosen\": $(
            awk '/"device_input": [{]/ { on = 1; sub(/.*"device_input": /, "") } on { print } on && /^    }/ { exit }' "$work/text-trial/manifest.json" |
                sed '$ s/,$//'
        )}"
    done
    result="{\"documents\": $n, \"forms\": [$rows]}"
    [[ -z $why ]]
}

step_bench() {
    choose_device || return
    local options=() up down resident host words limit=null link
    local most=60
    [[ $quick == yes ]] && options=(--repeats 1 --min-seconds 0.02) most=600
    run 900 "$work/bench.json" "$build/bandmill" bench --json --seconds "$most" --device "cpu,$spec" "${options[@]}" || fail "bench failed" || return
    resident=$(figure "$work/bench.json" "$spec" 'resident hashes') host=$(figure "$work/bench.json" "$spec" 'hashes from the host')
    up=$(figure "$work/bench.json" "$spec" upload) down=$(figure "$work/bench.json" "$spec" read-back)
    words=$(figure "$work/bench.json" "$spec" 'text word:5')
    # 32-bit multiply-adds a clock of a compute unit (an SM; a CU, quarter rate), over 128 permutations: M shingles/s.
    case $kind:$platform in
    gpu:*NVIDIA*) limit=$(awk -v u="$units" -v c="$clock" 'BEGIN { print u * c * 64 / 128 }') ;;
    gpu:*AMD*) limit=$(awk -v u="$units" -v c="$clock" 'BEGIN { print u * c * 16 / 128 }') ;;
    esac
    # Made documents have 118 hashes: 4 bytes a hash up, 512 / 118 down, both at once.
    link=$(awk -v u="${up:-0}" -v d="${down:-0}" 'BEGIN { if (u > 0 && d > 0) { a = 4 / u; b = 512 / 118 / d; print 1 / (a > b ? a : b) } else print 0 }')
    result="{\"resident_mshingles_s\": $(number "$resident"), \"arithmetic_limit_mshingles_s\": $limit, \"resident_of_limit\": $(ratio "$resident" "$limit"),
  \"host_mshingles_s\": $(number "$host"), \"link_limit_mshingles_s\": $link, \"host_of_link\": $(ratio "$host" "$link"),
  \"upload_mb_s\": $(number "$up"), \"read_back_mb_s\": $(number "$down"), \"text_word5_mb_s\": $(number "$words"),
  \"native_text_word5_mb_s\": $(number "$(figure "$work/bench.json" cpu 'text word:5')"), \"bench\": $(cat "$work/bench.json")}"
    [[ -n $resident && -n $up ]] || fail "bench has no figures of $spec"
}

# The whole job, documents to groups, on the CPU, on the device and by the program's own choice in turns: median seconds of each, the same
# groups, and what the program says of its choice.
step_job() {
    choose_device || return
    local n=300000 repeats=5 r=0 on name
    [[ $quick == yes ]] && n=1000 repeats=1
    documents "$n" || fail "the documents cannot be made" || return
    rm -f "$work"/seconds-*
    cd "$work" || return # the report names its inputs
    for ((r = 0; r < repeats; r++)); do
        ((r == 0)) || time_is_left || break
        for on in cpu "$spec" auto; do
            name=${on%%:*}
            timed 600 "$build/bandmill" dedup "$n.jsonl" -q --force --device "$on" -o "job-$name" || fail "dedup fails on $on" || return
            echo "$seconds" >> "$work/seconds-$name"
        done
    done
    for on in groups.jsonl removed.tsv kept.jsonl; do
        for name in opencl auto; do
            cmp -s "$work/job-cpu/$on" "$work/job-$name/$on" || fail "$on ($name) differs from the CPU's"
        done
    done
    printf '{"text":"one document of a few words, to be signed"}\n' > "$work/one.jsonl"
    briefly "$build/bandmill" sign "$work/one.jsonl" -v --force --device auto -o "$work/one" 2> "$visit/auto.txt" > /dev/null
    local cpu cl
    cpu=$(middle "$work/seconds-cpu") cl=$(middle "$work/seconds-opencl")
    result="{\"documents\": $n, \"bytes\": $(wc -c < "$work/$n.jsonl"), \"repeats\": $r, \"cpu_seconds\": $cpu, \"device_seconds\": $cl, \"cpu_over_device\": $(ratio "$cpu" "$cl"),
  \"auto_seconds\": $(middle "$work/seconds-auto"), \"auto_says\": $(json_string "$(grep -E 'using|not used' "$visit/auto.txt")"),
  \"report\": $(shown "$(cat "$work/job-opencl/report.json")")}"
    [[ -z $why ]]
}

# clocks FILE: "flow" of a report, what the threads did, in seconds of all of each kind; on one line.
clocks() { awk '/"flow": [{]/ { on = 1; sub(/.*"flow": /, "") } on { print } on && /^    }/ { exit }' "$1" | sed '$ s/,$//' | tr -s '\n ' ' '; }
# `sign` and `dedup` of many documents on the CPU, and on the first 1, 2, 4 and 8 of the devices that are meant: seconds, CPU seconds, the
# clocks of the threads, and the same bytes as the CPU's. Said of a device that computes nothing too, whose bytes are not compared.
step_devices() {
    choose_device || return
    local specs bytes size=${gigabytes:-1} n free job on list rows='' file same seconds user system
    [[ $quick == no || -n $gigabytes ]] || size=.002
    n=$(awk -v gb="$size" 'BEGIN { printf "%.0f", gb * 1e9 / 1040 }')
    [[ $n -gt 0 ]] || fail "--gigabytes $size (expected a number above 0)" || return
    free=$(df -P -B1000000 "$work" | awk 'NR == 2 { print $4 }')
    awk -v gb="$size" -v mb="$free" 'BEGIN { exit !(gb * 4000 < mb) }' || fail "$size GB of documents want four times as much in WORK, where $free MB are free" || return
    mapfile -t specs < <(meant_devices | sed -n 's/ yes$//p')
    documents "$n" || fail "the documents cannot be made" || return
    bytes=$(wc -c < "$work/$n.jsonl")
    cd "$work" || return
    for on in 0 1 2 4 8; do
        ((on <= ${#specs[@]})) || continue
        list=cpu
        ((on == 0)) || list=$(IFS=, && echo "${specs[*]:0:on}")
        for job in sign dedup; do
            { TIMEFORMAT='%R %U %S'; time run 3600 /dev/null "$build/bandmill" "$job" "$n.jsonl" -q --force --device "$list" -o "devices-$job-$on"; } 2> "$work/took" ||
                fail "$job fails on $list" || return
            read -r seconds user system < "$work/took"
            same=null
            if ((on > 0)) && [[ $platform != Double ]]; then
                same=true
                for file in signatures.npy content_hash.npy groups.jsonl removed.tsv kept.jsonl; do
                    [[ ! -e devices-$job-0/$file ]] || cmp -s "devices-$job-0/$file" "devices-$job-$on/$file" || same=false
                done
                [[ $same == true ]] || fail "$job: the bytes of $on devices differ from the CPU's"
            fi
            file=devices-$job-$on/report.json
            [[ -e $file ]] || file=devices-$job-$on/manifest.json
            rows+="${rows:+,
  }{\"job\": \"$job\", \"devices\": $on, \"seconds\": $seconds, \"user_seconds\": $user, \"system_seconds\": $system, \"same_bytes\": $same,
   \"gb_s\": $(awk -v b="$bytes" -v s="$seconds" 'BEGIN { printf "%.4f", (s > 0 ? b / s / 1e9 : 0) }'), \"clocks\": $(clocks "$file")}"
            ((on == 0)) || rm -rf "devices-$job-$on"
        done
    done
    rm -rf devices-sign-0 devices-dedup-0
    result="{\"documents\": $n, \"bytes\": $bytes, \"devices_here\": ${#specs[@]}, \"processors\": $(nproc), \"jobs\": [$rows]}"
    [[ -z $why ]]
}

step_tune() {
    choose_device || return
    [[ -x $build/bench/kernel_tune ]] || fail "no kernel_tune in the programs" || return
    local options=()
    [[ $quick == yes ]] && options=(--seconds 0 --repeats 1 --min-seconds .002)
    ((most_seconds == 0)) || [[ $quick == yes ]] || options=(--seconds 90)
    run 1800 "$visit/tune.json" "$build/bench/kernel_tune" --json --device "$spec" "${options[@]}" || fail "kernel_tune failed" || return
    result=$(cat "$visit/tune.json")
}

# --- run them, and put the parts together ---

[[ -n $commit ]] || commit=$(briefly git -C "$root" rev-parse HEAD 2> /dev/null) || commit=unknown
begin_limit() { ((most_seconds == 0)) || deadline=$((SECONDS + most_seconds)); }
[[ " ${wanted[*]} " == *' build '* ]] || begin_limit
[[ -n $steps ]] || rm -f "$visit/clocks.tsv" # as all figures, those of earlier steps stay
watch_clocks &
watcher=$!
trap 'kill "$watcher" 2> /dev/null' EXIT
for step in "${wanted[@]}"; do
    log=$work/logs/$step.log why='' result=null commands=()
    : > "$log"
    say "$step"
    began=$SECONDS late=''
    echo "$step" > "$work/step"
    if ((deadline > 0 && SECONDS + 10 > deadline)); then
        why="left out: the $minutes minutes are over (--minutes)" rc=left
    else
        "step_$step"
        rc=$?
        # What the limit of all cut off is no failure of this step.
        if [[ $rc != 0 && -n $late && $deadline -gt 0 && $((SECONDS + 15)) -gt $deadline ]]; then
            why="cut off: the $minutes minutes are over (--minutes)" rc=left
        fi
    fi
    [[ $step != build ]] || begin_limit
    cd "$root" || exit 2
    [[ $rc != left ]] || say "$step: $why"
    [[ $rc == 0 || $rc == left ]] || say "$step: FAILED: ${why:=it ended with $rc} (log: $(shown "$log"))"
    {
        printf '{"step": "%s", "ok": %s, "seconds": %d, "why": %s, "commands": [' "$step" "$([[ $rc == left ]] && echo null || { [[ $rc == 0 ]] && echo true || echo false; })" \
            $((SECONDS - began)) "$([[ $rc == 0 ]] && echo null || json_string "$(shown "$why")")"
        for ((i = 0; i < ${#commands[@]}; i++)); do
            ((i == 0)) || printf ', '
            json_string "${commands[i]}"
        done
        printf '],\n "result": %s}\n' "${result:-null}"
    } > "$work/parts/$step.json"
done

log=$work/logs/end.log why='' commands=() name='' platform='' driver=''
choose_device
if [[ -z $out ]]; then
    slug=$(printf '%s' "${name:-no-device}" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9]\{1,\}/-/g; s/^-//; s/-$//')
    out=bench/results/gpu-$slug.json
    [[ $quick == yes ]] && out=$work/result.json
fi
mkdir -p "$(dirname "$out")"
{
    printf '{"schema": 1, "device": %s, "platform": %s, "driver": %s, "selected_by": %s, "commit": %s, "quick": %s,\n' "$(json_string "$name")" \
        "$(json_string "$platform")" "$(json_string "$driver")" "$(json_string "$device")" "$(json_string "$commit")" "$([[ $quick == yes ]] && echo true || echo false)"
    printf '"command": "scripts/gpu-box.sh", "version": %s,\n"steps": [\n' "$(briefly "$build/bandmill" --version --json 2>> "$log" || echo null)"
    comma=
    for step in "${all_steps[@]}"; do
        [[ -s $work/parts/$step.json ]] || continue
        printf '%s' "$comma"
        cat "$work/parts/$step.json"
        comma=','
    done
    printf ']}\n'
} > "$out.new"
kill "$watcher" 2> /dev/null
wait "$watcher" 2> /dev/null

# What may leave the machine: without its names, those of its users, and its folders.
SCRUB_WORDS=$(for word in "$(uname -n)" "$(uname -n | cut -d. -f1)" "$(uname -n | cut -s -d. -f2-)" "${HOSTNAME:-}" "${USER:-}" "${LOGNAME:-}" "${SUDO_USER:-}" "$(id -un 2> /dev/null)" \
    "$(stat -c %U "$root")"; do printf '%s\n' "$word"; done)
SCRUB_PATHS=$(for path in "$build=BUILD" "$work=WORK" "${from:-/}=BUNDLE" "$root=TREE" "${HOME:-/}=HOME" "${TMPDIR:-/}=TMP"; do printf '%s\n' "$path"; done)
export SCRUB_WORDS SCRUB_PATHS
"$root/scripts/gpu-box-pack.sh" --scrub < "$out.new" > "$out.scrubbed" && mv "$out.scrubbed" "$out" && rm "$out.new"
tarball=${out%.json}.tar.gz
mkdir -p "$visit/logs" && cp "$work"/logs/*.log "$visit/logs/" && cp "$out" "$visit/result.json"
[[ ! -s $work/bench.json ]] || cp "$work/bench.json" "$visit/"
"$root/scripts/gpu-box-pack.sh" "$visit" "$tarball" "Device: $name ($platform, driver $driver)" "Commit: $commit" || { say "the tarball cannot be made" && rm -f "$tarball"; }
say "written: $(shown "$out"), $(shown "$tarball"): nothing was sent. Their contents: the device and its driver (also the card's UUID), processor, memory, kernel
   and control group; the steps' figures, logs and commands; the kernels as the driver compiled them; lines of the kernel log about the
   driver. Not: host names, user names, your files. Please read README.txt in the tarball, and send us both."
! grep -qs '"ok": false' "$work"/parts/*.json
