/* SPDX-License-Identifier: Apache-2.0 */
/* spans.c -- finds which K-grams of a text may be repeated, and where they are.
 *
 *     units     a b c d e f g h i ...          K = 4, grams of two
 *     grams     ab bc cd de ef fg gh hi
 *     K-gram    [ab bc cd]                     its minimizer is the least of the three hashes,
 *                  [bc cd de]                  the last one of equal ones
 *                     [cd de ef] ...
 *
 * Adjacent K-grams mostly share their minimizer, so there are few minimizers. A stretch of text
 * whose minimizers occur only once in all documents has no repeated K-gram. The other K-grams are
 * hashed in full: 128 bits over the hashes of their units.
 *
 * Tests: tests/reference/test_spans.py, tests/cli/cases/units.sh */
#include "parts/units.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "parts/cuts.h"
#include "text/unit_text.h"

#define FILTER_BITS  16u /* filter bits for each hash */
#define FILTER_LEAST 10u /* log2 of the least number of words */

/* --- the filter --- */

bm_status bm_span_mark(bm_sorted_runs *marks, const char *hashes, size_t n, bm_error *err)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t hash;
        memcpy(&hash, hashes + i * sizeof hash, sizeof hash);
        BM_TRY(bm_sorted_runs_add(marks, hash, 0, err));
    }
    return BM_OK;
}

/* Count the hashes that occur more than `keep_count` times, and add them to the filter if it has
 * words. */
static bm_status fill(bm_sorted_runs *marks, uint64_t keep_count, bm_hash_filter *filter,
                      uint64_t *n, bm_error *err)
{
    bm_run_record record;
    bm_status status;
    uint64_t last = 0, times = 0;
    *n = 0;
    BM_TRY(bm_sorted_runs_begin(marks, err));
    while ((status = bm_sorted_runs_next(marks, &record, err)) == BM_OK) {
        times = times > 0 && record.key == last ? times + 1 : 1;
        last = record.key;
        if (times == 1 || times - 1 != keep_count)
            continue;
        ++*n;
        if (filter->words != NULL)
            bm_hash_filter_add(filter, last);
    }
    return status == BM_NOT_FOUND ? BM_OK : status;
}

bm_status bm_span_filter_make(bm_sorted_runs *marks, uint64_t keep_count, uint64_t memory,
                              bm_hash_filter *out, bm_error *err)
{
    unsigned bits = FILTER_LEAST;
    uint64_t n = 0;
    *out = (bm_hash_filter){0};
    BM_TRY(fill(marks, keep_count, out, &n, err));
    while ((UINT64_C(64) << bits) / FILTER_BITS < n &&
           (memory == 0 || (UINT64_C(16) << bits) <= memory))
        bits++;
    out->shift = 64 - bits;
    BM_TRY(bm_new_zero(&out->words, (size_t)1 << bits, err));
    return fill(marks, keep_count, out, &n, err);
}

/* --- K-grams --- */

/* The value that is sorted with the first half of a hash: the number of the gram, and as many bits
 * of the second half as fit. */
#define NUMBER_BITS 40u
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)

bm_status bm_span_grams_open(const char *temp_dir, uint64_t memory, bm_span_grams *out,
                             bm_error *err)
{
    *out = (bm_span_grams){.temp_dir = temp_dir, .memory = memory};
    return bm_sorted_runs_open(temp_dir, memory == 0 ? SIZE_MAX / 2 : (size_t)memory, &out->by_hash,
                               err);
}

void bm_span_grams_reset(bm_span_grams *grams)
{
    bm_column_reset(&grams->column);
    bm_sorted_runs_close(grams->by_hash);
    *grams = (bm_span_grams){0};
}

bm_status bm_span_grams_add(bm_span_grams *grams, const bm_span_gram *gram, bm_error *err)
{
    const size_t bytes = (size_t)(grams->n + 1) * sizeof *gram;
    if (grams->n == NUMBER_MASK)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "more than %llu places where spans may be repeated",
                       (unsigned long long)NUMBER_MASK);
    if (bytes > grams->column.bytes) {
        const bool large = grams->memory != 0 && bytes > grams->memory;
        BM_TRY(bm_column_grow(&grams->column, bytes, large ? grams->temp_dir : NULL, err));
        bm_column_leave(&grams->column);
    }
    grams->list = grams->column.data;
    ((bm_span_gram *)grams->column.data)[grams->n] = *gram;
    return bm_sorted_runs_add(grams->by_hash, gram->hash.hi,
                              gram->hash.lo << NUMBER_BITS | grams->n++, err);
}

