/* corpus_sets.c -- blocks of sets in memory, a file of records, and the way from one to the other.
 *
 *     memory   [ hashes of 0, 1, 4 … ][ … ]               a block a batch, nothing is ever moved: where few are
 *                                                         of copies, the very array that a worker filled
 *     file     [ record of 0 | of 1 | of 4 | … ]          representatives, in input order
 *
 * In memory every row has words of its own, in the file representatives only. Saved records stand
 * at the beginning of the file, side by side: the sizes of the documents tell every place.
 *
 * Tests: tests/unit/output/test_corpus_spill.c
 * Tests: tests/unit/checkpoint/test_checkpoint_documents.c */
#include "pipeline/corpus/corpus_sets.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "pipeline/corpus/corpus_budget.h"
#include "spill/spill_saved.h"

#define TAKEN_PART 8u /* of hashes, one in so many may be of copies, or the others are copied */

/* The only place where the state changes: the table of corpus_sets.h. */
static void enter(bm_corpus_sets *sets, bm_sets_state state)
{
    assert((sets->state == BM_SETS_IN_MEMORY && state != BM_SETS_IN_MEMORY) ||
           state == BM_SETS_IN_NAMED_FILE);
    sets->state = state;
}

static bool has_sets(const bm_corpus *corpus)
{
    return corpus->cfg.hashes || corpus->cfg.words.uints > 0;
}

static void free_memory(bm_corpus_sets *sets)
{
    for (size_t i = 0; i < sets->n_blocks; i++)
        bm_free(sets->blocks[i]);
    bm_free(sets->blocks);
    bm_free(sets->hashes);
    bm_free(sets->words);
    sets->blocks = NULL;
    sets->hashes = NULL;
    sets->words = NULL;
    sets->n_blocks = sets->cap_blocks = 0;
    sets->bytes = 0;
}

void bm_corpus_sets_reset(bm_corpus_sets *sets)
{
    free_memory(sets);
    bm_free(sets->sorted);
    bm_free(sets->places);
    bm_free(sets->arena);
    bm_spill_close(sets->file);
    memset(sets, 0, sizeof *sets);
}

/* --- adding --- */

bm_status bm_corpus_sets_grow(bm_corpus *corpus, size_t cap, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    BM_TRY(bm_corpus_column(&sets->sorted, cap, sizeof *sets->sorted, err));
    if (bm_corpus_sets_in_file(corpus))
        return bm_corpus_column(&sets->places, cap, sizeof *sets->places, err);
    BM_TRY(bm_corpus_column(&sets->hashes, cap, sizeof *sets->hashes, err));
    if (corpus->cfg.words.uints > 0)
        BM_TRY(bm_corpus_column(&sets->words, cap, sizeof *sets->words, err));
    return BM_OK;
}

void bm_corpus_sets_clear(bm_corpus *corpus, size_t first, size_t n)
{
    bm_corpus_sets *sets = &corpus->sets;
    memset(sets->sorted + first, 0, n);
    for (size_t row = first; sets->hashes != NULL && row < first + n; row++)
        sets->hashes[row] = NULL;
}

/* *block, which is taken, or a new one where it is NULL. */
static bm_status add_block(bm_corpus_sets *sets, size_t n, size_t size, void **block, bm_error *err)
{
    bm_status status = BM_OK;
    if (*block == NULL)
        BM_TRY(bm_new_by(bm_alloc, block, n, size, err));
    BM_TRY_OUT(
        bm_grow(&sets->blocks, &sets->cap_blocks, sets->n_blocks + 1, sizeof *sets->blocks, err));
    sets->bytes += n * size;
    sets->blocks[sets->n_blocks++] = *block;
out:
    if (status != BM_OK)
        bm_free(*block);
    return status;
}

/* Append the record of `row`, of `len` bytes; none where that is 0. A copy has the record of its
 * representative. */
static bm_status add_record(bm_corpus *corpus, size_t row, const void *data, size_t len,
                            bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    uint32_t rep = corpus->rep[row];
    sets->places[row] = rep == row ? 0 : sets->places[rep];
    if (rep != row || len == 0)
        return BM_OK;
    return bm_spill_add(sets->file, data, len, &sets->places[row], err);
}

