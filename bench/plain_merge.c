/* SPDX-License-Identifier: Apache-2.0 */
/* plain_merge.c -- the yardstick for verification: exact Jaccard similarities of given pairs by a
 * plain merge of sorted hashes, on one core, with nothing of the library.
 *
 *   intersect CORPUS.tsv PAIRS.tsv THRESHOLD [--repeat N]
 *
 * CORPUS has rows "id TAB text", PAIRS a header and rows "id_a TAB id_b TAB …", such as `bandmill
 * pairs --verify none` writes. Shingles are 5 words (runs of ASCII letters and digits and of bytes
 * over 127, ASCII letters in lower case), hashed with XXH3_64bits, sorted, each once. Timed is the
 * loop over the pairs only, in their order: `merge` counts the common hashes to the end; `bounded`
 * stops as soon as the threshold cannot be reached any more, which is what anybody would add next.
 * One JSON object: pairs a second of both, medians over the repeats, and how many pairs reach the
 * threshold, so that it can be seen that both did the same work as another program. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plain_sets.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define REPEATS_MAX 99

typedef struct corpus {
    plain_set *sets;
    uint64_t *ids; /* hashes of them */
    size_t n, cap;
    uint32_t *slots; /* row + 1 by id; 0: free */
    size_t n_slots;
} corpus;

typedef struct pair {
    uint32_t a, b;
} pair;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t slot_of(const corpus *c, uint64_t id)
{
    size_t at = (size_t)id & (c->n_slots - 1);
    while (c->slots[at] != 0 && c->ids[c->slots[at] - 1] != id)
        at = (at + 1) & (c->n_slots - 1);
    return at;
}

/* ctx: the corpus. */
static void add_row(void *ctx, const plain_row *row)
{
    corpus *c = ctx;
    if (c->n == c->cap) {
        c->cap = c->cap * 2 + 1024;
        c->sets = plain_must(realloc(c->sets, c->cap * sizeof *c->sets));
        c->ids = plain_must(realloc(c->ids, c->cap * sizeof *c->ids));
    }
    c->ids[c->n] = XXH3_64bits(row->id, row->id_len);
    c->sets[c->n++] = row->set;
}

static void read_corpus(const char *name, corpus *c)
{
    plain_read_rows(name, add_row, c);
    for (c->n_slots = 16; c->n_slots < 2 * c->n;)
        c->n_slots *= 2;
    c->slots = plain_must(calloc(c->n_slots, sizeof *c->slots));
    for (size_t i = 0; i < c->n; i++)
        c->slots[slot_of(c, c->ids[i])] = (uint32_t)i + 1;
}

static uint32_t row_of(const corpus *c, const char *id, size_t len, const char *name)
{
    uint32_t row = c->slots[slot_of(c, XXH3_64bits(id, len))];
    if (row == 0)
        plain_die("an id that the corpus does not have", name);
    return row - 1;
}

static pair *read_pairs(const char *name, const corpus *c, size_t *n)
{
    size_t len, cap = 0;
    char *data = plain_read_file(name, &len), *line = strchr(data, '\n');
    pair *pairs = NULL;
    *n = 0;
    for (line = line == NULL ? data + len : line + 1; line < data + len;) {
        char *tab = strchr(line, '\t'), *end = tab == NULL ? NULL : strpbrk(tab + 1, "\t\n");
        if (end == NULL)
            plain_die("a row of fewer than two ids", name);
        if (*n == cap) {
            cap = cap * 2 + 1024;
            pairs = plain_must(realloc(pairs, cap * sizeof *pairs));
        }
        pairs[*n].a = row_of(c, line, (size_t)(tab - line), name);
        pairs[(*n)++].b = row_of(c, tab + 1, (size_t)(end - tab - 1), name);
        line = strchr(end, '\n');
        line = line == NULL ? data + len : line + 1;
    }
    free(data);
    return pairs;
}

static bool reaches(size_t common, const plain_set *x, const plain_set *y, double threshold)
{
    return (double)common / (double)(x->n + y->n - common) >= threshold;
}

static bool merge(const plain_set *x, const plain_set *y, double threshold)
{
    size_t i = 0, j = 0, common = 0;
    while (i < x->n && j < y->n) {
        uint64_t a = x->hashes[i], b = y->hashes[j];
        common += a == b;
        i += a <= b;
        j += b <= a;
    }
    return common > 0 && reaches(common, x, y, threshold);
}

static bool bounded(const plain_set *x, const plain_set *y, double threshold)
{
    size_t least = (size_t)(threshold * (double)(x->n + y->n) / (1 + threshold));
    size_t i = 0, j = 0, common = 0;
    while (i < x->n && j < y->n) {
        size_t left = x->n - i < y->n - j ? x->n - i : y->n - j;
        if (common + left < least)
            return false;
        for (size_t step = left < 16 ? left : 16; step > 0; step--) {
            uint64_t a = x->hashes[i], b = y->hashes[j];
            common += a == b;
            i += a <= b;
            j += b <= a;
        }
    }
    return common > 0 && reaches(common, x, y, threshold);
}

typedef bool (*compare_fn)(const plain_set *x, const plain_set *y, double threshold);

typedef struct task {
    corpus corpus;
    pair *pairs;
    size_t n;
    int repeats;
    double threshold;
} task;

/* Median seconds of the passes over all pairs. */
static double time_pass(const task *t, compare_fn fn, size_t *edges)
{
    const plain_set *sets = t->corpus.sets;
    const pair *pairs = t->pairs;
    const size_t n = t->n;
    const double threshold = t->threshold;
    double times[REPEATS_MAX];
    for (int r = 0; r < t->repeats; r++) {
        double began = seconds();
        *edges = 0;
        for (size_t i = 0; i < n; i++)
            *edges += fn(&sets[pairs[i].a], &sets[pairs[i].b], threshold);
        times[r] = seconds() - began;
    }
    qsort(times, (size_t)t->repeats, sizeof *times, plain_by_size);
    return times[t->repeats / 2];
}

int main(int argc, char **argv)
{
    task t = {.repeats = 3};
    size_t edges, edges_bounded;
    if (argc == 6 && strcmp(argv[4], "--repeat") == 0)
        t.repeats = (int)strtol(argv[5], NULL, 10);
    t.threshold = argc >= 4 ? strtod(argv[3], NULL) : 0;
    if ((argc != 4 && argc != 6) || !(t.threshold > 0 && t.threshold <= 1) || t.repeats < 1 ||
        t.repeats > REPEATS_MAX) {
        fprintf(stderr, "usage: intersect CORPUS.tsv PAIRS.tsv THRESHOLD [--repeat N]\n");
        return 1;
    }
    read_corpus(argv[1], &t.corpus);
    t.pairs = read_pairs(argv[2], &t.corpus, &t.n);
    if (t.n == 0)
        plain_die("no pairs", argv[2]);
    double plain = time_pass(&t, merge, &edges);
    double bound = time_pass(&t, bounded, &edges_bounded);
    if (edges != edges_bounded)
        plain_die("the bound loses pairs", argv[2]);
    printf("{\"documents\": %zu, \"pairs\": %zu, \"edges\": %zu, \"merge_pairs_per_second\": %.0f, "
           "\"bounded_pairs_per_second\": %.0f}\n",
           t.corpus.n, t.n, edges, (double)t.n / plain, (double)t.n / bound);
    free(t.pairs);
    return 0;
}
