/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a search against a naive model: every document of the index that shares a key in some
 * band, with its similarity counted hash by hash. For any batches, threads and memory; for sets in
 * any order; and with the answers for identical queries stored once, at the first of them. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index/search.h"
#include "store/store_write.h"
#include "tests/world/sized.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_order.h"
#include "tests/world/world_random.h"
#include "tests/world/world_text.h"

#define BANDS   6u
#define WORDS   10u
#define N_DOCS  3000u
#define N_ASKED 700u
#define N_KEYS  400u /* of a band: few enough that some are crowded */
#define MOST    24u  /* most hashes of a document */

typedef struct doc {
    char id[16];
    uint32_t n;
    uint64_t set[MOST];
    uint64_t keys[BANDS];
    uint32_t words[WORDS];
    bool removed;
} doc;

typedef struct world {
    doc *docs, *asked;
    /* Of query a and document d of the index, at [a * N_DOCS + d]; < 0: not a candidate. */
    double *similarity;
    uint64_t left; /* candidates left out because of the bound per query */
    bm_store *store;
    bm_store_view *view;
    bm_store_facts facts;
} world;

static void make_doc(doc *d, const char *prefix, uint32_t i)
{
    snprintf(d->id, sizeof d->id, "%s%u", prefix, i);
    d->n = 0;
    for (uint32_t k = world_pick(20) == 0 ? 0 : 1 + world_pick(MOST - 1); k > 0; k--) {
        const uint64_t hash = 1 + world_pick(40) * UINT64_C(0x0400000000000001);
        bool there = false;
        for (uint32_t j = 0; j < d->n; j++)
            there = there || d->set[j] == hash;
        if (!there)
            d->set[d->n++] = hash;
    }
    qsort(d->set, d->n, sizeof *d->set, world_ascending);
    for (uint32_t b = 0; b < BANDS; b++)
        d->keys[b] = world_pick(10) == 0 ? 7 : world_pick(N_KEYS) * UINT64_C(0x9E3779B97F4A7C15);
    if (world_pick(3) == 0) /* keys that differ only in their lowest bits */
        d->keys[world_pick(BANDS)] = world_pick(20);
    for (uint32_t w = 0; w < WORDS; w++)
        d->words[w] = world_pick(2);
}

static void add(world *w, uint32_t begin, uint32_t end)
{
    const uint32_t n = end - begin;
    bm_store_doc *docs = calloc(n, sizeof *docs);
    const uint64_t **sets = calloc(n, sizeof *sets);
    uint64_t *keys = malloc(n * BANDS * sizeof *keys);
    uint32_t *words = malloc(n * WORDS * sizeof *words), first;
    for (uint32_t i = 0; i < n; i++) {
        doc *d = &w->docs[begin + i];
        docs[i] = (bm_store_doc){.id = {d->id, strlen(d->id)}, .n_shingles = d->n};
        sets[i] = d->set;
        memcpy(keys + i * BANDS, d->keys, sizeof d->keys);
        memcpy(words + i * WORDS, d->words, sizeof d->words);
    }
    bm_error err = {0};
    const bm_store_batch batch = {n, docs, sets, words, keys};
    cr_assert_eq(bm_store_add(w->store, &batch, &first, &err), BM_OK, "%s", err.message);
    cr_assert_eq(first, begin);
    free(docs);
    free(sets);
    free(keys);
    free(words);
}

