/* search.c -- candidates of a batch to verified answers.
 *
 *     hits of each band (search_hits.c), sorted    |  part 0  |   part 1   |  part 2 ...
 *     a part: its slices of all lists, merged, sorted, each hit once
 *             -> each number read once, in the order of the file, and compared with all that found it
 *     answers of all parts -> by document, best first
 *
 * Parts are cut so that each has about as many hits; threads share them. What a part's answers are does
 * not depend on where it was cut, and the order at the end is total, so that neither threads nor batch
 * change anything.
 *
 * The sizes of two sets alone often tell that they cannot reach the threshold: then the set is not read.
 *
 * Any number of threads may search a view, each with a result (and a pool, or none) of its own.
 *
 * Tests: tests/unit/index/test_search.c */
#include "pipeline/index/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/verify.h"
#include "pipeline/index/search_hits.h"
#include "sketch/scheme.h"

#define PARTS_A_THREAD 8u  /* so that all threads end at about the same time */
#define HIT_BYTES      64u /* that a hit takes on its way to an answer */
#define HITS_LEAST     ((size_t)1 << 12)
#define SORT_GRAIN     64u
#define PLACES_AHEAD   16u /* hits before a document is compared */
#define DOCS_AHEAD     8u

typedef struct found {
    uint32_t doc;
    bm_answer answer;
} found;

typedef struct part {
    uint64_t begin, end; /* hits from begin on and below end; end UINT64_MAX: all the rest */
    found *list;
    size_t n, cap;
    uint64_t candidates, verified;
} part;

typedef struct search {
    const bm_search_cfg *cfg;
    const bm_search_batch *batch;
    uint32_t *weights; /* for how many documents each answers; NULL: for itself */
    bm_search_hits hits;
    part *parts;
    size_t n_parts;
} search;

/* The document of the index that is being compared. */
typedef struct target {
    uint32_t number;
    bm_store_doc doc;
    bool read; /* its set, or words */
    uint64_t *set;
    uint32_t *words;
    size_t cap_set;
} target;

/* --- one document of the index --- */

static bm_status target_find(const search *s, uint32_t number, target *t, bm_error *err)
{
    bm_status status = bm_store_view_doc(s->cfg->view, number, &t->doc, err);
    if (status == BM_NOT_FOUND)
        return bm_fail(err, BM_ERR_FORMAT,
                       "the index is damaged: its bands name document %u, which is not there",
                       (unsigned)number);
    t->number = number;
    t->read = false;
    return status;
}

static bm_status target_read(const search *s, target *t, bm_error *err)
{
    const bm_store_facts *facts = s->cfg->facts;
    bm_status status;
    if (t->read)
        return BM_OK;
    if (facts->kind == BM_STORE_SIGNATURES) {
        status = bm_store_doc_words(&t->doc, t->words, facts->words, err);
    } else if (t->doc.n_shingles > t->doc.body.len) { /* a hash takes more than a byte */
        return bm_fail(err, BM_ERR_FORMAT,
                       "the index is damaged: document %u has a set of another size",
                       (unsigned)t->number);
    } else {
        status = bm_grow_array(&t->set, &t->cap_set, t->doc.n_shingles, err);
        if (status == BM_OK)
            status = bm_store_doc_set(&t->doc, t->set, err);
    }
    t->read = status == BM_OK;
    return status;
}

/* *similarity: less than 0 where it is below the threshold. */
static bm_status compare(const search *s, uint32_t doc, target *t, double *similarity,
                         bm_error *err)
{
    const bm_search_batch *batch = s->batch;
    const bm_store_facts *facts = s->cfg->facts;
    const double threshold = s->cfg->threshold;
    const uint32_t n = batch->n_shingles[doc];
    *similarity = -1;
    if (facts->kind == BM_STORE_SETS &&
        bm_jaccard_least_common(n, t->doc.n_shingles, threshold) == SIZE_MAX)
        return BM_OK;
    bm_status status = target_read(s, t, err);
    if (status != BM_OK)
        return status;
    *similarity =
        facts->kind == BM_STORE_SETS
            ? bm_jaccard_at_least(batch->sets[doc], n, t->set, t->doc.n_shingles, threshold)
            : bm_agreement_at_least(batch->words + (size_t)doc * facts->words, t->words,
                                    (bm_word_rows){facts->words, s->cfg->word_bytes}, threshold);
    return BM_OK;
}

/* --- a part --- */

