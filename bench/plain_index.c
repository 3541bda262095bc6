/* SPDX-License-Identifier: Apache-2.0 */
/* plain_index.c -- the yardstick for `query`: an index as somebody would write it who has all of it
 * in memory, on one core, with nothing of the library.
 *
 *   plain_index CORPUS.tsv CORPUS_KEYS.npy QUERIES.tsv QUERY_KEYS.npy THRESHOLD [--repeat N]
 *
 * The documents have rows "id TAB text"; the band keys are those that `bandmill sign --band-keys`
 * writes of the same rows. Shingles are 5 words (runs of ASCII letters and digits and of bytes over
 * 127, ASCII letters in lower case), hashed with XXH3_64bits, sorted, each once: a plain array a
 * document. Of each band one open-addressing table at half load, keys and numbers side by side. A
 * query looks up each of its keys, takes each document found once, and compares the sets by a merge
 * that stops as soon as the threshold is out of reach. Timed is the loop over the queries only:
 * cutting and hashing their texts, and their keys, are not in it. One JSON object: queries a
 * second, the median over the repeats, and how many candidates and answers there were, so that it
 * can be seen that it did the same work as another program; and how many bytes ids, sets and keys
 * take as plain arrays. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plain_sets.h"

#define REPEATS_MAX 99

typedef struct documents {
    plain_set *sets;
    size_t n, cap;
    uint64_t *keys; /* n * bands */
    size_t bands;
    uint64_t id_bytes, hashes;
} documents;

/* The table of one band. */
typedef struct table {
    uint64_t *keys;
    uint32_t *numbers; /* of documents, + 1; 0: free */
    size_t mask;
} table;

typedef struct answers {
    uint64_t candidates, found;
} answers;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- documents --- */

/* ctx: documents. */
static void add_row(void *ctx, const plain_row *row)
{
    documents *d = ctx;
    if (d->n == d->cap) {
        d->cap = d->cap * 2 + 1024;
        d->sets = plain_must(realloc(d->sets, d->cap * sizeof *d->sets));
    }
    d->sets[d->n++] = row->set;
    d->hashes += row->set.n;
    d->id_bytes += row->id_len;
}

/* Reads a two-dimensional array of '<u8', in row order. */
static void read_keys(const char *name, documents *d)
{
    size_t len, rows = 0;
    char *data = plain_read_file(name, &len), *shape = NULL;
    if (len < 10 || memcmp(data, "\x93NUMPY\1", 7) != 0)
        plain_die("no .npy of version 1", name);
    size_t head = 10 + (size_t)(uint8_t)data[8] + 256u * (uint8_t)data[9];
    if (head <= len && memmem(data, head, "'<u8'", 5) != NULL)
        shape = memmem(data, head, "(", 1);
    if (shape == NULL || sscanf(shape, "(%zu, %zu)", &rows, &d->bands) != 2 || rows != d->n ||
        len - head != rows * d->bands * sizeof *d->keys)
        plain_die("not the keys of these documents", name);
    d->keys = plain_must(malloc(rows * d->bands * sizeof *d->keys + 1));
    memcpy(d->keys, data + head, rows * d->bands * sizeof *d->keys);
    free(data);
}

/* --- the index --- */

static table make_table(const documents *d, size_t band)
{
    size_t n_slots = 16;
    while (n_slots < 2 * d->n)
        n_slots *= 2;
    table t = {.keys = plain_must(malloc(n_slots * sizeof *t.keys)),
               .numbers = plain_must(calloc(n_slots, sizeof *t.numbers)),
               .mask = n_slots - 1};
    for (size_t i = 0; i < d->n; i++) {
        const uint64_t key = d->keys[i * d->bands + band];
        size_t at = (size_t)key & t.mask;
        if (d->sets[i].n == 0)
            continue;
        while (t.numbers[at] != 0)
            at = (at + 1) & t.mask;
        t.keys[at] = key;
        t.numbers[at] = (uint32_t)i + 1;
    }
    return t;
}