static world make_world(bm_store_kind kind)
{
    world w = {.docs = calloc(N_DOCS, sizeof(doc)), .asked = calloc(N_ASKED, sizeof(doc))};
    const bm_store_cfg cfg = {.mode = BM_STORE_WRITE, .temp_dir = "/tmp"};
    bm_error err = {0};
    w.facts = (bm_store_facts){.kind = kind,
                               .bands = BANDS,
                               .words = kind == BM_STORE_SETS ? 0 : WORDS,
                               .settings = {"{}", 2}};
    cr_assert_eq(bm_store_create_unnamed(&w.facts, &cfg, &w.store, &err), BM_OK, "%s", err.message);
    for (uint32_t i = 0; i < N_DOCS; i++)
        make_doc(&w.docs[i], "d", i);
    for (uint32_t i = 0; i < N_ASKED; i++) {
        if (i % 5 == 0)
            w.asked[i] = w.docs[world_pick(N_DOCS)]; /* a document of the index */
        else
            make_doc(&w.asked[i], "q", i);
        if (i > 0 && world_pick(3) == 0) { /* asked before, under another id */
            w.asked[i] = w.asked[world_pick(i)];
            snprintf(w.asked[i].id, sizeof w.asked[i].id, "again%u", i);
        }
    }
    add(&w, 0, N_DOCS / 2);
    add(&w, N_DOCS / 2, N_DOCS / 2 + 1);
    add(&w, N_DOCS / 2 + 1, N_DOCS);
    uint32_t gone[N_DOCS / 10];
    for (uint32_t i = 0; i < N_DOCS / 10; i++) {
        gone[i] = i * 10 + 3;
        w.docs[gone[i]].removed = true;
    }
    cr_assert_eq(bm_store_remove(w.store, gone, N_DOCS / 10, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_store_commit(w.store, &err), BM_OK, "%s",
                 err.message); /* bands are sorted there */
    cr_assert_eq(bm_store_view_open(w.store, &w.view, &err), BM_OK, "%s", err.message);
    return w;
}

static void end_world(world *w)
{
    bm_store_view_close(w->view);
    bm_store_close(w->store);
    free(w->docs);
    free(w->asked);
    free(w->similarity);
}

/* --- the model --- */

static double similarity_of(const world *w, const doc *a, const doc *b)
{
    uint32_t common = 0;
    if (w->facts.kind == BM_STORE_SIGNATURES) {
        for (uint32_t i = 0; i < WORDS; i++)
            common += a->words[i] == b->words[i];
        return (double)common / WORDS;
    }
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t j = 0; j < b->n; j++)
            common += a->set[i] == b->set[j];
    return (double)common / (double)(a->n + b->n - common);
}

