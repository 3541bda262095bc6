/* Answers of a search against a naive model: every document of the index that shares a key in some band, its
 * similarity counted hash by hash; for any batch, threads and memory, with sets in any order, and where the first of the same
 * documents answers for the others. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/index/search.h"
#include "store/store_write.h"
#include "tests/unit/base/sized.h"

#define BANDS   6u
#define WORDS   10u
#define N_DOCS  3000u
#define N_ASKED 700u
#define N_KEYS  400u /* of a band: so some keys are crowded */
#define MOST    24u  /* hashes of a document */

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
    /* Of asked document a and document d at [a * N_DOCS + d]; < 0: no candidate. */
    double *similarity;
    bm_store *store;
    bm_store_view *view;
    bm_store_facts facts;
} world;

static uint64_t state = 12345;

static uint32_t draw(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static int by_value(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

static void make_doc(doc *d, const char *prefix, uint32_t i)
{
    snprintf(d->id, sizeof d->id, "%s%u", prefix, i);
    d->n = 0;
    for (uint32_t k = draw(20) == 0 ? 0 : 1 + draw(MOST - 1); k > 0; k--) {
        const uint64_t hash = 1 + draw(40) * UINT64_C(0x0400000000000001);
        bool there = false;
        for (uint32_t j = 0; j < d->n; j++)
            there = there || d->set[j] == hash;
        if (!there)
            d->set[d->n++] = hash;
    }
    qsort(d->set, d->n, sizeof *d->set, by_value);
    for (uint32_t b = 0; b < BANDS; b++)
        d->keys[b] = draw(10) == 0 ? 7 : draw(N_KEYS) * UINT64_C(0x9E3779B97F4A7C15);
    if (draw(3) == 0) /* keys of which only the lowest bits differ */
        d->keys[draw(BANDS)] = draw(20);
    for (uint32_t w = 0; w < WORDS; w++)
        d->words[w] = draw(2);
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
            w.asked[i] = w.docs[draw(N_DOCS)]; /* the very same */
        else
            make_doc(&w.asked[i], "q", i);
        if (i > 0 && draw(3) == 0) { /* asked before, under another id */
            w.asked[i] = w.asked[draw(i)];
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

static bool shares_a_key(const doc *a, const doc *b)
{
    for (uint32_t k = 0; k < BANDS; k++)
        if (a->keys[k] == b->keys[k])
            return true;
    return false;
}

static int best_first(const void *x, const void *y)
{
    const bm_answer *a = x, *b = y;
    if (a->similarity != b->similarity)
        return a->similarity > b->similarity ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

static bool is_candidate(const doc *asked, const doc *d)
{
    return asked->n > 0 && d->n > 0 && !d->removed && shares_a_key(asked, d);
}

static void compare_all(world *w)
{
    w->similarity = malloc(N_ASKED * N_DOCS * sizeof *w->similarity);
    for (size_t a = 0; a < N_ASKED; a++)
        for (size_t d = 0; d < N_DOCS; d++)
            w->similarity[a * N_DOCS + d] = is_candidate(&w->asked[a], &w->docs[d])
                                                ? similarity_of(w, &w->asked[a], &w->docs[d])
                                                : -1;
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

/* What is asked at once. */
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

/* Sets in any order, in one array; of each document the first that is the same. */
static void fill(question *q, const doc *asked, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const doc *d = &asked[i];
        uint64_t *set = q->hashes + used;
        used += d->n;
        memcpy(set, d->set, d->n * sizeof *set);
        for (uint32_t k = d->n; k > 1; k--) {
            const uint32_t other = draw(k);
            const uint64_t swapped = set[k - 1];
            set[k - 1] = set[other];
            set[other] = swapped;
        }
        q->sets[i] = set;
        q->n_shingles[i] = d->n;
        q->ids[i] = (bm_str){d->id, strlen(d->id)};
        memcpy(q->keys + i * BANDS, d->keys, sizeof d->keys);
        memcpy(q->words + i * WORDS, d->words, sizeof d->words);
        for (q->same[i] = 0; !is_same(d, &asked[q->same[i]]);)
            q->same[i]++;
    }
}

/* The documents from `first` on; how many were answered. */
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

/* All documents, so many at once at most. */
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
                                         {.threshold = 1}};
    world w = make_world(kind);
    compare_all(&w);
    bm_pool *pool = NULL;
    cr_assert_eq(bm_pool_open(3, &pool, NULL), BM_OK);
    for (size_t i = 0; i < sizeof cfgs / sizeof cfgs[0]; i++) {
        bm_search_cfg cfg = cfgs[i];
        const bool all = !sized_small(); /* else two of the four, in turn */
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
