/* all_pairs_window.c -- documents by size, read by place.
 *
 *     positions   | 0 … 15 | 16 … 31 | …       documents by size; a window ends where a range ends
 *     reading     documents of the window by number, which is the order of their places in the file
 *
 * Where the file does not fit into a window, it is walked once for each window, always forward and
 * with gaps. All threads read. */
#include "match/all_pairs_window.h"

#include "base/error.h"
#include "lsh/verify.h"

#define DOC_GRAIN 512u

void bm_set_window_reset(bm_set_window *w)
{
    bm_free(w->words);
    bm_free(w->at);
    bm_free(w->places);
    w->words = NULL;
    w->at = NULL;
    w->places = NULL;
    w->begin = w->end = w->cap_words = w->cap_docs = 0;
}

uint64_t bm_set_window_least(const bm_set_window *w)
{
    size_t most = 2 * BM_PREFIX_RANGE - 1, words = BM_PREFIX_RANGE;
    for (size_t i = 0; i < w->n && i < most; i++)
        words += bm_set_window_size(w, w->n - 1 - i);
    return words * sizeof *w->words + most * BM_SET_WINDOW_DOC;
}

/* Where the window ends that begins at w->begin, and how many words it needs. */
static size_t measure(bm_set_window *w, size_t *end)
{
    size_t words = 0;
    *end = w->begin;
    while (*end < w->n) {
        size_t next = w->n - *end < BM_PREFIX_RANGE ? w->n : *end + BM_PREFIX_RANGE;
        size_t more = BM_PREFIX_RANGE;
        for (size_t position = *end; position < next; position++)
            more += bm_set_window_size(w, position);
        uint64_t bytes =
            (uint64_t)(words + more) * sizeof *w->words + (next - w->begin) * BM_SET_WINDOW_DOC;
        if (*end > w->begin && bytes > w->most)
            break;
        words += more;
        *end = next;
    }
    return words;
}

/* Nothing of the window before is needed any more, so arrays are made anew and not copied. */
static bm_status make_room(bm_set_window *w, size_t words, size_t docs, bm_error *err)
{
    if (words <= w->cap_words && docs <= w->cap_docs)
        return BM_OK;
    size_t begin = w->begin, end = w->end;
    bm_set_window_reset(w);
    w->begin = begin;
    w->end = end;
    w->words = bm_alloc(words, sizeof *w->words);
    w->at = bm_alloc(docs, sizeof *w->at);
    w->places = bm_alloc(docs, 2 * sizeof *w->places);
    if (w->words == NULL || w->at == NULL || w->places == NULL)
        return bm_fail_nomem(err, words * sizeof *w->words + docs * BM_SET_WINDOW_DOC);
    w->cap_words = words;
    w->cap_docs = docs;
    return BM_OK;
}

static bm_status read_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const bm_set_window *w = ctx;
    bm_set_reader reader = {.corpus = w->corpus};
    bm_status status = BM_OK;
    for (size_t i = begin; i < end; i++) {
        size_t position = w->begin + (uint32_t)w->places[i];
        size_t len = bm_set_window_size(w, position) * sizeof(uint64_t);
        BM_TRY_OUT(bm_set_reader_copy(&reader, w->order[position], bm_set_window_set(w, position),
                                      len, err));
    }
out:
    bm_set_reader_reset(&reader);
    return status;
}

bm_status bm_set_window_next(bm_set_window *w, bm_error *err)
{
    size_t end, at = 0;
    w->begin = w->end;
    size_t words = measure(w, &end), n = end - w->begin;
    if (n == 0) {
        w->begin = w->end = 0;
        return BM_NOT_FOUND;
    }
    BM_TRY(make_room(w, words, n, err));
    w->end = end;
    for (size_t i = 0; i < n; i++) {
        at += i % BM_PREFIX_RANGE == 0 ? BM_PREFIX_RANGE : 0;
        w->at[i] = at;
        at += bm_set_window_size(w, w->begin + i);
        w->places[i] = (uint64_t)w->order[w->begin + i] << 32 | i;
    }
    bm_hashes_sort(w->places, n, w->places + w->cap_docs);
    w->corpus->sets.bytes_back +=
        (words - (n + BM_PREFIX_RANGE - 1) / BM_PREFIX_RANGE * BM_PREFIX_RANGE) * sizeof *w->words;
    return bm_pool_for(w->pool, (bm_pool_split){n, DOC_GRAIN}, read_range, w, err);
}
