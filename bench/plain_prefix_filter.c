/* SPDX-License-Identifier: Apache-2.0 */
/* plain_prefix_filter.c -- all pairs above a threshold, the plain way: the yardstick for `bandmill
 * pairs --candidates all`, one thread, with nothing of the library.
 *
 *   plain_prefix_filter THRESHOLD FILE.jsonl     rows "id TAB id TAB similarity" on stdout, in any
 *                                                order; counts and seconds on stderr
 *
 * Documents are objects with a string "text" and a string or number "id"; shingles are 5 words
 * joined by a space, or all words of a shorter text, hashed with XXH3; a word is a run of what is
 * not White_Space. As textbooks have it: shingles become integers by falling rarity; a document is
 * a sorted array of these; documents come by size; each looks at the lists of its first
 * n - ceil(t n) + 1 shingles, counts whom it meets, drops whoever is too small, merges what is left
 * with an early end, and is then added to the lists. Well-formed input is taken for granted. */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct document {
    char *id;
    uint32_t *shingles; /* ranks, ascending */
    uint32_t n;
    uint64_t *hashes;
} document;

typedef struct list {
    uint32_t *docs, n, cap;
} list;

typedef struct entry {
    uint64_t hash;
    uint32_t count, rank; /* count 0: free */
} entry;

static document *docs;
static size_t n_docs, cap_docs;
static entry *table;
static size_t n_slots, n_used;

static void *need(void *block)
{
    if (block == NULL) {
        fprintf(stderr, "plain_prefix_filter: out of memory\n");
        exit(1);
    }
    return block;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- reading --- */

static size_t put_code(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        to[i] = (char)(0x80 | (c & 63));
    to[0] = (char)((0xF00 >> n & 0xFF) | c);
    return n;
}

static uint32_t hex4(const char *at)
{
    char digits[5] = {at[0], at[1], at[2], at[3], 0};
    return (uint32_t)strtoul(digits, NULL, 16);
}

/* Unescapes the string after the quote at *at, in place, and moves *at past its end. Returns its
 * length, since it may contain any bytes. */
static size_t take_string(char **at)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char *begin = *at, *out = begin, *p = begin;
    while (*p != '"') {
        if (*p != '\\') {
            *out++ = *p++;
        } else if (p[1] != 'u') {
            *out++ = to[strchr(from, p[1]) - from];
            p += 2;
        } else {
            uint32_t code = hex4(p + 2);
            p += 6;
            if (code >= 0xD800 && code < 0xDC00 && p[0] == '\\' && p[1] == 'u') {
                code = 0x10000 + ((code - 0xD800) << 10) + (hex4(p + 2) - 0xDC00);
                p += 6;
            }
            out += put_code(out, code);
        }
    }
    *at = p + 1;
    *out = '\0';
    return (size_t)(out - begin);
}

/* Bytes of a White_Space character at p, 0: none. */
static size_t space_len(const unsigned char *p)
{
    if (p[0] == ' ' || (p[0] >= 9 && p[0] <= 13))
        return 1;
    if (p[0] == 0xC2 && (p[1] == 0x85 || p[1] == 0xA0))
        return 2;
    if (p[0] < 0xE1 || p[0] > 0xE3 || p[1] == 0 || p[2] == 0)
        return 0;
    unsigned code = (p[0] & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u);
    bool space = code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
                 code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
    return space ? 3 : 0;
}

