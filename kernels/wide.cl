/* SPDX-License-Identifier: Apache-2.0 */
/* wide.cl -- what both shapes of the kernels for 64-bit coefficients (affine64.h) share.
 *
 * Comes after affine32.h, band_keys.cl and affine64.h, and before teams.cl and sign_gpu.cl, or
 * sign_wide_cpu.cl. A scheme's row defines one of
 *
 *   BM_WIDE_LOW    legacy, text-dedup: low halves of hashes; the low 32 bits of values
 *                  mod 2^61 - 1
 *   BM_WIDE_PRIME  datatrove: values mod 2^61 - 1
 *   BM_WIDE_MIX    affine64: hashes mixed by fmix64, values mod 2^64
 *   BM_WIDE_LANCE  lance: values mod 2^64; the word is made of the minimum
 *
 * and BM_WORD, the type of a word (default: uint). `coef` has a, b and, for lance, c, each padded
 * with zeros to BM_COEF_WORDS ulongs.
 *
 * 32-bit words of the parts of a document are merged by atomic_min. Words of 64 bits are not
 * merged, because not every device has atomic_min for 64 bits, and words of lance cannot be merged.
 * For these schemes, the host gives a whole document to one chunk, which alone writes the
 * document's words. */

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

/* Make the number that is multiplied by a coefficient from a hash. */
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

/* Return a*h + b, reduced mod 2^61 - 1 like bm_mod_mersenne61. If the sum is less than the modulus,
 * the difference wraps, and is not the minimum. */
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
/* Like bm_wide_value, for one value, with fewer GPU instructions, and in the form in which minima
 * are stored. If sum + 1 reaches bit 61, the sum is at least the modulus. To subtract 2^61 - 1, it
 * is then enough to add 1 and clear bit 61. With BM_WIDE_PRIME, the value plus one is stored. */
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

/* Return word `at` of a document of n units, computed from its least value. */
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

/* Store the word of a document at `to`. If the scheme can merge parts, merge the word of a part
 * with the word at `to`. */
BM_INLINE void bm_meet_word(volatile __global BM_WORD *to, BM_WORD word)
{
#if defined(BM_WIDE_LOW)
    atomic_min(to, word);
#else
    *to = word;
#endif
}

#if defined(BM_TEAM)
/* What sign_gpu.cl needs for these schemes: units, and the settings of its loop. */
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
