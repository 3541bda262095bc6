# SPDX-License-Identifier: Apache-2.0
# inspect-amd.awk -- a row a kernel from clang's assembly for amdgcn; columns, loops and ops as in inspect-nvidia.awk. Registers are VGPRs;
# occupancy is clang's, in waves of the 8 that a SIMD of gfx90a holds. The metadata at the end has the figures.
/^[A-Za-z_][A-Za-z_0-9]*:/ { kernel = $1; sub(/:.*/, "", kernel); n = 0; split("", label); split("", loop_at) }
/^\.LBB[0-9_]*:/ { name = $1; sub(/:.*/, "", name); label[name] = n }
/^\t[a-z][a-z0-9_]+/ {
    text[n++] = $0
    if ($1 ~ /^s_(swappc|setpc|call)/) calls[kernel]++
    if ($1 ~ /^s_c?branch/ && $2 in label) see_loop(label[$2], n)
}
/^; Occupancy:/ { occupancy[kernel] = $3 * 100 / 8 }
/^    \.group_segment_fixed_size:/ { local_bytes = $2 }
/^    \.name:  / && $2 ~ /^bm_/ { entry = $2; order[++n_kernels] = entry; shared[entry] = local_bytes }
/^    \.private_segment_fixed_size:/ { scratch[entry] = $2 }
/^    \.[sv]gpr_spill_count:/ { spill[entry] += $2 * 4 }
/^    \.vgpr_count:/ { regs[entry] = $2 }
function see_loop(from, to,    i, wide, narrow, per, filled) {
    for (i = from; i < to - 1; i++)
        if (i in loop_at) return
    loop_at[to - 1] = from
    for (i = from; i < to; i++) {
        if (text[i] ~ /ds_read_b128|ds_read2_b64/) wide += 16 / hash_bytes
        else if (text[i] ~ /ds_read_b64/ && hash_bytes == 8) wide++
        else if (text[i] ~ /ds_read/) narrow++
        else if (text[i] ~ /ds_write_b128/ || (text[i] ~ /ds_write_b64/ && hash_bytes == 8)) filled++
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
        printf "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.3f\t%d\t%.2f\t%.2f\t%s\t%d\t%d\t%d\t%d\n", kernel, arch, regs[kernel], spill[kernel], scratch[kernel],
            shared[kernel], occupancy[kernel], calls[kernel], turn[kernel], ops[kernel], per_op[kernel], narrow_reads[kernel],
            kernel == "bm_sign" ? fraction(100, per_op[kernel], load[kernel], 1) : 0, kernel == "bm_sign" ? fraction(1000, per_op[kernel], load[kernel], 1) : 0,
            scheme, perms, each, team, teams
    }
}
