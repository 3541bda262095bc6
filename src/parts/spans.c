/* SPDX-License-Identifier: Apache-2.0 */
/* spans.c -- finds K-grams of a text that may be repeated, and spans of repeated K-grams.
 *
 *     units     a b c d e f g h i ...          K = 4, shorter grams of two units
 *     grams     ab bc cd de ef fg gh hi
 *     K-gram    [ab bc cd]                     its minimizer is the smallest of the three hashes;
 *                  [bc cd de]                  of equal hashes, the last
 *                     [cd de ef] ...
 *
 * Adjacent K-grams mostly share their minimizer, so there are few minimizers. If the minimizers of
 * a stretch of text occur only once in all documents, the stretch has no repeated K-gram. All other
 * K-grams are hashed in full: 128 bits from the hashes of their units.
 *
 * A text is scanned twice, in little memory. The first scan hashes the shorter grams, and keeps
 * only the hashes of the last K-gram. It records which K-grams pass the filter as lengths of
 * stretches: how many do not pass, how many then pass, and so on. Most lengths take one byte. The
 * second scan keeps the last units of K-grams that pass, and makes these K-grams. If the findings
 * of a text exceed FAR_BYTES, they are moved to a temporary file.
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
#define FILTER_LEAST 10u /* log2 of the smallest number of words */

#define FAR_BYTES ((size_t)1 << 20) /* most bytes of a text's findings in memory */
/* after so many bytes, pages of the column are removed from memory */
#define LEAVE_BYTES ((size_t)4 << 20)
#define READ_GRAMS  128u           /* K-grams that are read from the file at a time */
#define MORE_UNITS  ((size_t)4096) /* units that are collected before the oldest are dropped */
/* words of a shorter gram that are hashed at a time, if units are words */
#define PIECE_WORDS 8u
/* units of a shorter gram that are hashed at a time, if they are characters or bytes */
#define PIECE_CHARS 64u

/* --- the filter --- */

bm_status bm_span_mark(void *ctx, const char *hashes, size_t n, bm_error *err)
{
    bm_sorted_runs *marks = ctx;
    for (size_t i = 0; i < n; i++) {
        uint64_t hash;
        memcpy(&hash, hashes + i * sizeof hash, sizeof hash);
        BM_TRY(bm_sorted_runs_add(marks, hash, 0, err));
    }
    return BM_OK;
}

/* Count the hashes that occur more than `keep_count` times. If the filter has words, add these
 * hashes to it. */
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

/* A gram is sorted by the first half of its hash. The value beside this key is the number of the
 * gram, and as many bits of the second half as fit. */
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
    }
    if (bytes > grams->left + LEAVE_BYTES) {
        bm_column_leave_part(&grams->column, grams->left, bytes);
        grams->left = bytes;
    }
    ((bm_span_gram *)grams->column.data)[grams->n] = *gram;
    return bm_sorted_runs_add(grams->by_hash, gram->hash.hi,
                              gram->hash.lo << NUMBER_BITS | grams->n++, err);
}

/* The grams whose hashes agree in the first half and in the stored bits of the second half. `rest`:
 * these bits; `first`: the number of the first such gram; `n`: their number so far. */
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

/* Find the grams that occurred at least keep_count times before. Adds each one's number to `out`,
 * with the number of its first occurrence. */
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

/* K-grams that were read from the file of the column. */
typedef struct gram_block {
    uint64_t first;
    size_t n;
    bm_span_gram list[READ_GRAMS];
} gram_block;

/* Set *out to K-gram `number`. It is valid until the next call with this block. */
static bm_status gram_at(const bm_span_grams *grams, uint64_t number, gram_block *block,
                         const bm_span_gram **out, bm_error *err)
{
    const bm_column *column = &grams->column;
    const uint64_t at = number * sizeof **out, left = grams->n - number;
    if (!bm_column_has_file(column) || at < column->in_memory) {
        *out = (const bm_span_gram *)column->data + number;
        return BM_OK;
    }
    if (number < block->first || number >= block->first + block->n) {
        const size_t n = left < READ_GRAMS ? (size_t)left : READ_GRAMS;
        block->n = 0;
        BM_TRY(bm_column_read_file(column, block->list, n * sizeof **out, at, err));
        block->first = number;
        block->n = n;
    }
    *out = &block->list[number - block->first];
    return BM_OK;
}

/* Join the repeated grams, which are sorted by number, into spans. A gram is left out if its hash
 * differs from that of its first occurrence after all. */
