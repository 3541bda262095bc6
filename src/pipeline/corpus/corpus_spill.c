/* corpus_spill.c -- what of a corpus goes to files, and when.
 *
 * Before each batch the bytes of the job at its fullest are added up, for the documents so far and
 * those of the batch:
 *
 *     reading    columns + sequences + tables + sets + keys + batches in flight
 *     matching   columns + sets + keys (or labels) + buckets, groups + sets read back
 *     grouping   columns + sets + labels of groups, members, similarities + sets read back
 *
 * Where the greatest of them passes --memory, sets go first, being by far the largest (8 bytes a
 * shingle), then band keys (8 bytes a band). A document without both costs what docs/memory.md
 * says.
 *
 *     sets file   [ record of document 0 | of 1 | of 4 | … ]      representatives, in input order
 *     keys file   [ block 0: band 0 | band 1 | … ][ block 1: … ]  a record a band of key_rows
 *
 * Keys come back band by band, are bucketed, and stay as labels of 4 bytes (lsh/band_buckets.h), so
 * that the whole of them is never held. Threads: one at a time, as for adding. */
#include "pipeline/corpus/corpus_spill.h"

#include <string.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/error.h"
#include "lsh/band_buckets.h"

#define KEY_ROWS_MOST 4096u
#define KEY_BLOCK     ((size_t)1 << 20) /* bytes of a block of keys, about */
#define MATCH_BYTES   33u /* a document: buckets 13, groups 16, places of crowded buckets 4 */
#define GROUP_BYTES   54u /* grouping.c: 38; groups of matching 16 */

