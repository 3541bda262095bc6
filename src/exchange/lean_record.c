/* lean_record.c -- see the header.
 *
 * Tests: tests/unit/exchange/test_lean_record.c, tests/reference/test_exchange.py */
#include "exchange/lean_record.h"

#include <string.h>

#define PLAIN_HEAD 12u

/* By the code of a record; 0 stands for none. */
static const struct {
    const char *scheme;
    uint32_t word_bytes;
} codes[] = {{"legacy", 4}, {"affine32", 4}, {"affine64", 8}};
#define N_CODES (sizeof codes / sizeof codes[0])

bool bm_lean_word_bytes(const char *scheme, uint32_t *word_bytes)
{
    for (size_t code = 0; code < N_CODES; code++) {
        if (strcmp(codes[code].scheme, scheme) != 0)
            continue;
        *word_bytes = codes[code].word_bytes;
        return true;
    }
    return false;
}

size_t bm_lean_head_write(const bm_lean_head *head, char out[BM_LEAN_HEAD_MOST])
{
    uint8_t code = 0;
    while (strcmp(codes[code].scheme, head->scheme) != 0)
        code++;
    const int32_t k = code == 0 ? (int32_t)head->perms : -(int32_t)head->perms;
    memcpy(out, &head->seed, 8);
    memcpy(out + 8, &k, 4);
    if (code == 0)
        return PLAIN_HEAD;
    memcpy(out + PLAIN_HEAD, &code, 1);
    return BM_LEAN_HEAD_MOST;
}

size_t bm_lean_head_read(const char *data, size_t len, bm_lean_head *out)
{
    int32_t k;
    if (len < PLAIN_HEAD)
        return 0;
    memcpy(&out->seed, data, 8);
    memcpy(&k, data + 8, 4);
    const bool coded = k < 0;
    if (coded && len < BM_LEAN_HEAD_MOST)
        return 0;
    const uint8_t code = coded ? (uint8_t)data[PLAIN_HEAD] : 0;
    const bool known = code < N_CODES && (code > 0) == coded;
    out->perms = coded ? -(int64_t)k : k;
    out->scheme = known ? codes[code].scheme : NULL;
    out->word_bytes = known ? codes[code].word_bytes : 0;
    return coded ? BM_LEAN_HEAD_MOST : PLAIN_HEAD;
}