static bm_status join_runs(const bm_span_grams *grams, bm_sorted_runs *repeated, bm_span_fn *fn,
                           void *ctx, bm_error *err)
{
    gram_block blocks[2] = {{.n = 0}};
    const bm_span_gram *gram, *kept;
    bm_span span = {0};
    uint64_t unit = 0;
    uint32_t first_word = 0;
    bm_run_record record;
    bm_status status;
    BM_TRY(bm_sorted_runs_begin(repeated, err));
    while ((status = bm_sorted_runs_next(repeated, &record, err)) == BM_OK) {
        BM_TRY(gram_at(grams, record.key, &blocks[0], &gram, err));
        BM_TRY(gram_at(grams, record.value, &blocks[1], &kept, err));
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

/* --- findings in a file --- */

/* A piece of a document's findings that was moved to the file. */
typedef struct far_piece {
    uint64_t place, len;
} far_piece;

/* The head of a document's findings. After it come near_bytes bytes of findings that stayed in
 * memory, and a far_piece for each of the n_pieces pieces in the file. The pieces precede the
 * findings in memory. */
typedef struct found_head {
    uint64_t near_bytes, n_pieces;
} found_head;

bm_status bm_span_far_open(const char *temp_dir, bm_span_far *out, bm_error *err)
{
    BM_TRY(bm_spill_open(temp_dir, BM_SPILL_SPANS, 0, &out->file, err));
    pthread_mutex_init(&out->lock, NULL);
    return BM_OK;
}

void bm_span_far_close(bm_span_far *far)
{
    if (far->file != NULL)
        pthread_mutex_destroy(&far->lock);
    bm_spill_close(far->file);
    bm_buf_reset(&far->read);
    *far = (bm_span_far){0};
}

static bm_status move_far(bm_span_far *far, const char *data, size_t len, far_piece *out,
                          bm_error *err)
{
    bm_spill_put put = {.file = far->file};
    out->len = len;
    pthread_mutex_lock(&far->lock);
    const bm_status reserved =
        bm_spill_reserve(far->file, 1, len + BM_SPILL_RECORD, &out->place, err);
    pthread_mutex_unlock(&far->lock);
    BM_TRY(reserved);
    return bm_spill_put_end(&put, bm_spill_put_add(&put, out->place, data, len, err), err);
}

bm_status bm_span_each(bm_span_far *far, const char **at, size_t size, bm_span_each_fn *fn,
                       void *ctx, bm_error *err)
{
    found_head found;
    memcpy(&found, *at, sizeof found);
    *at += sizeof found;
    const char *pieces = *at + found.near_bytes;
    for (uint64_t i = 0; i < found.n_pieces; i++) {
        far_piece piece;
        memcpy(&piece, pieces + i * sizeof piece, sizeof piece);
        far->read.len = 0;
        BM_TRY(bm_buf_reserve(&far->read, (size_t)piece.len, err));
        BM_TRY(bm_spill_read(far->file, piece.place, far->read.data, (size_t)piece.len, err));
        BM_TRY(fn(ctx, far->read.data, (size_t)piece.len / size, err));
    }
    BM_TRY(fn(ctx, *at, (size_t)found.near_bytes / size, err));
    *at = pieces + found.n_pieces * sizeof(far_piece);
    return BM_OK;
}

/* --- numbers in groups of seven bits ---
 *
 * Each byte has seven bits of a number. The highest bit marks the last byte. */

static bm_status put_number(bm_buf *out, uint64_t number, bm_error *err)
{
    char bytes[10];
    size_t n = 0;
    for (; number >= 128; number >>= 7)
        bytes[n++] = (char)(number & 127);
    bytes[n++] = (char)(number | 128);
    return bm_buf_add(out, bytes, n, err);
}

static uint64_t get_number(const char **at)
{
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
        const unsigned char byte = (unsigned char)*(*at)++;
        number |= (uint64_t)(byte & 127) << shift;
        if (byte >= 128)
            return number;
    }
}

/* --- a lane --- */

/* Counts the bytes before `at` that are not White_Space. `at` only moves forward. */
typedef struct filled_walk {
    size_t at;
    uint64_t filled;
} filled_walk;

/* Reads the words of a text one after another. */
typedef struct word_walk {
    const char *at, *end;
    uint64_t from, to; /* begin and end of the next word, unless `done` */
    uint32_t n;        /* number of words before that word */
    bool done;
} word_walk;

/* The hashes of shorter grams, which are made from hashes of the shingler, and the smallest hash in
 * the last K-gram. */
typedef struct window {
    size_t size;      /* number of shorter grams in a K-gram */
    size_t gram;      /* number of units in a shorter gram */
    size_t piece;     /* number of units that the shingler hashes at a time; a shorter gram consists
                       * of such pieces */
    uint64_t *pieces; /* hashes of pieces, from which further shorter grams will be hashed */
    uint64_t *hashes; /* hashes of shorter grams: those of the last K-gram, and later ones */
    size_t n_pieces, n;
    size_t least;    /* index of the smallest hash in `hashes`; SIZE_MAX: not known yet */
    uint64_t n_seen; /* number of shorter grams so far */
} window;

/* Which K-grams pass the filter, as stretches that pass and stretches that do not. */
typedef struct stretches {
    bm_buf lengths; /* lengths of stretches, alternating: not passing, passing, and so on */
    bool passes;    /* whether the current stretch passes; it begins with K-gram `begin` */
    uint64_t begin;
    const char *at;    /* while stretches are read: the next length */
    uint64_t from, to; /* the current passing stretch; if none is left, `from` is UINT64_MAX */
} stretches;

/* A unit of a K-gram that passes the filter. */
typedef struct unit_place {
    size_t from;
    uint64_t filled; /* filled bytes before the unit */
} unit_place;

struct bm_span_lane {
    const bm_hash_filter *filter;
    bm_span_far *far;            /* NULL: all findings stay in memory */
    bm_text_options text, words; /* options for units and, if units are not words, for words */
    bool of_words;
    window window;
    stretches passing;
    /* hashes and places of the last n_held units; both have space for 2 * K + MORE_UNITS */
    uint64_t *hashes;
    unit_place *places;
    size_t n_held;
    /* If units are not words: for each word of the field, the distance between its beginning and
     * that of the word before, and its length in bytes. */
    bm_buf coded_words;
    uint64_t last_word;
    word_walk walks[2]; /* [0]: over words that end before a K-gram begins; [1]: over words that
                         * begin before the K-gram ends */
    /* The current document: */
    bm_hash128 within; /* hash of the document's value of the `within` field; combined with every
                        * hash */
    bm_str whole, as_read;
    /* the last offsets that were converted: of fields, of first units, of last units */
    bm_utf8_places parts, begins, ends;
    uint64_t n_units, filled; /* see bm_span_lane_units and bm_span_lane_filled */
    bm_buf *out;              /* the findings of the document begin at out_begin */
    size_t out_begin;
    bm_buf far_pieces;
    /* The current field: */
    bm_str field;
    filled_walk fills[2]; /* up to the beginning of a unit; up to the end of a K-gram */
};

static bm_status open_window(window *w, uint32_t k, bool of_words, bm_error *err)
{
    const size_t most = of_words ? PIECE_WORDS : PIECE_CHARS;
    w->gram = (k + 1) / 2;
    w->size = k - w->gram + 1;
    w->piece = w->gram < most ? w->gram : most;
    BM_TRY(bm_new(&w->pieces, w->gram + BM_SHINGLE_RUN_MAX, err));
    return bm_new(&w->hashes, w->size + BM_SHINGLE_RUN_MAX, err);
}

bm_status bm_span_lane_open(const bm_settings *settings, const bm_hash_filter *filter,
                            bm_span_far *far, bm_span_lane **out, bm_error *err)
{
    bm_span_lane *lane = NULL;
    BM_TRY(bm_new_zero(&lane, 1, err));
    lane->filter = filter;
    lane->far = far;
    lane->text = lane->words = settings->text;
    lane->of_words = bm_shingle_is_of_words(lane->text.shingle);
    lane->words.shingle = BM_SHINGLE_WORD;
    const size_t k = lane->text.shingle_k;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_window(&lane->window, (uint32_t)k, lane->of_words, err));
    BM_TRY_OUT(bm_new(&lane->hashes, 2 * k + MORE_UNITS, err));
    BM_TRY_OUT(bm_new(&lane->places, 2 * k + MORE_UNITS, err));
    *out = lane;
    return BM_OK;
out:
    bm_span_lane_close(lane);
    return status;
}