/* Grams whose hashes agree in the first half and in the stored bits of the second half: those bits,
 * the number of the first such gram, and how many there were so far. */
typedef struct same_hash {
    uint64_t rest, first, n;
} same_hash;

typedef struct same_hashes {
    same_hash *list; /* usually one */
    size_t n, cap;
} same_hashes;

static bm_status find_hash(same_hashes *same, uint64_t rest, uint64_t number, same_hash **out,
                           bm_error *err)
{
    for (size_t i = 0; i < same->n; i++) {
        *out = &same->list[i];
        if ((*out)->rest == rest)
            return BM_OK;
    }
    BM_TRY(bm_grow_array(&same->list, &same->cap, same->n + 1, err));
    *out = &same->list[same->n++];
    **out = (same_hash){rest, number, 0};
    return BM_OK;
}

/* Add to `out` the numbers of the grams that occurred keep_count times before, each with the number
 * of the first one. */
static bm_status find_repeated(const bm_span_grams *grams, uint64_t keep_count, bm_sorted_runs *out,
                               bm_error *err)
{
    same_hashes same = {0};
    bm_run_record record;
    uint64_t last = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_sorted_runs_begin(grams->by_hash, err));
    while ((status = bm_sorted_runs_next(grams->by_hash, &record, err)) == BM_OK) {
        const uint64_t number = record.value & NUMBER_MASK;
        same_hash *of = NULL;
        if (record.key != last)
            same.n = 0;
        last = record.key;
        BM_TRY_OUT(find_hash(&same, record.value >> NUMBER_BITS, number, &of, err));
        if (of->n++ >= keep_count)
            BM_TRY_OUT(bm_sorted_runs_add(out, number, of->first, err));
    }
    status = status == BM_NOT_FOUND ? BM_OK : status;
out:
    bm_free(same.list);
    return status;
}

/* Join the repeated grams, which are sorted by number, into spans. */
static bm_status join_runs(const bm_span_grams *grams, bm_sorted_runs *repeated, bm_span_fn *fn,
                           void *ctx, bm_error *err)
{
    bm_span span = {0};
    uint64_t unit = 0;
    uint32_t first_word = 0;
    bm_run_record record;
    bm_status status;
    BM_TRY(bm_sorted_runs_begin(repeated, err));
    while ((status = bm_sorted_runs_next(repeated, &record, err)) == BM_OK) {
        const bm_span_gram *gram = &grams->list[record.key], *kept = &grams->list[record.value];
        if (gram->hash.lo != kept->hash.lo)
            continue;
        if (span.to > 0 && gram->unit != unit + 1) {
            BM_TRY(fn(ctx, &span, err));
            span.to = 0;
        }
        if (span.to == 0) {
            span = (bm_span){.from = gram->from, .kept = kept->from, .filled = {gram->filled[0]}};
            first_word = gram->words[0];
        }
        unit = gram->unit;
        span.to = gram->from + gram->len;
        span.words = gram->words[1] - first_word;
        span.filled[1] = gram->filled[1];
    }
    if (status != BM_NOT_FOUND)
        return status;
    return span.to > 0 ? fn(ctx, &span, err) : BM_OK;
}

bm_status bm_span_grams_find(bm_span_grams *grams, uint64_t keep_count, bm_span_fn *fn, void *ctx,
                             bm_error *err)
{
    bm_sorted_runs *repeated = NULL;
    BM_TRY(bm_sorted_runs_open(grams->temp_dir,
                               grams->memory == 0 ? SIZE_MAX / 2 : (size_t)grams->memory, &repeated,
                               err));
    bm_status status = BM_OK;
    BM_TRY_OUT(find_repeated(grams, keep_count, repeated, err));
    bm_sorted_runs_close(grams->by_hash);
    grams->by_hash = NULL;
    status = join_runs(grams, repeated, fn, ctx, err);
out:
    bm_sorted_runs_close(repeated);
    return status;
}

/* --- a lane --- */

/* Counts the bytes before an offset that are not White_Space. Offsets must ascend. */
typedef struct filled_walk {
    bm_str text;
    size_t at;
    uint64_t filled;
} filled_walk;

typedef struct list64 {
    uint64_t *list;
    size_t n, cap;
} list64;

