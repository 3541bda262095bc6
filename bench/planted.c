/* SPDX-License-Identifier: Apache-2.0 */
/* planted.c -- documents of about 1 kB with planted duplicates of known similarity, or with one of
 * the contents that make a naive program quadratic; JSON Lines on stdout.
 *
 *     planted N [--mode clusters|identical|one-word|one-band] [--shingles S] [--seed S]
 *         [--truth FILE]
 *
 *     clusters   154 words a document, which are S = 150 different word 5-shingles (--shingles).
 *                Of 20 documents 9 stand alone, 8 are four pairs, 3 are one cluster: a base and two
 *                edited copies. An edit replaces a word in the middle of a window of 5 shingles of
 *                its own, so that m edits leave S - 5m common shingles:
 *                J = (S - 5m) / (S + 5m), exactly. Copies of one base have no window in common, so
 *                for them J = (S - 5m - 5n) / (S + 5m + 5n). The order is a permutation; nothing is
 *                remembered, so N is not bounded by memory. --truth lists the planted pairs: id_a,
 *                id_b, Jaccard similarity.
 *     identical  N times one text.
 *     one-word   80 words; one of them, its place drawn, is a word of this document's own. Two such
 *                documents share 66 of 86 shingles or more.
 *     one-band   one shingle in common: it is the minimum of the first permutation and of no other,
 *                of the scheme affine32 with XXH3 and seed 1 (found by trying phrases: it hashes to
 *                2^-13.3 of the range there, and to more than a fifth in permutations 2 to 20). The
 *                rest of the text is random, so that with `--bands 20 --rows 1` the documents share
 *                one band and nothing else.
 *
 * Words are 4 letters and more of a 24-bit draw; two drawn shingles of 5 words agree with
 * probability 2^-120. splitmix64 draws them, so the output is the same everywhere. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHINGLES       150u  /* unless --shingles says otherwise */
#define SHINGLES_LEAST 25u   /* a document has at most 5 edits */
#define SHINGLES_MOST  1000u /* so that a document fits into a line */
#define BLOCK          20u   /* the kinds of documents repeat after this many */
#define NEAR_WORDS     80u
#define FEW_WORDS      76u
#define PHRASE         "zeta epsilon xi beta alpha"

typedef enum mode { CLUSTERS, IDENTICAL, ONE_WORD, ONE_BAND } mode;

typedef struct options {
    uint64_t n, seed;
    uint32_t shingles; /* of a document, in clusters */
    mode mode;
    const char *truth;
} options;

/* A document of a block: its base, the number of edits, and the window of the first. A base names
 * itself. */
typedef struct role {
    uint8_t base, edits, window;
} role;

static const role roles[BLOCK] = {
    {0, 0, 0},  {0, 1, 0},             /* J = .935 */
    {2, 0, 0},  {2, 2, 0},             /* .875 */
    {4, 0, 0},  {4, 3, 0},             /* .818 */
    {6, 0, 0},  {6, 5, 0},             /* .714 */
    {8, 0, 0},  {8, 1, 0},  {8, 2, 1}, /* .935, .875; among themselves .818 */
    {11, 0, 0}, {12, 0, 0}, {13, 0, 0}, {14, 0, 0}, {15, 0, 0},
    {16, 0, 0}, {17, 0, 0}, {18, 0, 0}, {19, 0, 0}};

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* The i-th draw of a stream. */
static uint64_t draw(uint64_t seed, uint64_t stream, uint64_t i)
{
    return mix(mix(seed * UINT64_C(0x9E3779B97F4A7C15) + stream) +
               i * UINT64_C(0x9E3779B97F4A7C15));
}

