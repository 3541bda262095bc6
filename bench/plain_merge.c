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
    size_t n;
    uint64_t id; /* hash of it */
} set;

typedef struct corpus {
    set *sets;
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

static void die(const char *what, const char *name)
{
    fprintf(stderr, "intersect: %s: %s\n", name, what);
    exit(1);
}

static void *must(void *memory)
{
    if (memory == NULL)
        die("out of memory", "corpus");
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
    uint32_t end;
    size_t n_words = cut_words(text, len, scratch, starts, &end), kept = 0;
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

static size_t slot_of(const corpus *c, uint64_t id)
{
    size_t at = (size_t)id & (c->n_slots - 1);
    while (c->slots[at] != 0 && c->sets[c->slots[at] - 1].id != id)
        at = (at + 1) & (c->n_slots - 1);
    return at;
}

static void read_corpus(const char *name, corpus *c)
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
        if (c->n == c->cap) {
            c->cap = c->cap * 2 + 1024;
            c->sets = must(realloc(c->sets, c->cap * sizeof *c->sets));
        }
        c->sets[c->n] = make_set(tab + 1, (size_t)(end - tab - 1), scratch, starts);
        c->sets[c->n++].id = XXH3_64bits(line, (size_t)(tab - line));
    }
    for (c->n_slots = 16; c->n_slots < 2 * c->n;)
        c->n_slots *= 2;
    c->slots = must(calloc(c->n_slots, sizeof *c->slots));
    for (size_t i = 0; i < c->n; i++)
        c->slots[slot_of(c, c->sets[i].id)] = (uint32_t)i + 1;
    free(starts);
    free(scratch);
    free(data);
}

static uint32_t row_of(const corpus *c, const char *id, size_t len, const char *name)
{
    uint32_t row = c->slots[slot_of(c, XXH3_64bits(id, len))];
    if (row == 0)
        die("an id that the corpus does not have", name);
    return row - 1;
}

static pair *read_pairs(const char *name, const corpus *c, size_t *n)
{
    size_t len, cap = 0;
    char *data = read_file(name, &len), *line = strchr(data, '\n');
    pair *pairs = NULL;
    *n = 0;
    for (line = line == NULL ? data + len : line + 1; line < data + len;) {
        char *tab = strchr(line, '\t'), *end = tab == NULL ? NULL : strpbrk(tab + 1, "\t\n");
        if (end == NULL)
            die("a row of fewer than two ids", name);
        if (*n == cap) {
            cap = cap * 2 + 1024;
            pairs = must(realloc(pairs, cap * sizeof *pairs));
        }
        pairs[*n].a = row_of(c, line, (size_t)(tab - line), name);
        pairs[(*n)++].b = row_of(c, tab + 1, (size_t)(end - tab - 1), name);
        line = strchr(end, '\n');
        line = line == NULL ? data + len : line + 1;
    }
    free(data);
    return pairs;
}

static bool reaches(size_t common, const set *x, const set *y, double threshold)
{
    return (double)common / (double)(x->n + y->n - common) >= threshold;
}

static bool merge(const set *x, const set *y, double threshold)
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

static bool bounded(const set *x, const set *y, double threshold)
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

typedef bool (*compare_fn)(const set *x, const set *y, double threshold);

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

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
    const set *sets = t->corpus.sets;
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
    qsort(times, (size_t)t->repeats, sizeof *times, by_size);
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
        die("no pairs", argv[2]);
    double plain = time_pass(&t, merge, &edges);
    double bound = time_pass(&t, bounded, &edges_bounded);
    if (edges != edges_bounded)
        die("the bound loses pairs", argv[2]);
    printf("{\"documents\": %zu, \"pairs\": %zu, \"edges\": %zu, \"merge_pairs_per_second\": %.0f, "
           "\"bounded_pairs_per_second\": %.0f}\n",
           t.corpus.n, t.n, edges, (double)t.n / plain, (double)t.n / bound);
    free(t.pairs);
    return 0;
}