void bm_corpus_trim(void)
{
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

void bm_corpus_spill_reset(bm_corpus *corpus)
{
    bm_corpus_files *files = &corpus->files;
    for (uint32_t b = 0; files->labels != NULL && b < corpus->cfg.bands; b++)
        bm_free(files->labels[b]);
    bm_free(files->labels);
    bm_free(files->places);
    bm_free(files->block);
    bm_free(files->arena);
    bm_spill_close(files->sets);
    bm_spill_close(files->saved);
    bm_spill_close(files->keys);
    memset(files, 0, sizeof *files);
}

/* --- how much --- */

static uint64_t greater(uint64_t x, uint64_t y)
{
    return x > y ? x : y;
}

/* Of the job's three long stretches, with n documents and `set_bytes` of sets in memory. */
typedef struct stretches {
    uint64_t reading, matching, grouping;
} stretches;

static stretches bytes_of(const bm_corpus *corpus, size_t n, uint64_t set_bytes)
{
    const bm_corpus_cfg *cfg = &corpus->cfg;
    const bm_budget *budget = &cfg->budget;
    bool sets_in_file = corpus->files.sets != NULL, keys_in_file = corpus->files.key_rows > 0;
    uint64_t columns = n * (sizeof *corpus->rep + 2 + sizeof *corpus->sizes + sizeof(uint64_t));
    uint64_t keys = n * cfg->bands * sizeof(uint64_t), labels = keys, ids = 0, arena = 0;
    if (cfg->docs != NULL) {
        ids = cfg->docs->n_slots * sizeof *cfg->docs->slots;
        columns += bm_doc_table_bytes(cfg->docs) - ids;
    }
    if (cfg->perms > 0 && !sets_in_file)
        columns += n * sizeof *corpus->words;
    if (keys_in_file) {
        keys = KEY_BLOCK;
        labels = n * cfg->bands * sizeof(uint32_t);
    }
    if (sets_in_file)
        set_bytes = BM_SETS_BUFFER;
    arena = (sets_in_file ? budget->arena : 0) + (cfg->edges ? budget->arena : 0);
    uint64_t adding = ids + ids / 2; /* tables grow by making one of twice the size */
    if (cfg->find_identical)
        adding += n * sizeof *corpus->sequence + corpus->n_slots * sizeof *corpus->slots * 3 / 2;
    uint64_t held = columns + set_bytes + budget->fixed;
    return (stretches){.reading = held + keys + adding + budget->batches,
                       .matching = held + labels + n * MATCH_BYTES + arena,
                       .grouping = held + n * GROUP_BYTES + arena};
}

uint64_t bm_corpus_bytes_needed(const bm_corpus *corpus, size_t n, uint64_t set_bytes)
{
    stretches s = bytes_of(corpus, n, set_bytes);
    return greater(greater(s.reading, s.matching), s.grouping);
}

bm_status bm_corpus_check_matching(const bm_corpus *corpus, uint64_t more, bm_error *err)
{
    uint64_t needed = bytes_of(corpus, corpus->n, corpus->set_bytes).matching + more;
    if (corpus->cfg.memory == 0 || needed <= corpus->cfg.memory)
        return BM_OK;
    return bm_corpus_too_large(corpus, corpus->n, needed, err);
}

bm_status bm_corpus_too_large(const bm_corpus *corpus, size_t n, uint64_t needed, bm_error *err)
{
    return bm_fail(err, BM_ERR_NOMEM,
                   "the job needs more than --memory allows (%llu MiB; its first %llu documents "
                   "need %llu MiB)",
                   (unsigned long long)(corpus->cfg.memory >> 20), (unsigned long long)n,
                   (unsigned long long)(needed >> 20) + 1);
}

/* --- sets --- */

bm_status bm_corpus_spill_set(bm_corpus *corpus, size_t row, const void *data, size_t len,
                              bm_error *err)
{
    return bm_spill_add(corpus->files.sets, data, len, &corpus->files.places[row], err);
}

/* What the file will hold in the end, as far as the share of the input that was read tells. */
static bm_status check_room(const bm_corpus *corpus, uint64_t bytes, uint64_t read, bm_error *err)
{
    double whole = (double)bytes;
    if (corpus->cfg.input_bytes > read && read > 0)
        whole *= (double)corpus->cfg.input_bytes / (double)read;
    return bm_spill_room(corpus->cfg.temp_dir, (uint64_t)whole, err);
}

static void drop_sets(bm_corpus *corpus)
{
    for (size_t i = 0; i < corpus->n_blocks; i++)
        bm_free(corpus->blocks[i]);
    bm_free(corpus->blocks);
    bm_free(corpus->hashes);
    bm_free(corpus->words);
    corpus->blocks = NULL;
    corpus->hashes = NULL;
    corpus->words = NULL;
    corpus->n_blocks = corpus->cap_blocks = 0;
    corpus->set_bytes = 0;
    bm_corpus_trim();
}

size_t bm_corpus_set_len(const bm_corpus *corpus, size_t row)
{
    if (corpus->rep[row] != row)
        return 0;
    if (corpus->cfg.perms > 0)
        return corpus->cfg.perms * sizeof **corpus->words;
    return corpus->cfg.hashes ? corpus->sizes[row] * sizeof **corpus->hashes : 0;
}

/* Rows below files.n_saved have their records already, from the start of the file and side by side
 * (corpus_save.c). */
static bm_status copy_sets(bm_corpus *corpus, bm_error *err)
{
    bm_status status = BM_OK;
    uint64_t saved = BM_SPILL_HEADER;
    for (size_t row = 0; status == BM_OK && row < corpus->n; row++) {
        const void *data = corpus->words != NULL ? (const void *)corpus->words[row]
                                                 : (const void *)corpus->hashes[row];
        size_t len = bm_corpus_set_len(corpus, row);
        corpus->files.places[row] = 0;
        if (corpus->rep[row] != row) {
            corpus->files.places[row] = corpus->files.places[corpus->rep[row]];
        } else if (row < corpus->files.n_saved && len > 0) {
            corpus->files.places[row] = saved;
            saved += BM_SPILL_RECORD + len;
        } else if (len > 0 && data != NULL) {
            status = bm_corpus_spill_set(corpus, row, data, len, err);
        }
    }
    return status;
}

static bm_status begin_sets(bm_corpus *corpus, uint64_t bytes, uint64_t read, bm_error *err)
{
    bm_status status = check_room(corpus, bytes, read, err);
    if (status == BM_OK && corpus->files.saved != NULL) {
        corpus->files.sets = corpus->files.saved;
        corpus->files.saved = NULL;
    } else if (status == BM_OK) {
        status = bm_spill_open(corpus->cfg.temp_dir, BM_SPILL_SETS, BM_SETS_BUFFER,
                               &corpus->files.sets, err);
    }
    if (status != BM_OK)
        return status;
    corpus->files.places = bm_alloc(corpus->cap, sizeof *corpus->files.places);
    if (corpus->files.places == NULL)
        return bm_fail_nomem(err, corpus->cap * sizeof *corpus->files.places);
    status = copy_sets(corpus, err);
    if (status == BM_OK)
        drop_sets(corpus);
    return status;
}

bm_status bm_corpus_move_sets(bm_corpus *corpus, bm_error *err)
{
    if (corpus->files.sets != NULL || corpus->n == 0)
        return BM_OK;
    bm_status status = begin_sets(corpus, corpus->set_bytes, corpus->cfg.input_bytes, err);
    return status == BM_OK ? bm_corpus_spill_end(corpus, err) : status;
}

/* --- keys --- */

static size_t key_record(const bm_corpus *corpus)
{
    return BM_SPILL_RECORD + corpus->files.key_rows * sizeof(uint64_t);
}

static bm_status write_key_block(bm_corpus *corpus, bm_error *err)
{
    bm_corpus_files *files = &corpus->files;
    bm_status status = BM_OK;
    for (uint32_t b = 0; status == BM_OK && b < corpus->cfg.bands; b++)
        status = bm_spill_add(files->keys, files->block + b * files->key_rows,
                              files->key_rows * sizeof *files->block, NULL, err);
    files->n_keys = 0;
    return status;
}

bm_status bm_corpus_spill_keys(bm_corpus *corpus, const uint64_t *keys, size_t n, bm_error *err)
{
    bm_corpus_files *files = &corpus->files;
    uint32_t bands = corpus->cfg.bands;
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        for (uint32_t b = 0; b < bands; b++)
            files->block[b * files->key_rows + files->n_keys] = keys[i * bands + b];
        if (++files->n_keys == files->key_rows)
            status = write_key_block(corpus, err);
    }
    return status;
}