static int by_hash(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

/* Distinct hashes of the shingles; the text is rewritten with single spaces. */
static uint64_t *shingle(char *text, size_t len, uint32_t *n_out)
{
    size_t n_words = 0, out = 0;
    size_t *starts = need(malloc((len / 2 + 2) * sizeof *starts));
    for (size_t i = 0; i < len;) {
        size_t space = space_len((unsigned char *)text + i);
        if (space != 0) {
            i += space;
            continue;
        }
        starts[n_words++] = out;
        while (i < len && space_len((unsigned char *)text + i) == 0)
            text[out++] = text[i++];
        space = i < len ? space_len((unsigned char *)text + i) : 0;
        text[out++] = ' '; /* overwrites bytes already read: at least one space, or the end */
        i += space;
    }
    starts[n_words] = out;
    size_t n = n_words == 0 ? 0 : n_words < 5 ? 1 : n_words - 4, kept = 0;
    uint64_t *hashes = need(malloc((n + 1) * sizeof *hashes));
    for (size_t i = 0; i < n; i++) {
        size_t end = starts[n_words < 5 ? n_words : i + 5] - 1;
        hashes[i] = XXH3_64bits(text + starts[i], end - starts[i]);
    }
    qsort(hashes, n, sizeof *hashes, by_hash);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || hashes[i] != hashes[kept - 1])
            hashes[kept++] = hashes[i];
    free(starts);
    *n_out = (uint32_t)kept;
    return hashes;
}

static void read_line(char *line)
{
    document doc = {0};
    char *text = line;
    size_t text_len = 0;
    for (char *p = strchr(line, '{') + 1; *p != '}' && *p != '\0';) {
        while (isspace((unsigned char)*p) || *p == ',')
            p++;
        if (*p != '"')
            break;
        p++;
        char *key = p;
        take_string(&p);
        while (isspace((unsigned char)*p) || *p == ':')
            p++;
        bool quoted = *p == '"';
        p += quoted;
        char *value = p;
        size_t len = quoted ? take_string(&p) : strcspn(p, ",}");
        p += quoted ? 0 : len;
        if (strcmp(key, "text") == 0) {
            text = value;
            text_len = len;
        }
        if (strcmp(key, "id") == 0)
            doc.id = need(strndup(value, len));
    }
    doc.hashes = shingle(text, text_len, &doc.n);
    if (n_docs == cap_docs)
        docs = need(realloc(docs, (cap_docs = cap_docs * 2 + 1024) * sizeof *docs));
    docs[n_docs++] = doc;
}

/* --- ranks --- */

static entry *slot(uint64_t hash)
{
    size_t at = hash & (n_slots - 1);
    while (table[at].count != 0 && table[at].hash != hash)
        at = (at + 1) & (n_slots - 1);
    return &table[at];
}

static void grow(void)
{
    entry *old = table;
    size_t n_old = n_slots;
    n_slots = n_old == 0 ? 1 << 16 : n_old * 2;
    table = need(calloc(n_slots, sizeof *table));
    for (size_t i = 0; i < n_old; i++)
        if (old[i].count != 0)
            *slot(old[i].hash) = old[i];
    free(old);
}

static int by_count(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    return a->count != b->count ? (a->count < b->count ? -1 : 1) : by_hash(&a->hash, &b->hash);
}

