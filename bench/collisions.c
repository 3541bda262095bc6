/* SPDX-License-Identifier: Apache-2.0 */
/* collisions.c -- documents that were made to collide in one slot of the program's hash tables, as
 * anybody can who knows the public hash functions; JSON Lines on stdout.
 *
 *     collisions N MODE        MODE: plain, ids-low, ids-leading, content
 *
 *     plain         ids and texts as chance makes them
 *     ids-low       ids of 8 characters, whose XXH3_64bits agree in the lowest 20 bits
 *     ids-leading   the same for the leading 20 bits
 *     content       texts of 8 words, whose content hashes (kernels/content_hash.h) agree in their
 *                   lower 64 bits; 1,000,000 at most, for `--shingle word:1`
 *
 * Each shingle has a number u, and the lower half of the content hash of 8 shingles is a bijection
 * of the sum of their u. So sums of 0 are wanted: 8 lists of 2^21 words are joined in three steps,
 * each of which makes 21 more bits of the sum 0 and leaves some 2^21 rows (D. Wagner, A generalized
 * birthday problem, 2002). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/world/colliding.h"

#define ID_BITS   20u
#define LIST_BITS 21u
#define LIST      ((size_t)1 << LIST_BITS)
#define LIST_CAP  (LIST + LIST / 4)
#define LANES     8u
#define STEP      UINT64_C(0x9E3779B97F4A7C15)

/* The sum of u over one or more words, and the rows of two lists that it was made from. */
typedef struct row {
    uint64_t sum;
    uint32_t left, right;
} row;

typedef struct list {
    row *rows;
    size_t n;
} list;

static uint64_t fmix64(uint64_t k)
{
    k ^= k >> 33;
    k *= UINT64_C(0xFF51AFD7ED558CCD);
    k ^= k >> 33;
    k *= UINT64_C(0xC4CEB9FE1A85EC53);
    return k ^ k >> 33;
}

static size_t word(char *out, unsigned lane, uint32_t number)
{
    return (size_t)sprintf(out, "%c%" PRIx32, (int)('k' + lane), number);
}

static void *reserve(size_t n, size_t size)
{
    void *block = calloc(n, size);
    if (block == NULL) {
        fputs("collisions: no memory\n", stderr);
        exit(6);
    }
    return block;
}

/* The words allowed at position `lane`: block `lane`, row 0. */
static list words_of(unsigned lane)
{
    list out = {reserve(LIST, sizeof(row)), LIST};
    for (uint32_t i = 0; i < LIST; i++) {
        char text[16];
        const size_t len = word(text, lane, i);
        const uint64_t hash = XXH3_64bits(text, len < sizeof text ? len : 0);
        const uint32_t x = (uint32_t)hash, y = x ^ (uint32_t)(hash >> 32);
        const uint64_t v = fmix64((uint64_t)y * UINT32_C(0xE220A839) + (lane + 1) * STEP);
        out.rows[i] = (row){fmix64((uint64_t)x * UINT32_C(0x7B1DCDAF) + v), i, i};
    }
    return out;
}

/* Joins rows of a and b whose sum is 0 in the `bits` bits from `shift` on. */
static list join(const list *a, const list *b, unsigned shift, unsigned bits)
{
    const size_t n_buckets = (size_t)1 << bits;
    const uint64_t mask = n_buckets - 1;
    list out = {reserve(LIST_CAP, sizeof(row)), 0};
    uint32_t *ends = reserve(n_buckets + 1, sizeof *ends), *order = reserve(b->n, sizeof *order);
    for (size_t i = 0; i < b->n; i++)
        ends[(b->rows[i].sum >> shift & mask) + 1]++;
    for (size_t i = 0; i < n_buckets; i++)
        ends[i + 1] += ends[i];
    for (size_t i = b->n; i-- > 0;) /* moves each end to its begin */
        order[--ends[(b->rows[i].sum >> shift & mask) + 1]] = (uint32_t)i;
    for (size_t i = 0; i < a->n && out.n < LIST_CAP; i++) {
        const size_t bucket = (0 - (a->rows[i].sum >> shift)) & mask;
        const size_t end = bucket + 2 <= n_buckets ? ends[bucket + 2] : b->n;
        for (size_t k = ends[bucket + 1]; k < end && out.n < LIST_CAP; k++)
            out.rows[out.n++] =
                (row){a->rows[i].sum + b->rows[order[k]].sum, (uint32_t)i, order[k]};
    }
    free(ends);
    free(order);
    return out;
}

static void print_content(size_t n)
{
    list words[LANES], pairs[LANES / 2], fours[2];
    for (unsigned lane = 0; lane < LANES; lane++)
        words[lane] = words_of(lane);
    for (unsigned i = 0; i < LANES / 2; i++)
        pairs[i] = join(&words[2 * i], &words[2 * i + 1], 0, LIST_BITS);
    for (unsigned i = 0; i < 2; i++)
        fours[i] = join(&pairs[2 * i], &pairs[2 * i + 1], LIST_BITS, LIST_BITS);
    const list all = join(&fours[0], &fours[1], 2 * LIST_BITS, 64 - 2 * LIST_BITS);
    if (all.n < n) {
        fprintf(stderr, "collisions: %zu such texts\n", all.n);
        exit(2);
    }
    for (size_t i = 0; i < n; i++) {
        printf("{\"id\": \"d%zu\", \"text\": \"", i);
        for (unsigned lane = 0; lane < LANES; lane++) {
            const row *top = &all.rows[i];
            const row *four = &fours[lane / 4].rows[lane < 4 ? top->left : top->right];
            const row *pair = &pairs[lane / 2].rows[lane / 2 % 2 == 0 ? four->left : four->right];
            char text[16];
            word(text, lane, lane % 2 == 0 ? pair->left : pair->right);
            printf("%s%s", text, lane + 1 < LANES ? " " : "\"}\n");
        }
    }
}

static void print_ids(size_t n, const char *mode)
{
    colliding_ids ids = {.bits = ID_BITS, .leading = strcmp(mode, "ids-leading") == 0};
    for (size_t i = 0; i < n; i++) {
        char id[24];
        if (strcmp(mode, "plain") == 0)
            sprintf(id, "d%zu", i);
        else
            colliding_next_id(&ids, id);
        printf("{\"id\": \"%s\", \"text\": \"", id);
        for (unsigned lane = 0; lane < LANES; lane++) {
            char text[16];
            word(text, lane, (uint32_t)(fmix64(i * LANES + lane + 1) >> 44));
            printf("%s%s", text, lane + 1 < LANES ? " " : "\"}\n");
        }
    }
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"plain", "ids-low", "ids-leading", "content"};
    const size_t n = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    size_t mode = 0;
    while (argc == 3 && mode < 4 && strcmp(argv[2], modes[mode]) != 0)
        mode++;
    if (n == 0 || mode == 4) {
        fputs("usage: collisions N plain|ids-low|ids-leading|content\n", stderr);
        return 2;
    }
    if (mode == 3)
        print_content(n);
    else
        print_ids(n, modes[mode]);
    return fflush(stdout) == 0 ? 0 : 4;
}
