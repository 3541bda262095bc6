/* pair_texts.c -- the texts go to a temporary file, from which those of a pair are read when its row is written.
 *
 * Identical documents have the same shingles, not the same text, so each has a text of its own. Records are matched with
 * documents by their order, and by file and line, which a sample has too.
 *
 * Memory: 16 bytes a document, and the two texts of a pair for each thread.
 *
 * Tests: tests/reference/test_measure.py, tests/cli/cases/pairs.sh */
#include "job/rows.h"

#include "base/error.h"
#include "base/memory.h"
#include "lsh/two_sequences.h"
#include "job/record_room.h"

#define WRITE_BYTES ((size_t)1 << 20)
#define GRAIN       4u

typedef struct reading {
    bm_job_context *job;
    bm_pair_texts *texts;
    const uint8_t *wanted; /* of each document: it is in a pair */
    size_t next;           /* document */
    bool enough;
} reading;

/* --- reading --- */

static uint32_t root_of(const bm_union_find *groups, uint32_t doc)
{
    while (groups->parent[doc] != doc)
        doc = groups->parent[doc];
    return doc;
}

/* Documents that share a group with others, or are copies: only these can be in a pair. */
static bm_status mark_wanted(const bm_match *match, uint8_t *wanted, bm_error *err)
{
    const bm_corpus *corpus = match->settings.corpus;
    const bm_union_find *groups = &match->result.groups;
    uint32_t *size = NULL;
    BM_TRY(bm_new_zero(&size, corpus->n, err));
    for (size_t i = 0; i < corpus->n; i++)
        size[root_of(groups, corpus->rep[i])]++;
    for (size_t i = 0; i < corpus->n; i++)
        wanted[i] = size[root_of(groups, corpus->rep[i])] > 1;
    bm_free(size);
    return BM_OK;
}

static uint32_t count_points(bm_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    reading *r = ctx;
    const bm_doc_table *docs = &r->job->docs;
    bm_pair_texts *t = r->texts;
    if (record->bad || r->next == docs->n)
        return BM_OK;
    const bm_doc_row *row = &docs->rows[r->next];
    if (row->file != record->file || row->line != record->line ||
        row->text_bytes != record->text_bytes)
        return BM_OK; /* of a sample; or the inputs have changed, which the end tells */
    const size_t doc = r->next++;
    r->enough = r->next == docs->n;
    if (!r->wanted[doc])
        return BM_OK;
    t->points[doc] = record->text.len < UINT32_MAX ? count_points(record->text) : UINT32_MAX;
    if (t->points[doc] == UINT32_MAX)
        return BM_OK;
    t->bytes[doc] = (uint32_t)record->text.len;
    return bm_spill_add(t->file, record->text.data, record->text.len, &t->places[doc], err);
}

bm_status bm_pair_texts_read(bm_job_context *job, const bm_match *match, bm_pair_texts *out,
                             bm_error *err)
{
    const bm_settings *s = job->settings;
    uint8_t *wanted = NULL;
    reading r = {.job = job, .texts = out};
    *out = (bm_pair_texts){.n = job->docs.n, .pool = job->pool};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&wanted, out->n, err));
    BM_TRY_OUT(bm_new_zero(&out->places, out->n, err));
    BM_TRY_OUT(bm_new_zero(&out->bytes, out->n, err));
    BM_TRY_OUT(bm_new_zero(&out->points, out->n, err));
    BM_TRY_OUT(mark_wanted(match, wanted, err));
    BM_TRY_OUT(bm_spill_open(s->temp_dir, BM_SPILL_TEXTS, WRITE_BYTES, &out->file, err));
    r.wanted = wanted;
    r.enough = out->n == 0;
    BM_TRY_OUT(bm_records_read(job, on_record, &r, &r.enough, err));
    if (!r.enough)
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_INPUT,
                              bm_batch_source_file(job->inputs.source, job->docs.rows[r.next].file),
                              job->docs.rows[r.next].line,
                              "the file changed while it was read (the same records twice)"));
    status = bm_spill_flush(out->file, err);
out:
    bm_free(wanted);
    if (status != BM_OK)
        bm_pair_texts_close(out);
    return status;
}

void bm_pair_texts_close(bm_pair_texts *texts)
{
    bm_spill_close(texts->file);
    bm_free(texts->places);
    bm_free(texts->bytes);
    bm_free(texts->points);
    *texts = (bm_pair_texts){0};
}

/* --- comparing --- */

typedef struct comparing {
    const bm_pair_texts *texts;
    bm_edit_pair *pairs;
} comparing;

/* Of one thread: a text as it was read, and its code points. */
typedef struct held_text {
    char *bytes;
    uint32_t *points;
    size_t cap_bytes, cap_points;
    uint32_t doc;
    bool any;
} held_text;

/* Valid UTF-8, as records have it. */
static size_t decode(const char *text, size_t len, uint32_t *out)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = 0;
    for (size_t i = 0; i < len;) {
        const uint32_t c = p[i];
        const size_t more = c < 0x80 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
        uint32_t point = more == 0 ? c : c & (0x3Fu >> more);
        for (size_t k = 1; k <= more && i + k < len; k++)
            point = point << 6 | (p[i + k] & 0x3F);
        out[n++] = point;
        i += more + 1;
    }
    return n;
}

static bm_status hold(const bm_pair_texts *t, uint32_t doc, held_text *out, bm_error *err)
{
    if (out->any && out->doc == doc)
        return BM_OK;
    out->any = false;
    BM_TRY(bm_grow_array(&out->bytes, &out->cap_bytes, (size_t)t->bytes[doc] + 1, err));
    BM_TRY(bm_grow_array(&out->points, &out->cap_points, (size_t)t->points[doc] + 1, err));
    BM_TRY(bm_spill_read(t->file, t->places[doc], out->bytes, t->bytes[doc], err));
    decode(out->bytes, t->bytes[doc], out->points);
    out->doc = doc;
    out->any = true;
    return BM_OK;
}

static bm_status compare_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const comparing *c = ctx;
    const bm_pair_texts *t = c->texts;
    held_text a = {0}, b = {0};
    bm_status status = BM_OK;
    for (size_t i = begin; i < end; i++) {
        bm_edit_pair *pair = &c->pairs[i];
        const uint64_t n_a = t->points[pair->a], n_b = t->points[pair->b];
        pair->distance = BM_EDIT_UNKNOWN;
        if (n_a == UINT32_MAX || n_b == UINT32_MAX || n_a * n_b > BM_EDIT_CELLS_MAX)
            continue;
        BM_TRY_OUT(hold(t, pair->a, &a, err));
        BM_TRY_OUT(hold(t, pair->b, &b, err));
        BM_TRY_OUT(bm_edit_distance((bm_points){a.points, (size_t)n_a},
                                    (bm_points){b.points, (size_t)n_b}, &pair->distance, err));
    }
out:
    bm_free(a.bytes);
    bm_free(a.points);
    bm_free(b.bytes);
    bm_free(b.points);
    return status;
}

bm_status bm_pair_texts_compare(const bm_pair_texts *texts, bm_edit_pair *pairs, size_t n,
                                bm_error *err)
{
    comparing c = {.texts = texts, .pairs = pairs};
    return bm_pool_for(texts->pool, (bm_pool_split){n, GRAIN}, compare_range, &c, err);
}
