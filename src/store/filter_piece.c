/* filter_piece.c -- see filter_piece.h.
 *
 * What a document lacks is counted, 64 documents at a time: counters lie as planes of bits and begin so that they overflow with
 * the first hash that is one too many. Where all 64 have overflowed, the other rows are not read. A document that has a hash has its bit,
 * so none is lost; of one that has not, a bit is set in some share of 1 - exp(-1 / BM_FILTER_BITS) of all rows. */
#include "store/filter_piece.h"

#include <string.h>

#include "base/error.h"
#include "store/le_bytes.h"
#include "store/set_code.h"

#define GROUP_MOST  512u /* columns: a row is a line of the cache */
#define GROUP_LEAST 8u   /* a byte of columns */
#define OCTAVE      8u   /* classes of sizes, from one to its double */
#define CLASSES     (33u * OCTAVE)
#define GROUP_BYTES 12u
#define GROUPS_AT   (BM_PIECE_HEAD_BYTES + 4u)
#define END_BYTES   7u

/* --- writing --- */

void bm_filter_writer_begin(bm_filter_writer *w, uint32_t first)
{
    w->first = first;
    w->n = 0;
    w->n_shingles = 0;
    w->lows.len = 0;
}

void bm_filter_writer_reset(bm_filter_writer *w)
{
    bm_free(w->sizes);
    bm_buf_reset(&w->lows);
    bm_free(w->order);
    bm_free(w->groups);
    bm_free(w->words);
    *w = (bm_filter_writer){0};
}

bm_status bm_filter_writer_add(bm_filter_writer *w, const uint8_t *code, uint32_t n_shingles,
                               bm_error *err)
{
    BM_TRY(bm_grow_array(&w->sizes, &w->cap_sizes, w->n + (size_t)1, err));
    w->sizes[w->n] = (bm_filter_size){w->lows.len, n_shingles};
    if (w->lows.cap == 0) /* a buffer that grows leaves gaps behind */
        BM_TRY(bm_buf_reserve(&w->lows, BM_FILTER_WRITER_BYTES, err));
    BM_TRY(bm_buf_add(&w->lows, code, n_shingles * (size_t)bm_set_code_low(n_shingles), err));
    w->n++;
    w->n_shingles += n_shingles;
    return BM_OK;
}

bool bm_filter_writer_is_full(const bm_filter_writer *w)
{
    return w->n_shingles >= BM_FILTER_SHINGLES || w->n == BM_FILTER_DOCUMENTS;
}

/* Sizes of a class differ by an eighth. */
static unsigned class_of(uint32_t n)
{
    if (n < OCTAVE)
        return n;
    const unsigned digits = 31u - (unsigned)__builtin_clz(n); /* 3 or more */
    return (digits - 2u) * OCTAVE + (n >> (digits - 3u) & (OCTAVE - 1u));
}

/* Documents with shingles, class by class, in each in their order. */
static void order_columns(bm_filter_writer *w)
{
    uint32_t begin[CLASSES + 1] = {0};
    for (uint32_t i = 0; i < w->n; i++)
        begin[class_of(w->sizes[i].n) + 1] += w->sizes[i].n > 0;
    for (unsigned c = 0; c < CLASSES; c++)
        begin[c + 1] += begin[c];
    w->n_columns = begin[CLASSES];
    for (uint32_t i = 0; i < w->n; i++)
        if (w->sizes[i].n > 0)
            w->order[begin[class_of(w->sizes[i].n)]++] = i;
}

static size_t row_bytes(uint32_t columns)
{
    return (columns + 7) / 8;
}

/* The group that begins with column `at`. */
static bm_filter_group group_from(const bm_filter_writer *w, size_t at)
{
    const unsigned least = class_of(w->sizes[w->order[at]].n);
    uint64_t sum = 0;
    bm_filter_group group = {0};
    for (; at < w->n_columns && group.n < GROUP_MOST; at++, group.n++) {
        const uint32_t n = w->sizes[w->order[at]].n;
        if (group.n >= GROUP_LEAST && class_of(n) >= least + OCTAVE)
            break;
        sum += n;
        group.most = n > group.most ? n : group.most;
    }
    const size_t columns = 8 * row_bytes(group.n);
    group.rows = (uint32_t)((sum * BM_FILTER_BITS + columns - 1) / columns);
    return group;
}