struct bm_span_lane {
    const bm_hash_filter *filter;
    bm_text_options text, words; /* options for units; for words, if units are not words */
    bool of_words;
    list64 hashes; /* of the shorter grams of a field; later of its units */
    /* queue of grams with ascending hashes, the first of which is the minimizer */
    list64 window;
    list64 grams;       /* first units of K-grams that may be repeated */
    bm_text_units made; /* units of the current field */
    bm_text_units made_words;
    /* The current document: */
    bm_hash128 within; /* hash of the value that divides documents; combined with every hash */
    bm_str whole, as_read;
    /* last offsets converted: of fields, of first units, and of last units */
    bm_utf8_places parts, begins, ends;
    uint64_t n_units, filled; /* numbers of units and of filled bytes in the fields before */
};

bm_status bm_span_lane_open(const bm_settings *settings, const bm_hash_filter *filter,
                            bm_span_lane **out, bm_error *err)
{
    bm_span_lane *lane = NULL;
    BM_TRY(bm_new_zero(&lane, 1, err));
    lane->filter = filter;
    lane->text = lane->words = settings->text;
    lane->of_words = bm_shingle_is_of_words(lane->text.shingle);
    lane->words.shingle = BM_SHINGLE_WORD;
    *out = lane;
    return BM_OK;
}

void bm_span_lane_close(bm_span_lane *lane)
{
    if (lane == NULL)
        return;
    bm_free_all(lane->hashes.list, lane->window.list, lane->grams.list);
    bm_text_units_reset(&lane->made);
    bm_text_units_reset(&lane->made_words);
    bm_free(lane);
}

void bm_span_lane_begin(bm_span_lane *lane, bm_str text, bm_str as_read, bm_hash128 within)
{
    lane->within = within;
    lane->whole = text;
    lane->as_read = as_read;
    lane->parts = lane->begins = lane->ends = (bm_utf8_places){0, 0};
    lane->n_units = lane->filled = 0;
}

uint64_t bm_span_lane_units(const bm_span_lane *lane)
{
    return lane->n_units;
}

uint64_t bm_span_lane_filled(const bm_span_lane *lane)
{
    return lane->filled;
}

static bm_status push(list64 *list, uint64_t value, bm_error *err)
{
    if (list->n == list->cap)
        BM_TRY(bm_grow_array(&list->list, &list->cap, list->n + 1, err));
    list->list[list->n++] = value;
    return BM_OK;
}

static bm_status on_run(void *ctx, const bm_shingle_run *run, bm_error *err)
{
    list64 *hashes = &((bm_span_lane *)ctx)->hashes;
    if (run->n == 0)
        return BM_OK;
    BM_TRY(bm_grow_array(&hashes->list, &hashes->cap, hashes->n + run->n, err));
    memcpy(hashes->list + hashes->n, run->hashes, run->n * sizeof *run->hashes);
    hashes->n += run->n;
    return BM_OK;
}

/* If the filter has no words yet, append each minimizer to `out`; else list the K-grams whose
 * minimizers pass it in lane->grams. */
static bm_status look_at_windows(bm_span_lane *lane, size_t per_window, uint64_t *n, bm_buf *out,
                                 bm_error *err)
{
    const uint64_t *hashes = lane->hashes.list;
    const bool marks = lane->filter->words == NULL;
    uint64_t last = UINT64_MAX; /* the previous K-gram's minimizer */
    bool passes = false;
    size_t begin = 0, end = 0;
    BM_TRY(bm_grow_array(&lane->window.list, &lane->window.cap, lane->hashes.n, err));
    uint64_t *window = lane->window.list;
    for (size_t i = 0; i < lane->hashes.n; i++) {
        while (end > begin && hashes[window[end - 1]] >= hashes[i])
            end--;
        window[end++] = i;
        if (i + 1 < per_window)
            continue;
        begin += window[begin] + per_window <= i;
        const uint64_t minimizer = window[begin];
        if (minimizer != last) {
            last = minimizer;
            const uint64_t mark = hashes[minimizer] ^ lane->within.lo;
            passes = !marks && bm_hash_filter_may_have(lane->filter, mark);
            *n += marks;
            if (marks)
                BM_TRY(bm_buf_add(out, &mark, sizeof mark, err));
        }
        if (passes)
            BM_TRY(push(&lane->grams, i + 1 - per_window, err));
    }
    return BM_OK;
}

static uint64_t filled_before(filled_walk *walk, size_t place)
{
    const char *at = walk->text.data + walk->at;
    const char *const end = walk->text.data + walk->text.len;
    while (at < walk->text.data + place) {
        const char *const from = at;
        if ((signed char)*at >= 0) {
            walk->filled += !bm_is_white_space((unsigned char)*at++);
            continue;
        }
        if (!bm_is_white_space(bm_utf8_next(&at, end)))
            walk->filled += (uint64_t)(at - from);
    }
    walk->at = (size_t)(at - walk->text.data);
    return walk->filled;
}