/* The first hit of the list that is not below `hit`. */
static size_t lower_bound(const bm_hit_list *list, uint64_t hit)
{
    size_t begin = 0, end = list->n;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (list->list[middle] < hit)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* The hits of a part, from all lists, ascending, each once. */
static bm_status gather(const search *s, const part *p, bm_hit_list *out, bm_error *err)
{
    for (size_t i = 0; i < s->hits.n_lists; i++) {
        const bm_hit_list *list = &s->hits.lists[i];
        const size_t begin = lower_bound(list, p->begin);
        const size_t n = (p->end == UINT64_MAX ? list->n : lower_bound(list, p->end)) - begin;
        bm_status status = bm_grow_array(&out->list, &out->cap, out->n + n, err);
        if (status != BM_OK)
            return status;
        if (n > 0)
            memcpy(out->list + out->n, list->list + begin, n * sizeof *out->list);
        out->n += n;
    }
    return s->hits.n_lists == 1 ? BM_OK : bm_hits_sort(out->list, &out->n, err);
}

static bool is_same_id(const search *s, uint32_t doc, const target *t)
{
    if (!s->cfg->skip_same_id)
        return false;
    const bm_str id = s->batch->ids[doc];
    return id.len == t->doc.id.len && memcmp(id.data, t->doc.id.data, id.len) == 0;
}

/* Fetch what is compared next: the place of a document, and, when that is there, its bytes. */
static inline void expect(const search *s, const bm_hit_list *hits, size_t i)
{
    if (i + PLACES_AHEAD < hits->n)
        bm_store_view_expect(s->cfg->view, (uint32_t)(hits->list[i + PLACES_AHEAD] >> 32), false);
    if (i + DOCS_AHEAD < hits->n)
        bm_store_view_expect(s->cfg->view, (uint32_t)(hits->list[i + DOCS_AHEAD] >> 32), true);
}

static bm_status compare_hits(const search *s, part *p, const bm_hit_list *hits, target *t,
                              bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < hits->n; i++) {
        const uint32_t number = (uint32_t)(hits->list[i] >> 32), doc = (uint32_t)hits->list[i];
        const uint32_t weight = s->weights != NULL ? s->weights[doc] : 1;
        double similarity = -1;
        expect(s, hits, i);
        p->candidates += weight;
        if (i == 0 || number != t->number)
            status = target_find(s, number, t, err);
        if (status != BM_OK || is_same_id(s, doc, t))
            continue;
        p->verified += weight;
        status = compare(s, doc, t, &similarity, err);
        if (status != BM_OK || similarity < 0)
            continue;
        status = bm_grow_array(&p->list, &p->cap, p->n + 1, err);
        if (status == BM_OK)
            p->list[p->n++] = (found){doc, {number, similarity}};
    }
    return status;
}

static bm_status do_part(const search *s, part *p, bm_error *err)
{
    const uint32_t words = s->cfg->facts->words;
    const bool whole = s->n_parts == 1 && s->hits.n_lists == 1;
    bm_hit_list own = {0};
    target t = {0};
    bm_status status = BM_OK;
    if (s->cfg->facts->kind == BM_STORE_SIGNATURES) {
        t.words = bm_alloc(words, sizeof *t.words);
        if (t.words == NULL)
            return bm_fail_nomem(err, words * sizeof *t.words);
    }
    if (!whole)
        status = gather(s, p, &own, err);
    if (status == BM_OK)
        status = compare_hits(s, p, whole ? &s->hits.lists[0] : &own, &t, err);
    bm_free(own.list);
    bm_free(t.set);
    bm_free(t.words);
    return status;
}

static bm_status do_parts(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    search *s = ctx;
    bm_status status = BM_OK;
    for (size_t i = begin; status == BM_OK && i < end; i++)
        status = do_part(s, &s->parts[i], err);
    return status;
}

