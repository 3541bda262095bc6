/* SPDX-License-Identifier: Apache-2.0 */
/* explain_units.c -- shows a part that `dedup` cut out of a document, and its kept occurrence.
 *
 *     cuts.tsv     the cut that covers a byte of the document, and where the kept part begins
 *     the inputs   both texts
 *
 * cuts.tsv does not store where the kept part ends. The kept part ends after the units that both
 * parts have in common at their beginning. If the part is only nearly alike, it extends at least to
 * the end of its line.
 *
 * Tests: tests/cli/cases/explain_units.sh */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "job/recipe.h"
#include "json/json_scan.h"
#include "model/file_names.h"
#include "report/explainer.h"
#include "text/unit_text.h"

static bm_status copy(bm_buf *out, bm_str text, bm_error *err)
{
    BM_TRY(bm_buf_add(out, text.data, text.len, err));
    return bm_buf_end(out, err);
}

/* --- cuts.tsv --- */

typedef struct search {
    bm_explained_cut *cut;
    uint64_t at;
} search;

/* A bm_result_row_fn. Cuts of spans may overlap, so this finds the first cut that covers the
 * byte. */
static bm_status find_cut(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    const search *s = ctx;
    bm_explained_cut *c = s->cut;
    uint64_t from, to;
    if (c->has_row || !bm_json_scan_is(row->fields[BM_CUTS_ID], c->document.id))
        return BM_OK;
    c->n_cuts++;
    BM_TRY(bm_tsv_table_uint(row, BM_CUTS_FROM, &from, err));
    BM_TRY(bm_tsv_table_uint(row, BM_CUTS_TO, &to, err));
    if (s->at < from || s->at >= to)
        return BM_OK;
    c->has_row = true;
    c->document.from = from;
    c->document.to = to;
    BM_TRY(bm_tsv_table_uint(row, BM_CUTS_LINE, &c->document.line, err));
    BM_TRY(copy(&c->document.file, row->fields[BM_CUTS_FILE], err));
    BM_TRY(bm_tsv_table_uint(row, BM_CUTS_KEPT_FROM, &c->kept.from, err));
    if (!bm_table_similarity(row->fields[BM_CUTS_JACCARD], &c->jaccard))
        return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                          "the similarity is not a number of six decimals");
    BM_TRY(copy(&c->kept_id, row->fields[BM_CUTS_KEPT], err));
    BM_TRY(copy(&c->reason, row->fields[BM_CUTS_REASON], err));
    c->kept.id = c->kept_id.data;
    return BM_OK;
}

/* --- texts --- */

typedef struct reading {
    bm_explained_cut *cut;
    const char *const *names; /* names of the inputs */
} reading;

static bm_status keep_text(bm_explained_text *text, const bm_record *record, bool *kept,
                           bm_error *err)
{
    if (text->known || !bm_json_scan_is(record->id, text->id))
        return BM_OK;
    *kept = text->known = true;
    if (record->as_read.data != NULL)
        BM_TRY(bm_buf_add(&text->as_read, record->as_read.data, record->as_read.len, err));
    return bm_buf_add(&text->text, record->text.data, record->text.len, err);
}

/* A bm_explain_record_fn: keeps the texts of the document and of the document that keeps the
 * part. */
static bm_status keep_texts(void *ctx, const bm_record *record, bool *kept, bm_error *err)
{
    const reading *r = ctx;
    bm_explained_text *of_kept = &r->cut->kept;
    const bool known = of_kept->known;
    BM_TRY(keep_text(&r->cut->document, record, kept, err));
    BM_TRY(keep_text(of_kept, record, kept, err));
    if (known || !of_kept->known)
        return BM_OK;
    of_kept->line = record->line;
    return copy(&of_kept->file, (bm_str){r->names[record->file], strlen(r->names[record->file])},
                err);
}

static bm_str text_of(const bm_explained_text *text)
{
    return (bm_str){text->text.data, text->text.len};
}

static size_t after_repair(const bm_explained_text *text, uint64_t at)
{
    return bm_utf8_after_repair(text_of(text), (bm_str){text->as_read.data, text->as_read.len},
                                (size_t)at);
}

/* Find where the kept part ends in the text of the kept document, and set c->kept.to and
 * c->n_units. */