/* Count the words that end at or before byte `from`, and those that begin before byte `to`. */
static void count_words(const bm_span_lane *lane, size_t from, size_t to, size_t walk[2],
                        uint32_t out[2])
{
    const bm_text_units *words = &lane->made_words;
    while (walk[0] < words->n && words->list[walk[0]].to <= from)
        walk[0]++;
    while (walk[1] < words->n && words->list[walk[1]].from < to)
        walk[1]++;
    out[0] = (uint32_t)walk[0];
    out[1] = (uint32_t)walk[1];
}

static uint64_t before_repair(const bm_span_lane *lane, size_t place, bm_utf8_places *last)
{
    return bm_utf8_go_before_repair(lane->whole, lane->as_read, place, last);
}

static bm_status add_grams(bm_span_lane *lane, bm_str text, uint64_t *n, bm_buf *out, bm_error *err)
{
    const size_t k = lane->text.shingle_k;
    const bm_text_unit *units = lane->made.list;
    filled_walk filled[2] = {{text, 0, lane->filled}, {text, 0, lane->filled}};
    const size_t begin = (size_t)(text.data - lane->whole.data);
    size_t words[2] = {0};
    BM_TRY(bm_grow_array(&lane->hashes.list, &lane->hashes.cap, lane->made.n, err));
    for (size_t i = 0; i < lane->made.n; i++)
        lane->hashes.list[i] = units[i].hash;
    for (size_t i = 0; i < lane->grams.n; i++) {
        const size_t first = (size_t)lane->grams.list[i], end = first + k;
        if (end > lane->made.n)
            return bm_fail(err, BM_ERR_INTERNAL, "units %zu to %zu, of %zu", first, end,
                           lane->made.n);
        const size_t from = units[first].from, to = units[end - 1].to;
        const XXH128_hash_t hash = XXH3_128bits(lane->hashes.list + first, k * sizeof(uint64_t));
        bm_span_gram gram = {
            .hash = {.lo = hash.low64 ^ lane->within.lo, .hi = hash.high64 ^ lane->within.hi},
            .from = before_repair(lane, begin + from, &lane->begins),
            .unit = lane->n_units + first,
            .words = {(uint32_t)first, (uint32_t)end},
            .filled = {(uint32_t)filled_before(&filled[0], from),
                       (uint32_t)filled_before(&filled[1], to)}};
        gram.len = (uint32_t)(before_repair(lane, begin + to, &lane->ends) - gram.from);
        if (!lane->of_words)
            count_words(lane, from, to, words, gram.words);
        BM_TRY(bm_buf_add(out, &gram, sizeof gram, err));
    }
    *n += lane->grams.n;
    lane->filled = filled_before(&filled[1], text.len);
    return BM_OK;
}

static bm_str part_of(bm_span_lane *lane, bm_text_range range)
{
    const size_t from =
        bm_utf8_go_after_repair(lane->whole, lane->as_read, (size_t)range.from, &lane->parts);
    const size_t to =
        bm_utf8_go_after_repair(lane->whole, lane->as_read, (size_t)range.to, &lane->parts);
    return (bm_str){lane->whole.data + from, to - from};
}

static void pass(bm_span_lane *lane, bm_str text)
{
    lane->filled += !bm_text_is_blank(text.data, text.data + text.len);
}

void bm_span_lane_skip(bm_span_lane *lane, bm_text_range range)
{
    pass(lane, part_of(lane, range));
}

bm_status bm_span_lane_add(bm_span_lane *lane, bm_shingler *shingler, bm_text_range range,
                           uint64_t *n, bm_buf *out, bm_error *err)
{
    const uint32_t k = lane->text.shingle_k, part = (k + 1) / 2;
    const bm_str text = part_of(lane, range);
    const struct bm_joined *joined = NULL;
    uint64_t n_units = 0;
    lane->hashes.n = lane->grams.n = 0;
    BM_TRY(bm_shingler_join(shingler, text, &joined, err));
    BM_TRY(bm_shingler_scan(shingler, part, on_run, lane, &n_units, err));
    if (n_units >= k)
        BM_TRY(look_at_windows(lane, k - part + 1, n, out, err));
    if (lane->grams.n == 0) {
        pass(lane, text);
    } else {
        BM_TRY(bm_text_units_make(&lane->text, text, &lane->made, err));
        if (!lane->of_words)
            BM_TRY(bm_text_units_make(&lane->words, text, &lane->made_words, err));
        BM_TRY(add_grams(lane, text, n, out, err));
    }
    lane->n_units += n_units + 1;
    return BM_OK;
}
