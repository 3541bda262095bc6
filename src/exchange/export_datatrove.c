/* export_datatrove.c -- what datatrove's stage 1 writes: a file for each band and rank, of records of the
 * r words of the band and the number of the document, sorted; without the documents that have no
 * shingles. And documents.tsv, which says which document each number is.
 *
 * The records of a rank are sorted in memory, of as many bands at once as it has room for; for the
 * next ones the signatures are walked over again.
 *
 * Tests: tests/cli/cases/export.sh, tests/reference/test_datatrove.py */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "json/json_write.h"
#include "model/file_names.h"
#include "exchange/trove_numbers.h"

/* A record on its way to its place: its first bytes, as a number that sorts as they do. */
typedef struct entry {
    uint64_t head;
    uint32_t at; /* its number among the records of its rank */
} entry;

typedef struct trove {
    bm_exporter *exporter;
    bm_trove_numbers numbers;
    size_t words_bytes;  /* of a band */
    size_t record_bytes; /* with the number */
    uint32_t first, n;   /* bands of this walk */
    char *records;       /* of these bands, each `cap` records one after another */
    entry *entries;      /* cap, for one band at a time */
    size_t n_records, cap;
} trove;

/* --- sorting --- */

typedef struct order {
    const char *records;
    size_t record_bytes, words_bytes;
    uint32_t word_bytes;
} order;

static uint64_t read_word(const char *at, uint32_t bytes)
{
    uint64_t word = 0;
    memcpy(&word, at, bytes);
    return word;
}

static int compare(const void *a, const void *b, void *ctx)
{
    const entry *x = a, *y = b;
    const order *o = ctx;
    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    const char *p = o->records + x->at * o->record_bytes, *q = o->records + y->at * o->record_bytes;
    for (size_t i = 0; i < o->words_bytes; i += o->word_bytes) {
        const uint64_t v = read_word(p + i, o->word_bytes), w = read_word(q + i, o->word_bytes);
        if (v != w)
            return v < w ? -1 : 1;
    }
    return x->at < y->at ? -1 : x->at > y->at; /* numbers ascend as the records came */
}

static bm_status write_band(const trove *t, uint32_t i, bm_error *err)
{
    const order by = {.records = t->records + i * t->cap * t->record_bytes,
                      .record_bytes = t->record_bytes,
                      .words_bytes = t->words_bytes,
                      .word_bytes = t->exporter->word_bytes};
    char name[64];
    bm_out_file *file;
    for (size_t k = 0; k < t->n_records; k++)
        t->entries[k] =
            (entry){read_word(by.records + k * by.record_bytes, by.word_bytes), (uint32_t)k};
    qsort_r(t->entries, t->n_records, sizeof *t->entries, compare, (void *)&by);
    snprintf(name, sizeof name, BM_FILE_DATATROVE, t->first + i, (unsigned)t->numbers.rank);
    BM_TRY(bm_out_dir_file(t->exporter->out, name, &file, err));
    bm_status status = BM_OK;
    for (size_t k = 0; k < t->n_records; k++)
        BM_TRY_OUT(bm_out_file_write(file, by.records + t->entries[k].at * by.record_bytes,
                                     by.record_bytes, err));
out:;
    bm_status closed = bm_out_file_close(file, status == BM_OK ? err : NULL);
    return status == BM_OK ? closed : status;
}

/* --- walking --- */

/* The files of the rank, if it is complete, and of those behind it that have no documents. */
static bm_status end_ranks(trove *t, bm_error *err)
{
    while (t->numbers.left == 0 && t->numbers.rank < t->numbers.n_ranks) {
        for (uint32_t i = 0; i < t->n; i++)
            BM_TRY(write_band(t, i, err));
        t->n_records = 0;
        (void)bm_trove_numbers_rank_ends(&t->numbers);
    }
    return BM_OK;
}

static void add_record(trove *t, const char *words, uint32_t number)
{
    for (uint32_t i = 0; i < t->n; i++) {
        char *to = t->records + (i * t->cap + t->n_records) * t->record_bytes;
        memcpy(to, words + (t->first + i) * t->words_bytes, t->words_bytes);
        memcpy(to + t->words_bytes, &number, sizeof number);
    }
    t->n_records++;
}

static bm_status take(void *ctx, const bm_export_block *block, bm_error *err)
{
    trove *t = ctx;
    const size_t row_bytes =
        (size_t)t->exporter->context->settings->sketch.perms * t->exporter->word_bytes;
    BM_TRY(bm_trove_numbers_load(&t->numbers, block, err));
    for (size_t i = 0; i < block->n; i++) {
        BM_TRY(end_ranks(t, err));
        const uint32_t number = bm_trove_numbers_take(&t->numbers, i);
        if (block->n_shingles[i] > 0 && number != BM_TROVE_NO_NUMBER)
            add_record(t, (const char *)block->words + i * row_bytes, number);
    }
    return BM_OK;
}

