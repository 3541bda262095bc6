/* SPDX-License-Identifier: Apache-2.0 */
/* limit.c -- the yardstick for text: from a TSV in memory to MinHash signatures, on one core, with
 * nothing of the library.
 *
 *   limit [--repeat N] [--distinct] FILE     rows "id TAB text"; prints one JSON object
 *   limit --arith               only the arithmetic of the signature loop: no memory traffic
 *
 * The job: words are runs of what is not White_Space, a shingle is 5 words joined by one space (or
 * all words of a shorter text), hashed with XXH3_64bits where it stands; 128 permutations of
 * affine32 with seed 1. With --distinct, each hash of a text is signed once; this gives the
 * same signatures, and the number of distinct shingles of each text, which a program that
 * compares sets needs. `checksum` is the sum of word[i] (2i + 1) mod 2^64 over all signature
 * words, document after document, so that another program's signatures can be compared.
 *
 * How: limit_words.c finds the words, limit_hashes.c hashes shingles where they stand, limit_sign.c
 * makes signatures of hashes, each for the instruction set that limit_vectors.h names. Hashes of a
 * document go to a small buffer. The set of --distinct is a table whose entries carry the number of
 * their text, so the next text needs no clearing.
 *
 * Compiled for AVX-512 (BW, VL), the same with VBMI2 (limit_vbmi2), or AVX2 (limit_avx2). Any error
 * is one line on stderr and exit code 1. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "limit_hashes.h"
#include "limit_sign.h"
#include "limit_vectors.h"
#include "limit_words.h"

#define SHINGLE      5u
#define DISTINCT_MAX 0xFFFFu           /* shingles per text, with --distinct */
#define TABLE_PLACES ((size_t)1 << 19) /* 8 x DISTINCT_MAX, in pages that are touched or not */
#define REPEATS_MAX  1000

typedef struct job {
    const char *data; /* the file, SLACK readable bytes on both sides */
    size_t len;
    uint32_t *starts; /* of the words in one text */
    char *rewritten;  /* one text with single spaces, SLACK on both sides */
    uint32_t *signatures;
    uint64_t *values; /* --distinct: the distinct hashes of one text */
    uint32_t *table;  /* --distinct: text number << 16 | position in `values` */
    uint32_t text_bits;
    bool distinct;
    size_t n_docs, n_rewritten;
    uint64_t n_shingles, n_distinct, text_bytes;
    coefficients coefficients;
} job;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void die(const char *what, const char *file)
{
    fprintf(stderr, "limit: %s: %s: %s\n", file, what, errno != 0 ? strerror(errno) : "failed");
    exit(1);
}

static void *must_alloc(size_t bytes)
{
    void *block = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (block == NULL)
        die("out of memory", "limit");
    return block;
}

/* --- distinct hashes --- */

/* Stores the distinct hashes of one text in `values`; returns their number. An entry of the table
 * belongs to the text whose number is in its upper half, and is empty for all others. */
static size_t keep_distinct(job *j, const uint64_t *hashes, size_t n, size_t n_values,
                            unsigned shift)
{
    const size_t mask = SIZE_MAX >> shift;
    const uint32_t mine = j->text_bits;
    uint64_t *values = j->values;
    for (size_t i = 0; i < n; i++) {
        size_t place = (size_t)(hashes[i] >> shift);
        uint32_t at;
        while ((at = j->table[place] ^ mine) <= 0xFFFF && values[at] != hashes[i])
            place = (place + 1) & mask;
        if (at > 0xFFFF) {
            j->table[place] = mine | (uint32_t)n_values;
            values[n_values++] = hashes[i];
        }
    }
    return n_values;
}

/* Begins a text of n shingles; returns the shift that selects a slot in its part of the table. */
static unsigned begin_distinct(job *j, size_t n)
{
    unsigned bits = 12;
    while ((size_t)1 << bits < 8 * n)
        bits++;
    j->text_bits += 0x10000;
    if (j->text_bits == 0) {
        memset(j->table, 0, TABLE_PLACES * sizeof *j->table);
        j->text_bits = 0x10000;
    }
    return 64 - bits;
}

