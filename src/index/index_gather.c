/* index_gather.c -- arrays that grow beside each other.
 *
 * Tests: tests/unit/index/test_index_gather.c, tests/cli/cases/index_add.sh, tests/cli/cases/index_unique.sh */
#include "index/index_gather.h"

#include <string.h>

#include "base/error.h"
#include "lsh/verify.h"

#define SORT_GRAIN 64u /* sets that a thread takes at once */

bm_status bm_gathered_reserve(bm_gathered *g, const bm_gather_shape *shape, size_t n, bm_error *err)
{
    BM_TRY(bm_grow_array(&g->docs, &g->room.docs, n, err));
    if (shape->sets)
        BM_TRY(bm_grow_array(&g->sets, &g->room.sets, n, err));
    if (!shape->sets)
        BM_TRY(bm_grow_array(&g->words, &g->room.words, n * shape->words, err));
    return bm_grow_array(&g->keys, &g->room.keys, n * shape->bands, err);
}

static bm_status make_room(bm_gathered *to, const bm_gather_shape *shape,
                           const bm_ingest_batch *batch, bm_error *err)
{
    BM_TRY(bm_gathered_reserve(to, shape, to->n + batch->n_docs, err));
    if (shape->sets)
        BM_TRY(bm_grow_array(&to->hashes, &to->room.hashes,
                             to->n_hashes + bm_shingle_batch_hashes(&batch->shingles), err));
    return BM_OK;
}

static void add_doc(bm_gathered *to, const bm_gather_shape *shape, const bm_ingest_batch *batch,
                    size_t i)
{
    const bm_ingest_doc *doc = &batch->docs[i];
    const bool is_signed = batch->status == BM_OK;
    const uint32_t first = shape->first_input;
    bm_store_doc *out = &to->docs[to->n + i];
    *out = (bm_store_doc){.id = {NULL, doc->id_len},
                          .content = is_signed ? bm_ingest_content(batch)[i] : (bm_hash128){0},
                          .text_bytes = doc->row.text_bytes,
                          .line = doc->row.line,
                          .input = first == UINT32_MAX ? first : first + doc->row.file,
                          .n_shingles = is_signed ? doc->row.n_shingles : 0};
    to->input_bytes += doc->row.text_bytes;
    if (!shape->sets || !is_signed)
        return;
    const uint64_t begin = batch->shingles.offsets[i];
    const size_t n = (size_t)(batch->shingles.offsets[i + 1] - begin);
    if (n > 0)
        memcpy(to->hashes + to->n_hashes, batch->shingles.hashes + begin, n * sizeof *to->hashes);
    to->n_hashes += n;
}

bm_status bm_gathered_add(bm_gathered *to, const bm_gather_shape *shape,
                          const bm_ingest_batch *batch, bm_error *err)
{
    const size_t n = batch->n_docs;
    BM_TRY(n == 0 ? BM_OK : make_room(to, shape, batch, err));
    BM_TRY(bm_buf_add(&to->ids, batch->ids.data, batch->ids.len, err));
    for (size_t i = 0; i < n; i++)
        add_doc(to, shape, batch, i);
    const bool is_signed = batch->status == BM_OK;
    to->broken = to->broken || !is_signed;
    if (n > 0 && is_signed)
        memcpy(to->keys + to->n * shape->bands, batch->keys, n * shape->bands * sizeof *to->keys);
    if (n > 0 && is_signed && !shape->sets)
        memcpy(to->words + to->n * shape->words, batch->words,
               n * shape->words * sizeof *to->words);
    to->n += n;
    to->place = batch->turn.place;
    return BM_OK;
}

static bm_status sort_sets(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const bm_gathered *g = ctx;
    size_t largest = 0;
    for (size_t i = begin; i < end; i++)
        largest = g->docs[i].n_shingles > largest ? g->docs[i].n_shingles : largest;
    const size_t cap = largest < BM_SORT_SCRATCH ? largest : BM_SORT_SCRATCH;
    uint64_t *scratch = NULL;
    BM_TRY(bm_new(&scratch, cap, err));
    for (size_t i = begin; i < end; i++)
        if (g->docs[i].n_shingles > 0)
            bm_hashes_sort_within(g->hashes + (g->sets[i] - g->hashes), g->docs[i].n_shingles,
                                  scratch, cap);
    bm_free(scratch);
    return BM_OK;
}

bm_status bm_gathered_settle(bm_gathered *g, const bm_gather_shape *shape, bm_pool *pool,
                             bm_error *err)
{
    size_t id = 0, hash = 0;
    for (size_t i = 0; i < g->n; i++) {
        g->docs[i].id.data = g->ids.data != NULL ? g->ids.data + id : NULL;
        id += g->docs[i].id.len;
        if (!shape->sets)
            continue;
        g->sets[i] = g->hashes != NULL ? g->hashes + hash : NULL;
        hash += g->docs[i].n_shingles;
    }
    return shape->sets && !shape->unsorted
               ? bm_pool_for(pool, (bm_pool_split){g->n, SORT_GRAIN}, sort_sets, g, err)
               : BM_OK;
}

void bm_gathered_drop(bm_gathered *g, const bm_gather_shape *shape, const bool *stays)
{
    size_t to = 0;
    for (size_t i = 0; i < g->n; i++) {
        if (!stays[i])
            continue;
        if (to != i) {
            g->docs[to] = g->docs[i];
            if (shape->sets)
                g->sets[to] = g->sets[i];
            else
                memcpy(g->words + to * shape->words, g->words + i * shape->words,
                       shape->words * sizeof *g->words);
            memcpy(g->keys + to * shape->bands, g->keys + i * shape->bands,
                   shape->bands * sizeof *g->keys);
        }
        to++;
    }
    g->n = to;
}

uint64_t bm_gathered_bytes(const bm_gathered *g)
{
    const bm_gather_room *room = &g->room;
    return g->ids.cap + room->docs * sizeof *g->docs + room->sets * sizeof *g->sets +
           room->hashes * sizeof *g->hashes + room->words * sizeof *g->words +
           room->keys * sizeof *g->keys;
}

bool bm_gathered_is_full(const bm_gathered *g, const bm_gather_shape *shape, uint64_t most)
{
    const uint64_t held = bm_gathered_bytes(g);
    const size_t each = sizeof *g->docs + (shape->sets ? sizeof *g->sets : 0) +
                        shape->bands * sizeof *g->keys + shape->words * sizeof *g->words;
    return held >= most && 2 * (g->ids.len + g->n * each + g->n_hashes * sizeof *g->hashes) >= held;
}

void bm_gathered_clear(bm_gathered *g)
{
    g->n = g->n_hashes = g->ids.len = 0;
    g->input_bytes = g->records = 0;
    g->broken = false;
    g->place = (bm_content_place){0};
}

void bm_gathered_reset(bm_gathered *g)
{
    bm_free(g->docs);
    bm_free(g->hashes);
    bm_free(g->sets);
    bm_free(g->words);
    bm_free(g->keys);
    bm_buf_reset(&g->ids);
    *g = (bm_gathered){0};
}
