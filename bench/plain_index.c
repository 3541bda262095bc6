/* plain_index.c -- the yardstick for `query`: an index as somebody would write it who has all of it in memory, on one core,
 * with nothing of the library.
 *
 *   plain_index CORPUS.tsv CORPUS_KEYS.npy QUERIES.tsv QUERY_KEYS.npy THRESHOLD [--repeat N]
 *
 * The documents have rows "id TAB text"; the band keys are those that `bandmill sign --band-keys` writes of the same rows.
 * Shingles are 5 words (runs of ASCII letters and digits and of bytes over 127, ASCII letters in lower case), hashed with
 * XXH3_64bits, sorted, each once: a plain array a document. Of each band one open-addressing table at half load, keys and
 * numbers side by side. A query looks up each of its keys, takes each document found once, and compares the sets by
 * a merge that stops as soon as the threshold is out of reach. Timed is the loop over the queries only: cutting and hashing
 * their texts, and their keys, are not in it. One JSON object: queries a second, the median over the repeats, and how many
 * candidates and answers there were, so that it can be seen that it did the same work as another program; and how many bytes
 * ids, sets and keys take as plain arrays. */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SHINGLE     5u
#define REPEATS_MAX 99

typedef struct set {
    uint64_t *hashes;
    uint32_t n;
} set;

typedef struct documents {
    set *sets;
    size_t n, cap;
    uint64_t *keys; /* n * bands */
    size_t bands;
    uint64_t id_bytes, hashes;
} documents;

/* Of one band. */
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

static void die(const char *what, const char *name)
{
    fprintf(stderr, "plain_index: %s: %s\n", name, what);
    exit(1);
}

static void *must(void *memory)
{
    if (memory == NULL)
        die("out of memory", "plain_index");
    return memory;
}

static char *read_file(const char *name, size_t *len)
{
    FILE *file = fopen(name, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        die("cannot be read", name);
    long size = ftell(file);
    rewind(file);
    char *data = must(malloc((size_t)size + 1));
    if (size < 0 || fread(data, 1, (size_t)size, file) != (size_t)size)
        die("cannot be read", name);
    data[size] = '\0';
    fclose(file);
    *len = (size_t)size;
    return data;
}

/* --- documents --- */

static int ascending(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

/* Words of text[0 … len), joined by single spaces, to `out`; their beginnings to `starts`. */
static size_t cut_words(const char *text, size_t len, char *out, uint32_t *starts, uint32_t *end)
{
    size_t n = 0, at = 0;
    bool inside = false;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        bool word = c > 127 || isalnum(c);
        if (word && !inside) {
            if (n > 0)
                out[at++] = ' ';
            starts[n++] = (uint32_t)at;
        }
        if (word)
            out[at++] = (char)tolower(c);
        inside = word;
    }
    *end = (uint32_t)at;
    return n;
}

static set make_set(const char *text, size_t len, char *scratch, uint32_t *starts)
{
    uint32_t end, kept = 0;
    size_t n_words = cut_words(text, len, scratch, starts, &end);
    size_t n = n_words == 0 ? 0 : n_words < SHINGLE ? 1 : n_words - SHINGLE + 1;
    set out = {.hashes = must(malloc((n + 1) * sizeof(uint64_t)))};
    for (size_t i = 0; i < n; i++) {
        size_t stop = i + SHINGLE < n_words ? starts[i + SHINGLE] - 1 : end;
        out.hashes[i] = XXH3_64bits(scratch + starts[i], stop - starts[i]);
    }
    qsort(out.hashes, n, sizeof *out.hashes, ascending);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || out.hashes[i] != out.hashes[i - 1])
            out.hashes[kept++] = out.hashes[i];
    out.n = kept;
    return out;
}

static void read_texts(const char *name, documents *d)
{
    size_t len;
    char *data = read_file(name, &len);
    char *scratch = must(malloc(2 * len + 2));
    uint32_t *starts = must(malloc((len + 1) * sizeof *starts));
    for (char *line = data, *next; line < data + len; line = next) {
        char *end = memchr(line, '\n', (size_t)(data + len - line));
        end = end == NULL ? data + len : end;
        next = end + 1;
        char *tab = memchr(line, '\t', (size_t)(end - line));
        if (tab == NULL)
            die("a row without a tab", name);
        if (d->n == d->cap) {
            d->cap = d->cap * 2 + 1024;
            d->sets = must(realloc(d->sets, d->cap * sizeof *d->sets));
        }
        d->sets[d->n] = make_set(tab + 1, (size_t)(end - tab - 1), scratch, starts);
        d->hashes += d->sets[d->n++].n;
        d->id_bytes += (uint64_t)(tab - line);
    }
    free(starts);
    free(scratch);
    free(data);
}

/* An array of '<u8' of two dimensions, rows first. */
static void read_keys(const char *name, documents *d)
{
    size_t len, rows = 0;
    char *data = read_file(name, &len), *shape = NULL;
    if (len < 10 || memcmp(data, "\x93NUMPY\1", 7) != 0)
        die("no .npy of version 1", name);
    size_t head = 10 + (size_t)(uint8_t)data[8] + 256u * (uint8_t)data[9];
    if (head <= len && memmem(data, head, "'<u8'", 5) != NULL)
        shape = memmem(data, head, "(", 1);
    if (shape == NULL || sscanf(shape, "(%zu, %zu)", &rows, &d->bands) != 2 || rows != d->n ||
        len - head != rows * d->bands * sizeof *d->keys)
        die("not the keys of these documents", name);
    d->keys = must(malloc(rows * d->bands * sizeof *d->keys + 1));
    memcpy(d->keys, data + head, rows * d->bands * sizeof *d->keys);
    free(data);
}

/* --- the index --- */

static table make_table(const documents *d, size_t band)
{
    size_t n_slots = 16;
    while (n_slots < 2 * d->n)
        n_slots *= 2;
    table t = {.keys = must(malloc(n_slots * sizeof *t.keys)),
               .numbers = must(calloc(n_slots, sizeof *t.numbers)),
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

static bool reaches(const set *x, const set *y, double threshold)
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
    uint32_t *seen; /* of each document: the last query that met it, + 1 */
    double threshold;
    answers total;
} search;

static void ask(search *s, size_t query)
{
    const documents *d = s->d, *queries = s->queries;
    uint32_t *seen = s->seen;
    answers *out = &s->total;
    const set *x = &queries->sets[query];
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

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

/* Median seconds of the passes over all queries. */
static double time_passes(search *s, int repeats)
{
    const documents *d = s->d;
    double times[REPEATS_MAX];
    s->tables = must(malloc(d->bands * sizeof *s->tables));
    s->seen = must(malloc(d->n * sizeof *s->seen + 1));
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
    qsort(times, (size_t)repeats, sizeof *times, by_size);
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
    read_texts(argv[1], &d);
    read_keys(argv[2], &d);
    read_texts(argv[3], &queries);
    read_keys(argv[4], &queries);
    if (d.bands != queries.bands || queries.n == 0)
        die("no queries, or of another number of bands", argv[4]);
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