static bm_status copy_keys(bm_corpus *corpus, bm_error *err)
{
    bm_corpus_files *files = &corpus->files;
    bm_status status = BM_OK;
    for (size_t doc = 0; status == BM_OK && doc < corpus->n; doc++) {
        for (uint32_t b = 0; b < corpus->cfg.bands; b++)
            files->block[b * files->key_rows + files->n_keys] = corpus->keys[b][doc];
        if (++files->n_keys == files->key_rows)
            status = write_key_block(corpus, err);
    }
    return status;
}

static bm_status begin_keys(bm_corpus *corpus, uint64_t read, bm_error *err)
{
    bm_corpus_files *files = &corpus->files;
    uint32_t bands = corpus->cfg.bands;
    size_t rows = KEY_BLOCK / (bands * sizeof *files->block);
    files->key_rows = rows > KEY_ROWS_MOST ? KEY_ROWS_MOST : rows < 16 ? 16 : rows;
    bm_status status =
        check_room(corpus, (uint64_t)corpus->n * bands * sizeof *files->block, read, err);
    if (status != BM_OK)
        return status;
    files->block = bm_alloc_zero(files->key_rows * bands, sizeof *files->block);
    if (files->block == NULL)
        return bm_fail_nomem(err, files->key_rows * bands * sizeof *files->block);
    status =
        bm_spill_open(corpus->cfg.temp_dir, BM_SPILL_KEYS, key_record(corpus), &files->keys, err);
    if (status == BM_OK)
        status = copy_keys(corpus, err);
    for (uint32_t b = 0; status == BM_OK && corpus->keys != NULL && b < bands; b++)
        bm_free(corpus->keys[b]);
    if (status == BM_OK) {
        bm_free(corpus->keys);
        corpus->keys = NULL;
        bm_corpus_trim();
    }
    return status;
}

typedef struct column {
    const bm_corpus *corpus;
    uint32_t band;
    uint64_t *to;
} column;

static bm_status read_blocks(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const column *c = ctx;
    const bm_corpus_files *files = &c->corpus->files;
    bm_status status = BM_OK;
    for (size_t block = begin; status == BM_OK && block < end; block++)
        status = bm_spill_read(
            files->keys,
            BM_SPILL_HEADER + (block * c->corpus->cfg.bands + c->band) * key_record(c->corpus),
            c->to + block * files->key_rows, files->key_rows * sizeof *c->to, err);
    return status;
}

