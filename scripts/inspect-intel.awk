# SPDX-License-Identifier: Apache-2.0
# inspect-intel.awk -- a row a kernel from what ocloc leaves: first the description inside its binary (.ze_info, as text), then the assembly
# of each kernel, which IGC dumps. Columns, loops and ops as in inspect-nvidia.awk; an instruction of fewer channels than the kernel
# has counts as a part of a slot, but the vector engine takes at least `native` of them at once. Registers are the 128 that every thread has.
#
# A kernel is compiled for 8, 16 or 32 channels, and its assembly is in a file of that name. Threads of a core are divided among groups by
# their local memory: 128 KiB, in powers of two, from 1 KiB.
function threads_of_core() { return arch == "pvc" ? 64 : arch == "tgllp" ? 112 : 128 }
function occupancy(shared,    threads, groups, most, bytes) {
    threads = up(group_of(kernel), simd[kernel])
    most = threads_of_core()
    groups = int(most / threads)
    for (bytes = 1024; bytes < shared; bytes *= 2) continue
    if (shared > 0 && int(131072 / bytes) < groups) groups = int(131072 / bytes)
    return groups * threads * 100 / most
}
FNR == 1 { file++; kernel = "" }
file == 1 && /^  - name: +bm_/ { named = $3; order[++n_kernels] = named }
file == 1 && /^  - name:/ && $3 !~ /^bm_/ { named = "" }
file == 1 && /simd_size:/ && named != "" { simd[named] = $2 }
file == 1 && /slm_size:/ { shared[named] = $2 }
file == 1 && /type: +scratch/ { in_scratch = 1 }
file == 1 && in_scratch && /^ +size:/ { scratch[named] += $2; in_scratch = 0 }
file == 1 { next }
/^\/\/\.kernel / {
    kernel = $2
    n = 0; split("", label); split("", loop_at); split("", turns_of)
    if (!(kernel in simd) || FILENAME !~ "_simd" simd[kernel] "_") kernel = ""
    # What stands for a kernel here is that of its last compilation.
    if (kernel != "") { spill[kernel] = 0; per_op[kernel] = 0; load[kernel] = 0; narrow_reads[kernel] = 0 }
}
kernel == "" { next }
/^\/\/\.spill size/ { spill[kernel] = $3 }
/^\/\// { next }
/^[_A-Za-z][_A-Za-z0-9]*:/ { at = $1; sub(/:.*/, "", at); label[at] = n; next }
/^ *(\([^)]*\) +)?[a-z][a-z0-9_.]* +[(_]/ {
    text[n] = $0
    channels = match($0, /\([0-9]+\|M[0-9]+\)/) ? substr($0, RSTART + 1) + 0 : 1
    slots[n++] = (channels > native ? channels : native) / simd[kernel]
    if ($0 ~ /[ \t]call[ \t]/) calls[kernel]++
    if ($0 !~ /(while|goto|goto\.b|jmpi|brc) +\(|jmpi /) next
    for (i = 1; i <= NF; i++)
        if ($i in label) { see_loop(label[$i], n); next }
}
function see_loop(from, to,    i, wide, narrow, per, filled, taken, multiplies) {
    for (i = from; i < to - 1; i++)
        if (i in loop_at) return
    loop_at[to - 1] = from
    for (i = from; i < to; i++) {
        if (text[i] ~ /load\.slm\.d32x4/) wide += 16 / hash_bytes
        else if (text[i] ~ /load\.slm\.d64x2/) wide += 2
        else if (text[i] ~ /load\.slm/) narrow++
        else if (text[i] ~ /store\.slm\.d(32x4|64x2|64)\./) filled++
        else if (text[i] ~ /(store|atomic_[a-z]+)\.ugm/) return
        taken += slots[i]
        if (text[i] ~ /[ \t](mul|mach|macl) /) multiplies += slots[i]
    }
    if (kernel !~ /^bm_sign/) return
    if (filled > 0 && taken / filled > load[kernel]) load[kernel] = taken / filled
    if (wide + narrow == 0) return
    narrow_reads[kernel] += narrow
    per = wide > 0 ? taken / (wide * each) : 999
    if (per > per_op[kernel]) {
        per_op[kernel] = per; turn[kernel] = taken; ops[kernel] = wide * each; multiply[kernel] = wide > 0 ? multiplies / (wide * each) : 0
    }
}
END {
    for (k = 1; k <= n_kernels; k++) {
        kernel = order[k]
        if (printed[kernel]++) continue
        warp = simd[kernel]
        row(128, spill[kernel], scratch[kernel], shared[kernel], occupancy(shared[kernel]), calls[kernel])
    }
}
