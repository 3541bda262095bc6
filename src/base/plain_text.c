/* plain_text.c -- which characters no terminal should be given: those that move its cursor, change
 * its state, begin a new line, or show what follows in another order than it stands. */
#include "base/plain_text.h"

#include "base/error.h"
#include "base/utf8.h"
#include "base/utf8_code.h"

#define LONGEST 4u /* bytes of a character */

static bool is_hidden(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || /* C0, DEL, C1 */
           code == 0x061C || code == 0x200E || code == 0x200F ||
           (code >= 0x2028 && code <= 0x202E) || /* line and paragraph separators, bidi */
           (code >= 0x2066 && code <= 0x2069);
}

size_t bm_text_next(const char *text, size_t len, uint32_t *code, bool *hidden)
{
    const char *at = text;
    *code = bm_utf8_next(&at, text + (len < LONGEST ? len : LONGEST));
    size_t bytes = (size_t)(at - text);
    if (bm_utf8_valid_prefix(text, bytes) != bytes) {
        *code = BM_NO_CHARACTER;
        bytes = 1;
    }
    *hidden = *code == BM_NO_CHARACTER || is_hidden(*code);
    return bytes;
}

bm_status bm_buf_add_plain(bm_buf *out, bm_str text, bm_error *err)
{
    const size_t begun = out->len;
    bm_status status = BM_OK;
    for (size_t at = 0; at < text.len;) {
        const size_t from = at;
        size_t bytes = 0;
        uint32_t code;
        bool hidden = false;
        for (; !hidden && at < text.len; at += bytes)
            bytes = bm_text_next(text.data + at, text.len - at, &code, &hidden);
        bytes = hidden ? bytes : 0; /* of the hidden one, behind which `at` stands */
        BM_TRY_OUT(bm_buf_add(out, text.data + from, at - bytes - from, err));
        for (; bytes > 0; bytes--)
            BM_TRY_OUT(
                bm_buf_add_format(out, err, "\\x%02x", (unsigned char)text.data[at - bytes]));
    }
out:
    if (status != BM_OK)
        out->len = begun;
    return status;
}