void bm_span_lane_close(bm_span_lane *lane)
{
    if (lane == NULL)
        return;
    bm_buf_reset(&lane->passing.lengths);
    bm_buf_reset(&lane->coded_words);
    bm_buf_reset(&lane->far_pieces);
    bm_free_all(lane->window.pieces, lane->window.hashes, lane->hashes, lane->places, lane);
}

bm_status bm_span_lane_begin(bm_span_lane *lane, bm_str text, bm_str as_read, bm_hash128 within,
                             bm_buf *out, bm_error *err)
{
    const found_head found = {0};
    lane->within = within;
    lane->whole = text;
    lane->as_read = as_read;
    lane->parts = lane->begins = lane->ends = (bm_utf8_places){0, 0};
    lane->n_units = lane->filled = 0;
    lane->out = out;
    lane->far_pieces.len = 0;
    BM_TRY(bm_buf_add(out, &found, sizeof found, err));
    lane->out_begin = out->len;
    return BM_OK;
}

bm_status bm_span_lane_end(bm_span_lane *lane, bm_error *err)
{
    const found_head found = {.n_pieces = lane->far_pieces.len / sizeof(far_piece),
                              .near_bytes = lane->out->len - lane->out_begin};
    memcpy(lane->out->data + lane->out_begin - sizeof found, &found, sizeof found);
    return bm_buf_add(lane->out, lane->far_pieces.data, lane->far_pieces.len, err);
}

