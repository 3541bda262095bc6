#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu-box-figures.sh -- steps of gpu-box.sh, which reads this file: the machine around the device, the device's own figures and rates, every
# command of some batches, documents of four sizes, numbers of permutations; and the clocks, once a second beside all steps.
#
# What a step finds goes as files into $visit, of which gpu-box-pack.sh makes the tarball, and as a summary into the step's JSON.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of gpu-box.sh

# --- the machine ---

# show FILE...: each file that can be read, with its path.
show() {
    local file
    for file in "$@"; do
        [[ -f $file && -r $file ]] && printf '%s: %s\n' "$file" "$(briefly head -c 2000 "$file" 2> /dev/null | tr '\n' ' ')"
    done
}
section() { printf '\n== %s\n' "$1"; }
# ask COMMAND...: its output, if there is such a program.
ask() {
    command -v "$1" > /dev/null || return 0
    section "$*"
    briefly "$@" 2>&1
}

# NVIDIA's driver refuses a whole question for one word that it does not know: older and newer words apart.
smi_words='index,name,driver_version,vbios_version,pci.bus_id,persistence_mode,compute_mode,ecc.mode.current,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max,clocks.current.sm,clocks.max.sm,clocks.current.memory,clocks.max.memory,power.draw,power.limit,temperature.gpu,memory.total,memory.used,utilization.gpu,accounting.mode'
smi_new_words='index,mig.mode.current,compute_cap,clocks_throttle_reasons.active,gsp.mode.current,ecc.errors.uncorrected.volatile.total'

describe_machine() {
    local device node file library
    section 'system'
    uname -srm
    (. /etc/os-release && echo "$PRETTY_NAME") 2> /dev/null
    briefly lscpu 2> /dev/null | grep -E '^(Architecture|CPU\(s\)|Thread|Core|Socket|NUMA|Model name|CPU max MHz|Hypervisor|L[123])'
    echo "processors this process may use: $(nproc)"
    grep -E '^(MemTotal|MemAvailable|SwapTotal|HugePages_Total|Hugepagesize)' /proc/meminfo
    echo "locked memory, KiB: $(ulimit -l)"
    echo "file system of the work folder: $(briefly stat -f -c %T "$work")"
    tr ' ' '\n' < /proc/cmdline 2> /dev/null | grep -E '^(iommu|intel_iommu|amd_iommu|pci|pcie_aspm|nvidia[-a-z_.]*|amdgpu[a-z_.]*|i915[a-z_.]*|xe[a-z_.]*)=' | tr '\n' ' '
    section 'control group'
    show /sys/fs/cgroup/{cpu.max,memory.max,memory.high,cpuset.cpus.effective,pids.max} /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/memory/memory.limit_in_bytes
    section 'NUMA'
    for node in /sys/devices/system/node/node[0-9]*; do show "$node"/{cpulist,distance}; done
    show /sys/devices/system/cpu/cpu0/cpufreq/scaling_{governor,cur_freq,max_freq} /sys/kernel/mm/transparent_hugepage/enabled
    section 'display controllers and accelerators on PCI'
    for device in /sys/bus/pci/devices/*; do
        case $(cat "$device/class" 2> /dev/null) in
        0x03* | 0x12*)
            show "$device"/{vendor,device,subsystem_vendor,subsystem_device,revision,current_link_speed,max_link_speed,current_link_width,max_link_width,numa_node,local_cpulist,power_state,d3cold_allowed}
            echo "$device/driver: $(basename "$(readlink "$device/driver")")"
            # Sizes of the windows to its memory: as large as the memory where "resizable BAR" is on.
            awk -v d="$device" '$1 != "0x0000000000000000" { print d "/resource " NR - 1 ": " $1 " .. " $2 }' "$device/resource" 2> /dev/null | head -n 6
            ;;
        esac
    done
    section 'drivers'
    show /proc/driver/nvidia/version /proc/driver/nvidia/params /sys/module/{nvidia,amdgpu,i915,xe}/version
    ls -l /dev/dri /dev/kfd /dev/nvidia* 2> /dev/null | awk '{ print $1, $NF }'
    for file in "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"/*.icd; do
        library=$(head -n 1 "$file" 2> /dev/null)
        [[ $library != /* || $library == /usr/* || $library == /opt/* ]] || library=.../${library##*/}
        echo "${file##*/}: $library"
    done
    section 'variables that drivers read'
    env | grep -E '^(OCL_|OPENCL_|CUDA_|NVIDIA_|GPU_|HSA_|ROC|HIP_|AMD_|NEO|POCL_|ZE_|IGC_|RUSTICL_)' | sed 's/=.*\/.*/=(a path)/' | sort
    ask nvidia-smi "--query-gpu=$smi_words" --format=csv
    ask nvidia-smi "--query-gpu=$smi_new_words" --format=csv
    ask nvidia-smi topo -m
    ask rocm-smi --showproductname --showdriverversion --showclocks --showmaxpower --showtemp --showperflevel --showmeminfo vram --showbus --showtoponuma
    ask xpu-smi discovery
    section 'errors of drivers (the kernel log, where it may be read)'
    # Which process ran is nobody's business.
    briefly dmesg 2> /dev/null | grep -E 'NVRM|nvidia|amdgpu|\[drm|i915|\bxe [0-9]|[Ii][Oo][Mm][Mm][Uu].*\bfault|AER:' |
        sed -E 's/(name=|pid=|process |Process |thread )[^,; ]*/\1X/g' | tail -n 100
    true
}

