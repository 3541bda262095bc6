/* SPDX-License-Identifier: Apache-2.0 */
/* affine32.h -- the scheme affine32 and the band key, shared by host and device.
 *
 * Common subset of C11 and OpenCL C 1.2: integers only, no pointers. The includer names the types:
 * bm_u32 and bm_u64 are uint and ulong in OpenCL C, uint32_t and uint64_t in C (below).
 *
 * Sources: fmix32, fmix64: the finalisers of MurmurHash3 (A. Appleby, public domain). a*h + b mod
 * 2^32 with odd a: datasketch 2, scheme "affine32". Band key: k = band+1; for each word w: k =
 * k*0x9E3779B97F4A7C15 + w mod 2^64; key = fmix64(k). */
#ifndef BANDMILL_KERNELS_AFFINE32_H
#define BANDMILL_KERNELS_AFFINE32_H

#if defined(__OPENCL_C_VERSION__)
typedef uint bm_u32;
typedef ulong bm_u64;
#define BM_SHARED static inline
#else
#include <stdint.h>
typedef uint32_t bm_u32;
typedef uint64_t bm_u64;
#define BM_SHARED static inline
#endif

#define BM_BAND_MULTIPLIER 0x9E3779B97F4A7C15UL

BM_SHARED bm_u32 bm_fmix32(bm_u32 h)
{
    h ^= h >> 16;
    h *= 0x85EBCA6Bu;
    h ^= h >> 13;
    h *= 0xC2B2AE35u;
    h ^= h >> 16;
    return h;
}

/* Prepare a hash for the scheme nemo, which does not mix hashes, and only replaces a hash of 0 by
 * 1. */
BM_SHARED bm_u32 bm_not_zero32(bm_u32 h)
{
    return h == 0 ? 1 : h;
}

BM_SHARED bm_u64 bm_fmix64(bm_u64 k)
{
    k ^= k >> 33;
    k *= 0xFF51AFD7ED558CCDUL;
    k ^= k >> 33;
    k *= 0xC4CEB9FE1A85EC53UL;
    k ^= k >> 33;
    return k;
}

/* Return the value of a shingle in a permutation. h is premixed. */
BM_SHARED bm_u32 bm_affine32_value(bm_u32 a, bm_u32 h, bm_u32 b)
{
    return a * h + b;
}

/* To make a band key, begin with the band's number, add the band's words in order, and end with
 * fmix64. */
BM_SHARED bm_u64 bm_band_key_begin(bm_u32 band)
{
    return (bm_u64)band + 1u;
}

BM_SHARED bm_u64 bm_band_key_add(bm_u64 key, bm_u64 word)
{
    return key * BM_BAND_MULTIPLIER + word;
}

BM_SHARED bm_u64 bm_band_key_end(bm_u64 key)
{
    return bm_fmix64(key);
}

#endif
