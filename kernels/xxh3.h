/* SPDX-License-Identifier: Apache-2.0 */
/* xxh3.h -- XXH3_64bits (seed 0, default secret) of 1 to 240 bytes, shared by host and device.
 *
 * Common subset of C11 and OpenCL C 1.2. Comes after affine32.h, whose types it uses. Up to 8 bytes
 * after the hashed bytes are read but not used. Text is read in aligned 32-bit words, because a
 * device need not support other reads. With BM_TEXT_BYTES (OpenCL C only) it is read at any
 * address.
 *
 * Formula and secret: the xxHash specification (doc/xxhash_spec.md, "XXH3"); every length is tested
 * against the xxHash library. */
#ifndef BANDMILL_KERNELS_XXH3_H
#define BANDMILL_KERNELS_XXH3_H

#if defined(__OPENCL_C_VERSION__)
#define BM_XXH3_CONSTANT __constant
#else
#define BM_XXH3_CONSTANT static const
#endif

#if defined(BM_TEXT_BYTES)
#define BM_TEXT __global const uchar *

BM_SHARED bm_u32 bm_text32(BM_TEXT text, bm_u32 at)
{
    return as_uint(vload4(0, text + at));
}

BM_SHARED bm_u64 bm_text64(BM_TEXT text, bm_u32 at)
{
    return as_ulong(vload8(0, text + at));
}
#else
#if defined(__OPENCL_C_VERSION__)
#define BM_TEXT __global const uint *
#else
#define BM_TEXT const bm_u32 *
#endif

/* Return the bytes `skip` … skip+3 of two words, skip <= 3. */
BM_SHARED bm_u32 bm_text_shift(bm_u32 low, bm_u32 high, bm_u32 skip)
{
    return (bm_u32)(((bm_u64)high << 32 | low) >> (8u * skip));
}

BM_SHARED bm_u32 bm_text32(BM_TEXT text, bm_u32 at)
{
    return bm_text_shift(text[at >> 2], text[(at >> 2) + 1u], at & 3u);
}

BM_SHARED bm_u64 bm_text64(BM_TEXT text, bm_u32 at)
{
    const bm_u32 middle = text[(at >> 2) + 1u];
    const bm_u32 low = bm_text_shift(text[at >> 2], middle, at & 3u);
    return low | (bm_u64)bm_text_shift(middle, text[(at >> 2) + 2u], at & 3u) << 32;
}
#endif

/* Words of the secret, at the offsets 0, 8 … 120; 3, 11 … 107; 119 and 127. */
BM_XXH3_CONSTANT bm_u64 bm_xxh3_words[32] = {
    0xBE4BA423396CFEB8UL, 0x1CAD21F72C81017CUL, 0xDB979083E96DD4DEUL, 0x1F67B3B7A4A44072UL,
    0x78E5C0CC4EE679CBUL, 0x2172FFCC7DD05A82UL, 0x8E2443F7744608B8UL, 0x4C263A81E69035E0UL,
    0xCB00C391BB52283CUL, 0xA32E531B8B65D088UL, 0x4EF90DA297486471UL, 0xD8ACDEA946EF1938UL,
    0x3F349CE33F76FAA8UL, 0x1D4F0BC7C7BBDCF9UL, 0x3159B4CD4BE0518AUL, 0x647378D9C97E9FC8UL,
    0x81017CBE4BA42339UL, 0x6DD4DE1CAD21F72CUL, 0xA44072DB979083E9UL, 0xE679CB1F67B3B7A4UL,
    0xD05A8278E5C0CC4EUL, 0x4608B82172FFCC7DUL, 0x9035E08E2443F774UL, 0x52283C4C263A81E6UL,
    0x65D088CB00C391BBUL, 0x486471A32E531B8BUL, 0xEF19384EF90DA297UL, 0x76FAA8D8ACDEA946UL,
    0xBBDCF93F349CE33FUL, 0xE0518A1D4F0BC7C7UL, 0x7378D9C97E9FC831UL, 0xEBD33483ACC5EA64UL};

/* Combine the two halves of a 128-bit product by xor. */
BM_SHARED bm_u64 bm_xxh3_fold(bm_u64 a, bm_u64 b)
{
#if defined(__OPENCL_C_VERSION__)
    return a * b ^ mul_hi(a, b);
#else
    const bm_u64 a0 = (bm_u32)a, a1 = a >> 32, b0 = (bm_u32)b, b1 = b >> 32;
    const bm_u64 middle = a1 * b0 + (a0 * b0 >> 32);
    const bm_u64 cross = a0 * b1 + (bm_u32)middle;
    return a * b ^ (a1 * b1 + (middle >> 32) + (cross >> 32));
#endif
}

BM_SHARED bm_u64 bm_xxh3_rotate(bm_u64 h, bm_u64 n)
{
#if defined(__OPENCL_C_VERSION__)
    return rotate(h, n);
#else
    return h << n | h >> (64u - n);
#endif
}