step_machine() {
    describe_machine 2>> "$log" | grep -vi serial > "$visit/machine.txt"
    local errors
    errors=$(sed -n '/^== errors of drivers/,$p' "$visit/machine.txt" | grep -ciE 'xid|error|fault|timeout|reset|hang')
    result="{\"lines\": $(wc -l < "$visit/machine.txt"), \"driver_error_lines\": $errors}"
}

# --- clocks ---

# One line a device: what its tool says, or what the kernel shows.
sample_clocks() {
    local card file
    if command -v nvidia-smi > /dev/null; then
        timeout 5 nvidia-smi --query-gpu=index,pstate,clocks.current.sm,clocks.current.memory,temperature.gpu,power.draw,utilization.gpu,clocks_throttle_reasons.active,pcie.link.gen.current --format=csv,noheader
    elif command -v rocm-smi > /dev/null; then
        timeout 5 rocm-smi --showclocks --showtemp --showpower --showuse --csv | tail -n +2
    elif command -v xpu-smi > /dev/null; then
        timeout 5 xpu-smi stats -d 0 | tr -s ' \n' ' '
    fi
    for card in /sys/class/drm/card[0-9] /sys/class/drm/card[0-9][0-9]; do
        for file in "$card"/gt/gt*/rps_act_freq_mhz "$card"/gt/gt*/throttle_reason_status "$card"/gt_act_freq_mhz \
            "$card"/device/tile*/gt*/freq*/{act_freq,throttle/status} "$card"/device/gpu_busy_percent "$card"/device/hwmon/hwmon*/{freq1_input,power1_average,temp1_input}; do
            [[ -r $file ]] && printf '%s %s\n' "${file#/sys/class/drm/}" "$(head -c 100 "$file" 2> /dev/null)"
        done
        [[ -r $card/device/pp_dpm_sclk ]] && printf '%s pp_dpm_sclk %s\n' "${card##*/}" "$(grep -F '*' "$card/device/pp_dpm_sclk" 2> /dev/null)"
    done
    awk -F: '/^cpu MHz/ { n++; sum += $2; if ($2 > most) most = $2 } END { if (n) printf "processors: mean %.0f MHz, most %.0f MHz\n", sum / n, most }' /proc/cpuinfo
}
# Lines "SECOND STEP WORDS" into clocks.tsv, until it is ended.
watch_clocks() {
    while sleep 1; do
        sample_clocks 2> /dev/null | while IFS= read -r line; do
            printf '%d\t%s\t%s\n' "$SECONDS" "$(cat "$work/step" 2> /dev/null)" "$line"
        done
    done >> "$visit/clocks.tsv"
}

# --- the device alone ---

step_facts() {
    [[ -x $build/bench/gpu_figures ]] || fail "no gpu_figures in the programs" || return
    run 120 "$visit/facts.json" "$build/bench/gpu_figures" || fail "the devices' facts cannot be had" || return
    result=$(cat "$visit/facts.json")
}