static bm_status find_kept_end(bm_explained_cut *c, const bm_text_options *options, bm_error *err)
{
    const bm_str cut = text_of(&c->document), kept = text_of(&c->kept);
    const size_t from = after_repair(&c->document, c->document.from),
                 to = after_repair(&c->document, c->document.to),
                 begin = after_repair(&c->kept, c->kept.from);
    bm_text_units units[2] = {{0}, {0}};
    bm_status status = BM_OK;
    if (from > to || to > cut.len || begin > kept.len)
        return bm_fail_at(err, BM_ERR_FORMAT, c->document.file.data, c->document.line,
                          "the text has %zu bytes, and the cut ends at %" PRIu64, cut.len,
                          c->document.to);
    const bm_str both[] = {{cut.data + from, to - from}, {kept.data + begin, kept.len - begin}};
    for (size_t i = 0; i < 2; i++)
        BM_TRY_OUT(bm_text_units_make(options, both[i], &units[i], err));
    size_t n = 0;
    while (n < units[0].n && n < units[1].n && units[0].list[n].hash == units[1].list[n].hash)
        n++;
    c->n_units = n;
    size_t end = begin + (n > 0 ? units[1].list[n - 1].to : 0);
    if (n == units[0].n && kept.len - begin >= to - from &&
        memcmp(cut.data + from, kept.data + begin, to - from) == 0)
        end = begin + (to - from); /* the bytes after the last unit are equal too */
    if (n < units[0].n) {          /* extend a near part to the end of its line */
        const char *newline = memchr(kept.data + begin, '\n', kept.len - begin);
        const size_t line = newline != NULL ? (size_t)(newline - kept.data) + 1 : kept.len;
        end = end > line ? end : line;
    }
    c->kept.to =
        bm_utf8_before_repair(kept, (bm_str){c->kept.as_read.data, c->kept.as_read.len}, end);
out:
    bm_text_units_reset(&units[0]);
    bm_text_units_reset(&units[1]);
    return status;
}

static bm_status read_both(bm_explainer *e, bm_error *err)
{
    bm_explained_cut *c = &e->cut;
    reading r = {.cut = c};
    const bm_explain_records wanted = {NULL, keep_texts, &r, &r.names};
    bm_text_options options;
    BM_TRY(bm_explain_records_read(e->settings, e->manifest, e->options->streams[0], &wanted,
                                   &options, err));
    if (!c->document.known || !c->kept.known)
        return bm_fail_at(err, BM_ERR_FORMAT, c->document.file.data, 0, "'%.300s' is in no input",
                          c->document.known ? c->kept.id : c->document.id);
    return find_kept_end(c, &options, err);
}

/* If the texts cannot be read again, mark both as unknown and go on. */
static bm_status read_texts(bm_explainer *e, bm_error *err)
{
    bm_error inner = {0};
    const bm_status status = read_both(e, &inner);
    e->cut.document.known = e->cut.kept.known = status == BM_OK;
    return bm_explain_forgive_inputs(e, status, &inner, "the texts are", err);
}

bm_status bm_explain_cut(bm_explainer *e, bm_error *err)
{
    bm_explained_cut *c = &e->cut;
    search s = {.cut = c};
    bm_settings cut = *e->settings;
    const char *at = e->options->id_b;
    if (at == NULL)
        return bm_fail_field(err, "id_b",
                             "of a result with parts of documents a cut is explained (a document "
                             "and a byte of the cut, as id and from in " BM_FILE_CUTS ")");
    if (e->options->form == BM_EXPLAIN_DOT)
        return bm_fail_field(err, "form", "a cut has no graph");
    if (!bm_json_scan_uint((bm_str){at, strlen(at)}, &s.at))
        return bm_fail_field(
            err, "id_b", "'%.100s' (a byte of the document's text, as from in " BM_FILE_CUTS ")",
            at);
    c->document.id = e->options->id_a;
    BM_TRY(bm_recipe_signed(e->manifest, &cut, err));
    c->units = cut.text.shingle;
    bm_job_context_stage(&e->context, "read", "bytes");
    BM_TRY(bm_result_rows(&e->dir, BM_TABLE_CUTS, find_cut, &s, err));
    if (!c->has_row && c->n_cuts == 0)
        return bm_fail(err, BM_NOT_FOUND, "nothing was cut out of '%.300s' (or there is none)",
                       c->document.id);
    if (!c->has_row)
        return bm_fail(err, BM_NOT_FOUND,
                       "byte %" PRIu64 " of '%.300s' was not cut; %zu other part%s of it %s", s.at,
                       c->document.id, c->n_cuts, c->n_cuts == 1 ? "" : "s",
                       c->n_cuts == 1 ? "was" : "were");
    return read_texts(e, err);
}

void bm_explained_cut_reset(bm_explained_cut *cut)
{
    bm_explained_text_reset(&cut->document);
    bm_explained_text_reset(&cut->kept);
    bm_buf_reset(&cut->kept_id);
    bm_buf_reset(&cut->reason);
}
