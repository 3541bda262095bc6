/* doc_signer.c -- add, sign, read; clear and begin anew.
 *
 * Hashes are signed as they come and sorted afterwards: a minimum asks for no order.
 *
 * Tests: tests/unit/inmem/test_doc_signer.c */
#include "inmem/doc_signer.h"

#include "model/scheme_facts.h"
#include "cpu/cpu_backend.h"
#include "base/cpu.h"
#include "base/error.h"
#include "lsh/verify.h"
#include "sketch/scheme.h"

#define KEEP_HASHES ((size_t)1 << 20) /* that stay allocated between documents */

bm_status bm_doc_backend_open(const bm_doc_recipe *recipe, bm_backend **out, bm_error *err)
{
    const uint32_t keyed = recipe->bands * recipe->rows;
    const bm_backend_cfg cfg = {.sketch = *recipe->sketch,
                                .perms_used =
                                    recipe->words ? 0 : bm_scheme_words(recipe->sketch, keyed),
                                .bands = recipe->bands,
                                .rows = recipe->rows,
                                .device = "cpu",
                                .cpu = recipe->cpu,
                                .cache_dir = ""};
    return bm_backend_cpu.open(&cfg, out, err);
}

bm_status bm_doc_signer_init(bm_doc_signer *signer, const bm_doc_recipe *recipe,
                             bm_backend *backend, bm_error *err)
{
    *signer = (bm_doc_signer){
        .backend = backend,
        .bands = recipe->bands,
        .row_uints = bm_scheme_row_uints(recipe->sketch->scheme, recipe->sketch->perms),
        .wants_words = recipe->words,
        .sets_given = {.bag = recipe->text->bag}};
    BM_TRY(bm_isa_choose(recipe->cpu, &signer->sets_given.isa, err));
    return bm_text_hasher_init(&signer->hasher, recipe->text, recipe->cpu, err);
}

void bm_doc_signer_reset(bm_doc_signer *signer)
{
    bm_text_hasher_reset(&signer->hasher);
    bm_set_shingler_reset(&signer->sets_given);
    bm_shingle_batch_reset(&signer->batch);
    bm_free(signer->scratch);
    bm_free(signer->sets);
    bm_free(signer->n_shingles);
    bm_free(signer->keys);
    bm_free(signer->words);
    *signer = (bm_doc_signer){0};
}

void bm_doc_signer_clear(bm_doc_signer *signer)
{
    if (signer->batch.cap_hashes > KEEP_HASHES)
        bm_shingle_batch_reset(&signer->batch);
    else
        bm_shingle_batch_clear(&signer->batch);
}

void bm_doc_signer_limit(bm_doc_signer *signer, uint64_t bytes)
{
    bm_shingler_limit(signer->hasher.shingler, bytes);
}

uint64_t bm_doc_signer_needed(const bm_doc_signer *signer)
{
    return bm_shingler_needed(signer->hasher.shingler);
}

bm_status bm_doc_signer_add(bm_doc_signer *signer, bm_str text, bm_error *err)
{
    return bm_text_hasher_add(&signer->hasher, text, &signer->batch, err);
}

bm_status bm_doc_signer_add_hashes(bm_doc_signer *signer, const uint64_t *hashes, size_t n,
                                   bm_error *err)
{
    return bm_shingle_set_add(&signer->sets_given, hashes, n, &signer->batch, err);
}

static bm_status make_room(bm_doc_signer *s, bm_error *err)
{
    const size_t n = s->batch.n_docs;
    BM_TRY(bm_grow_array(&s->sets, &s->cap_sets, n, err));
    BM_TRY(bm_grow_array(&s->n_shingles, &s->cap_n_shingles, n, err));
    BM_TRY(bm_grow_array(&s->keys, &s->cap_keys, n * s->bands, err));
    if (s->wants_words)
        BM_TRY(bm_grow_array(&s->words, &s->cap_words, n * s->row_uints, err));
    return BM_OK;
}

static bm_status sort_sets(bm_doc_signer *s, bm_error *err)
{
    for (size_t i = 0; i < s->batch.n_docs; i++) {
        uint64_t *set = s->batch.hashes + s->batch.offsets[i];
        const size_t n = (size_t)(s->batch.offsets[i + 1] - s->batch.offsets[i]);
        BM_TRY(bm_grow_array(&s->scratch, &s->cap_scratch, n, err));
        bm_hashes_sort(set, n, s->scratch);
        s->sets[i] = set;
        s->n_shingles[i] = (uint32_t)n;
    }
    if (s->cap_scratch > KEEP_HASHES) {
        bm_free(s->scratch);
        s->scratch = NULL;
        s->cap_scratch = 0;
    }
    return BM_OK;
}

bm_status bm_doc_signer_sign(bm_doc_signer *signer, bm_error *err)
{
    BM_TRY(make_room(signer, err));
    if (signer->batch.n_docs == 0)
        return BM_OK;
    bm_sign_task task = {.offsets = signer->batch.offsets,
                         .hashes = signer->batch.hashes,
                         .n_docs = signer->batch.n_docs,
                         .words = signer->words,
                         .keys = signer->keys};
    BM_TRY(signer->backend->ops->submit(signer->backend, &task, err));
    BM_TRY(signer->backend->ops->wait(signer->backend, &task, err));
    return sort_sets(signer, err);
}