step_rates() {
    choose_device || return
    local options=()
    [[ $quick == yes ]] && options=(--quick)
    [[ -x $build/bench/gpu_figures ]] || fail "no gpu_figures in the programs" || return
    run 180 "$visit/rates.json" "$build/bench/gpu_figures" "${options[@]}" "$spec" || fail "the device's rates cannot be measured" || return
    result=$(cat "$visit/rates.json")
}

# What a program is run with so that its kernels are built anew: our cache and those of the drivers are elsewhere, or off.
cold=(env "BANDMILL_CACHE_DIR=$work/cold" CUDA_CACHE_DISABLE=1 "POCL_CACHE_DIR=$work/cold/pocl" NEO_CACHE_PERSISTENT=0 AMD_COMGR_CACHE=0)
forget_programs() { rm -rf "$work/cold" && mkdir -p "$work/cold/pocl" && chmod 700 "$work/cold"; }
# timed LIMIT COMMAND...: its seconds to $seconds; its exit code.
timed() {
    local begin limit=$1 rc
    shift
    begin=$(date +%s.%N)
    run "$limit" /dev/null "$@"
    rc=$?
    seconds=$(awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { printf "%.3f", b - a }')
    return "$rc"
}
# Seconds to list the devices, and of a job of one document, without and with what earlier runs have left; and without the trial run in a
# process of its own, which builds the kernels first.
step_open() {
    choose_device || return
    local list_cold list_warm first_cold first_warm untried
    printf '{"text":"one document of a few words, to be signed"}\n' > "$work/one.jsonl"
    forget_programs
    timed 120 "${cold[@]}" "$build/bandmill" devices || fail "the devices cannot be listed" || return
    list_cold=$seconds
    timed 120 "${cold[@]}" "$build/bandmill" devices || fail "the devices cannot be listed" || return
    list_warm=$seconds
    forget_programs
    timed 300 "${cold[@]}" "$build/bandmill" sign "$work/one.jsonl" -q --force --device "$spec" -o "$work/one" || fail "sign fails with cold caches" || return
    first_cold=$seconds
    timed 300 "${cold[@]}" "$build/bandmill" sign "$work/one.jsonl" -q --force --device "$spec" -o "$work/one" ||
        fail "sign fails with a warm cache" || return
    first_warm=$seconds
    forget_programs
    timed 300 "${cold[@]}" BANDMILL_PROBE= "$build/bandmill" sign "$work/one.jsonl" -q --force --device "$spec" -o "$work/one" ||
        fail "sign fails without a trial run" || return
    untried=$seconds
    timed 60 "$build/bandmill" sign "$work/one.jsonl" -q --force --device cpu -o "$work/one" || fail "sign fails on the CPU" || return
    result="{\"list_cold_seconds\": $list_cold, \"list_warm_seconds\": $list_warm, \"first_document_cold_seconds\": $first_cold,
  \"first_document_cold_without_trial_seconds\": $untried, \"first_document_warm_seconds\": $first_warm, \"first_document_cpu_seconds\": $seconds}"
}

# --- every command of some batches ---

# traced NAME COMMAND...: with the loader that writes down every command, into $visit/trace/NAME.
traced() {
    local folder=$visit/trace/$1 real
    shift
    rm -rf "$folder" && mkdir -p "$folder"
    real=$(find_library libOpenCL.so.1) || fail "the OpenCL loader is not found" || return
    run 300 /dev/null env "CL_TRACE_REAL=$real" "CL_TRACE_DIR=$folder" CL_TRACE_BATCHES=60 \
        "LD_LIBRARY_PATH=$build/bench/trace${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"
}
# commands NAME: a JSON row for each device, call and kernel of a trace: how many, and seconds of each part, summed. `between` is when the
# device had a command under way at all.
commands() {
    sort -t $'\t' -k1,1 -k10,10n "$visit/trace/$1"/*-commands.tsv | awk -F'\t' '
        $1 == "device" || $1 == "-" || $8 + 0 == 0 { next }
        {
            row = "\"device\": \"" $1 "\", \"call\": \"" $3 "\", \"kernel\": \"" $4 "\""
            n[row]++; bytes[row] += $5; blocked[row] += $7
            if ($7 > most[row]) most[row] = $7
            queued[row] += $9 - $8; waited[row] += $10 - $9; ran[row] += $11 - $10
            if (!($1 in first)) first[$1] = $10
            if ($11 > last[$1]) { busy[$1] += $11 - ($10 > last[$1] ? $10 : last[$1]); last[$1] = $11 }
            if ($4 == "bm_sign") batches[$1]++
        }
        END {
            for (row in n)
                printf "%s{%s, \"n\": %d, \"bytes\": %.0f, \"call_seconds\": %.6f, \"longest_call_seconds\": %.6f, \"queued_to_submit_seconds\": %.6f, \"submit_to_start_seconds\": %.6f, \"start_to_end_seconds\": %.6f}",
                    comma++ ? ",\n   " : "", row, n[row], bytes[row], blocked[row] / 1e9, most[row] / 1e9, queued[row] / 1e9, waited[row] / 1e9, ran[row] / 1e9
            for (d in first)
                printf "%s{\"device\": \"%s\", \"batches\": %d, \"seconds\": %.6f, \"busy_seconds\": %.6f}", comma++ ? ",\n   " : "", d, batches[d], (last[d] - first[d]) / 1e9, busy[d] / 1e9
        }'
}
# builds: a JSON row for each program that was built in a trace.
builds() {
    cat "$visit/trace/$1"/*-builds.tsv 2> /dev/null | awk -F'\t' '$1 != "program" { printf "%s{\"from\": \"%s\", \"seconds\": %.6f, \"code\": %d}", n++ ? ", " : "", $3, $4 / 1e9, $5 }'
}
# The job signs so many batches that 50 of each device are there, without and with texts for the device; with cold caches at first, so that
# the compiler's log, its seconds and its binary are those of a build.
step_trace() {
    choose_device || return
    local n=300000 specs rows='' each name list form shingle parts
    [[ $quick == yes ]] && n=1200
    [[ -e $build/bench/trace/libOpenCL.so.1 ]] || fail "no bench/trace/libOpenCL.so.1 in the programs" || return
    documents "$n" || fail "the documents cannot be made" || return
    mapfile -t specs < <(meant_devices | sed -n 's/ yes$//p')
    local runs=("hashes $spec off word:5" "texts $spec on char:5")
    ((${#specs[@]} < 2)) || runs+=("all $(IFS=, && echo "${specs[*]}") off word:5")
    for each in "${runs[@]}"; do
        read -r name list form shingle <<< "$each"
        parts=1
        # Devices take batches as they come: one may be given more than half of what would be enough.
        [[ $name != all ]] || parts=$((${#specs[@]} * 3))
        forget_programs
        traced "$name" "${cold[@]}" "BANDMILL_CL_TEXT=$form" "$build/bandmill" sign "$work/$n.jsonl" -q --force --shingle "$shingle" --device "$list" \
            --batch-docs $((n / (60 * parts))) -o "$work/traced" || fail "sign fails under the trace ($name)" || return
        rows+="${rows:+,
  }{\"name\": \"$name\", \"devices\": \"$list\", \"builds\": [$(builds "$name")], \"commands\": [$(commands "$name")]}"
    done
    # Batches as large as the program makes them.
    traced large "$build/bandmill" sign "$work/$n.jsonl" -q --force --device "$spec" -o "$work/traced" || fail "sign fails under the trace (large)" || return
    rows+=",
  {\"name\": \"large\", \"devices\": \"$spec\", \"builds\": [$(builds large)], \"commands\": [$(commands large)]}"
    rm -rf "$work/traced" "$work/cold"
    result="{\"documents\": $n, \"runs\": [$rows]}"
    [[ -z $why ]]
}

# --- documents of four sizes ---

# sized BYTES TOTAL N: documents of about so many bytes to $work/sized.jsonl, of the words of N documents.
sized() {
    awk -v bytes="$1" -v total="$2" '
        { sub(/^[{]"id":"[^"]*","text":"/, ""); sub(/"}$/, ""); text = text " " $0 }
        length(text) >= bytes + 1 || length(text) > 1000000 { big = text; text = ""
            if (bytes > 1000000) { held = held big; if (length(held) < bytes + 2) next; big = held; held = "" }
            for (at = 2; at + bytes <= length(big) + 1 && done < total; at += bytes) { print "{\"text\":\"" substr(big, at, bytes) "\"}"; done += bytes }
            if (done >= total) exit }' "$work/$3.jsonl" > "$work/sized.jsonl"
    [[ -s $work/sized.jsonl ]]
}
middle() { sort -n "$1" | sed -n "$((($(wc -l < "$1") + 1) / 2))p"; }
# `sign` of documents of four sizes: on the CPU, on the device, and on the device without the sample check of its results.
step_sizes() {
    choose_device || return
    local n=300000 total=200000000 repeats=3 bytes on r rows='' program run_on
    [[ $quick == yes ]] && n=12000 total=400000 repeats=1
    [[ -x $build/bench/unchecked/bandmill ]] || fail "no bench/unchecked/bandmill in the programs" || return
    documents "$n" || fail "the documents cannot be made" || return
    # Fewer bytes where the processors are slow: a run of the CPU should take three seconds at most.
    timed 300 "$build/bandmill" sign "$work/$n.jsonl" -q --force --device cpu -o "$work/sizes-cpu" || fail "sign fails on the CPU" || return
    total=$(awk -v total="$total" -v bytes="$(wc -c < "$work/$n.jsonl")" -v s="$seconds" 'BEGIN { most = bytes / (s > .001 ? s : .001) * 3; printf "%d", most < total ? most : total }')
    for bytes in 100 2000 100000 10000000; do
        ((total >= bytes)) || total=$bytes
        sized "$bytes" "$total" "$n" || fail "documents of $bytes bytes cannot be made" || return
        rm -f "$work"/sized-*
        for ((r = 0; r < repeats; r++)); do
            ((r == 0)) || time_is_left || break
            for on in cpu checked unchecked; do
                program=$build/bandmill run_on=$spec
                [[ $on != cpu ]] || run_on=cpu
                [[ $on != unchecked ]] || program=$build/bench/unchecked/bandmill
                timed 300 "$program" sign "$work/sized.jsonl" -q --force --device "$run_on" -o "$work/sizes-$on" || fail "sign of documents of $bytes bytes fails ($on)" || return
                echo "$seconds" >> "$work/sized-$on"
            done
        done
        for on in checked unchecked; do
            cmp -s "$work/sizes-cpu/signatures.npy" "$work/sizes-$on/signatures.npy" || fail "documents of $bytes bytes: other signatures than the CPU's ($on)"
        done
        rows+="${rows:+,
  }{\"document_bytes\": $bytes, \"documents\": $(wc -l < "$work/sized.jsonl"), \"bytes\": $(wc -c < "$work/sized.jsonl"), \"repeats\": $(wc -l < "$work/sized-cpu"),
   \"cpu_seconds\": $(middle "$work/sized-cpu"), \"device_seconds\": $(middle "$work/sized-checked"), \"unchecked_seconds\": $(middle "$work/sized-unchecked"), \"clocks\": $(clocks "$work/sizes-checked/manifest.json")}"
    done
    rm -rf "$work"/sized* "$work"/sizes-*
    result="{\"sizes\": [$rows]}"
    [[ -z $why ]]
}

# --- numbers of permutations ---

step_perms() {
    choose_device || return
    local n=100000 k on rows='' options=(--repeats 3 --min-seconds .1) cpu
    [[ $quick == yes ]] && n=1000 options=(--repeats 1 --min-seconds .002)
    [[ -x $build/bench/kernel_tune ]] || fail "no kernel_tune in the programs" || return
    documents "$n" || fail "the documents cannot be made" || return
    for k in 16 112 128 256 1024; do
        run 180 "$work/perms.json" "$build/bench/kernel_tune" --json --seconds 0 --perms "$k" --device "$spec" "${options[@]}" || fail "$k permutations cannot be measured" || return
        for on in cpu "$spec"; do
            timed 180 "$build/bandmill" sign "$work/$n.jsonl" -q --force --perms "$k" --device "$on" -o "$work/perms" || fail "sign --perms $k fails on $on" || return
            [[ $on != cpu ]] || cpu=$seconds
        done
        rows+="${rows:+,
  }{\"perms\": $k, \"sign_cpu_seconds\": $cpu, \"sign_device_seconds\": $seconds,
   \"kernel_mshingles_s\": $(sed -n 's/.*"kernel_mshingles_s": \([0-9.e+]*\).*/\1/p' "$work/perms.json" | head -n 1), \"host_mshingles_s\": $(sed -n 's/.*"host_mshingles_s": \([0-9.e+]*\).*/\1/p' "$work/perms.json" | head -n 1)}"
    done
    rm -rf "$work/perms"
    result="{\"documents\": $n, \"perms\": [$rows]}"
}
