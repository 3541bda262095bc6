/* SPDX-License-Identifier: Apache-2.0 */
/* compression_kinds.c -- one row per kind: its name, the ending of file names, and its first bytes.
 * Decompression is in decompress.c.
 *
 * Tests: tests/unit/input/test_compression_kinds.c, tests/unit/input/test_refused_formats.c */
#include "input/compression_kinds.h"

#include <stdint.h>

/* Does `head` begin with "BZh", a digit, and the magic of a block or of the end? "BZh" alone may
 * begin a text. */
static bool begins_bz2(const char *head, size_t len)
{
    return len >= 10 && memcmp(head, "BZh", 3) == 0 && head[3] >= '1' && head[3] <= '9' &&
           (memcmp(head + 4, "1AY&SY", 6) == 0 || memcmp(head + 4, "\x17rE8P\x90", 6) == 0);
}

static const struct {
    const char *name, *ending;
    size_t n_magic;
    const char *magic;
    bool (*begins)(const char *head, size_t len); /* if a magic number is not enough */
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

/* Bytes of the skippable frame at head; may exceed len. If the size is not in these bytes, the
 * frame is taken to end with them. */
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

/* === refused formats ===
 *
 * Most formats are recognized by magic bytes at fixed offsets. Text in units of two or four bytes
 * (UTF-16, UTF-32) needs a closer check.
 *
 * Read as bytes, UTF-16 and UTF-32 would be texts without words. A byte order mark reveals them. A
 * file without one is recognized if it has at least eight bytes and its first eight units (all, if
 * it has fewer) are printable ASCII or white space in that encoding. */

#define PLAIN_UNITS 8u
#define PLAIN_BYTES 8u

#define ICONV(from) "iconv -f " from " -t UTF-8 FILE > NEW"

typedef struct mark {
    size_t at;
    const char *bytes;
    size_t len;
    bm_refused_format format;
} mark;

/* Compressed Parquet and Arrow files are refused, because tables are never decompressed as
 * streams. */
static const mark marks[] = {
    {0, "PAR1", 4, {"a Parquet file", "decompress it"}},
    {0, "ARROW1", 6, {"an Arrow file", "decompress it"}},
    {0, "PK\x03\x04", 4, {"a zip archive", "unzip it and name the directory"}},
    {0, "PK\x05\x06", 4, {"an empty zip archive", "unzip it and name the directory"}},
    {0, "PK\x07\x08", 4, {"a zip archive", "unzip it and name the directory"}},
    {257, "ustar", 5, {"a tar archive", "unpack it and name the directory"}},
    {0, "\x02\x21\x4C\x18", 4, {"an LZ4 file of the old format", "lz4 -dc FILE | lz4 > NEW.lz4"}},
    {0, "\xFF\xFE\0\0", 4, {"text in UTF-32", ICONV("UTF-32")}},
    {0, "\0\0\xFE\xFF", 4, {"text in UTF-32", ICONV("UTF-32")}},
    {0, "\xFF\xFE", 2, {"text in UTF-16", ICONV("UTF-16")}},
    {0, "\xFE\xFF", 2, {"text in UTF-16", ICONV("UTF-16")}},
};

static const struct {
    size_t width, at; /* width: bytes per unit; at: offset of the ASCII byte in a unit */
    bm_refused_format format;
} encodings[] = {
    {4, 0, {"text in UTF-32", ICONV("UTF-32LE")}},
    {4, 3, {"text in UTF-32", ICONV("UTF-32BE")}},
    {2, 0, {"text in UTF-16", ICONV("UTF-16LE")}},
    {2, 1, {"text in UTF-16", ICONV("UTF-16BE")}},
};

static bool is_plain(char c)
{
    return (c >= 0x20 && c < 0x7F) || c == '\t' || c == '\n' || c == '\r';
}

/* Do the first PLAIN_UNITS units of `width` bytes, or all if there are fewer, have plain ASCII at
 * byte `at` and zeros elsewhere? False if there are fewer than PLAIN_BYTES bytes. */
static bool in_units(const char *head, size_t len, size_t width, size_t at)
{
    size_t n = len / width < PLAIN_UNITS ? len / width : PLAIN_UNITS;
    if (n * width < PLAIN_BYTES || (n < PLAIN_UNITS && len % width != 0))
        return false;
    for (size_t i = 0; i < n * width; i++)
        if (i % width == at ? !is_plain(head[i]) : head[i] != 0)
            return false;
    return true;
}

bm_refused_format bm_refused_format_of(const char *head, size_t len)
{
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const mark *m = &marks[i];
        if (len >= m->at + m->len && memcmp(head + m->at, m->bytes, m->len) == 0)
            return m->format;
    }
    for (size_t i = 0; i < sizeof encodings / sizeof encodings[0]; i++)
        if (in_units(head, len, encodings[i].width, encodings[i].at))
            return encodings[i].format;
    return (bm_refused_format){NULL, NULL};
}
