/* SPDX-License-Identifier: Apache-2.0 */
/* test_refused_formats.c -- formats and encodings recognised by first bytes: those of
 * docs/inputs.md 2, and texts that only look like one. iconv(3) encodes the texts. */
#include <criterion/criterion.h>
#include <iconv.h>
#include <string.h>

#include "input/compression_kinds.h"

static const char *what_is(const char *head, size_t len)
{
    const char *what = bm_refused_format_of(head, len).what;
    return what != NULL ? what : "read";
}

#define IS(bytes, what) cr_expect_str_eq(what_is(bytes, sizeof(bytes) - 1), what)

Test(refused_formats, marks_are_known_and_their_beginnings_alone_are_not)
{
    static char tar[512];
    memcpy(tar + 257, "ustar", 5);
    IS("PAR1\x15\x04", "a Parquet file");
    IS("ARROW1\0\0", "an Arrow file");
    IS("PK\x03\x04", "a zip archive");
    IS("\x02\x21\x4C\x18", "an LZ4 file of the old format");
    IS("PAR", "read");
    IS("PK\x03", "read");
    cr_expect_str_eq(what_is(tar, sizeof tar), "a tar archive");
    cr_expect_str_eq(what_is(tar, 261), "read");
    IS("", "read");
}

/* Encodes the text. For encodings named without a byte order, iconv adds a byte order mark. */
static size_t encode(const char *to, const char *text, char *out, size_t cap)
{
    iconv_t how = iconv_open(to, "UTF-8");
    cr_assert(how != (iconv_t)-1);
    char *in = (char *)text, *at = out;
    size_t n_in = strlen(text), left = cap;
    cr_assert_eq(iconv(how, &in, &n_in, &at, &left), 0);
    iconv_close(how);
    return cap - left;
}

Test(refused_formats, utf_16_and_utf_32_are_told_by_a_mark_or_by_plain_text)
{
    static const struct {
        const char *encoding, *what, *hint;
    } cases[] = {{"UTF-16", "text in UTF-16", "-f UTF-16 "},
                 {"UTF-32", "text in UTF-32", "-f UTF-32 "},
                 {"UTF-16LE", "text in UTF-16", "-f UTF-16LE "},
                 {"UTF-16BE", "text in UTF-16", "-f UTF-16BE "},
                 {"UTF-32LE", "text in UTF-32", "-f UTF-32LE "},
                 {"UTF-32BE", "text in UTF-32", "-f UTF-32BE "}};
    static const char *const texts[] = {"{\"text\":\"\xE6\x97\xA5\xE6\x9C\xAC\"}\n", "a\tb\r\nc d",
                                        "four"};
    char out[400];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++) {
            size_t n = encode(cases[i].encoding, texts[j], out, sizeof out);
            bm_refused_format got = bm_refused_format_of(out, n);
            cr_expect_str_eq(got.what != NULL ? got.what : "read", cases[i].what, "%s of %zu",
                             cases[i].encoding, j);
            cr_expect(got.hint != NULL && strstr(got.hint, cases[i].hint), "%s", got.hint);
        }
    IS("\xFF\xFE", "text in UTF-16"); /* a mark and nothing else */
    IS("\xEF\xBB\xBF{}", "read");     /* UTF-8 */
}

Test(refused_formats, bytes_that_may_be_a_text_of_their_own_are_read)
{
    IS("a\0b\0", "read");                    /* too short to be sure */
    IS("a\0b\0c\0d", "read");                /* half a code unit is left over */
    IS("a\0b\0c\0\1\0e\0f\0g\0h\0", "read"); /* not printable */
    IS("a\0b\0cc\0d\0e\0f\0g\0h", "read");
    IS("\0\0\0\0\0\0\0\0", "read");
    IS("words with a \0 among them", "read");
    IS("\xFE word", "read");
}