/* Cut where the longest list has equal shares: the others are much like it. */
static bm_status cut_parts(search *s, bm_error *err)
{
    const bm_hit_list *longest = &s->hits.lists[0];
    size_t all = 0;
    for (size_t i = 0; i < s->hits.n_lists; i++) {
        all += s->hits.lists[i].n;
        if (s->hits.lists[i].n > longest->n)
            longest = &s->hits.lists[i];
    }
    s->n_parts = 1;
    if (s->cfg->pool != NULL && all >= BM_SEARCH_TOGETHER)
        s->n_parts = (size_t)bm_pool_size(s->cfg->pool) * PARTS_A_THREAD;
    if (s->n_parts > longest->n)
        s->n_parts = longest->n == 0 ? 1 : longest->n;
    s->parts = bm_alloc_zero(s->n_parts, sizeof *s->parts);
    if (s->parts == NULL)
        return bm_fail_nomem(err, s->n_parts * sizeof *s->parts);
    for (size_t i = 0; i < s->n_parts; i++) {
        if (i > 0)
            s->parts[i].begin = s->parts[i - 1].end;
        s->parts[i].end =
            i + 1 == s->n_parts ? UINT64_MAX : longest->list[longest->n / s->n_parts * (i + 1)];
    }
    return BM_OK;
}

/* --- answers --- */

