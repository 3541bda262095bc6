/* SPDX-License-Identifier: Apache-2.0 */
/* wide.cl -- what both shapes of the kernels for coefficients of 64 bits share (affine64.h).
 *
 * Comes after affine32.h, band_keys.cl and affine64.h, before teams.cl and sign_gpu.cl, or sign_wide_cpu.cl. A scheme's row gives one of
 *
 *   BM_WIDE_LOW    legacy, text-dedup: low halves of hashes, values mod 2^61 - 1, of which the low 32 bits count
 *   BM_WIDE_PRIME  datatrove: values mod 2^61 - 1
 *   BM_WIDE_MIX    affine64: hashes mixed by fmix64, values mod 2^64
 *   BM_WIDE_LANCE  lance: values mod 2^64; the word is made of the minimum
 *
 * and BM_WORD, the type of a word (uint where it is not given). `coef`: a, b, and of lance c, padded with
 * zeros to BM_COEF_WORDS ulongs each.
 *
 * Words of 32 bits from parts of a document meet by atomic_min. There is none of 64 bits that every
 * device has, and none for lance: there the host gives the whole document to one chunk, which writes
 * its words alone. */

#if defined(BM_TEAM)
#define BM_COEF_WORDS (BM_EACH * BM_TEAM)
#if defined(BM_WIDE_LOW)
#define BM_LEAST uint
#else
#define BM_LEAST ulong
#endif
typedef ulong bm_wide;
#else
#define BM_COEF_WORDS (BM_LANES * BM_ACC * BM_PASSES)
#if BM_LANES == 4
#define BM_HALF_LANES 2
typedef ulong2 bm_wide;
#elif BM_LANES == 8
#define BM_HALF_LANES 4
typedef ulong4 bm_wide;
#else
#define BM_HALF_LANES 8
typedef ulong8 bm_wide;
#endif
#endif

/* What of a hash is multiplied. */
BM_INLINE ulong bm_wide_hash(ulong x)
{
#if defined(BM_WIDE_LOW)
    return x & 0xFFFFFFFFul;
#elif defined(BM_WIDE_MIX)
    return bm_fmix64(x);
#else
    return x;
#endif
}

/* Mod 2^61 - 1 as bm_mod_mersenne61 has it: where the sum is less than the modulus, their difference
 * wraps and is no minimum. */
BM_INLINE bm_wide bm_wide_value(bm_wide a, ulong h, bm_wide b)
{
    const bm_wide v = a * h + b;
#if defined(BM_WIDE_LOW) || defined(BM_WIDE_PRIME)
    const bm_wide sum = (v & BM_MERSENNE_61) + (v >> 61);
    const bm_wide left = min(sum, sum - BM_MERSENNE_61);
#if defined(BM_WIDE_LOW)
    return left & 0xFFFFFFFFul;
#else
    return left;
#endif
#else
    return v;
#endif
}

#if defined(BM_TEAM)
/* The same for one value, in fewer instructions of a GPU, as what is kept of it: least of the least
 * values. The sum is the modulus or more where the sum and 1 reach bit 61; then 2^61 - 1 less is one
 * more and bit 61 less. Under BM_WIDE_PRIME one more than the value is kept. */
BM_INLINE BM_LEAST bm_wide_kept(ulong a, ulong h, ulong b)
{
#if defined(BM_WIDE_LOW) || defined(BM_WIDE_PRIME)
    const ulong v = a * h + b;
    const uint thrice = (uint)(v >> 32) >> 29;
    const ulong more = (v & BM_MERSENNE_61) + (thrice + 1);
    const uint reached = (uint)(more >> 32) >> 29;
#if defined(BM_WIDE_LOW)
    return (uint)v + thrice + reached;
#else
    return (more & BM_MERSENNE_61) + reached;
#endif
#else
    return bm_wide_value(a, h, b);
#endif
}
#endif

/* The word `at` of a document of n units, by its least value. */
BM_INLINE BM_WORD bm_word(uint n, ulong least, __global const ulong *coef, uint at)
{
    if (n == 0)
        return ~(BM_WORD)0;
#if defined(BM_TEAM) && defined(BM_WIDE_PRIME)
    least -= 1;
#endif
#if defined(BM_WIDE_LANCE)
    return bm_lance_word(coef[2 * BM_COEF_WORDS + at], least);
#else
    return (BM_WORD)least;
#endif
}

/* The word of a part of a document to its place. */
BM_INLINE void bm_meet_word(volatile __global BM_WORD *place, BM_WORD word)
{
#if defined(BM_WIDE_LOW)
    atomic_min(place, word);
#else
    *place = word;
#endif
}

#if defined(BM_TEAM)
/* Units of sign_gpu.cl. */
#define BM_TURN 4
typedef ulong bm_coef;
#if defined(BM_WIDE_LOW)
typedef uint4 bm_unit;
#else
typedef ulong bm_unit;
#endif

BM_INLINE bm_unit bm_unit_hashes(bm_unit h)
{
#if defined(BM_WIDE_LOW)
    return h;
#else
    return bm_wide_hash(h);
#endif
}

BM_INLINE void bm_fold_hash(ulong h, const ulong *a, const ulong *b, BM_LEAST *m)
{
#pragma unroll
    for (uint j = 0; j < BM_EACH; ++j)
        m[j] = min(m[j], bm_wide_kept(a[j], h, b[j]));
}

BM_INLINE void bm_fold_unit(bm_unit h, const ulong *a, const ulong *b, BM_LEAST *m)
{
#if defined(BM_WIDE_LOW)
    bm_fold_hash(h.x, a, b, m);
    bm_fold_hash(h.y, a, b, m);
    bm_fold_hash(h.z, a, b, m);
    bm_fold_hash(h.w, a, b, m);
#else
    bm_fold_hash(h, a, b, m);
#endif
}
#endif
