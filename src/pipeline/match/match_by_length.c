/* match_by_length.c -- the sets of a corpus joined with themselves by their sizes
 * (lsh/joins/length_pairs.h).
 *
 * Where sets are in memory, all are sorted and joined at once. Where they are in a file, as many of
 * the smallest as fit are read back and joined with each other; then all that are larger, up to the
 * size that the last of these can still reach, pass by in windows; then come the next ones:
 *
 *     documents by size   [   held   ][ window ][ window ] …            1st round
 *                                     [   held   ][ window ] …          2nd round
 *
 * Each set is sorted again whenever it is read, which costs little beside comparing it with what is
 * held. Memory: 4 bytes a document, 16 more while the order is made; the lanes; a scratch for each
 * thread that sorts; and of what is left three quarters for the sets that are held, a quarter for
 * those that pass by. Which pairs are compared depends on none of it.
 *
 * Tests: tests/unit/match/test_match_by_length.c */
#include "pipeline/match/match_by_length.h"

#include "base/error.h"
#include "base/memory.h"
#include "lsh/joins/length_pairs.h"
#include "lsh/verify.h"
#include "pipeline/match/all_pairs_window.h"

#define DOC_GRAIN      64u
#define ORDER_DOC      20u /* bytes of a document's place in the order, and of making it */
#define HELD_UNBOUNDED ((uint64_t)256 << 20)
#define ROOM_LEAST     ((uint64_t)256 << 10) /* bytes beyond the least */

typedef struct by_length {
    bm_match *match;
    bm_corpus *corpus;
    bm_length_order order;
    uint32_t *docs; /* order.docs */
    bm_length_join *join;
    uint64_t n_rounds;
} by_length;

/* Sets read back, and where each begins. */
typedef struct passage {
    bm_set_window window;
    const uint64_t **sets;
    size_t cap;
    size_t scratch; /* words that a thread sorts with */
} passage;

/* --- memory --- */

/* Words that a thread needs to sort any of the sets. */
static size_t scratch_words(const by_length *b)
{
    const bm_length_order *order = &b->order;
    size_t longest = order->n == 0 ? 0 : order->sizes[order->docs[order->n - 1]];
    return longest < BM_SORT_SCRATCH ? longest : BM_SORT_SCRATCH;
}

/* Bytes beside the sets. */
static uint64_t fixed_bytes(const by_length *b)
{
    return (uint64_t)b->corpus->n * ORDER_DOC + bm_length_join_bytes();
}

/* Half of what is left, since edges will need the rest; more only where it could not work
 * otherwise. */
static uint64_t share_of(uint64_t left, uint64_t least)
{
    if (left / 2 >= least)
        return left / 2;
    return left < least ? left : least;
}

/* How many bytes of sets are held, and may pass by. A pointer for each is a third of what a window
 * needs of a document beside its set. */
static bm_status share_memory(const by_length *b, passage *held, passage *passing, bm_error *err)
{
    const uint64_t left = bm_corpus_matching_bytes(b->corpus);
    const uint64_t sorting =
        (uint64_t)held->scratch * sizeof(uint64_t) * bm_pool_size(b->match->settings.pool);
    const uint64_t fixed = fixed_bytes(b) + sorting,
                   range = bm_set_window_least(&held->window) * 4 / 3,
                   least = fixed + 2 * range + ROOM_LEAST;
    if (left != 0 && left < least)
        return bm_fail(err, BM_ERR_NOMEM,
                       "comparing all pairs needs %llu MiB beside the documents, and `memory` "
                       "leaves %llu MiB",
                       (unsigned long long)(least >> 20) + 1, (unsigned long long)(left >> 20));
    const uint64_t share = left == 0 ? HELD_UNBOUNDED : share_of(left, least) - fixed;
    const uint64_t most = share / 4 > range ? share / 4 : range;
    passing->window.most = most * 3 / 4;
    held->window.most = (share - most) * 3 / 4;
    return BM_OK;
}

/* --- sets in a file --- */

static bm_status sort_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    passage *p = ctx;
    uint64_t *scratch = bm_alloc(p->scratch, sizeof *scratch);
    if (scratch == NULL)
        return bm_fail_nomem(err, p->scratch * sizeof *scratch);
    for (size_t i = begin; i < end; i++) {
        const size_t position = p->window.begin + i;
        uint64_t *set = bm_set_window_set(&p->window, position);
        bm_hashes_sort_within(set, bm_set_window_size(&p->window, position), scratch, p->scratch);
        p->sets[i] = set;
    }
    bm_free(scratch);
    return BM_OK;
}

/* The next sets, sorted. BM_NOT_FOUND behind the last. */
static bm_status next_sets(passage *p, bm_length_sets *out, bm_error *err)
{
    bm_status status = bm_set_window_next(&p->window, err);
    if (status != BM_OK)
        return status;
    const size_t n = p->window.end - p->window.begin;
    if (n > p->cap) {
        bm_free(p->sets);
        p->cap = 0;
        p->sets = bm_alloc(n, sizeof *p->sets);
        if (p->sets == NULL)
            return bm_fail_nomem(err, n * sizeof *p->sets);
        p->cap = n;
    }
    status = bm_pool_for(p->window.pool, (bm_pool_split){n, DOC_GRAIN}, sort_range, p, err);
    *out = (bm_length_sets){
        .begin = p->window.begin, .end = p->window.end, .sets = (const uint64_t *const *)p->sets};
    return status;
}