/* The set of the batch's document i as it is held; where it goes on. */
static uint64_t *copy_set(const bm_corpus *corpus, const bm_shingle_batch *shingles, size_t i,
                          uint64_t *to)
{
    const uint64_t begin = shingles->offsets[i];
    const size_t n = (size_t)(shingles->offsets[i + 1] - begin);
    if (n == 0) /* there may be no arrays at all */
        return to;
    memcpy(to, shingles->hashes + begin, n * sizeof *to);
    to += n;
    if (!corpus->cfg.weighted)
        return to;
    memcpy(to, shingles->weights + begin, n * sizeof *shingles->weights);
    return to + n;
}

/* Places in the file for the sets of n rows from `first`; bm_corpus_put_sets writes them. */
static bm_status reserve(bm_corpus *corpus, size_t first, size_t n, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    uint64_t bytes = 0, records = 0, place;
    for (size_t row = first; row < first + n; row++) {
        const size_t len = bm_corpus_set_len(corpus, row);
        bytes += len == 0 ? 0 : BM_SPILL_RECORD + len;
        records += len != 0;
    }
    BM_TRY(bm_spill_reserve(sets->file, records, bytes, &place, err));
    for (size_t row = first; row < first + n; row++) {
        const size_t len = bm_corpus_set_len(corpus, row);
        const uint32_t rep = corpus->rep[row];
        sets->places[row] = rep != row ? sets->places[rep] : len == 0 ? 0 : place;
        place += len == 0 ? 0 : BM_SPILL_RECORD + len;
    }
    return BM_OK;
}

bm_status bm_corpus_put_sets(const bm_corpus *corpus, const bm_shingle_batch *shingles,
                             const uint32_t *words, size_t first, bm_error *err)
{
    bm_spill_put put = {.file = corpus->sets.file};
    uint64_t *scratch = NULL;
    size_t cap = 0;
    bm_status status = BM_OK;
    if (!bm_corpus_sets_in_file(corpus))
        return BM_OK;
    for (size_t i = 0; i < shingles->n_docs; i++) {
        const size_t len = bm_corpus_set_len(corpus, first + i);
        const void *set = NULL;
        if (len == 0)
            continue;
        if (corpus->cfg.words.uints > 0) {
            set = words + i * corpus->cfg.words.uints;
        } else if (corpus->cfg.weighted) {
            BM_TRY_OUT(bm_grow_array(&scratch, &cap, len / sizeof *scratch, err));
            copy_set(corpus, shingles, i, scratch);
            set = scratch;
        } else {
            set = shingles->hashes + shingles->offsets[i];
        }
        BM_TRY_OUT(bm_spill_put_add(&put, corpus->sets.places[first + i], set, len, err));
    }
out:
    bm_free(scratch);
    return bm_spill_put_end(&put, status, err);
}

/* Hashes of the rows that are their own representatives. */
static size_t new_hashes(const bm_corpus *corpus, size_t first, size_t n)
{
    size_t total = 0;
    for (size_t row = first; row < first + n; row++)
        total += corpus->rep[row] == row ? corpus->sizes[row] : 0;
    return total;
}

/* Point to the sets of the batch's documents in `block`, which has all of them; or `copies` those of
 * representatives there. */
static void set_hashes(bm_corpus *corpus, size_t first, const bm_shingle_batch *shingles,
                       uint64_t *block, bool copies)
{
    bm_corpus_sets *sets = &corpus->sets;
    uint64_t *to = block;
    for (size_t i = 0; i < shingles->n_docs; i++) {
        const size_t row = first + i;
        if (corpus->rep[row] != row) {
            sets->hashes[row] = sets->hashes[corpus->rep[row]];
            continue;
        }
        sets->hashes[row] = copies ? to : block + shingles->offsets[i];
        if (copies)
            to = copy_set(corpus, shingles, i, to);
    }
}

