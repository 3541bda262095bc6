/* tsv_escape.c -- ids and paths in tab-separated text (docs/formats.md), and back.
 *
 * Runs of bytes that need no escape are copied whole. Bytes that are not UTF-8 can only come from a
 * path; each is written as \xhh, lower case, so that the file is UTF-8 and the path can be had back
 * from it. */
#include "base/error.h"
#include "json/json_write.h"

#include <string.h>

#include "base/utf8.h"

static const char escaped[] = "\\\t\n\r", letters[] = "\\tnr";
static const char digits[] = "0123456789abcdef";

static bm_status escape_valid(bm_buf *out, const char *text, size_t len, bm_error *err)
{
    size_t begin = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '\\' && (text[i] > '\r' || text[i] < '\t')) /* all but a few bytes */
            continue;
        const char *hit = memchr(escaped, text[i], sizeof escaped - 1);
        if (hit == NULL)
            continue;
        char escape[2] = {'\\', letters[hit - escaped]};
        BM_TRY(bm_buf_add(out, text + begin, i - begin, err));
        BM_TRY(bm_buf_add(out, escape, 2, err));
        begin = i + 1;
    }
    return bm_buf_add(out, text + begin, len - begin, err);
}

bm_status bm_tsv_escape(bm_buf *out, bm_str text, bm_error *err)
{
    size_t begun = out->len;
    bm_status status = BM_OK;
    for (size_t at = 0; at < text.len && status == BM_OK;) {
        size_t valid = bm_utf8_valid_prefix(text.data + at, text.len - at);
        status = escape_valid(out, text.data + at, valid, err);
        at += valid;
        if (status == BM_OK && at < text.len) {
            unsigned char c = (unsigned char)text.data[at++];
            char escape[4] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
            status = bm_buf_add(out, escape, sizeof escape, err);
        }
    }
    if (status != BM_OK)
        out->len = begun; /* as before */
    return status;
}

static int hex_digit(char c)
{
    const char *hit = memchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c, sizeof digits - 1);
    return hit == NULL ? -1 : (int)(hit - digits);
}

/* The byte that the escape at `at` (behind its backslash) stands for, or -1; *at moves past it. */
static int unescape_one(const char *text, size_t len, size_t *at)
{
    if (*at >= len)
        return -1;
    const char c = text[(*at)++], *hit = memchr(letters, c, sizeof letters - 1);
    if (hit != NULL)
        return escaped[hit - letters];
    if (c != 'x' || len - *at < 2)
        return -1;
    const int high = hex_digit(text[*at]), low = hex_digit(text[*at + 1]);
    *at += 2;
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

size_t bm_tsv_unescape(char *text, size_t len)
{
    const char *first = memchr(text, '\\', len);
    if (first == NULL)
        return len;
    size_t to = (size_t)(first - text);
    for (size_t at = to; at < len;) {
        if (text[at] != '\\') {
            text[to++] = text[at++];
            continue;
        }
        at++;
        int byte = unescape_one(text, len, &at);
        if (byte < 0)
            return SIZE_MAX;
        text[to++] = (char)byte;
    }
    return to;
}
