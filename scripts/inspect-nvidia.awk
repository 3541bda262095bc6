# SPDX-License-Identifier: Apache-2.0
# inspect-nvidia.awk -- a row a kernel from three files: PTX, what ptxas -v says, and SASS of nvdisasm.
#
# Variables: arch, name (how the row calls it), those of inspect-model.awk, hash_bytes (4, or 8 in kernels of 64-bit coefficients).
#
# The signature loops are the innermost loops of bm_sign that read local memory and write nowhere: a backward branch with no other one inside. A
# read of 128 bits is four shingles (two of 64 bits), so a turn does reads * 4 * each ops; all instructions of the turn count. Of several
# loops the worst is shown. The loops that fill the tile read global memory and write 128 bits of local memory (64 bits, a hash) at a time.
function low(x, step) { return int((x + step - 1) / step) * step }
# Warps an SM holds over the most it can: 65,536 registers in portions of 256 a warp, groups, local memory and 1 KiB a group.
function occupancy(regs, shared,    warps, groups, most, kib, by) {
    warps = up(group_of(kernel), 32)
    most = arch ~ /^sm_(80|90|100)$/ ? 64 : 48
    groups = arch ~ /^sm_(86|89|120)$/ ? (arch == "sm_86" ? 16 : 24) : 32
    kib = arch == "sm_80" ? 164 : arch ~ /^sm_(90|100)$/ ? 228 : 100
    by = int(65536 / (up(regs * 32, 256) * 256) / warps)
    if (by < groups) groups = by
    by = int(kib * 1024 / (up(shared, 128) * 128 + 1024))
    if (by < groups) groups = by
    by = int(most / warps)
    if (by < groups) groups = by
    return groups * warps * 100 / most
}
FNR == 1 { file++ }
file == 1 && /^[^\/]*[ \t;}]call[.a-z]*[ \t]/ { ptx_calls++ }
file == 2 && /Compiling entry function/ { split($0, part, "'"); kernel = part[2]; order[++n_kernels] = kernel }
file == 2 && /bytes stack frame/ {
    match($0, /[0-9]+ bytes stack/); scratch[kernel] = substr($0, RSTART) + 0
    match($0, /[0-9]+ bytes spill stores/); spill[kernel] = substr($0, RSTART) + 0
    match($0, /[0-9]+ bytes spill loads/); spill[kernel] += substr($0, RSTART) + 0
}
file == 2 && /Used [0-9]+ registers/ {
    match($0, /Used [0-9]+/); regs[kernel] = substr($0, RSTART + 5) + 0
    shared[kernel] = match($0, /[0-9]+ bytes smem/) ? substr($0, RSTART) + 0 : 0
}
file == 3 && /\.section[ \t]+\.text\./ {
    kernel = $0; sub(/.*\.text\./, "", kernel); sub(/,.*/, "", kernel)
    n = 0; split("", label); split("", loop_at)
}
file == 3 && /^\.L[^:]*:/ { at = $1; sub(/:.*/, "", at); label[at] = n }
file == 3 && /^ *\/\*[0-9a-f]+\*\// {
    text[n++] = $0
    # A CALL.REL.NOINC to a label of the kernel itself is how ptxas jumps out of a divergent loop; others are calls.
    if ($0 ~ /CALL/ && $0 !~ /CALL\.REL\.NOINC `\(\.L_x_/) calls[kernel]++
    if ($0 !~ /BRA/ || !match($0, /`\([^)]*\)/)) next
    target = substr($0, RSTART + 2, RLENGTH - 3)
    if (target in label) see_loop(label[target], n)
}
function see_loop(from, to,    i, wide, narrow, per, filled) {
    for (i = from; i < to - 1; i++)
        if (i in loop_at) return # not the innermost
    loop_at[to - 1] = from
    for (i = from; i < to; i++) {
        if (text[i] ~ /LDS\.128/) wide += 16 / hash_bytes
        else if (text[i] ~ /LDS\.64/ && hash_bytes == 8) wide++
        else if (text[i] ~ /LDS/) narrow++
        else if (text[i] ~ /STS\.128/ || (text[i] ~ /STS\.64/ && hash_bytes == 8)) filled++
        else if (text[i] ~ /STG|RED|ATOM/) return
    }
    if (kernel !~ /^bm_sign/) return # other kernels sum up there
    if (filled > 0 && (to - from) / filled > load[kernel]) load[kernel] = (to - from) / filled
    if (wide + narrow == 0) return
    narrow_reads[kernel] += narrow
    per = wide > 0 ? (to - from) / (wide * each) : 999
    if (per > per_op[kernel]) { per_op[kernel] = per; turn[kernel] = to - from; ops[kernel] = wide * each }
}
END {
    for (k = 1; k <= n_kernels; k++) {
        kernel = order[k]
        row(regs[kernel], spill[kernel], scratch[kernel], shared[kernel], occupancy(regs[kernel], shared[kernel]), calls[kernel] + ptx_calls)
    }
}