bm_status bm_corpus_add_hashes(bm_corpus *corpus, const bm_shingle_batch *shingles, size_t first,
                               bm_error *err)
{
    if (bm_corpus_sets_in_file(corpus))
        return reserve(corpus, first, shingles->n_docs, err);
    void *block = NULL;
    BM_TRY(add_block(&corpus->sets, new_hashes(corpus, first, shingles->n_docs),
                     bm_corpus_element_bytes(corpus), &block, err));
    set_hashes(corpus, first, shingles, block, true);
    return BM_OK;
}

bm_status bm_corpus_take_hashes(bm_corpus *corpus, bm_ingest_batch *batch, size_t first,
                                bm_error *err)
{
    const bm_shingle_batch *shingles = &batch->shingles;
    const size_t all = bm_shingle_batch_hashes(shingles),
                 wanted = new_hashes(corpus, first, shingles->n_docs);
    void *block = NULL;
    if (!bm_corpus_sets_in_file(corpus) && !corpus->cfg.weighted && wanted > 0 &&
        all - wanted <= all / TAKEN_PART)
        block = bm_ingest_batch_take_hashes(batch);
    if (block == NULL)
        return bm_corpus_add_hashes(corpus, shingles, first, err);
    BM_TRY(add_block(&corpus->sets, all, sizeof(uint64_t), &block, err));
    set_hashes(corpus, first, shingles, block, false);
    return BM_OK;
}

bm_status bm_corpus_add_word_rows(bm_corpus *corpus, const uint32_t *words, size_t first, size_t n,
                                  bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    size_t perms = corpus->cfg.words.uints;
    if (bm_corpus_sets_in_file(corpus))
        return reserve(corpus, first, n, err);
    void *block = NULL;
    BM_TRY(add_block(sets, n * perms, sizeof *words, &block, err));
    memcpy(block, words, n * perms * sizeof *words);
    for (size_t i = 0; i < n; i++)
        sets->words[first + i] = (const uint32_t *)block + i * perms;
    return BM_OK;
}

bm_status bm_corpus_sets_end(bm_corpus *corpus, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    if (!bm_corpus_sets_in_file(corpus) || sets->file_bytes != 0)
        return BM_OK;
    BM_TRY(bm_spill_end(sets->file, err));
    sets->file_bytes = bm_spill_bytes(sets->file);
    return BM_OK;
}

/* --- records --- */

size_t bm_corpus_set_len(const bm_corpus *corpus, size_t row)
{
    if (corpus->rep[row] != row)
        return 0;
    if (corpus->cfg.words.uints > 0)
        return corpus->cfg.words.uints * sizeof **corpus->sets.words;
    return corpus->cfg.hashes ? corpus->sizes[row] * bm_corpus_element_bytes(corpus) : 0;
}

bm_status bm_corpus_read_set(const bm_corpus *corpus, size_t row, void *to, size_t len,
                             bm_error *err)
{
    return bm_spill_read(corpus->sets.file, corpus->sets.places[row], to, len, err);
}

static const void *set_in_memory(const bm_corpus_sets *sets, size_t row)
{
    return sets->words != NULL ? (const void *)sets->words[row] : (const void *)sets->hashes[row];
}

/* --- to the file --- */

static bm_status open_file(bm_corpus *corpus, bm_spill_file **out, bm_error *err)
{
    return bm_spill_open(corpus->cfg.temp_dir, BM_SPILL_SETS, BM_SETS_BUFFER, out, err);
}

/* Give every row its place: saved records have theirs, those of other rows are appended. A row
 * whose texts were not read yet (bm_corpus_fill_hashes) has none. */
static bm_status copy_sets(bm_corpus *corpus, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    uint64_t place = BM_SPILL_HEADER;
    for (size_t row = 0; row < corpus->n; row++) {
        const void *data = set_in_memory(sets, row);
        size_t len = data == NULL ? 0 : bm_corpus_set_len(corpus, row);
        if (row >= sets->saved.n_docs || len == 0) {
            BM_TRY(add_record(corpus, row, data, len, err));
        } else {
            sets->places[row] = place;
            place += BM_SPILL_RECORD + len;
        }
    }
    return BM_OK;
}

