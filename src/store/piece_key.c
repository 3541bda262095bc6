/* piece_key.c -- see piece_key.h.
 *
 * Tests: tests/unit/store/test_store_state.c */
#include "store/piece_key.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static char *put(char *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = bytes; i-- > 0;)
        *at++ = (char)(value >> 8 * i & 255);
    return at;
}

static uint64_t take(const char **at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | (unsigned char)*(*at)++;
    return value;
}

bm_str bm_piece_key_write(const bm_piece_key *key, char *out)
{
    char *at = out;
    *at++ = key->table;
    if (key->table == BM_KEY_POSTINGS) {
        at = put(at, key->run, 8);
        at = put(at, key->band, 4);
        at = put(at, key->first, 8);
        at = put(at, key->number, 4);
    } else if (key->table != BM_KEY_STATE) {
        at = put(at, key->number, 4);
        at = put(at, key->run, 8);
    }
    return (bm_str){out, (size_t)(at - out)};
}

bm_str bm_piece_key_note(bm_str name, char *out)
{
    out[0] = BM_KEY_NOTE;
    memcpy(out + 1, name.data, name.len);
    return (bm_str){out, name.len + 1};
}

uint64_t bm_note_name_hash(bm_str name)
{
    return XXH3_64bits(name.data, name.len);
}

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

int bm_piece_key_order(const bm_piece_key *a, const bm_piece_key *b)
{
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    if (a->table != BM_KEY_POSTINGS) {
        const int number = a->table == BM_KEY_NOTE ? 0 : order(a->number, b->number);
        return number != 0 || a->table == BM_KEY_NOTE ? number : order(a->run, b->run);
    }
    int first = order(a->run, b->run);
    first = first != 0 ? first : order(a->band, b->band);
    first = first != 0 ? first : order(a->first, b->first);
    return first != 0 ? first : order(a->number, b->number);
}

bool bm_piece_key_read(bm_str bytes, bm_piece_key *out)
{
    if (bytes.len == 0)
        return false;
    const char *at = bytes.data;
    *out = (bm_piece_key){.table = *at++};
    switch (out->table) {
    case BM_KEY_STATE:
        return bytes.len == 1;
    case BM_KEY_NOTE:
        out->first = bm_note_name_hash((bm_str){at, bytes.len - 1});
        return bytes.len > 1;
    case BM_KEY_POSTINGS:
        if (bytes.len != 25)
            return false;
        out->run = take(&at, 8);
        out->band = (uint32_t)take(&at, 4);
        out->first = take(&at, 8);
        out->number = (uint32_t)take(&at, 4);
        return true;
    case BM_KEY_DOCUMENTS:
    case BM_KEY_REMOVED:
        if (bytes.len != 13)
            return false;
        out->number = (uint32_t)take(&at, 4);
        out->run = take(&at, 8);
        return true;
    default:
        return false;
    }
}