static int best_first(const void *x, const void *y)
{
    const bm_answer *a = x, *b = y;
    if (a->similarity != b->similarity)
        return a->similarity > b->similarity ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Put those of each document in order, and drop what is beyond the best `top`. */
static void order_answers(const search *s, bm_search_result *result)
{
    uint64_t n = 0, begin = 0;
    for (size_t i = 0; i < result->n; i++) {
        const uint64_t end = result->begin[i + 1];
        uint64_t count = end - begin;
        if (count > 1)
            qsort(result->list + begin, (size_t)count, sizeof *result->list, best_first);
        if (s->cfg->top != 0 && count > s->cfg->top)
            count = s->cfg->top;
        if (n != begin && count > 0)
            memmove(result->list + n, result->list + begin, (size_t)count * sizeof *result->list);
        begin = end;
        n += count;
        result->begin[i + 1] = n;
    }
}

static bm_status give_answers(const search *s, size_t n, bm_search_result *result, bm_error *err)
{
    size_t all = 0;
    for (size_t i = 0; i < s->n_parts; i++)
        all += s->parts[i].n;
    bm_status status = bm_grow_array(&result->begin, &result->cap_begin, n + 2, err);
    if (status == BM_OK)
        status = bm_grow_array(&result->list, &result->cap_list, all, err);
    if (status != BM_OK)
        return status;
    /* begin[i + 2] counts, then begin[i + 1] is where the next of document i goes. */
    memset(result->begin, 0, (n + 2) * sizeof *result->begin);
    for (size_t i = 0; i < s->n_parts; i++)
        for (size_t k = 0; k < s->parts[i].n; k++)
            result->begin[s->parts[i].list[k].doc + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        result->begin[i] += result->begin[i - 1];
    for (size_t i = 0; i < s->n_parts; i++) {
        const part *p = &s->parts[i];
        for (size_t k = 0; k < p->n; k++)
            result->list[result->begin[p->list[k].doc + 1]++] = p->list[k].answer;
        result->candidates += p->candidates;
        result->verified += p->verified;
    }
    result->n = n;
    order_answers(s, result);
    return BM_OK;
}

/* --- the search --- */

/* Documents that found something. */
typedef struct comparable {
    const bm_search_batch *batch;
    uint32_t *docs;
    size_t n;
} comparable;

static bm_status sort_some(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const comparable *c = ctx;
    const bm_search_batch *batch = c->batch;
    size_t largest = 16;
    for (size_t i = begin; i < end; i++)
        largest = batch->n_shingles[c->docs[i]] > largest ? batch->n_shingles[c->docs[i]] : largest;
    const size_t cap = largest < BM_SORT_SCRATCH ? largest : BM_SORT_SCRATCH;
    uint64_t *scratch = bm_alloc(cap, sizeof *scratch);
    if (scratch == NULL)
        return bm_fail_nomem(err, cap * sizeof *scratch);
    for (size_t i = begin; i < end; i++) {
        const uint64_t *set = batch->sets[c->docs[i]];
        bm_hashes_sort_within(batch->unsorted + (set - batch->unsorted),
                              batch->n_shingles[c->docs[i]], scratch, cap);
    }
    bm_free(scratch);
    return BM_OK;
}

/* Most documents of a batch may be candidates of nothing: their sets stay as they are. */
static bm_status sort_sets(const search *s, size_t n, bm_error *err)
{
    comparable c = {.batch = s->batch};
    if (s->batch->unsorted == NULL)
        return BM_OK;
    uint8_t *has = bm_alloc_zero(n, sizeof *has);
    c.docs = bm_alloc(n, sizeof *c.docs);
    bm_status status =
        has == NULL || c.docs == NULL ? bm_fail_nomem(err, n * sizeof *c.docs) : BM_OK;
    for (size_t i = 0; status == BM_OK && i < s->hits.n_lists; i++)
        for (size_t k = 0; k < s->hits.lists[i].n; k++)
            has[(uint32_t)s->hits.lists[i].list[k]] = 1;
    for (size_t i = 0; status == BM_OK && i < n; i++)
        if (has[i])
            c.docs[c.n++] = (uint32_t)i;
    if (status == BM_OK && s->cfg->pool != NULL)
        status = bm_pool_for(s->cfg->pool, (bm_pool_split){c.n, SORT_GRAIN}, sort_some, &c, err);
    else if (status == BM_OK)
        status = sort_some(&c, 0, 0, c.n, err);
    bm_free(has);
    bm_free(c.docs);
    return status;
}

static bm_status weigh(search *s, size_t n, bm_error *err)
{
    if (s->batch->same == NULL)
        return BM_OK;
    s->weights = bm_alloc_zero(n, sizeof *s->weights);
    if (s->weights == NULL)
        return bm_fail_nomem(err, n * sizeof *s->weights);
    for (size_t i = 0; i < n; i++)
        s->weights[s->batch->same[i]]++;
    return BM_OK;
}

static bm_status answer_hits(search *s, size_t n, bm_search_result *result, bm_error *err)
{
    bm_status status = weigh(s, n, err);
    if (status == BM_OK)
        status = sort_sets(s, n, err);
    if (status == BM_OK)
        status = cut_parts(s, err);
    if (status == BM_OK && s->n_parts == 1)
        status = do_part(s, &s->parts[0], err);
    else if (status == BM_OK)
        status = bm_pool_for(s->cfg->pool, (bm_pool_split){s->n_parts, 1}, do_parts, s, err);
    if (status == BM_OK)
        status = give_answers(s, n, result, err);
    for (size_t i = 0; s->parts != NULL && i < s->n_parts; i++)
        bm_free(s->parts[i].list);
    bm_free(s->parts);
    bm_free(s->weights);
    return status;
}

/* The first documents of the batch, of which `different` differ. */
static size_t first_docs(const bm_search_batch *batch, size_t different)
{
    size_t n = 0;
    if (batch->same == NULL)
        return different < batch->n ? different : batch->n;
    for (size_t seen = 0; n < batch->n; n++) {
        seen += batch->same[n] == n;
        if (seen > different)
            break;
    }
    return n;
}

static size_t count_different(const bm_search_batch *batch)
{
    size_t n = 0;
    for (size_t i = 0; batch->same != NULL && i < batch->n; i++)
        n += batch->same[i] == i;
    return batch->same == NULL ? batch->n : n;
}

/* Look up as many documents of the batch as fit; asked->n of them. */
static bm_status look_up(search *s, bm_key_batch *asked, size_t *fits, bm_error *err)
{
    const size_t all = count_different(s->batch);
    size_t different = *fits > 0 && 2 * *fits < all ? 2 * *fits : all;
    bool many = false;
    bm_status status;
    do {
        if (many)
            different /= 2;
        asked->n = first_docs(s->batch, different);
        asked->alone = different <= 1;
        status = bm_search_look_up(asked, &s->hits, &many, err);
    } while (status == BM_OK && many);
    *fits = different < all ? different : 0;
    return status;
}

bm_status bm_search_run(const bm_search_cfg *cfg, const bm_search_batch *batch,
                        bm_search_result *result, bm_error *err)
{
    search s = {.cfg = cfg, .batch = batch};
    bm_key_batch asked = {.view = cfg->view,
                          .pool = cfg->pool,
                          .bands = cfg->facts->bands,
                          .keys = batch->keys,
                          .n_shingles = batch->n_shingles,
                          .same = batch->same,
                          .most = SIZE_MAX};
    if (cfg->memory != 0)
        asked.most =
            cfg->memory / HIT_BYTES < HITS_LEAST ? HITS_LEAST : (size_t)(cfg->memory / HIT_BYTES);
    bm_status status = look_up(&s, &asked, &result->fits, err);
    if (status == BM_OK)
        status = answer_hits(&s, asked.n, result, err);
    bm_search_hits_reset(&s.hits);
    return status;
}

void bm_search_result_reset(bm_search_result *result)
{
    bm_free(result->begin);
    bm_free(result->list);
    *result = (bm_search_result){0};
}