/* How many bands at once? */
static bm_status make_room(trove *t, uint32_t *at_once, bm_error *err)
{
    const bm_budget *budget = &t->exporter->context->budget;
    const uint32_t bands = t->exporter->context->settings->plan.bands;
    const uint64_t most = t->numbers.most, sorting = 2 * most * sizeof(entry);
    const uint64_t band = most * t->record_bytes, free = bm_budget_rows(budget);
    uint64_t n = bands;
    if (budget->total != 0 && free < sorting + bands * band)
        n = free < sorting + band ? 0 : (free - sorting) / band;
    if (n == 0)
        return bm_fail(
            err, BM_ERR_NOMEM,
            "the %llu documents of one input are sorted together, which does not fit into "
            "`memory` of %lluM (at least %lluM)",
            (unsigned long long)most, (unsigned long long)(budget->total >> 20),
            (unsigned long long)(bm_budget_least(budget, sorting + band) >> 20) + 1);
    t->cap = (size_t)most;
    t->records = bm_alloc((size_t)n, (size_t)band);
    t->entries = bm_alloc(t->cap, sizeof *t->entries);
    *at_once = (uint32_t)n;
    return t->records == NULL || t->entries == NULL ? bm_fail_nomem(err, (size_t)(n * band))
                                                    : BM_OK;
}

static bm_status write_bands(trove *t, bm_error *err)
{
    const bm_band_plan *plan = &t->exporter->context->settings->plan;
    uint32_t at_once = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(make_room(t, &at_once, err));
    for (t->first = 0; t->first < plan->bands; t->first += t->n) {
        t->n = plan->bands - t->first < at_once ? plan->bands - t->first : at_once;
        bm_trove_numbers_begin(&t->numbers);
        BM_TRY_OUT(bm_export_walk(t->exporter, false, take, t, err));
        BM_TRY_OUT(end_ranks(t, err));
    }
out:
    bm_free(t->records);
    bm_free(t->entries);
    return status;
}

/* --- documents.tsv --- */

typedef struct listing {
    bm_trove_numbers *numbers;
    bm_out_file *file;
    bm_buf text;
} listing;

static bm_status list(void *ctx, const bm_export_block *block, bm_error *err)
{
    listing *l = ctx;
    BM_TRY(bm_trove_numbers_load(l->numbers, block, err));
    for (size_t i = 0; i < block->n; i++) {
        while (bm_trove_numbers_rank_ends(l->numbers))
            ;
        const unsigned rank = (unsigned)l->numbers->rank;
        const uint32_t number = bm_trove_numbers_take(l->numbers, i);
        l->text.len = 0;
        if (number == BM_TROVE_NO_NUMBER)
            BM_TRY(bm_buf_add_format(&l->text, err, "%u\t\t", rank));
        else
            BM_TRY(bm_buf_add_format(&l->text, err, "%u\t%u\t", rank, number));
        BM_TRY(bm_tsv_escape(&l->text, bm_export_block_id(block, i), err));
        BM_TRY(bm_buf_add(&l->text, "\n", 1, err));
        BM_TRY(bm_out_file_write(l->file, l->text.data, l->text.len, err));
    }
    return BM_OK;
}

static bm_status write_list(trove *t, bm_error *err)
{
    static const char head[] = "rank\tnumber\tid\n";
    listing l = {.numbers = &t->numbers};
    BM_TRY(bm_out_dir_file(t->exporter->out, BM_FILE_DOCUMENTS, &l.file, err));
    bm_trove_numbers_begin(&t->numbers);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_out_file_write(l.file, head, sizeof head - 1, err));
    status = bm_export_walk(t->exporter, true, list, &l, err);
out:;
    bm_status closed = bm_out_file_close(l.file, status == BM_OK ? err : NULL);
    bm_buf_reset(&l.text);
    return status == BM_OK ? closed : status;
}

/* Its stage 2 leaves off at the first word of 2^61 - 1 or more. */
bool bm_export_datatrove_takes(const char *scheme)
{
    return strcmp(scheme, "affine64") != 0;
}

bm_status bm_export_datatrove(bm_exporter *e, bm_error *err)
{
    trove t = {.exporter = e,
               .words_bytes = (size_t)e->context->settings->plan.rows * e->word_bytes};
    t.record_bytes = t.words_bytes + sizeof(uint32_t);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_trove_numbers_open(e->dir, &t.numbers, err));
    BM_TRY_OUT(write_list(&t, err));
    status = write_bands(&t, err);
out:
    bm_trove_numbers_close(&t.numbers);
    return status;
}