/* What is held with itself, then with all larger ones that can still reach it. */
static bm_status join_held(by_length *b, const bm_length_sets *held, passage *passing,
                           bm_error *err)
{
    const size_t end = bm_length_end(&b->order, held->end - 1);
    bm_length_sets larger;
    bm_status status = bm_length_join_run(b->join, held, held, err);
    passing->window.end = held->end;
    passing->window.n = end;
    while (status == BM_OK && passing->window.end < end) {
        status = next_sets(passing, &larger, err);
        if (status == BM_OK)
            status = bm_length_join_run(b->join, held, &larger, err);
    }
    b->n_rounds++;
    return status;
}

static passage passage_of(const by_length *b)
{
    return (passage){.window = {.corpus = b->corpus,
                                .order = b->order.docs,
                                .n = b->order.n,
                                .pool = b->match->settings.pool},
                     .scratch = scratch_words(b)};
}

static void passage_reset(passage *p)
{
    bm_set_window_reset(&p->window);
    bm_free(p->sets);
}

static bm_status join_from_file(by_length *b, bm_error *err)
{
    passage held = passage_of(b), passing = passage_of(b);
    bm_length_sets sets;
    bm_status status = share_memory(b, &held, &passing, err);
    while (status == BM_OK) {
        status = next_sets(&held, &sets, err);
        if (status == BM_OK)
            status = join_held(b, &sets, &passing, err);
    }
    passage_reset(&held);
    passage_reset(&passing);
    return status == BM_NOT_FOUND ? BM_OK : status;
}

/* --- sets in memory --- */

static bm_status join_in_memory(by_length *b, bm_error *err)
{
    const size_t n = b->order.n;
    bm_status status = bm_corpus_sort_all(b->corpus, b->match->settings.pool, err);
    if (status != BM_OK)
        return status;
    const uint64_t **sets = bm_alloc(n, sizeof *sets);
    if (sets == NULL)
        return bm_fail_nomem(err, n * sizeof *sets);
    for (size_t i = 0; i < n; i++)
        sets[i] = b->corpus->sets.hashes[b->docs[i]];
    bm_length_sets all = {.begin = 0, .end = n, .sets = (const uint64_t *const *)sets};
    status = bm_length_join_run(b->join, &all, &all, err);
    b->n_rounds = 1;
    bm_free(sets);
    return status;
}

/* --- the whole --- */

/* Sets move to a file where they leave no room for the order and the lanes. */
static bm_status make_room(const by_length *b, bm_error *err)
{
    const bm_corpus *corpus = b->corpus;
    if (corpus->cfg.memory == 0 || corpus->cfg.temp_dir == NULL ||
        bm_corpus_matching_bytes(corpus) / 2 >= fixed_bytes(b))
        return BM_OK;
    return bm_corpus_sets_to_file(b->corpus, err);
}

static bm_status make_order(by_length *b, bm_error *err)
{
    const bm_corpus *corpus = b->corpus;
    bm_set_list sets = {.sizes = corpus->sizes, .skip = corpus->skip, .n_docs = corpus->n};
    b->docs = bm_alloc(corpus->n, sizeof *b->docs);
    if (b->docs == NULL)
        return bm_fail_nomem(err, corpus->n * sizeof *b->docs);
    b->order = (bm_length_order){
        .docs = b->docs, .sizes = corpus->sizes, .threshold = b->match->settings.threshold};
    return bm_order_by_size(&sets, b->docs, &b->order.n, err);
}

bm_status bm_match_by_length(bm_match *match, const bm_callbacks *callbacks, bm_error *err)
{
    by_length b = {.match = match, .corpus = match->settings.corpus};
    const bm_length_job job = {.order = &b.order,
                               .pool = match->settings.pool,
                               .fn = bm_edges_found,
                               .ctx = match,
                               .callbacks = callbacks};
    bm_meter_stage(match->settings.meter, "compare", "pairs");
    bm_status status = make_room(&b, err);
    if (status == BM_OK)
        status = make_order(&b, err);
    if (status == BM_OK)
        status = bm_length_join_open(&job, &b.join, err);
    if (status == BM_OK)
        status =
            bm_corpus_sets_in_file(b.corpus) ? join_from_file(&b, err) : join_in_memory(&b, err);
    if (b.join != NULL)
        match->result.counts.candidates = match->result.counts.verified =
            bm_length_join_compared(b.join);
    if (status == BM_OK && b.n_rounds > 1)
        bm_meter_log(match->settings.meter, BM_LOG_INFO,
                     "documents were compared in %llu rounds, one after another, to stay within "
                     "`memory`",
                     (unsigned long long)b.n_rounds);
    bm_length_join_close(b.join);
    bm_free(b.docs);
    return status;
}