/* The labels of each band from its keys, which are read into `column`. */
static bm_status make_labels(bm_corpus *corpus, uint64_t *to, bm_pool *pool, bm_error *err)
{
    bm_corpus_files *files = &corpus->files;
    bm_band_buckets buckets;
    size_t n_blocks = (corpus->n + files->key_rows - 1) / files->key_rows;
    bm_status status = bm_band_buckets_init(&buckets, corpus->n, corpus->skip, pool, err);
    if (status != BM_OK)
        return status;
    for (uint32_t b = 0; status == BM_OK && b < corpus->cfg.bands; b++) {
        column c = {corpus, b, to};
        status = bm_pool_for(pool, n_blocks, 4, read_blocks, &c, err);
        if (status == BM_OK)
            status = bm_band_buckets_fill(&buckets, to, err);
        files->labels[b] = bm_alloc(corpus->n, sizeof **files->labels);
        if (status == BM_OK && files->labels[b] == NULL)
            status = bm_fail_nomem(err, corpus->n * sizeof **files->labels);
        if (status == BM_OK)
            bm_band_buckets_label(&buckets, files->labels[b]);
    }
    bm_band_buckets_reset(&buckets);
    return status;
}

static bm_status load_labels(bm_corpus *corpus, bm_pool *pool, bm_error *err)
{
    bm_corpus_files *files = &corpus->files;
    files->labels = bm_alloc_zero(corpus->cfg.bands, sizeof *files->labels);
    uint64_t *to = bm_alloc(corpus->n + files->key_rows, sizeof *to); /* the last block is padded */
    bm_status status = BM_OK;
    if (files->labels == NULL || to == NULL)
        status = bm_fail_nomem(err, (corpus->n + files->key_rows) * sizeof *to);
    else
        status = make_labels(corpus, to, pool, err);
    bm_free(to);
    if (status == BM_OK) { /* the file has done its duty */
        bm_spill_close(files->keys);
        files->keys = NULL;
    }
    return status;
}

bm_status bm_corpus_keyset(bm_corpus *corpus, bm_pool *pool, bm_band_keyset *out, bm_error *err)
{
    bm_status status = BM_OK;
    if (corpus->files.keys != NULL)
        status = load_labels(corpus, pool, err);
    *out = (bm_band_keyset){.bands = corpus->cfg.bands,
                            .n_docs = corpus->n,
                            .keys = (const uint64_t *const *)corpus->keys,
                            .skip = corpus->skip,
                            .labels = (const uint32_t *const *)corpus->files.labels};
    return status;
}

/* --- when --- */

bm_status bm_corpus_make_room(bm_corpus *corpus, size_t more, uint64_t set_bytes,
                              uint64_t input_bytes_read, bm_error *err)
{
    const bm_corpus_cfg *cfg = &corpus->cfg;
    bm_corpus_files *files = &corpus->files;
    size_t n = corpus->n + more;
    uint64_t sets = corpus->set_bytes + set_bytes;
    bm_status status = BM_OK;
    if (n > BM_DOCS_MAX)
        return bm_fail(err, BM_ERR_INPUT, "more than %u documents in one run",
                       (unsigned)BM_DOCS_MAX);
    if (!cfg->spill_now &&
        (cfg->memory == 0 || bm_corpus_bytes_needed(corpus, n, sets) <= cfg->memory))
        return BM_OK;
    bool any_sets = cfg->hashes || cfg->perms > 0;
    if (cfg->temp_dir != NULL && files->sets == NULL && any_sets)
        status = begin_sets(corpus, sets, input_bytes_read, err);
    if (status == BM_OK && cfg->temp_dir != NULL && files->keys == NULL && cfg->bands > 0 &&
        (cfg->spill_now || bm_corpus_bytes_needed(corpus, n, sets) > cfg->memory))
        status = begin_keys(corpus, input_bytes_read, err);
    if (status != BM_OK)
        return status;
    uint64_t needed = bm_corpus_bytes_needed(corpus, n, sets);
    return cfg->memory == 0 || needed <= cfg->memory ? BM_OK
                                                     : bm_corpus_too_large(corpus, n, needed, err);
}

bm_status bm_corpus_spill_end(bm_corpus *corpus, bm_error *err)
{
    bm_corpus_files *files = &corpus->files;
    bm_status status = BM_OK;
    if (files->sets != NULL) {
        status = bm_spill_finish(files->sets, err);
        files->set_bytes = bm_spill_bytes(files->sets);
    }
    if (status == BM_OK && files->keys != NULL && files->n_keys > 0)
        status = write_key_block(corpus, err);
    if (status == BM_OK && files->keys != NULL) {
        status = bm_spill_finish(files->keys, err);
        files->key_bytes = bm_spill_bytes(files->keys);
    }
    bm_free(files->block);
    files->block = NULL;
    return status;
}
