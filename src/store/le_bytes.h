/* le_bytes.h -- little-endian integers at any address, on a machine of either byte order. */
#ifndef BM_STORE_BYTES_LE_BYTES_H
#define BM_STORE_BYTES_LE_BYTES_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BM_LE(bits, value) (value)
#else
#define BM_LE(bits, value) __builtin_bswap##bits(value)
#endif

static inline uint16_t bm_le16_get(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return BM_LE(16, value);
}

static inline uint32_t bm_le32_get(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return BM_LE(32, value);
}

static inline uint64_t bm_le64_get(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return BM_LE(64, value);
}

static inline void bm_le32_put(uint8_t *at, uint32_t value)
{
    value = BM_LE(32, value);
    memcpy(at, &value, sizeof value);
}

static inline void bm_le64_put(uint8_t *at, uint64_t value)
{
    value = BM_LE(64, value);
    memcpy(at, &value, sizeof value);
}

#endif
