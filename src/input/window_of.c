/* window_of.c -- the headers of RFC 8878 and of the xz file format, as far as the size of the window.
 *
 *     Zstandard   28 B5 2F FD | descriptor | window, unless it is a single segment | dictionary id |
 *                 size of the content, which is the window of a single segment
 *     xz          stream header (12 bytes) | size of the block header | flags | sizes, where the flags
 *                 say so | filters: id, size of properties, properties; of LZMA2 (id 21) one byte
 *
 * Tests: tests/unit/input/test_window_of.c */
#include "input/window_of.h"

#define STREAM_HEADER 12u
#define LZMA2_ID      0x21u
#define LZMA2_MOST    40u /* the dictionary of 4 GiB less a byte */

/* Little-endian. */
static uint64_t number_of(const unsigned char *bytes, size_t n)
{
    uint64_t value = 0;
    for (size_t i = n; i > 0; i--)
        value = value << 8 | bytes[i - 1];
    return value;
}

static uint64_t zst_window(const unsigned char *head, size_t len)
{
    static const size_t id_bytes[] = {0, 1, 2, 4}, size_bytes[] = {0, 2, 4, 8};
    if (len < 6 || number_of(head, 4) != 0xFD2FB528)
        return 0;
    const unsigned descriptor = head[4];
    if ((descriptor & 0x20) == 0) {
        const uint64_t base = UINT64_C(1) << (10 + (head[5] >> 3));
        return base + base / 8 * (head[5] & 7);
    }
    const size_t at = 5 + id_bytes[descriptor & 3],
                 n = descriptor >> 6 == 0 ? 1 : size_bytes[descriptor >> 6];
    return at + n > len ? 0 : number_of(head + at, n) + (n == 2 ? 256 : 0);
}

/* A number of seven bits a byte at *at, which moves behind it; false: it is cut short. */
static bool take_number(const unsigned char *head, size_t end, size_t *at, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; *at < end && shift < 63; shift += 7) {
        const unsigned byte = head[(*at)++];
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static uint64_t xz_window(const unsigned char *head, size_t len)
{
    uint64_t id, size;
    size_t at = STREAM_HEADER + 2;
    if (len < at || head[STREAM_HEADER] == 0) /* 0: no block, but the index */
        return 0;
    size_t end = STREAM_HEADER + (head[STREAM_HEADER] + 1u) * 4;
    end = end < len ? end : len;
    const unsigned flags = head[STREAM_HEADER + 1];
    for (unsigned bit = 0x40; bit <= 0x80; bit <<= 1) /* both sizes */
        if ((flags & bit) != 0 && !take_number(head, end, &at, &size))
            return 0;
    for (unsigned i = 0; i <= (flags & 3); i++) {
        if (!take_number(head, end, &at, &id) || !take_number(head, end, &at, &size) ||
            size > end - at)
            return 0;
        if (id == LZMA2_ID && size == 1 && head[at] <= LZMA2_MOST)
            return head[at] == LZMA2_MOST ? UINT32_MAX
                                          : (UINT64_C(2) | (head[at] & 1)) << (head[at] / 2 + 11);
        at += (size_t)size;
    }
    return 0;
}

uint64_t bm_window_of(bm_compression kind, const char *head, size_t len)
{
    const unsigned char *bytes = (const unsigned char *)head;
    return kind == BM_COMPRESSION_ZST  ? zst_window(bytes, len)
           : kind == BM_COMPRESSION_XZ ? xz_window(bytes, len)
                                       : 0;
}

bool bm_has_windows(bm_compression kind)
{
    return kind == BM_COMPRESSION_ZST || kind == BM_COMPRESSION_XZ;
}
