/* compression_kinds.c -- a row a kind: its name, the ending of a file's name, and its first bytes. How it
 * is taken off stands in decompress.c. */
#include "input/compression_kinds.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "input/name_ending.h"

/* "BZh", a digit, and the magic of a block or of the end: three letters alone may begin a text. */
static bool begins_bz2(const char *head, size_t len)
{
    return len >= 10 && memcmp(head, "BZh", 3) == 0 && head[3] >= '1' && head[3] <= '9' &&
           (memcmp(head + 4, "1AY&SY", 6) == 0 || memcmp(head + 4, "\x17rE8P\x90", 6) == 0);
}

static const struct {
    const char *name, *ending;
    size_t n_magic;
    const char *magic;
    bool (*begins)(const char *head, size_t len); /* where a magic is not enough */
} kinds[BM_COMPRESSIONS] = {
    [BM_COMPRESSION_NONE] = {.ending = ""},
    [BM_COMPRESSION_GZ] = {"gzip", ".gz", 2, "\x1F\x8B", NULL},
    [BM_COMPRESSION_ZST] = {"Zstandard", ".zst", 4, "\x28\xB5\x2F\xFD", NULL},
    [BM_COMPRESSION_XZ] = {"xz", ".xz", 6,
                           "\xFD"
                           "7zXZ\0",
                           NULL},
    [BM_COMPRESSION_BZ2] = {"bzip2", ".bz2", 0, NULL, begins_bz2},
    [BM_COMPRESSION_LZ4] = {"LZ4", ".lz4", 4, "\x04\x22\x4D\x18", NULL},
};

static bool is_skippable_frame(const char *head, size_t len)
{
    return len >= 4 && (head[0] & 0xF0) == 0x50 && memcmp(head + 1, "\x2A\x4D\x18", 3) == 0;
}

/* Bytes of the skippable frame at head, which may be more than are there. */
static uint64_t skippable_bytes(const char *head, size_t len)
{
    uint64_t n = 0;
    for (size_t i = 0; i < 4; i++)
        n |= len > 4 + i ? (uint64_t)(unsigned char)head[4 + i] << (8 * i) : 0;
    return len < 8 ? len : n + 8;
}

bm_compression bm_compression_of_bytes(const char *head, size_t len, bm_compression promised)
{
    bool skipped = false;
    while (is_skippable_frame(head, len)) {
        uint64_t n = skippable_bytes(head, len);
        skipped = true;
        head += n < len ? n : len;
        len -= n < len ? (size_t)n : len;
    }
    for (unsigned kind = 1; kind < BM_COMPRESSIONS; kind++) {
        const bool of_frames = kind == BM_COMPRESSION_ZST || kind == BM_COMPRESSION_LZ4;
        if (skipped && !of_frames)
            continue;
        if (kinds[kind].begins != NULL
                ? kinds[kind].begins(head, len)
                : len >= kinds[kind].n_magic &&
                      memcmp(head, kinds[kind].magic, kinds[kind].n_magic) == 0)
            return (bm_compression)kind;
    }
    if (!skipped)
        return BM_COMPRESSION_NONE;
    return promised == BM_COMPRESSION_LZ4 ? BM_COMPRESSION_LZ4 : BM_COMPRESSION_ZST;
}

bm_compression bm_compression_of_name(const char *name, size_t *len)
{
    for (unsigned kind = 1; kind < BM_COMPRESSIONS; kind++)
        if (bm_name_ends(name, *len, kinds[kind].ending)) {
            *len -= strlen(kinds[kind].ending);
            return (bm_compression)kind;
        }
    return BM_COMPRESSION_NONE;
}

const char *bm_compression_name(bm_compression kind)
{
    return kinds[kind].name;
}

const char *bm_compression_ending(bm_compression kind)
{
    return kinds[kind].ending;
}
