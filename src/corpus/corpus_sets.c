/* corpus_sets.c -- blocks of sets in memory, a file of records, and the way from one to the other.
 *
 *     memory   [ 0 | 1 | 4 … ][ … ]                     blocks of many sets, nothing is ever moved
 *     file     [ record of 0 | of 1 | of 4 | … ]          representatives, in input order
 *
 * Places are given in input order, and filled by whoever has the set. Saved records stand
 * at the beginning of the file, side by side: the sizes of the documents tell every place.
 *
 * Tests: tests/unit/job/test_corpus_spill.c
 * Tests: tests/unit/job/test_checkpoint_documents.c */
#include "corpus/corpus_sets.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "corpus/corpus_budget.h"
#include "spill/spill_saved.h"

#define BLOCK_BYTES ((size_t)16 << 20) /* of memory for sets */
#define HUGE_BYTES  ((size_t)2 << 20)

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
    sets->free = NULL;
    sets->n_blocks = sets->cap_blocks = sets->n_free = 0;
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

/* A new block, in large pages where the system has them: sets are most of the memory of a job. */
static bm_status add_block(bm_corpus_sets *sets, size_t size, char **out, bm_error *err)
{
    BM_TRY(bm_grow_array(&sets->blocks, &sets->cap_blocks, sets->n_blocks + 1, err));
    BM_TRY(bm_new(out, size, err));
    sets->blocks[sets->n_blocks++] = *out;
#if defined(MADV_HUGEPAGE)
    const size_t skip = (HUGE_BYTES - (uintptr_t)*out % HUGE_BYTES) % HUGE_BYTES;
    if (skip < size) /* advice only */
        (void)madvise(*out + skip, (size - skip) / HUGE_BYTES * HUGE_BYTES, MADV_HUGEPAGE);
#endif
    return BM_OK;
}

/* Memory for a set, behind those before it. */
static bm_status place_in_memory(bm_corpus_sets *sets, size_t len, void **out, bm_error *err)
{
    char *own = NULL;
    len = (len + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
    if (len > BLOCK_BYTES) {
        BM_TRY(add_block(sets, len, &own, err));
    } else if (sets->free == NULL || len > sets->n_free) {
        BM_TRY(add_block(sets, BLOCK_BYTES, &sets->free, err));
        sets->n_free = BLOCK_BYTES;
    }
    *out = own != NULL ? own : sets->free;
    sets->bytes += len;
    if (own == NULL) {
        sets->free += len;
        sets->n_free -= len;
    }
    return BM_OK;
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

static void *set_in_memory(const bm_corpus_sets *sets, size_t row)
{
    return sets->words != NULL ? (void *)sets->words[row] : (void *)sets->hashes[row];
}

static bm_status place_in_file(bm_corpus *corpus, size_t first, size_t n, bm_error *err)
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

bm_status bm_corpus_place_sets(bm_corpus *corpus, size_t first, size_t n, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    if (!has_sets(corpus))
        return BM_OK;
    if (bm_corpus_sets_in_file(corpus))
        return place_in_file(corpus, first, n, err);
    for (size_t row = first; row < first + n; row++) {
        void *set = set_in_memory(sets, corpus->rep[row]);
        if (corpus->rep[row] == row)
            BM_TRY(place_in_memory(sets, bm_corpus_set_len(corpus, row), &set, err));
        if (sets->words != NULL)
            sets->words[row] = set;
        else
            sets->hashes[row] = set;
    }
    return BM_OK;
}

bm_status bm_corpus_put_sets(const bm_corpus *corpus, const bm_shingle_batch *shingles,
                             const uint32_t *words, size_t first, bm_error *err)
{
    const bm_corpus_sets *sets = &corpus->sets;
    const bool in_file = bm_corpus_sets_in_file(corpus);
    const bool weighted = corpus->cfg.weighted && corpus->cfg.words.uints == 0;
    bm_spill_put put = {.file = sets->file};
    uint64_t *scratch = NULL;
    size_t cap = 0;
    bm_status status = BM_OK;
    for (size_t i = 0; has_sets(corpus) && i < shingles->n_docs; i++) {
        const size_t row = first + i, len = bm_corpus_set_len(corpus, row);
        if (len == 0) /* a copy; or there may be no arrays at all */
            continue;
        const void *set = corpus->cfg.words.uints > 0
                              ? (const void *)(words + i * corpus->cfg.words.uints)
                              : (const void *)(shingles->hashes + shingles->offsets[i]);
        if (in_file && weighted)
            BM_TRY_OUT(bm_grow_array(&scratch, &cap, len / sizeof *scratch, err));
        char *to = in_file ? (char *)scratch : set_in_memory(sets, row);
        if (weighted) { /* weights behind the hashes */
            memcpy(to, set, len / 2);
            memcpy(to + len / 2, shingles->weights + shingles->offsets[i], len / 2);
            set = to;
        } else if (!in_file) {
            memcpy(to, set, len);
        }
        if (in_file)
            BM_TRY_OUT(bm_spill_put_add(&put, sets->places[row], set, len, err));
    }
out:
    bm_free(scratch);
    return bm_spill_put_end(&put, status, err);
}

bm_status bm_corpus_sets_end(bm_corpus *corpus, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    if (!bm_corpus_sets_in_file(corpus) || sets->file_bytes != 0)
        return BM_OK;
    BM_TRY(bm_spill_flush(sets->file, err));
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

void bm_set_reader_reset(bm_set_reader *reader)
{
    bm_buf_reset(&reader->get.buf);
    bm_free(reader->own);
}

bm_status bm_set_reader_copy(bm_set_reader *reader, size_t row, void *to, size_t len, bm_error *err)
{
    const bm_corpus_sets *sets = &reader->corpus->sets;
    reader->get.file = sets->file;
    if (len == 0) /* nor is there a record */
        return BM_OK;
    if (bm_corpus_sets_in_file(reader->corpus))
        return bm_spill_get_read(&reader->get, sets->places[row], to, len, err);
    memcpy(to, set_in_memory(sets, row), len);
    return BM_OK;
}

bm_status bm_set_reader_get(bm_set_reader *reader, size_t row, const void **out, bm_error *err)
{
    const size_t len = bm_corpus_set_len(reader->corpus, row);
    *out =
        bm_corpus_sets_in_file(reader->corpus) ? NULL : set_in_memory(&reader->corpus->sets, row);
    if (*out != NULL)
        return BM_OK;
    BM_TRY(bm_grow(&reader->own, &reader->cap_own, len, 1, err));
    *out = reader->own;
    return bm_set_reader_copy(reader, row, reader->own, len, err);
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