bm_status bm_corpus_move_sets(bm_corpus *corpus, uint64_t bytes, uint64_t input_bytes_read,
                              bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    if (bm_corpus_sets_in_file(corpus))
        return BM_OK;
    BM_TRY(bm_corpus_check_disk(corpus, bytes, input_bytes_read, err));
    if (sets->file == NULL)
        BM_TRY(open_file(corpus, &sets->file, err));
    enter(sets, sets->state == BM_SETS_COPIED ? BM_SETS_IN_NAMED_FILE : BM_SETS_IN_FILE);
    BM_TRY(bm_new(&sets->places, corpus->cap, err));
    BM_TRY(copy_sets(corpus, err));
    free_memory(sets);
    bm_memory_trim();
    return BM_OK;
}

/* --- saved, and restored --- */

uint64_t bm_corpus_unsaved_bytes(const bm_corpus *corpus)
{
    const bm_corpus_sets *sets = &corpus->sets;
    return bm_corpus_sets_in_file(corpus) || sets->saved.bytes > sets->bytes
               ? 0
               : sets->bytes - sets->saved.bytes;
}

void bm_corpus_sets_in_folder(bm_corpus *corpus, int folder)
{
    corpus->sets.in_folder = true;
    corpus->sets.folder = folder;
}

static int folder_of(const bm_corpus_sets *sets)
{
    return sets->in_folder ? sets->folder : AT_FDCWD;
}

/* Give the file its name; before that, make one where the sets are in memory. */
static bm_status name_file(bm_corpus *corpus, const char *path, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    bm_spill_file *file = sets->file;
    bm_status status = BM_OK;
    if (bm_corpus_sets_have_name(corpus))
        return BM_OK;
    if (file == NULL)
        BM_TRY_OUT(open_file(corpus, &file, err));
    status = bm_spill_save_in(file, folder_of(sets), path, err);
out:
    if (status != BM_OK) {
        if (sets->file == NULL)
            bm_spill_close(file);
        return status;
    }
    enter(sets, sets->file == NULL ? BM_SETS_COPIED : BM_SETS_IN_NAMED_FILE);
    sets->file = file;
    sets->saved.bytes = BM_SPILL_HEADER;
    return BM_OK;
}

bm_status bm_corpus_save_sets(bm_corpus *corpus, const char *path, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    bm_saved_sets *saved = &sets->saved;
    if (!has_sets(corpus))
        return BM_OK;
    bm_status status = name_file(corpus, path, err);
    for (; status == BM_OK && saved->n_docs < corpus->n; saved->n_docs += status == BM_OK) {
        size_t len = bm_corpus_set_len(corpus, saved->n_docs);
        if (len == 0)
            continue;
        if (sets->state == BM_SETS_COPIED)
            status = bm_spill_add(sets->file, set_in_memory(sets, saved->n_docs), len, NULL, err);
        if (status == BM_OK) {
            saved->bytes += BM_SPILL_RECORD + len;
            saved->records++;
        }
    }
    return status == BM_OK ? bm_spill_flush(sets->file, err) : status;
}

bm_status bm_corpus_restore_sets(bm_corpus *corpus, const char *path, uint64_t bytes,
                                 uint64_t records, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    bm_spill_saved what = {.path = path, .kind = BM_SPILL_SETS, .bytes = bytes, .records = records};
    if (!has_sets(corpus))
        return BM_OK;
    BM_TRY(bm_spill_reopen_in(folder_of(sets), &what, BM_SETS_BUFFER, &sets->file, err));
    enter(sets, BM_SETS_IN_NAMED_FILE);
    sets->saved.bytes = BM_SPILL_HEADER;
    return BM_OK;
}

void bm_corpus_sets_place(bm_corpus *corpus, size_t first, size_t n)
{
    bm_corpus_sets *sets = &corpus->sets;
    for (size_t row = first; bm_corpus_sets_in_file(corpus) && row < first + n; row++) {
        size_t len = bm_corpus_set_len(corpus, row);
        sets->places[row] = corpus->rep[row] != row ? sets->places[corpus->rep[row]] : 0;
        if (len == 0)
            continue;
        sets->places[row] = sets->saved.bytes;
        sets->saved.bytes += BM_SPILL_RECORD + len;
        sets->saved.records++;
    }
    sets->saved.n_docs = first + n;
}