bm_status bm_filter_writer_plan(bm_filter_writer *w, size_t *size, bm_error *err)
{
    BM_TRY(bm_grow_array(&w->order, &w->cap_order, w->n, err));
    order_columns(w);
    w->n_groups = 0;
    *size = GROUPS_AT + 2 * w->n_columns + END_BYTES;
    for (size_t at = 0; at < w->n_columns; at += w->groups[w->n_groups++].n) {
        BM_TRY(bm_grow_array(&w->groups, &w->cap_groups, w->n_groups + 1, err));
        const bm_filter_group group = group_from(w, at);
        BM_TRY(bm_grow_array(&w->words, &w->cap_words, group.rows, err));
        w->groups[w->n_groups] = group;
        *size += GROUP_BYTES + group.rows * row_bytes(group.n);
    }
    return BM_OK;
}

static uint32_t mix(uint32_t hash)
{
    return hash * UINT32_C(0x9E3779B1);
}

static size_t row_of(uint32_t mixed, uint32_t rows)
{
    return (size_t)((uint64_t)mixed * rows >> 32);
}

static void set_bits(const uint8_t *code, uint32_t n, uint32_t rows, uint64_t bit, uint64_t *words)
{
    const unsigned low = bm_set_code_low(n);
    for (uint32_t i = 0; i < n; i++, code += low)
        words[row_of(mix(bm_le32_get(code)), rows)] |= bit;
}

/* 64 columns at a time, whose rows are words that stay in the cache. */
static void write_group(const bm_filter_writer *w, const bm_filter_group *group,
                        const uint32_t *columns, uint8_t *bits)
{
    const size_t bytes = row_bytes(group->n);
    uint64_t *words = w->words;
    for (uint32_t begin = 0; begin < group->n; begin += 64) {
        const uint32_t n = group->n - begin < 64 ? group->n - begin : 64;
        memset(words, 0, group->rows * sizeof *words);
        for (uint32_t c = 0; c < n; c++) {
            const bm_filter_size *doc = &w->sizes[columns[begin + c]];
            set_bits((const uint8_t *)w->lows.data + doc->begin, doc->n, group->rows,
                     UINT64_C(1) << c, words);
        }
        uint8_t *at = bits + begin / 8;
        for (uint32_t row = 0; row < group->rows; row++, at += bytes) {
            const uint64_t word = BM_LE(64, words[row]);
            if (n > 56)
                memcpy(at, &word, sizeof word);
            else
                memcpy(at, &word, row_bytes(n));
        }
    }
}

void bm_filter_writer_write(const bm_filter_writer *w, uint8_t *out)
{
    const bm_piece_head head = {.kind = BM_PIECE_FILTER,
                                .n = (uint32_t)w->n_columns,
                                .first = w->first,
                                .last = w->first + (uint64_t)w->n - 1};
    bm_piece_begin(out, &head);
    bm_le32_put(out + BM_PIECE_HEAD_BYTES, (uint32_t)w->n_groups);
    uint8_t *at = out + GROUPS_AT;
    for (size_t g = 0; g < w->n_groups; g++, at += GROUP_BYTES) {
        bm_le32_put(at, w->groups[g].n);
        bm_le32_put(at + 4, w->groups[g].rows);
        bm_le32_put(at + 8, w->groups[g].most);
    }
    for (size_t c = 0; c < w->n_columns; c++, at += 2) {
        at[0] = (uint8_t)w->order[c];
        at[1] = (uint8_t)(w->order[c] >> 8);
    }
    const uint32_t *columns = w->order;
    for (size_t g = 0; g < w->n_groups; columns += w->groups[g++].n) {
        write_group(w, &w->groups[g], columns, at);
        at += w->groups[g].rows * row_bytes(w->groups[g].n);
    }
    memset(at, 0, END_BYTES);
    bm_piece_seal(out, (size_t)(at - out) + END_BYTES);
}

/* --- reading --- */

static bm_filter_group group_at(const uint8_t *at)
{
    return (bm_filter_group){bm_le32_get(at), bm_le32_get(at + 4), bm_le32_get(at + 8)};
}