/* --- signatures --- */

static void sign_text(job *j, const char *text, size_t len, uint32_t *words)
{
    memset(words, 0xFF, PERMS * sizeof *words);
    size_t n_words = limit_word_starts(text, len, j->starts);
    if (n_words >= NEEDS_SQUEEZE) {
        j->n_rewritten++;
        len = n_words == NEEDS_SQUEEZE ? limit_squeeze(text, len, j->rewritten)
                                       : limit_rewrite(text, len, j->rewritten);
        text = j->rewritten;
        n_words = limit_word_starts(text, len, j->starts);
    }
    if (n_words == 0)
        return;
    uint32_t span = n_words < SHINGLE ? (uint32_t)n_words : SHINGLE;
    size_t n = n_words - span + 1;
    j->n_shingles += n;
    if (j->distinct && n > DISTINCT_MAX)
        die("a text has too many shingles for --distinct", "limit");
    const unsigned shift = j->distinct ? begin_distinct(j, n) : 0;
    uint64_t hashes[HASH_BLOCK];
    size_t n_values = 0;
    for (size_t done = 0; done < n; done += HASH_BLOCK) {
        size_t size = n - done < HASH_BLOCK ? n - done : HASH_BLOCK;
        limit_hash_block(text, j->starts + done, span, size, hashes);
        if (j->distinct)
            n_values = keep_distinct(j, hashes, size, n_values, shift);
        else
            limit_sign(&j->coefficients, hashes, size, words);
    }
    for (size_t done = 0; done < n_values; done += HASH_BLOCK)
        limit_sign(&j->coefficients, j->values + done,
                   n_values - done < HASH_BLOCK ? n_values - done : HASH_BLOCK, words);
    j->n_distinct += n_values;
}

/* Signs every row of the file. */
static void sign_all(job *j)
{
    j->n_shingles = j->n_distinct = j->text_bytes = 0;
    j->n_rewritten = 0;
    uint32_t *words = j->signatures;
    const char *end = j->data + j->len;
    for (const char *line = j->data; line < end; words += PERMS) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (stop == NULL)
            stop = end;
        const char *tab = memchr(line, '\t', (size_t)(stop - line));
        const char *text = tab == NULL ? stop : tab + 1;
        size_t len = (size_t)(stop - text);
        if (len > 0 && text[len - 1] == '\r')
            len--;
        j->text_bytes += len;
        sign_text(j, text, len, words);
        line = stop + 1;
    }
}

/* --- the program --- */

static void read_file(job *j, const char *path)
{
    errno = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        die("cannot be read as a regular file", path);
    j->len = (size_t)st.st_size;
    char *data = must_alloc(j->len + 2 * SLACK);
    memset(data, 0, SLACK);
    for (size_t done = 0; done < j->len;) {
        ssize_t n = read(fd, data + SLACK + done, j->len - done);
        if (n <= 0)
            die("read", path);
        done += (size_t)n;
    }
    close(fd);
    memset(data + SLACK + j->len, 0, SLACK);
    j->data = data + SLACK;
}

/* Counts the rows and allocates memory for the longest. */
static void prepare(job *j, const char *path)
{
    size_t longest = 0;
    for (size_t at = 0; at < j->len; j->n_docs++) {
        const char *stop = memchr(j->data + at, '\n', j->len - at);
        size_t len = (stop == NULL ? j->len : (size_t)(stop - j->data)) - at;
        longest = len > longest ? len : longest;
        at += len + 1;
    }
    errno = 0;
    if (longest > UINT32_MAX - 64)
        die("a row is too long (4 GiB)", path);
    j->starts = must_alloc((longest + 80) * sizeof *j->starts); /* put_bits writes past the end */
    j->rewritten = (char *)must_alloc(longest + 2 * SLACK) + SLACK;
    memset(j->rewritten - SLACK, 0, longest + 2 * SLACK);
    if (j->distinct) {
        j->values = must_alloc((DISTINCT_MAX + 1) * sizeof *j->values);
        j->table = must_alloc(TABLE_PLACES * sizeof *j->table);
        memset(j->table, 0, TABLE_PLACES * sizeof *j->table);
    }
    j->signatures = must_alloc(j->n_docs * PERMS * sizeof *j->signatures + 64);
    memset(j->signatures, 0, j->n_docs * PERMS * sizeof *j->signatures); /* commits the pages */
}