static int best_first(const void *x, const void *y)
{
    const bm_answer *a = x, *b = y;
    if (a->similarity != b->similarity)
        return a->similarity > b->similarity ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

/* Whether many documents of the index have this key of the query: more than `first`, or at least
 * 64. */
static bool is_large(const world *w, const doc *asked, uint32_t key, uint32_t first)
{
    uint32_t n = 0;
    for (size_t d = 0; d < N_DOCS; d++)
        n += w->docs[d].n > 0 && !w->docs[d].removed && w->docs[d].keys[key] == asked->keys[key];
    return n > first || n >= 64;
}

/* The candidates of a query are the first `first` documents that share a key. w->left counts those
 * left out: once for each shared key that many documents have, and once for all other keys. */
static void compare_all(world *w, uint32_t first)
{
    if (w->similarity == NULL)
        w->similarity = malloc(N_ASKED * N_DOCS * sizeof *w->similarity);
    w->left = 0;
    for (size_t a = 0; a < N_ASKED; a++) {
        const doc *asked = &w->asked[a];
        double *similarities = w->similarity + a * N_DOCS;
        bool large[BANDS];
        uint32_t met = 0;
        for (uint32_t k = 0; k < BANDS; k++)
            large[k] = first != 0 && is_large(w, asked, k, first);
        for (size_t d = 0; d < N_DOCS; d++) {
            const doc *other = &w->docs[d];
            uint32_t n_large = 0, n_small = 0;
            similarities[d] = -1;
            if (asked->n == 0 || other->removed || other->n == 0)
                continue;
            for (uint32_t k = 0; k < BANDS; k++) {
                n_large += asked->keys[k] == other->keys[k] && large[k];
                n_small += asked->keys[k] == other->keys[k] && !large[k];
            }
            if (n_large + n_small > 0 && first != 0 && met >= first)
                w->left += n_large + (n_small > 0);
            else if (n_large + n_small > 0) {
                similarities[d] = similarity_of(w, asked, other);
                met++;
            }
        }
    }
}

static size_t model(const world *w, const bm_search_cfg *cfg, size_t asked, bm_answer *out)
{
    size_t n = 0;
    for (uint32_t i = 0; i < N_DOCS; i++) {
        const double similarity = w->similarity[asked * N_DOCS + i];
        if (similarity >= cfg->threshold &&
            !(cfg->skip_same_id && strcmp(w->asked[asked].id, w->docs[i].id) == 0))
            out[n++] = (bm_answer){i, similarity};
    }
    qsort(out, n, sizeof *out, best_first);
    return cfg->top != 0 && n > cfg->top ? cfg->top : n;
}

static uint64_t count_candidates(const world *w)
{
    uint64_t n = 0;
    for (size_t i = 0; i < N_ASKED * N_DOCS; i++)
        n += w->similarity[i] >= 0;
    return n;
}

/* --- the search --- */

/* One batch of queries. */
typedef struct question {
    const uint64_t *sets[N_ASKED];
    uint64_t keys[N_ASKED * BANDS], hashes[N_ASKED * MOST];
    uint32_t n_shingles[N_ASKED], words[N_ASKED * WORDS], same[N_ASKED];
    bm_str ids[N_ASKED];
} question;

static bool is_same(const doc *a, const doc *b)
{
    return a->n == b->n && memcmp(a->set, b->set, a->n * sizeof *a->set) == 0 &&
           memcmp(a->keys, b->keys, sizeof a->keys) == 0 &&
           memcmp(a->words, b->words, sizeof a->words) == 0;
}

/* Fills a batch. Sets are in one array, each in random order; same[i] is the first query identical
 * to i. */
static void fill(question *q, const doc *asked, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const doc *d = &asked[i];
        uint64_t *set = q->hashes + used;
        used += d->n;
        memcpy(set, d->set, d->n * sizeof *set);
        for (uint32_t k = d->n; k > 1; k--) {
            const uint32_t other = world_pick(k);
            const uint64_t swapped = set[k - 1];
            set[k - 1] = set[other];
            set[other] = swapped;
        }
        q->sets[i] = set;
        q->n_shingles[i] = d->n;
        q->ids[i] = world_str(d->id);
        memcpy(q->keys + i * BANDS, d->keys, sizeof d->keys);
        memcpy(q->words + i * WORDS, d->words, sizeof d->words);
        for (q->same[i] = 0; !is_same(d, &asked[q->same[i]]);)
            q->same[i]++;
    }
}

/* Searches for n queries from `first` on and checks the answers. Returns how many were answered. */
static size_t search_and_compare(const world *w, const bm_search_cfg *cfg, size_t first, size_t n,
                                 bm_search_result *result)
{
    question *q = malloc(sizeof *q);
    bm_answer *wanted = malloc(N_DOCS * sizeof *wanted);
    bm_error err = {0};
    fill(q, w->asked + first, n);
    const bm_search_batch batch = {.n = n,
                                   .keys = q->keys,
                                   .n_shingles = q->n_shingles,
                                   .sets = q->sets,
                                   .words = q->words,
                                   .ids = q->ids,
                                   .unsorted = q->hashes,
                                   .same = cfg->skip_same_id ? NULL : q->same};
    cr_assert_eq(bm_search_run(cfg, &batch, result, &err), BM_OK, "%s", err.message);
    cr_assert(result->n == n || (cfg->memory != 0 && result->n > 0 && result->n < n));
    for (size_t i = 0; i < result->n; i++) {
        const size_t n_wanted = model(w, cfg, first + i, wanted);
        const size_t at = batch.same != NULL ? q->same[i] : i;
        const bm_answer *list = result->list + result->begin[at];
        cr_assert_eq(result->begin[at + 1] - result->begin[at], n_wanted,
                     "document %zu: %zu answers, wanted %zu", first + i,
                     (size_t)(result->begin[at + 1] - result->begin[at]), n_wanted);
        cr_assert(at == i || result->begin[i + 1] == result->begin[i]);
        for (size_t k = 0; k < n_wanted; k++) {
            cr_assert_eq(list[k].number, wanted[k].number);
            cr_assert_eq(list[k].similarity, wanted[k].similarity);
        }
    }
    free(wanted);
    free(q);
    return result->n;
}