static bool reaches(const plain_set *x, const plain_set *y, double threshold)
{
    size_t least = (size_t)(threshold * ((double)x->n + y->n) / (1 + threshold));
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
    return (double)common / (double)(x->n + y->n - common) >= threshold;
}

typedef struct search {
    const documents *d, *queries;
    table *tables;  /* of each band */
    uint32_t *seen; /* per document: the last query that found it, + 1 */
    double threshold;
    answers total;
} search;

static void ask(search *s, size_t query)
{
    const documents *d = s->d, *queries = s->queries;
    uint32_t *seen = s->seen;
    answers *out = &s->total;
    const plain_set *x = &queries->sets[query];
    for (size_t band = 0; x->n > 0 && band < d->bands; band++) {
        const table *t = &s->tables[band];
        const uint64_t key = queries->keys[query * d->bands + band];
        for (size_t at = (size_t)key & t->mask; t->numbers[at] != 0; at = (at + 1) & t->mask) {
            const uint32_t number = t->numbers[at] - 1;
            if (t->keys[at] != key || seen[number] == (uint32_t)query + 1)
                continue;
            seen[number] = (uint32_t)query + 1;
            out->candidates++;
            out->found += reaches(x, &d->sets[number], s->threshold);
        }
    }
}

/* Median seconds of the passes over all queries. */
static double time_passes(search *s, int repeats)
{
    const documents *d = s->d;
    double times[REPEATS_MAX];
    s->tables = plain_must(malloc(d->bands * sizeof *s->tables));
    s->seen = plain_must(malloc(d->n * sizeof *s->seen + 1));
    for (size_t band = 0; band < d->bands; band++)
        s->tables[band] = make_table(d, band);
    for (int r = 0; r < repeats; r++) {
        memset(s->seen, 0, d->n * sizeof *s->seen);
        s->total = (answers){0, 0};
        double began = seconds();
        for (size_t i = 0; i < s->queries->n; i++)
            ask(s, i);
        times[r] = seconds() - began;
    }
    qsort(times, (size_t)repeats, sizeof *times, plain_by_size);
    return times[repeats / 2];
}

int main(int argc, char **argv)
{
    documents d = {0}, queries = {0};
    int repeats = 3;
    if (argc == 8 && strcmp(argv[6], "--repeat") == 0)
        repeats = (int)strtol(argv[7], NULL, 10);
    double threshold = argc >= 6 ? strtod(argv[5], NULL) : 0;
    if ((argc != 6 && argc != 8) || !(threshold > 0 && threshold <= 1) || repeats < 1 ||
        repeats > REPEATS_MAX) {
        fprintf(
            stderr,
            "usage: plain_index CORPUS.tsv CORPUS_KEYS.npy QUERIES.tsv QUERY_KEYS.npy THRESHOLD "
            "[--repeat N]\n");
        return 1;
    }
    plain_read_rows(argv[1], add_row, &d);
    read_keys(argv[2], &d);
    plain_read_rows(argv[3], add_row, &queries);
    read_keys(argv[4], &queries);
    if (d.bands != queries.bands || queries.n == 0)
        plain_die("no queries, or of another number of bands", argv[4]);
    search s = {.d = &d, .queries = &queries, .threshold = threshold};
    double took = time_passes(&s, repeats);
    printf("{\"documents\": %zu, \"queries\": %zu, \"bands\": %zu, \"candidates\": %" PRIu64
           ", \"answers\": %" PRIu64
           ", \"queries_per_second\": %.0f, \"plain_bytes\": {\"ids\": %" PRIu64
           ", \"sets\": %" PRIu64 ", \"keys\": %" PRIu64 "}}\n",
           d.n, queries.n, d.bands, s.total.candidates, s.total.found, (double)queries.n / took,
           d.id_bytes + 8 * (uint64_t)d.n, 8 * d.hashes + 8 * (uint64_t)d.n,
           8 * (uint64_t)d.n * d.bands);
    return 0;
}