uint64_t bm_span_lane_units(const bm_span_lane *lane)
{
    return lane->n_units;
}

uint64_t bm_span_lane_filled(const bm_span_lane *lane)
{
    return lane->filled;
}

/* Append a finding to those of the document. If they have become many, move them to the file. */
static bm_status add_found(bm_span_lane *lane, const void *found, size_t size, bm_error *err)
{
    bm_buf *out = lane->out;
    BM_TRY(bm_buf_add(out, found, size, err));
    if (lane->far == NULL || out->len - lane->out_begin < FAR_BYTES)
        return BM_OK;
    far_piece piece;
    BM_TRY(
        move_far(lane->far, out->data + lane->out_begin, out->len - lane->out_begin, &piece, err));
    out->len = lane->out_begin;
    return bm_buf_add(&lane->far_pieces, &piece, sizeof piece, err);
}

/* --- which K-grams may be repeated --- */

/* The minimizer of K-gram `first` and later ones is `hash`. Without a filter, the minimizer is a
 * finding. With a filter, a new stretch begins if the minimizer passes and the last one did not, or
 * if it does not pass and the last one did. */
static bm_status add_minimizer(bm_span_lane *lane, uint64_t hash, uint64_t first, bm_error *err)
{
    const uint64_t mark = hash ^ lane->within.lo;
    if (lane->filter->words == NULL)
        return add_found(lane, &mark, sizeof mark, err);
    stretches *s = &lane->passing;
    if (bm_hash_filter_may_have(lane->filter, mark) == s->passes)
        return BM_OK;
    BM_TRY(put_number(&s->lengths, first - s->begin, err));
    s->begin = first;
    s->passes = !s->passes;
    return BM_OK;
}

/* The index of the smallest of n hashes; of equal hashes, the last. */
static size_t last_least(const uint64_t *hashes, size_t n)
{
    size_t least = 0;
    for (size_t i = 1; i < n; i++)
        least = hashes[i] <= hashes[least] ? i : least;
    return least;
}

/* Find the minimizers of the K-grams whose last shorter gram is one of the last `n`. */
static bm_status find_minimizers(bm_span_lane *lane, size_t n, bm_error *err)
{
    window *w = &lane->window;
    const uint64_t *hashes = w->hashes;
    for (size_t i = w->n - n; i < w->n; i++) {
        w->n_seen++;
        if (w->least == SIZE_MAX || hashes[i] <= hashes[w->least])
            w->least = i;
        else if (w->least + w->size <= i)
            w->least = i + 1 - w->size + last_least(hashes + i + 1 - w->size, w->size);
        else if (w->n_seen != w->size)
            continue; /* same minimizer as that of the K-gram before */
        if (w->n_seen >= w->size)
            BM_TRY(add_minimizer(lane, hashes[w->least], w->n_seen - w->size, err));
    }
    const size_t dropped = w->n > w->size ? w->n - w->size : 0;
    memmove(w->hashes, w->hashes + dropped, (w->n - dropped) * sizeof *w->hashes);
    w->n -= dropped;
    w->least -= w->least == SIZE_MAX ? 0 : dropped;
    return BM_OK;
}