/* Searches for all queries, at most `at_once` in a batch. */
static void expect_as_model(const world *w, bm_search_cfg cfg, size_t at_once)
{
    bm_search_result result = {0};
    cfg.view = w->view;
    cfg.facts = &w->facts;
    cfg.word_bytes = sizeof(uint32_t);
    for (size_t first = 0; first < N_ASKED;) {
        const size_t left = N_ASKED - first;
        first += search_and_compare(w, &cfg, first, left < at_once ? left : at_once, &result);
    }
    cr_expect_eq(result.candidates, count_candidates(w));
    cr_expect_eq(result.not_compared, w->left);
    cr_expect_geq(result.candidates, result.verified);
    cr_expect(cfg.skip_same_id || result.candidates == result.verified);
    bm_search_result_reset(&result);
}

static void try_all(bm_store_kind kind)
{
    static const bm_search_cfg cfgs[] = {{.threshold = 0.3},
                                         {.threshold = 0.3, .top = 2},
                                         {.threshold = 0.05, .skip_same_id = true},
                                         {.threshold = 0.4, .memory = 1},
                                         {.threshold = 1},
                                         {.threshold = 0.2, .first = 100},
                                         {.threshold = 0.2, .first = 3, .top = 5, .memory = 1},
                                         {.threshold = 0.1, .first = 350, .skip_same_id = true},
                                         {.threshold = 0.1, .top = 7, .skip_same_id = true}};
    world w = make_world(kind);
    bm_pool *pool = world_open(bm_pool, 3);
    for (size_t i = 0; i < sizeof cfgs / sizeof cfgs[0]; i++) {
        bm_search_cfg cfg = cfgs[i];
        const bool all = !sized_small(); /* else two of the four, alternately */
        compare_all(&w, cfg.first);
        if (all || i % 2 == 0)
            expect_as_model(&w, cfg, N_ASKED); /* without threads */
        if (all || i % 2 == 1)
            expect_as_model(&w, cfg, 1);
        cfg.pool = pool;
        if (all || i % 2 == 1)
            expect_as_model(&w, cfg, N_ASKED);
        if (all || i % 2 == 0)
            expect_as_model(&w, cfg, 37);
    }
    bm_pool_close(pool);
    end_world(&w);
}

Test(search, sets_as_the_model)
{
    try_all(BM_STORE_SETS);
}

Test(search, signatures_as_the_model)
{
    try_all(BM_STORE_SIGNATURES);
}

/* --- who found the same --- */

static uint32_t root_of(uint32_t *parents, uint32_t i)
{
    while (parents[i] != i)
        i = parents[i];
    return i;
}

static void join(uint32_t *parents, uint32_t a, uint32_t b)
{
    const uint32_t x = root_of(parents, a), y = root_of(parents, b);
    if (x < y)
        parents[y] = x;
    else
        parents[x] = y;
}

/* Queries connected by answers in common, directly or through others, as a union-find forest:
 * `parents` has the queries first, then the documents of the index. */
typedef struct found_by {
    uint32_t parents[N_ASKED + N_DOCS], first[N_DOCS];
    bm_answer best[N_ASKED];
} found_by;

static found_by *begin_found(void)
{
    found_by *f = calloc(1, sizeof *f);
    for (uint32_t i = 0; i < N_ASKED + N_DOCS; i++)
        f->parents[i] = i;
    memset(f->first, 0xff, sizeof f->first);
    return f;
}

static void add_found(found_by *f, uint32_t asked, bm_answer answer)
{
    const bm_answer *best = &f->best[asked];
    join(f->parents, asked, N_ASKED + answer.number);
    if (asked < f->first[answer.number])
        f->first[answer.number] = asked;
    if (best->similarity == 0 || best_first(&answer, best) < 0)
        f->best[asked] = answer;
}

