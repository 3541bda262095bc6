/* compression_kinds.c -- a row a kind: its name, the ending of a file's name, and its first bytes. */
#include "io/bytes/compression_kinds.h"

#include <string.h>

#include "io/bytes/name_ending.h"

static const struct {
    const char *name, *ending;
    size_t n_magic;
    const char *magic;
} kinds[BM_COMPRESSIONS] = {
    [BM_COMPRESSION_GZ] = {"gzip", ".gz", 2, "\x1F\x8B"},
    [BM_COMPRESSION_ZST] = {"Zstandard", ".zst", 4, "\x28\xB5\x2F\xFD"},
};

/* A skippable frame of Zstandard, with which parallel compressors begin. */
static bool is_skippable_frame(const char *head, size_t len)
{
    return len >= 4 && (head[0] & 0xF0) == 0x50 && memcmp(head + 1, "\x2A\x4D\x18", 3) == 0;
}

bm_compression bm_compression_of_bytes(const char *head, size_t len)
{
    for (unsigned kind = 1; kind < BM_COMPRESSIONS; kind++)
        if (len >= kinds[kind].n_magic && memcmp(head, kinds[kind].magic, kinds[kind].n_magic) == 0)
            return (bm_compression)kind;
    return is_skippable_frame(head, len) ? BM_COMPRESSION_ZST : BM_COMPRESSION_NONE;
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