bool bm_filter_piece_open(const void *bytes, size_t size, bm_filter_piece *out)
{
    bm_filter_piece p = {.bytes = bytes};
    if (!bm_piece_head_of(bytes, size, BM_PIECE_FILTER, &p.head) || size < GROUPS_AT + END_BYTES ||
        p.head.last < p.head.first || p.head.last - p.head.first >= BM_FILTER_DOCUMENTS ||
        p.head.n > p.head.last - p.head.first + 1)
        return false;
    p.n_groups = bm_le32_get(p.bytes + BM_PIECE_HEAD_BYTES);
    uint64_t need = GROUPS_AT + (uint64_t)p.n_groups * GROUP_BYTES + 2 * (uint64_t)p.head.n;
    if (need + END_BYTES > size)
        return false;
    const uint8_t *columns = p.bytes + GROUPS_AT + (size_t)p.n_groups * GROUP_BYTES;
    uint64_t n_columns = 0;
    for (uint32_t g = 0; g < p.n_groups; g++) {
        const bm_filter_group group = group_at(p.bytes + GROUPS_AT + (size_t)g * GROUP_BYTES);
        if (group.n > GROUP_MOST || group.rows == 0)
            return false;
        n_columns += group.n;
        need += group.rows * (uint64_t)row_bytes(group.n);
    }
    uint16_t most = 0;
    for (uint32_t c = 0; c < p.head.n; c++) {
        const uint16_t document = bm_le16_get(columns + 2 * (size_t)c);
        most = document > most ? document : most;
    }
    *out = p;
    return n_columns == p.head.n && most <= p.head.last - p.head.first && need + END_BYTES == size;
}

/* A word of columns of a group. */
typedef struct word {
    const uint8_t *bits;
    size_t row_bytes;
    uint32_t rows;
    uint64_t columns; /* that there are */
} word;

/* The columns of a word that may hold the hashes asked for. */
static uint64_t find_word(const word *w, const bm_filter_ask *ask)
{
    const uint32_t spare = ask->n - ask->least; /* hashes that may be missing */
    const unsigned n_planes = spare == 0 ? 0 : 32u - (unsigned)__builtin_clz(spare);
    uint64_t planes[32], held = w->columns;
    /* They count up from 2^n_planes - 1 - spare. */
    for (unsigned p = 0; p < n_planes; p++)
        planes[p] = spare >> p & 1 ? 0 : UINT64_MAX;
    for (uint32_t i = 0; held != 0 && i < ask->n; i++) {
        const size_t row = row_of(mix((uint32_t)ask->hashes[i]), w->rows);
        uint64_t lacks = ~bm_le64_get(w->bits + row * w->row_bytes);
        for (unsigned p = 0; p < n_planes; p++) {
            const uint64_t before = planes[p];
            planes[p] = before ^ lacks;
            lacks &= before;
        }
        held &= ~lacks;
    }
    return held;
}

static void find_group(const bm_filter_piece *piece, const bm_filter_group *group,
                       const uint8_t *columns, const uint8_t *group_bits, const bm_filter_ask *asks,
                       size_t n_asks, uint8_t *bits)
{
    word w = {.row_bytes = row_bytes(group->n), .rows = group->rows};
    for (uint32_t c = 0; c < group->n; c += 64) {
        uint64_t held = 0;
        w.bits = group_bits + c / 8;
        w.columns = UINT64_MAX >> (group->n - c < 64 ? 64 - (group->n - c) : 0);
        for (size_t i = 0; i < n_asks; i++)
            if (asks[i].least <= group->most)
                held |= find_word(&w, &asks[i]);
        for (; held != 0; held &= held - 1) {
            const size_t column = c + (unsigned)__builtin_ctzll(held);
            const uint64_t number = piece->head.first + bm_le16_get(columns + 2 * column);
            __atomic_fetch_or(&bits[number / 8], (uint8_t)(1u << number % 8), __ATOMIC_RELAXED);
        }
    }
}

void bm_filter_piece_find(const bm_filter_piece *piece, const bm_filter_ask *asks, size_t n_asks,
                          uint8_t *bits)
{
    const uint8_t *groups = piece->bytes + GROUPS_AT;
    const uint8_t *columns = groups + (size_t)piece->n_groups * GROUP_BYTES;
    const uint8_t *at = columns + 2 * (size_t)piece->head.n;
    for (uint32_t g = 0; g < piece->n_groups; g++) {
        const bm_filter_group group = group_at(groups + (size_t)g * GROUP_BYTES);
        find_group(piece, &group, columns, at, asks, n_asks, bits);
        columns += 2 * (size_t)group.n;
        at += group.rows * row_bytes(group.n);
    }
}