static char *put_word(char *to, uint64_t drawn)
{
    uint32_t bits = (uint32_t)(drawn >> 40);
    *to++ = ' ';
    for (int i = 0; i < 4 || bits != 0; i++, bits /= 26)
        *to++ = (char)('a' + bits % 26);
    return to;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The position of the i-th of n documents is i * step + shift modulo n; step is coprime to n. */
typedef struct shuffle {
    uint64_t n, step, shift;
} shuffle;

static shuffle shuffle_make(uint64_t n, uint64_t seed)
{
    shuffle s = {n, 1, 0};
    if (n > 1) {
        s.step = draw(seed, 1, 0) % n;
        while (gcd(s.step, n) != 1)
            s.step = (s.step + 1) % n;
        s.shift = draw(seed, 1, 1) % n;
    }
    return s;
}

static uint64_t shuffle_at(const shuffle *s, uint64_t i)
{
    return (uint64_t)(((unsigned __int128)i * s->step + s->shift) % s->n);
}

static char *clusters_text(char *to, const options *o, uint64_t place)
{
    uint64_t block = place / BLOCK * BLOCK;
    const role *r = &roles[place - block];
    const uint32_t words = o->shingles + 4, windows = o->shingles / 5;
    for (uint32_t w = 0; w < words; w++) {
        uint32_t window = w >= 4 && (w - 4) % 5 == 0 ? (w - 4) / 5 : windows;
        bool edited = window >= r->window && window < (uint32_t)r->window + r->edits;
        uint64_t stream = edited ? place : block + r->base;
        to = put_word(to, draw(o->seed, 2 + stream, edited ? words + w : w));
    }
    return to;
}

static char *near_text(char *to, const options *o, uint64_t i)
{
    uint32_t own =
        o->mode == ONE_WORD ? (uint32_t)(draw(o->seed, 2 + i, 0) % NEAR_WORDS) : NEAR_WORDS;
    for (uint32_t w = 0; w < NEAR_WORDS; w++) {
        if (w == own)
            to += sprintf(to, " own%" PRIu64, i);
        else
            to = put_word(to, draw(o->seed, 1, w));
    }
    return to;
}

static char *band_text(char *to, const options *o, uint64_t i)
{
    memcpy(to, " " PHRASE, sizeof PHRASE);
    to += sizeof PHRASE;
    for (uint32_t w = 0; w < FEW_WORDS; w++)
        to = put_word(to, draw(o->seed, 2 + i, w));
    return to;
}

static int write_documents(const options *o)
{
    static char line[8192];
    shuffle order = shuffle_make(o->n, o->seed);
    for (uint64_t i = 0; i < o->n; i++) {
        char *to = line + sprintf(line, "{\"id\":\"%" PRIu64 "\",\"text\":\"", i);
        char *text = to;
        if (o->mode == CLUSTERS)
            to = clusters_text(to, o, shuffle_at(&order, i));
        else
            to = o->mode == ONE_BAND ? band_text(to, o, i) : near_text(to, o, i);
        memmove(text, text + 1, (size_t)(to - text - 1)); /* the first space */
        memcpy(to - 1, "\"}\n", 3);
        if (fwrite(line, 1, (size_t)(to + 2 - line), stdout) != (size_t)(to + 2 - line))
            return 1;
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

static double similarity(uint32_t shingles, uint32_t edits)
{
    return (double)(shingles - 5 * edits) / (double)(shingles + 5 * edits);
}

/* The inverse of `step` modulo n: maps positions back to the documents of a block. */
static uint64_t inverse(uint64_t step, uint64_t n)
{
    __int128 r0 = n, r1 = step, t0 = 0, t1 = 1;
    while (r1 != 0) {
        __int128 q = r0 / r1, r2 = r0 - q * r1, t2 = t0 - q * t1;
        r0 = r1, r1 = r2, t0 = t1, t1 = t2;
    }
    return (uint64_t)(t0 < 0 ? t0 + (__int128)n : t0);
}

static int write_truth(const options *o)
{
    FILE *file = fopen(o->truth, "w");
    if (file == NULL)
        return 1;
    shuffle order = shuffle_make(o->n, o->seed);
    uint64_t back = o->n > 1 ? inverse(order.step, o->n) : 1;
    fprintf(file, "id_a\tid_b\tjaccard\n");
    for (uint64_t place = 0; place < o->n; place++) {
        uint64_t block = place / BLOCK * BLOCK;
        const role *r = &roles[place - block];
        for (uint64_t other = block; other < place; other++) {
            const role *q = &roles[other - block];
            if (q->base != r->base)
                continue;
            uint64_t ids[2] = {place, other};
            for (int k = 0; k < 2; k++)
                ids[k] = (uint64_t)((unsigned __int128)(ids[k] + o->n - order.shift) % o->n * back %
                                    o->n);
            uint64_t a = ids[0] < ids[1] ? ids[0] : ids[1], b = ids[0] < ids[1] ? ids[1] : ids[0];
            fprintf(file, "%" PRIu64 "\t%" PRIu64 "\t%.6f\n", a, b,
                    similarity(o->shingles, (uint32_t)q->edits + r->edits));
        }
    }
    return fclose(file) == 0 ? 0 : 1;
}

static bool parse(int argc, char **argv, options *o)
{
    static const char *const modes[] = {"clusters", "identical", "one-word", "one-band"};
    *o = (options){.seed = 1, .shingles = SHINGLES};
    if (argc < 2 || argc % 2 != 0 || argv[1][0] < '0' || argv[1][0] > '9')
        return false;
    o->n = strtoull(argv[1], NULL, 10);
    for (int i = 2; i < argc; i += 2) {
        bool known = false;
        if (strcmp(argv[i], "--seed") == 0) {
            o->seed = strtoull(argv[i + 1], NULL, 10);
            known = true;
        } else if (strcmp(argv[i], "--shingles") == 0) {
            const unsigned long given = strtoul(argv[i + 1], NULL, 10);
            o->shingles = (uint32_t)given;
            known = given >= SHINGLES_LEAST && given <= SHINGLES_MOST;
        } else if (strcmp(argv[i], "--truth") == 0) {
            o->truth = argv[i + 1];
            known = true;
        }
        for (int m = 0; m < 4; m++) {
            if (strcmp(argv[i], "--mode") == 0 && strcmp(argv[i + 1], modes[m]) == 0) {
                o->mode = (mode)m;
                known = true;
            }
        }
        if (!known)
            return false;
    }
    return o->truth == NULL || o->mode == CLUSTERS;
}

int main(int argc, char **argv)
{
    options o;
    if (!parse(argc, argv, &o)) {
        fprintf(stderr,
                "planted N [--mode clusters|identical|one-word|one-band] "
                "[--shingles %u..%u] [--seed S] [--truth FILE]\n",
                SHINGLES_LEAST, SHINGLES_MOST);
        return 2;
    }
    if ((o.truth != NULL && write_truth(&o) != 0) || write_documents(&o) != 0) {
        perror("planted");
        return 4;
    }
    return 0;
}