/* Hash a shorter gram from the hashes of its pieces. The last two pieces may overlap. */
static uint64_t hash_gram(const window *w, const uint64_t *pieces)
{
    uint64_t hash = pieces[0];
    for (size_t at = w->piece; at < w->gram; at += w->piece) {
        const size_t last = w->gram - w->piece;
        hash = (hash ^ hash >> 32) * UINT64_C(0x9E3779B97F4A7C15) + pieces[at < last ? at : last];
    }
    return w->gram == w->piece ? hash : (hash ^ hash >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
}

static bm_status on_run(void *ctx, const bm_shingle_run *run, bm_error *err)
{
    bm_span_lane *lane = ctx;
    window *w = &lane->window;
    const size_t more = w->gram - w->piece, before = w->n;
    if (run->n > 0)
        memcpy(w->pieces + w->n_pieces, run->hashes, run->n * sizeof *run->hashes);
    w->n_pieces += run->n;
    if (w->n_pieces <= more)
        return BM_OK;
    const size_t n = w->n_pieces - more;
    for (size_t i = 0; i < n; i++)
        w->hashes[w->n++] = hash_gram(w, w->pieces + i);
    memmove(w->pieces, w->pieces + n, more * sizeof *w->pieces);
    w->n_pieces = more;
    return find_minimizers(lane, w->n - before, err);
}

/* --- the K-grams that may be repeated --- */

static void next_stretch(stretches *s)
{
    if (s->at == s->lengths.data + s->lengths.len) {
        s->from = UINT64_MAX;
        return;
    }
    s->from = s->to + get_number(&s->at);
    s->to = s->from + get_number(&s->at);
}

/* Count the bytes before `to` that are not White_Space. Whole blocks of ASCII are counted at
 * once. */
static uint64_t count_filled(const char *at, const char *to, const char *end)
{
    uint64_t filled = 0;
    while (at < to) {
        const char *const from = at;
        unsigned char n = 0, high = 0;
        for (size_t i = 0; i < 32 && to - at >= 32; i++) {
            const unsigned char c = (unsigned char)at[i];
            n = (unsigned char)(n + (c != ' ' && (unsigned char)(c - '\t') > '\r' - '\t'));
            high |= c;
        }
        if (to - at >= 32 && high < 0x80) {
            filled += n;
            at += 32;
        } else if (!bm_is_white_space(bm_utf8_next(&at, end))) {
            filled += (uint64_t)(at - from);
        }
    }
    return filled;
}

static uint64_t filled_before(const bm_span_lane *lane, filled_walk *walk, size_t place)
{
    const char *text = lane->field.data;
    if (place > walk->at) {
        walk->filled += count_filled(text + walk->at, text + place, text + lane->field.len);
        walk->at = place;
    }
    return walk->filled;
}

static bm_status on_word(void *ctx, uint64_t number, bm_str bytes, size_t from, size_t to,
                         bm_error *err)
{
    bm_span_lane *lane = ctx;
    (void)number;
    (void)bytes;
    BM_TRY(put_number(&lane->coded_words, from - lane->last_word, err));
    lane->last_word = from;
    return put_number(&lane->coded_words, to - from, err);
}

static void next_word(word_walk *walk)
{
    walk->done = walk->at == walk->end;
    if (walk->done)
        return;
    walk->from += get_number(&walk->at);
    walk->to = walk->from + get_number(&walk->at);
}

/* Store the words of a text in coded_words. Needed only if units are not words. */
static bm_status note_words(bm_span_lane *lane, bm_str text, bm_error *err)
{
    bm_buf *coded = &lane->coded_words;
    coded->len = 0;
    lane->last_word = 0;
    BM_TRY(bm_text_units_walk(&lane->words, text, on_word, lane, err));
    for (int i = 0; i < 2; i++) {
        lane->walks[i] = (word_walk){.at = coded->data, .end = coded->data + coded->len};
        next_word(&lane->walks[i]);
    }
    return BM_OK;
}

/* Count the words that end at or before byte `from`, and the words that begin before byte `to`. */
static void count_words(bm_span_lane *lane, size_t from, size_t to, uint32_t out[2])
{
    word_walk *before = &lane->walks[0], *begun = &lane->walks[1];
    for (; !before->done && before->to <= from; next_word(before))
        before->n++;
    for (; !begun->done && begun->from < to; next_word(begun))
        begun->n++;
    out[0] = before->n;
    out[1] = begun->n;
}

static uint64_t before_repair(const bm_span_lane *lane, size_t place, bm_utf8_places *last)
{
    return bm_utf8_go_before_repair(lane->whole, lane->as_read, place, last);
}

/* Add the K-gram that consists of the last K units. Its first unit is number `first`, and it ends
 * before byte `to`. */
static bm_status add_gram(bm_span_lane *lane, uint64_t first, size_t to, bm_error *err)
{
    const size_t k = lane->text.shingle_k, at = lane->n_held - k;
    const size_t begin = (size_t)(lane->field.data - lane->whole.data),
                 from = lane->places[at].from;
    const XXH128_hash_t hash = XXH3_128bits(lane->hashes + at, k * sizeof *lane->hashes);
    if (lane->fills[1].at < lane->fills[0].at)
        lane->fills[1] = lane->fills[0];
    bm_span_gram gram = {
        .hash = {.lo = hash.low64 ^ lane->within.lo, .hi = hash.high64 ^ lane->within.hi},
        .from = before_repair(lane, begin + from, &lane->begins),
        .unit = lane->n_units + first,
        .words = {(uint32_t)first, (uint32_t)(first + k)},
        .filled = {(uint32_t)lane->places[at].filled,
                   (uint32_t)filled_before(lane, &lane->fills[1], to)}};
    gram.len = (uint32_t)(before_repair(lane, begin + to, &lane->ends) - gram.from);
    if (!lane->of_words)
        count_words(lane, from, to, gram.words);
    return add_found(lane, &gram, sizeof gram, err);
}

/* If a K-gram that passes has the unit, keep the unit. If such a K-gram ends with the unit, add the
 * K-gram. */
static bm_status on_unit(void *ctx, uint64_t number, bm_str bytes, size_t from, size_t to,
                         bm_error *err)
{
    bm_span_lane *lane = ctx;
    stretches *s = &lane->passing;
    const size_t k = lane->text.shingle_k;
    if (number < s->from)
        return BM_OK;
    if (lane->n_held == 2 * k + MORE_UNITS) {
        const size_t dropped = lane->n_held - k + 1;
        memmove(lane->hashes, lane->hashes + dropped, (k - 1) * sizeof *lane->hashes);
        memmove(lane->places, lane->places + dropped, (k - 1) * sizeof *lane->places);
        lane->n_held = k - 1;
    }
    if (lane->fills[0].at < lane->fills[1].at && lane->fills[1].at <= from)
        lane->fills[0] = lane->fills[1];
    lane->hashes[lane->n_held] = XXH3_64bits(bytes.data, bytes.len);
    lane->places[lane->n_held++] = (unit_place){from, filled_before(lane, &lane->fills[0], from)};
    if (number + 1 < s->from + k)
        return BM_OK;
    BM_TRY(add_gram(lane, number + 1 - k, to, err));
    if (number + 2 - k < s->to)
        return BM_OK;
    next_stretch(s);
    if (s->from > number)
        lane->n_held = 0;
    return BM_OK;
}

static bm_status add_grams(bm_span_lane *lane, bm_str text, bm_error *err)
{
    stretches *s = &lane->passing;
    lane->field = text;
    lane->fills[0] = lane->fills[1] = (filled_walk){0, lane->filled};
    lane->n_held = 0;
    if (!lane->of_words)
        BM_TRY(note_words(lane, text, err));
    s->at = s->lengths.data;
    s->to = 0;
    next_stretch(s);
    BM_TRY(bm_text_units_walk(&lane->text, text, on_unit, lane, err));
    if (s->from != UINT64_MAX)
        return bm_fail(err, BM_ERR_INTERNAL, "the units of a text end before its K-grams");
    const int last = lane->fills[1].at > lane->fills[0].at;
    lane->filled = filled_before(lane, &lane->fills[last], text.len);
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
                           bm_error *err)
{
    const uint32_t k = lane->text.shingle_k;
    const bm_str text = part_of(lane, range);
    const struct bm_joined *joined = NULL;
    window *w = &lane->window;
    stretches *s = &lane->passing;
    uint64_t n_units = 0;
    w->n_pieces = w->n = 0;
    w->n_seen = 0;
    w->least = SIZE_MAX;
    s->lengths.len = 0;
    s->begin = 0;
    s->passes = false;
    BM_TRY(bm_shingler_join(shingler, text, &joined, err));
    BM_TRY(bm_shingler_scan(shingler, (uint32_t)w->piece, on_run, lane, &n_units, err));
    if (s->passes)
        BM_TRY(put_number(&s->lengths, n_units - k + 1 - s->begin, err));
    if (s->lengths.len == 0)
        pass(lane, text);
    else
        BM_TRY(add_grams(lane, text, err));
    lane->n_units += n_units + 1;
    return BM_OK;
}
