/* SPDX-License-Identifier: Apache-2.0 */
/* occurrence.h -- makes the element of a bag for the n-th occurrence of a shingle.
 *
 * Common subset of C11 and OpenCL C 1.2. Comes after affine32.h, whose types and fmix64 it uses.
 *
 * The element of the first occurrence is the shingle's hash h itself. The elements of later
 * occurrences are random numbers, drawn as by SplitMix64 (Steele, Lea, Flood 2014) from the seed h:
 * the finaliser fmix64 of a counter with an odd constant as its step.
 *
 * Elements collide no more often than hashes drawn at random:
 * - Elements of one shingle never collide: the counter values differ for n up to 2^64, and fmix64
 *   is a bijection.
 * - Elements of two shingles g and h at the same n never collide, for the same reason.
 * - At different n, or with a first occurrence, two elements collide only if g - h, or
 *   fmix64(h + ...) - g, has one particular value. Hashes are those of XXH3, which is independent
 *   of the constant and of fmix64, so the chance is one in 2^64 for each pair, as for two hashes.
 *
 * The low 32 bits, which schemes of 32-bit hashes sign, are as good: each bit of fmix64 depends on
 * all bits of its argument, each with a chance near 1/2. So the low halves are like those of
 * numbers drawn from 2^64 without repetition, and two collide with a chance of 2^-32, as for all
 * hashes. */
#ifndef BANDMILL_KERNELS_OCCURRENCE_H
#define BANDMILL_KERNELS_OCCURRENCE_H

#define BM_OCCURRENCE_STEP 0x9E3779B97F4A7C15UL

/* Return the element for occurrence n, n >= 1. */
BM_SHARED bm_u64 bm_occurrence(bm_u64 hash, bm_u32 n)
{
    return n <= 1u ? hash : bm_fmix64(hash + (n - 1u) * BM_OCCURRENCE_STEP);
}

#endif