/* Millions of shingles per second of the signature loop alone. */
static double arithmetic_limit(const coefficients *c)
{
    uint32_t words[PERMS], sum = 0;
    double begin = seconds();
    limit_arithmetic(c, words);
    double took = seconds() - begin;
    for (uint32_t i = 0; i < PERMS; i++)
        sum ^= words[i];
    __asm__ volatile("" : : "r"(sum));
    return (double)ARITH_ROUNDS / took * 1e-6;
}

static int compare_doubles(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void run_file(const char *path, int repeats, bool distinct)
{
    job j = {.distinct = distinct};
    limit_draw(1, &j.coefficients);
    double begin = seconds();
    read_file(&j, path);
    double read_s = seconds() - begin;
    prepare(&j, path);
    double times[REPEATS_MAX];
    for (int i = 0; i < repeats; i++) {
        begin = seconds();
        sign_all(&j);
        times[i] = seconds() - begin;
    }
    qsort(times, (size_t)repeats, sizeof times[0], compare_doubles);
    double median = times[repeats / 2];
    uint64_t checksum = 0;
    for (size_t i = 0; i < j.n_docs * PERMS; i++)
        checksum += (uint64_t)j.signatures[i] * (2 * i + 1);
    printf("{\"isa\":\"%s\",\"bytes\":%zu,\"documents\":%zu,\"shingles\":%" PRIu64
           ",\"distinct\":%" PRIu64 ",\"text_bytes\":%" PRIu64
           ",\"rewritten\":%zu,\"repeats\":%d,\"read_s\":%.4f,\"sign_s\":%.4f,\"sign_min_s\":%.4f,"
           "\"total_s\":%.4f,\"mb_per_s\":%.1f,\"mshingles_per_s\":%.2f,\"checksum\":\"%016" PRIx64
           "\"}\n",
           ISA, j.len, j.n_docs, j.n_shingles, j.n_distinct, j.text_bytes, j.n_rewritten, repeats,
           read_s, median, times[0], read_s + median, (double)j.len / median * 1e-6,
           (double)j.n_shingles / median * 1e-6, checksum);
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    int repeats = 5;
    bool arith = false, distinct = false, bad = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--arith") == 0)
            arith = true;
        else if (strcmp(argv[i], "--distinct") == 0)
            distinct = true;
        else if (strcmp(argv[i], "--repeat") == 0 && i + 1 < argc)
            repeats = atoi(argv[++i]);
        else if (path == NULL && argv[i][0] != '-')
            path = argv[i];
        else
            bad = true;
    }
    if (bad || arith == (path != NULL) || repeats < 1 || repeats > REPEATS_MAX) {
        fprintf(stderr, "usage: limit [--repeat N] [--distinct] FILE | limit --arith\n");
        return 2;
    }
    if (!arith) {
        run_file(path, repeats, distinct);
        return 0;
    }
    coefficients c;
    limit_draw(1, &c);
    double best = 0;
    for (int i = 0; i < 3; i++) {
        double rate = arithmetic_limit(&c);
        best = rate > best ? rate : best;
    }
    printf("{\"isa\":\"%s\",\"permutations\":%u,\"arith_mshingles_per_s\":%.1f}\n", ISA, PERMS,
           best);
    return 0;
}
