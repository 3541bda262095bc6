/* SPDX-License-Identifier: Apache-2.0 */
/* occurrence.h -- the element that the n-th occurrence of a shingle is in a bag, once for host and
 * device.
 *
 * Common subset of C11 and OpenCL C 1.2. Comes after affine32.h, whose types and fmix64 it uses.
 *
 * The first occurrence is the shingle's hash h itself. The others are the numbers that a generator
 * of the kind of SplitMix64 (Steele, Lea, Flood 2014) draws from the seed h: the finaliser fmix64
 * of a counter that goes in steps of an odd constant.
 *
 * Elements meet no more often than hashes drawn at random:
 * - Of one shingle never: counter values are different for n up to 2^64, and fmix64 is a bijection.
 * - Of two shingles g and h at the same n never, for the same reason.
 * - At different n, or with a first occurrence, where g - h, or fmix64(h + ...) - g, has one
 * certain value. Hashes are those of XXH3, which knows neither the constant nor fmix64: one in 2^64
 * for each pair of elements, as for two hashes. The low 32 bits, which schemes of 32 bits sign, are
 * as good: a bit of fmix64 depends on all bits of its argument, each with a chance near 1/2, and so
 * the low half of a bijection's values is that of numbers drawn without repetition from 2^64; two
 * meet once in 2^32, as of all hashes. */
#ifndef BANDMILL_KERNELS_OCCURRENCE_H
#define BANDMILL_KERNELS_OCCURRENCE_H

#define BM_OCCURRENCE_STEP 0x9E3779B97F4A7C15UL

/* n >= 1. */
BM_SHARED bm_u64 bm_occurrence(bm_u64 hash, bm_u32 n)
{
    return n <= 1u ? hash : bm_fmix64(hash + (n - 1u) * BM_OCCURRENCE_STEP);
}

#endif