static void expect_same_joins(const world *w, bm_search_cfg cfg, size_t at_once,
                              const found_by *wanted)
{
    found_by *found = begin_found();
    question *q = malloc(sizeof *q);
    bm_search_result result = {0};
    bm_error err = {0};
    cfg.view = w->view;
    cfg.facts = &w->facts;
    cfg.word_bytes = sizeof(uint32_t);
    for (size_t at = 0; at < N_ASKED; at += result.n) {
        const size_t n = N_ASKED - at < at_once ? N_ASKED - at : at_once;
        fill(q, w->asked + at, n);
        const bm_search_batch batch = {.n = n,
                                       .keys = q->keys,
                                       .n_shingles = q->n_shingles,
                                       .sets = q->sets,
                                       .words = q->words,
                                       .unsorted = q->hashes};
        cr_assert_eq(bm_search_run(&cfg, &batch, &result, &err), BM_OK, "%s", err.message);
        for (size_t i = 0; i < result.n; i++)
            for (uint64_t k = result.begin[i]; k < result.begin[i + 1]; k++) {
                const bm_answer *one = &result.list[k];
                cr_assert_eq(one->similarity, w->similarity[(at + i) * N_DOCS + one->number]);
                cr_assert(k == result.begin[i] || best_first(one - 1, one) < 0);
                add_found(found, (uint32_t)(at + i), *one);
            }
    }
    cr_expect_eq(result.candidates, count_candidates(w));
    for (uint32_t i = 0; i < N_ASKED + N_DOCS; i++)
        cr_assert_eq(root_of(found->parents, i), root_of((uint32_t *)wanted->parents, i));
    cr_expect_arr_eq(found->first, wanted->first, sizeof found->first);
    for (uint32_t i = 0; i < N_ASKED; i++) {
        cr_assert_eq(found->best[i].number, wanted->best[i].number);
        cr_assert_eq(found->best[i].similarity, wanted->best[i].similarity);
    }
    bm_search_result_reset(&result);
    free(found);
    free(q);
}

Test(search, joins_tell_the_best_who_was_found_and_who_found_the_same)
{
    static const bm_search_cfg cfgs[] = {{.threshold = 0.7, .joins = true},
                                         {.threshold = 0.9, .joins = true, .memory = 1},
                                         {.threshold = 0.3, .joins = true, .first = 30}};
    bm_pool *pool = world_open(bm_pool, 3);
    for (size_t i = 0; i < 2 * (sizeof cfgs / sizeof cfgs[0]); i++) {
        bm_search_cfg cfg = cfgs[i / 2];
        world w = make_world(i % 2 == 0 ? BM_STORE_SETS : BM_STORE_SIGNATURES);
        found_by *wanted = begin_found();
        compare_all(&w, cfg.first);
        for (uint32_t a = 0; a < N_ASKED; a++)
            for (uint32_t d = 0; d < N_DOCS; d++)
                if (w.similarity[a * N_DOCS + d] >= cfg.threshold)
                    add_found(wanted, a, (bm_answer){d, w.similarity[a * N_DOCS + d]});
        expect_same_joins(&w, cfg, N_ASKED, wanted);
        cfg.pool = pool;
        expect_same_joins(&w, cfg, N_ASKED, wanted);
        expect_same_joins(&w, cfg, 50, wanted);
        free(wanted);
        end_world(&w);
    }
    bm_pool_close(pool);
}

/* --- work --- */

#define NEAR 40u /* hashes of a document; one of them is in no other document */

/* The steps of a search for n documents in an index of themselves. All share the key; each differs
 * from the others in one hash. */
