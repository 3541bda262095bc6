# SPDX-License-Identifier: Apache-2.0
# inspect-amd.awk -- a row a kernel from clang's assembly for amdgcn; variables, loops and ops as in inspect-nvidia.awk. Registers are VGPRs. The
# metadata at the end has the figures.
#
# The waves that a compute unit holds, over the most it can: by the registers of a SIMD, and by local memory, of which a unit has 64 KiB for all
# its SIMDs together. (clang's own figure gives each SIMD what they share.)
function occupancy(regs, shared,    rdna, waves, most, of_simd, by) {
    rdna = arch ~ /^gfx1/
    waves = up(group_of(kernel), warp)
    most = 32
    of_simd = rdna ? int(1536 / (up(regs, 24) * 24)) : int(512 / (up(regs, 8) * 8))
    by = (rdna ? 2 : 4) * of_simd
    if (by > most) by = most
    by = int(by / waves)
    shared = up(shared, rdna ? 1024 : 512) * (rdna ? 1024 : 512)
    if (shared > 0 && int(65536 / shared) < by) by = int(65536 / shared)
    if (waves > 1 && by > 16) by = 16 # groups that have barriers
    return by * waves * 100 / most
}
/^[A-Za-z_][A-Za-z_0-9]*:/ { kernel = $1; sub(/:.*/, "", kernel); n = 0; split("", label); split("", loop_at) }
# A label is the head of a loop where clang's comments call it that: blocks may also be placed so that a branch back is none.
/^\.LBB[0-9_]*:/ { at = $1; sub(/:.*/, "", at) }
/^(\.LBB[0-9_]*:)?[ \t]*;.*=>.*Loop Header/ { label[at] = n }
/^\t[a-z][a-z0-9_]+/ && $1 !~ /^s_(delay_alu|nop|clause)$/ {
    text[n++] = $0
    if ($1 ~ /^s_(swappc|setpc|call)/) calls[kernel]++
    if ($1 ~ /^s_c?branch/ && $2 in label) see_loop(label[$2], n)
}
/^    \.group_segment_fixed_size:/ { local_bytes = $2 }
/^    \.name:  / && $2 ~ /^bm_/ { entry = $2; order[++n_kernels] = entry; shared[entry] = local_bytes }
/^    \.private_segment_fixed_size:/ { scratch[entry] = $2 }
/^    \.[sv]gpr_spill_count:/ { spill[entry] += $2 * 4 }
/^    \.vgpr_count:/ { regs[entry] = $2 }
/^    \.wavefront_size:/ { warp = $2 }
function see_loop(from, to,    i, wide, narrow, per, filled) {
    for (i = from; i < to - 1; i++)
        if (i in loop_at) return
    loop_at[to - 1] = from
    for (i = from; i < to; i++) {
        if (text[i] ~ /ds_(read|load)_b128|ds_(read2|load_2addr)_b64/) wide += 16 / hash_bytes
        else if (text[i] ~ /ds_(read|load)_b64/ && hash_bytes == 8) wide++
        else if (text[i] ~ /ds_(read|load)/) narrow++
        else if (text[i] ~ /ds_(write|store)_b128/ || (text[i] ~ /ds_(write|store)_b64/ && hash_bytes == 8)) filled++
        else if (text[i] ~ /^\t(global|flat|buffer)_(store|atomic)/) return
    }
    if (kernel !~ /^bm_sign/) return
    if (filled > 0 && (to - from) / filled > load[kernel]) load[kernel] = (to - from) / filled
    if (wide + narrow == 0) return
    narrow_reads[kernel] += narrow
    per = wide > 0 ? (to - from) / (wide * each) : 999
    if (per > per_op[kernel]) { per_op[kernel] = per; turn[kernel] = to - from; ops[kernel] = wide * each }
}
END {
    for (k = 1; k <= n_kernels; k++) {
        kernel = order[k]
        row(regs[kernel], spill[kernel], scratch[kernel], shared[kernel], occupancy(regs[kernel], shared[kernel]), calls[kernel])
    }
}
