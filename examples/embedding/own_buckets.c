/* SPDX-License-Identifier: Apache-2.0 */
/* own_buckets.c -- hashes of one's own in CSR, signed by any device, and buckets of one's own.
 *
 *     own_buckets [DEVICE]        cpu, or what bm_device_options.device may be, such as opencl
 *
 * A program that has its own shingles, and its own table of buckets, takes signatures from the
 * library and nothing else. Keys of bands are made here by the formula of schemes.h; bm_band_keys
 * has to give the same. Of 2,000 documents each of the last 200 is a copy of an earlier one, with a
 * tenth of its hashes replaced: such pairs share a band but for a chance of 1 in 40,000. */
#include <bandmill/schemes.h>
#include <bandmill/sketch.h>

#include <stdio.h>
#include <stdlib.h>

enum { DOCS = 2000, COPIES = 200, HASHES = 100, PERMS = 128, BANDS = 32, ROWS = 4 };

typedef struct entry { /* of the table of buckets */
    uint64_t key;
    uint32_t doc;
} entry;

static uint64_t fmix64(uint64_t k)
{
    k = (k ^ k >> 33) * 0xFF51AFD7ED558CCDull;
    k = (k ^ k >> 33) * 0xC4CEB9FE1A85EC53ull;
    return k ^ k >> 33;
}

static uint64_t band_key(const uint32_t *values, uint32_t band)
{
    uint64_t k = band + 1;
    for (uint32_t r = 0; r < ROWS; r++)
        k = k * 0x9E3779B97F4A7C15ull + values[band * ROWS + r];
    return fmix64(k);
}

/* CSR: document i has hashes[offsets[i]] to hashes[offsets[i + 1] - 1]. */
static void make_documents(uint64_t *offsets, uint64_t *hashes)
{
    uint64_t state = 1;
    for (uint32_t i = 0; i <= DOCS; i++)
        offsets[i] = (uint64_t)i * HASHES;
    for (uint32_t i = 0; i < DOCS; i++)
        for (uint32_t k = 0; k < HASHES; k++) {
            const int copied = i >= DOCS - COPIES && k % 10 != 0;
            hashes[i * HASHES + k] =
                copied ? hashes[(i - (DOCS - COPIES)) * HASHES + k] : fmix64(state++);
        }
}

static int by_key(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->doc > y->doc) - (x->doc < y->doc);
}

/* Count the copies that share a bucket with their document, and the pairs of other documents. */
static void fill_buckets(const uint32_t *signatures, entry *table, char *found, uint64_t *others)
{
    for (uint32_t band = 0; band < BANDS; band++) {
        for (uint32_t i = 0; i < DOCS; i++)
            table[i] = (entry){band_key(signatures + (size_t)i * PERMS, band), i};
        qsort(table, DOCS, sizeof *table, by_key);
        for (uint32_t i = 0; i < DOCS; i++)
            for (uint32_t j = i + 1; j < DOCS && table[j].key == table[i].key; j++) {
                if (table[j].doc == table[i].doc + (DOCS - COPIES))
                    found[table[i].doc] = 1;
                else
                    ++*others;
            }
    }
}

int main(int argc, char **argv)
{
    uint64_t *offsets = malloc((DOCS + 1) * sizeof *offsets);
    uint64_t *hashes = malloc((size_t)DOCS * HASHES * sizeof *hashes);
    uint64_t *keys = malloc((size_t)DOCS * BANDS * sizeof *keys), others = 0;
    uint32_t *signatures = malloc((size_t)DOCS * PERMS * sizeof *signatures), copies = 0;
    entry *table = malloc(DOCS * sizeof *table);
    char *found = calloc(DOCS, 1);
    bm_signer *signer = NULL;
    bm_error err = {0};
    int failed = 1;
    if (offsets == NULL || hashes == NULL || keys == NULL || signatures == NULL || table == NULL ||
        found == NULL)
        goto out;
    make_documents(offsets, hashes);

    bm_signer_options options;
    bm_signer_options_init(&options);
    options.sketch.perms = PERMS;
    options.device.device = argc > 1 ? argv[1] : "cpu";
    if (bm_signer_open(&options, &signer, &err) != BM_OK)
        goto out;
    const bm_documents documents = bm_documents_of_hashes(offsets, hashes, DOCS);
    const bm_signer_out out = {.struct_size = sizeof out, .signatures = signatures};
    if (bm_signer_sign(signer, &documents, &out, &err) != BM_OK)
        goto out;

    const bm_band_plan plan = {.perms = PERMS, .bands = BANDS, .rows = ROWS};
    if (bm_band_keys(signatures, DOCS, &plan, keys, &err) != BM_OK)
        goto out;
    for (uint32_t i = 0; i < DOCS * BANDS; i++)
        if (keys[i] != band_key(signatures + (size_t)(i / BANDS) * PERMS, i % BANDS)) {
            fprintf(stderr, "key %u differs from that of the library\n", i);
            goto out;
        }
    fill_buckets(signatures, table, found, &others);
    for (uint32_t i = 0; i < DOCS; i++)
        copies += found[i] ? 1u : 0u;
    printf("%s: %u of %d copies found, %llu other pairs\n", bm_signer_describe(signer)->device,
           copies, COPIES, (unsigned long long)others);
    failed = copies != COPIES;
out:
    if (err.status != BM_OK)
        fprintf(stderr, "own_buckets: %s\n", err.message);
    bm_signer_close(signer);
    free(offsets);
    free(hashes);
    free(keys);
    free(signatures);
    free(table);
    free(found);
    return failed;
}
