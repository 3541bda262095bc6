/* id_set.c -- a table of numbers (base/hash_table.h) over one block of text. 19 to 29 bytes an id
 * beside its text. */
#include "model/id_set.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

void bm_id_set_reset(bm_id_set *set)
{
    bm_buf_reset(&set->text);
    bm_free(set->ends);
    bm_hash_table_reset(&set->table);
    memset(set, 0, sizeof *set);
}

bm_str bm_id_set_id(const bm_id_set *set, uint32_t number)
{
    uint64_t begin = number == 0 ? 0 : set->ends[number - 1];
    if (set->ends[number] == begin) /* of empty ids alone there is no array */
        return (bm_str){"", 0};
    return (bm_str){set->text.data + begin, (size_t)(set->ends[number] - begin)};
}

static uint64_t hash_again(const void *owner, uint32_t number, uint64_t seed)
{
    const bm_str id = bm_id_set_id(owner, number);
    return XXH3_64bits_withSeed(id.data, id.len, seed);
}

static bool has_id(const void *owner, uint32_t number, const void *key)
{
    const bm_str other = bm_id_set_id(owner, number), id = *(const bm_str *)key;
    return other.len == id.len && (id.len == 0 || memcmp(other.data, id.data, id.len) == 0);
}

uint64_t bm_id_set_bytes(uint64_t n, uint64_t text_bytes)
{
    return text_bytes + n * sizeof(uint64_t) + bm_hash_table_bytes(n) * 3 / 2;
}

bm_status bm_id_set_add(bm_id_set *set, bm_str id, uint32_t *number, bm_error *err)
{
    BM_TRY(bm_hash_table_reserve(&set->table, hash_again, set, err));
    const uint64_t hash = XXH3_64bits_withSeed(id.data, id.len, set->table.seed);
    const size_t at = bm_hash_table_find(&set->table, hash, has_id, set, &id);
    if (!bm_hash_table_is_free(&set->table, at)) {
        *number = bm_hash_table_number(&set->table, at);
        return BM_OK;
    }
    if (set->n >= BM_DOCS_MAX)
        return bm_fail(err, BM_ERR_INPUT, "more than %u documents in one run",
                       (unsigned)BM_DOCS_MAX);
    BM_TRY(bm_grow_array(&set->ends, &set->cap, set->n + 1, err));
    BM_TRY(bm_buf_add(&set->text, id.data, id.len, err));
    set->ends[set->n] = set->text.len;
    *number = (uint32_t)set->n++;
    bm_hash_table_put(&set->table, at, hash, *number);
    return BM_OK;
}

uint32_t bm_id_set_find(const bm_id_set *set, bm_str id)
{
    if (set->n == 0)
        return BM_ID_NONE;
    const uint64_t hash = XXH3_64bits_withSeed(id.data, id.len, set->table.seed);
    const size_t at = bm_hash_table_find(&set->table, hash, has_id, set, &id);
    return bm_hash_table_is_free(&set->table, at) ? BM_ID_NONE
                                                  : bm_hash_table_number(&set->table, at);
}
