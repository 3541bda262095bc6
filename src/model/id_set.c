/* id_set.c -- an open-addressing table of tags and numbers, half full at most, over one block of
 * text. The 32-bit tag spares most looks at the ids. 24 to 40 bytes an id beside its text. */
#include "model/id_set.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

#define FIRST_SLOTS 1024u
#define TAG_MASK    UINT64_C(0xFFFFFFFF00000000)

void bm_id_set_reset(bm_id_set *set)
{
    bm_buf_reset(&set->text);
    bm_free(set->ends);
    bm_free(set->slots);
    memset(set, 0, sizeof *set);
}

bm_str bm_id_set_id(const bm_id_set *set, uint32_t number)
{
    uint64_t begin = number == 0 ? 0 : set->ends[number - 1];
    if (set->ends[number] == begin) /* of empty ids alone there is no array */
        return (bm_str){"", 0};
    return (bm_str){set->text.data + begin, (size_t)(set->ends[number] - begin)};
}

/* The slot of an id, or the free one where it belongs. */
static size_t slot_of(const bm_id_set *set, bm_str id, uint64_t hash)
{
    size_t at = (size_t)hash & (set->n_slots - 1);
    for (; set->slots[at] != 0; at = (at + 1) & (set->n_slots - 1)) {
        if (((set->slots[at] ^ hash) & TAG_MASK) != 0)
            continue;
        bm_str other = bm_id_set_id(set, (uint32_t)set->slots[at] - 1);
        if (other.len == id.len && (id.len == 0 || memcmp(other.data, id.data, id.len) == 0))
            break;
    }
    return at;
}

static bm_status rehash(bm_id_set *set, bm_error *err)
{
    size_t n_slots = set->n_slots == 0 ? FIRST_SLOTS : set->n_slots * 2;
    uint64_t *slots = bm_alloc_zero(n_slots, sizeof *slots);
    if (slots == NULL)
        return bm_fail_nomem(err, n_slots * sizeof *slots);
    for (size_t i = 0; i < set->n; i++) {
        bm_str id = bm_id_set_id(set, (uint32_t)i);
        uint64_t hash = XXH3_64bits(id.data, id.len);
        size_t at = (size_t)hash & (n_slots - 1);
        while (slots[at] != 0)
            at = (at + 1) & (n_slots - 1);
        slots[at] = (hash & TAG_MASK) | (uint64_t)(i + 1);
    }
    bm_free(set->slots);
    set->slots = slots;
    set->n_slots = n_slots;
    return BM_OK;
}

uint64_t bm_id_set_bytes(uint64_t n, uint64_t text_bytes)
{
    uint64_t n_slots = FIRST_SLOTS;
    if (2 * n > n_slots)
        n_slots = UINT64_C(1) << (64 - __builtin_clzll(2 * n - 1));
    return text_bytes + n * sizeof(uint64_t) + n_slots * sizeof(uint64_t) * 3 / 2;
}

bm_status bm_id_set_add(bm_id_set *set, bm_str id, uint32_t *number, bm_error *err)
{
    bm_status status = BM_OK;
    if (set->n * 2 >= set->n_slots)
        status = rehash(set, err);
    if (status != BM_OK)
        return status;
    uint64_t hash = XXH3_64bits(id.data, id.len);
    size_t at = slot_of(set, id, hash);
    if (set->slots[at] != 0) {
        *number = (uint32_t)set->slots[at] - 1;
        return BM_OK;
    }
    if (set->n >= BM_DOCS_MAX)
        return bm_fail(err, BM_ERR_INPUT, "more than %u documents in one run",
                       (unsigned)BM_DOCS_MAX);
    status = bm_grow_array(&set->ends, &set->cap, set->n + 1, err);
    if (status == BM_OK)
        status = bm_buf_add(&set->text, id.data, id.len, err);
    if (status != BM_OK)
        return status;
    set->ends[set->n] = set->text.len;
    *number = (uint32_t)set->n++;
    set->slots[at] = (hash & TAG_MASK) | (uint64_t)set->n;
    return BM_OK;
}

uint32_t bm_id_set_find(const bm_id_set *set, bm_str id)
{
    if (set->n_slots == 0)
        return BM_ID_NONE;
    uint64_t slot = set->slots[slot_of(set, id, XXH3_64bits(id.data, id.len))];
    return slot == 0 ? BM_ID_NONE : (uint32_t)slot - 1;
}