BM_SHARED bm_u64 bm_xxh3_end(bm_u64 h)
{
    h ^= h >> 37;
    h *= 0x165667919E3779F9UL;
    return h ^ h >> 32;
}

BM_SHARED bm_u64 bm_xxh3_mix(BM_TEXT text, bm_u32 at, bm_u32 word)
{
    return bm_xxh3_fold(bm_text64(text, at) ^ bm_xxh3_words[word],
                        bm_text64(text, at + 8u) ^ bm_xxh3_words[word + 1u]);
}

/* 1 <= len <= 3: one word has every byte. */
BM_SHARED bm_u64 bm_xxh3_1to3(BM_TEXT text, bm_u32 at, bm_u32 len)
{
    const bm_u32 bytes = bm_text32(text, at);
    const bm_u32 first = bytes & 0xFFu, last = bytes >> (8u * (len - 1u)) & 0xFFu;
    const bm_u32 middle = bytes >> (8u * (len >> 1)) & 0xFFu;
    bm_u64 h = (first << 16 | middle << 24 | last | len << 8) ^ 0x87275A9Bu;
    h ^= h >> 33;
    h *= 0xC2B2AE3D27D4EB4FUL;
    h ^= h >> 29;
    h *= 0x165667B19E3779F9UL;
    return h ^ h >> 32;
}

BM_SHARED bm_u64 bm_xxh3_4to8(BM_TEXT text, bm_u32 at, bm_u32 len)
{
    bm_u64 h = bm_text32(text, at + len - 4u) + ((bm_u64)bm_text32(text, at) << 32);
    h ^= bm_xxh3_words[1] ^ bm_xxh3_words[2];
    h ^= bm_xxh3_rotate(h, 49) ^ bm_xxh3_rotate(h, 24);
    h *= 0x9FB21C651E98DF25UL;
    h ^= (h >> 35) + len;
    h *= 0x9FB21C651E98DF25UL;
    return h ^ h >> 28;
}

BM_SHARED bm_u64 bm_xxh3_swap(bm_u64 h)
{
    h = (h & 0x00FF00FF00FF00FFUL) << 8 | (h >> 8 & 0x00FF00FF00FF00FFUL);
    h = (h & 0x0000FFFF0000FFFFUL) << 16 | (h >> 16 & 0x0000FFFF0000FFFFUL);
    return bm_xxh3_rotate(h, 32);
}

BM_SHARED bm_u64 bm_xxh3_9to16(BM_TEXT text, bm_u32 at, bm_u32 len)
{
    const bm_u64 low = bm_text64(text, at) ^ (bm_xxh3_words[3] ^ bm_xxh3_words[4]);
    const bm_u64 high = bm_text64(text, at + len - 8u) ^ (bm_xxh3_words[5] ^ bm_xxh3_words[6]);
    return bm_xxh3_end(len + bm_xxh3_swap(low) + high + bm_xxh3_fold(low, high));
}

/* There are two mixes, and two more for each further 32 bytes. */
BM_SHARED bm_u64 bm_xxh3_17to128(BM_TEXT text, bm_u32 at, bm_u32 len)
{
    bm_u64 h = len * 0x9E3779B185EBCA87UL;
    for (bm_u32 i = 0; i <= (len - 1u) / 32u; ++i) {
        h += bm_xxh3_mix(text, at + 16u * i, 4u * i);
        h += bm_xxh3_mix(text, at + len - 16u * (i + 1u), 4u * i + 2u);
    }
    return bm_xxh3_end(h);
}

BM_SHARED bm_u64 bm_xxh3_129to240(BM_TEXT text, bm_u32 at, bm_u32 len)
{
    bm_u64 h = len * 0x9E3779B185EBCA87UL;
    for (bm_u32 i = 0; i < 8u; ++i)
        h += bm_xxh3_mix(text, at + 16u * i, 2u * i);
    h = bm_xxh3_end(h);
    for (bm_u32 i = 8; i < len / 16u; ++i)
        h += bm_xxh3_mix(text, at + 16u * i, 2u * i);
    return bm_xxh3_end(h + bm_xxh3_mix(text, at + len - 16u, 30u));
}

/* Return the hash of the text bytes at … at+len-1, 1 <= len <= 240. */
BM_SHARED bm_u64 bm_xxh3(BM_TEXT text, bm_u32 at, bm_u32 len)
{
    if (len <= 8u)
        return len <= 3u ? bm_xxh3_1to3(text, at, len) : bm_xxh3_4to8(text, at, len);
    if (len <= 16u)
        return bm_xxh3_9to16(text, at, len);
    return len <= 128u ? bm_xxh3_17to128(text, at, len) : bm_xxh3_129to240(text, at, len);
}

#endif