static int by_rank(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

static void rank_all(void)
{
    for (size_t d = 0; d < n_docs; d++)
        for (uint32_t i = 0; i < docs[d].n; i++) {
            if (n_used * 2 >= n_slots)
                grow();
            entry *e = slot(docs[d].hashes[i]);
            e->hash = docs[d].hashes[i];
            n_used += e->count++ == 0;
        }
    entry **order = need(malloc((n_used + 1) * sizeof *order));
    size_t n = 0;
    for (size_t i = 0; i < n_slots; i++)
        if (table[i].count != 0)
            order[n++] = &table[i];
    qsort(order, n, sizeof *order, by_count);
    for (size_t i = 0; i < n; i++)
        order[i]->rank = (uint32_t)i;
    free(order);
    for (size_t d = 0; d < n_docs; d++) {
        docs[d].shingles = need(malloc((docs[d].n + 1) * sizeof(uint32_t)));
        for (uint32_t i = 0; i < docs[d].n; i++)
            docs[d].shingles[i] = slot(docs[d].hashes[i])->rank;
        qsort(docs[d].shingles, docs[d].n, sizeof(uint32_t), by_rank);
        free(docs[d].hashes);
    }
}

/* --- pairs --- */

static int by_size(const void *x, const void *y)
{
    uint32_t a = docs[*(const uint32_t *)x].n, b = docs[*(const uint32_t *)y].n;
    return a != b ? (a < b ? -1 : 1) : by_rank(x, y);
}

/* Shingles in common, or 0 once `least` cannot be reached. */
static uint32_t common(const document *x, const document *y, uint32_t least)
{
    uint32_t i = 0, j = 0, found = 0;
    while (i < x->n && j < y->n) {
        uint32_t left = x->n - i < y->n - j ? x->n - i : y->n - j;
        if (found + left < least)
            return 0;
        if (x->shingles[i] == y->shingles[j])
            found++, i++, j++;
        else if (x->shingles[i] < y->shingles[j])
            i++;
        else
            j++;
    }
    return found;
}

static size_t find_pairs(double t, size_t *compared)
{
    uint32_t *order = need(malloc((n_docs + 1) * sizeof *order));
    uint32_t *seen = need(calloc(n_docs + 1, sizeof *seen));
    list *lists = need(calloc(n_used + 1, sizeof *lists));
    size_t n_pairs = 0;
    for (size_t i = 0; i < n_docs; i++)
        order[i] = (uint32_t)i;
    qsort(order, n_docs, sizeof *order, by_size);
    for (size_t k = 0; k < n_docs; k++) {
        uint32_t a = order[k];
        const document *x = &docs[a];
        uint32_t share = 0; /* the smallest c with c / n >= t */
        while (share < x->n && (double)share / x->n < t)
            share++;
        for (uint32_t i = 0; i < x->n && i + share <= x->n; i++) {
            list *l = &lists[x->shingles[i]];
            for (uint32_t m = 0; m < l->n; m++) {
                uint32_t b = l->docs[m];
                const document *y = &docs[b];
                if (seen[b] == k + 1 || y->n < share)
                    continue;
                seen[b] = (uint32_t)k + 1;
                ++*compared;
                uint32_t least = (uint32_t)(t / (1 + t) * (x->n + y->n) * (1 - 1e-9));
                uint32_t c = common(x, y, least);
                double similarity = (double)c / (double)(x->n + y->n - c);
                if (c == 0 || similarity < t)
                    continue;
                n_pairs++;
                printf("%s\t%s\t%.6f\n", docs[a < b ? a : b].id, docs[a < b ? b : a].id,
                       similarity);
            }
            if (l->n == l->cap)
                l->docs = need(realloc(l->docs, (l->cap = l->cap * 2 + 2) * sizeof *l->docs));
            l->docs[l->n++] = a;
        }
    }
    return n_pairs;
}

int main(int argc, char **argv)
{
    double t = argc == 3 ? strtod(argv[1], NULL) : 0, began = seconds();
    FILE *file = argc == 3 ? fopen(argv[2], "r") : NULL;
    if (file == NULL || !(t > 0 && t <= 1)) {
        fprintf(stderr, "usage: plain_prefix_filter THRESHOLD FILE.jsonl\n");
        return 2;
    }
    char *line = NULL;
    size_t cap = 0, compared = 0;
    while (getline(&line, &cap, file) > 0)
        read_line(line);
    double read = seconds();
    rank_all();
    double ranked = seconds();
    size_t n_pairs = find_pairs(t, &compared);
    double done = seconds();
    fprintf(stderr,
            "{\"documents\": %zu, \"shingles\": %zu, \"compared\": %zu, \"pairs\": %zu, "
            "\"read_s\": %.4f, "
            "\"rank_s\": %.4f, \"pairs_s\": %.4f, \"seconds\": %.4f}\n",
            n_docs, n_used, compared, n_pairs, read - began, ranked - read, done - ranked,
            done - began);
    return fflush(stdout) == 0 ? 0 : 1;
}