static uint64_t steps_of(uint32_t n, bm_search_cfg cfg)
{
    const bm_store_cfg store_cfg = {.mode = BM_STORE_WRITE, .temp_dir = "/tmp"};
    const bm_store_facts facts = {.kind = BM_STORE_SETS, .bands = 1, .settings = {"{}", 2}};
    bm_store *store;
    bm_store_doc *docs = calloc(n, sizeof *docs);
    const uint64_t **sets = calloc(n, sizeof *sets);
    uint64_t *hashes = malloc(n * NEAR * sizeof *hashes), *keys = calloc(n, sizeof *keys);
    uint32_t *sizes = malloc(n * sizeof *sizes), first;
    char(*ids)[16] = malloc(n * sizeof *ids);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(ids[i], sizeof *ids, "%u", i);
        sizes[i] = NEAR;
        docs[i] = (bm_store_doc){.id = {ids[i], strlen(ids[i])}, .n_shingles = NEAR};
        sets[i] = hashes + i * NEAR;
        for (uint32_t k = 0; k < NEAR; k++)
            hashes[i * NEAR + k] = (k + 1) * UINT64_C(0x0400000000000001);
        hashes[i * NEAR + i % NEAR] += 1 + i;
    }
    const bm_store_batch added = {n, docs, sets, NULL, keys};
    cr_assert_eq(bm_store_create_unnamed(&facts, &store_cfg, &store, NULL), BM_OK);
    cr_assert_eq(bm_store_add(store, &added, &first, NULL), BM_OK);
    cr_assert_eq(bm_store_commit(store, NULL), BM_OK);
    bm_store_view *view = world_open(bm_store_view, store);
    cfg.view = view;
    cfg.facts = &facts;
    const bm_search_batch batch = {.n = n, .keys = keys, .n_shingles = sizes, .sets = sets};
    bm_search_result result = {0};
    for (size_t at = 0; at < n; at += result.n) {
        bm_search_batch rest = batch;
        rest.n -= at;
        rest.keys += at;
        rest.n_shingles += at;
        rest.sets += at;
        cr_assert_eq(bm_search_run(&cfg, &rest, &result, NULL), BM_OK);
        for (size_t i = 0; i < result.n; i++) /* each finds itself first */
            cr_assert_eq(result.list[result.begin[i]].number, at + i);
    }
    cr_expect_eq(result.candidates, (uint64_t)n * n);
    const uint64_t steps = result.steps;
    bm_search_result_reset(&result);
    bm_store_view_close(view);
    bm_store_close(store);
    free(docs);
    free(sets);
    free(hashes);
    free(keys);
    free(sizes);
    free(ids);
    return steps;
}

Test(search, near_copies_asked_against_themselves_take_steps_by_their_number)
{
    static const bm_search_cfg cfgs[] = {{.threshold = 0.8, .top = 10},
                                         {.threshold = 0.8, .top = 1, .memory = 64 << 20},
                                         {.threshold = 0.8, .joins = true},
                                         {.threshold = 0.99}};
    for (size_t i = 0; i < sizeof cfgs / sizeof cfgs[0]; i++) {
        const uint64_t steps = steps_of(4000, cfgs[i]), twice = steps_of(8000, cfgs[i]);
        /* Linear, not quadratic. The part above 2 is one bit per pair; 512 bits are a step. */
        cr_expect_leq((double)twice, 2.4 * (double)steps, "%zu: %llu, then %llu", i,
                      (unsigned long long)steps, (unsigned long long)twice);
    }
}

Test(search, an_index_without_documents_has_no_answers)
{
    world w = {.asked = calloc(1, sizeof(doc))};
    const bm_store_cfg cfg = {.mode = BM_STORE_WRITE, .temp_dir = "/tmp"};
    w.facts = (bm_store_facts){.kind = BM_STORE_SETS, .bands = BANDS, .settings = {"{}", 2}};
    cr_assert_eq(bm_store_create_unnamed(&w.facts, &cfg, &w.store, NULL), BM_OK);
    cr_assert_eq(bm_store_view_open(w.store, &w.view, NULL), BM_OK);
    make_doc(&w.asked[0], "q", 0);
    w.asked[0].n = 1;
    const bm_search_cfg search = {.view = w.view, .facts = &w.facts, .threshold = 0.1};
    const uint64_t *sets[] = {w.asked[0].set};
    const bm_search_batch batch = {
        .n = 1, .keys = w.asked[0].keys, .n_shingles = &w.asked[0].n, .sets = sets};
    bm_search_result result = {0};
    cr_assert_eq(bm_search_run(&search, &batch, &result, NULL), BM_OK);
    cr_expect_eq(result.begin[1], 0);
    bm_search_result_reset(&result);
    end_world(&w);
}
