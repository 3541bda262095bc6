/* SPDX-License-Identifier: Apache-2.0 */
/* oph_donors.cl -- finds words for the empty bins of the scheme oph, for both shapes of kernels.
 *
 * Comes after affine32.h, oph.h and band_keys.cl, before sign_oph_*.cl. `coef` of these kernels
 * has, as src/sketch/scheme_oph.c writes it from the plan (oph_plan.h):
 *
 *   uints    a, b, and zeros up to BM_OPH_HEAD
 *   ushorts  order: the donors of each bin: the first four of every bin, then the next four of
 *            every bin, ...; BM_PERMS * BM_ROW
 *   ushorts  offers: [donor][bin], the rank of the donor, least is best; BM_PERMS * BM_ROW
 *
 *   bm_split_fill   fills the empty bins of split documents, after the chunks and before
 *                   bm_split_keys: a work-group of BM_SPLIT_GROUP work-items for each document;
 *                   BM_PERMS uints of local memory
 *
 * An empty bin reads its list four bins at a time, and finds its donor after about K / (filled
 * bins) bins. If at most BM_FEW bins are filled, it is cheaper to compare the offers of these
 * bins. */

#define BM_ROW ((BM_PERMS + 63) / 64 * 64)
#define BM_OPH_HEAD 16
#define BM_FEW (BM_PERMS < 64 ? 16 : BM_PERMS < 256 ? 24 : BM_PERMS < 512 ? 32 : 64)

BM_INLINE __global const ushort *bm_oph_order(__global const uint *coef)
{
    return (__global const ushort *)(coef + BM_OPH_HEAD);
}

BM_INLINE __global const ushort *bm_oph_offers(__global const uint *coef)
{
    return bm_oph_order(coef) + BM_PERMS * BM_ROW;
}

/* Return the word of the first filled bin on the list of `bin`, or BM_OPH_EMPTY if all bins are
 * empty. */
BM_INLINE uint bm_oph_ask(__global const ushort *order, __local const uint *met, uint bin)
{
    uint word = BM_OPH_EMPTY;
    for (uint step = 0; word == BM_OPH_EMPTY && step < BM_PERMS; step += 4) {
        const ushort4 donor = vload4(step / 4 * BM_PERMS + bin, order);
        const uint x = met[donor.x], y = met[donor.y], z = met[donor.z], w = met[donor.w];
        word = x != BM_OPH_EMPTY ? x : y != BM_OPH_EMPTY ? y : z != BM_OPH_EMPTY ? z : w;
    }
    return word;
}

__kernel __attribute__((reqd_work_group_size(BM_SPLIT_GROUP, 1, 1))) void
bm_split_fill(__global const uint4 *in, __global uint *words, __global const uint *coef, uint4 layout)
{
    __local uint met[BM_PERMS];
    const uint item = (uint)get_local_id(0);
    __global const uint *split = (__global const uint *)(in + layout.z);
    __global uint *row = words + layout.w + (size_t)split[get_group_id(0)] * BM_PERMS;
    for (uint bin = item; bin < BM_PERMS; bin += BM_SPLIT_GROUP)
        met[bin] = row[bin];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint bin = item; bin < BM_PERMS; bin += BM_SPLIT_GROUP)
        if (met[bin] == BM_OPH_EMPTY)
            row[bin] = bm_oph_ask(bm_oph_order(coef), met, bin);
}
