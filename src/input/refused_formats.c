/* refused_formats.c -- marks at fixed places, and one that needs a closer look: text in units of two or four
 * bytes.
 *
 * UTF-16 and UTF-32 read as bytes would be texts without words. A byte order mark tells them; without
 * one, the first eight units (all, of a shorter file, and eight bytes at least) must be printable ASCII
 * or white space in that encoding. */
#include "input/refused_formats.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PLAIN_UNITS 8u
#define PLAIN_BYTES 8u

#define ICONV(from) "iconv -f " from " -t UTF-8 FILE > NEW"

typedef struct mark {
    size_t at;
    const char *bytes;
    size_t len;
    bm_refused_format format;
} mark;

/* Files of tables are none of these where they stand as they are (input). */
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
    size_t width, at; /* bytes of a unit, and which of them is that of ASCII */
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

/* Are these units of `width` bytes, of which the one at `at` is plain ASCII and the others are zero? */
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
