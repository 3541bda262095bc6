/* SPDX-License-Identifier: Apache-2.0 */
/* page_units.c -- for parts of documents: shows the parts that are repeated most, the files that
 * repeat them, and some documents before and after cutting.
 *
 *     cuts.tsv     first walk: sorts rows by the hash of the kept part, chooses the parts with most
 *                  rows, and the documents that lose most; second: the first rows of these parts;
 *                  third: their files, and the ranges of these documents
 *     removed.tsv  the documents that were left empty, which are not shown
 *     the inputs   the text around each part's first cut; the documents
 *
 * Tests: tests/cli/cases/report_units.sh */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "json/json_scan.h"
#include "report/page.h"
#include "spill/sorted_runs.h"

#define CANDIDATES 64u /* candidates for the documents shown, because most may be left empty */
#define SHOWN      3u

static bool same(const bm_buf *a, bm_str b)
{
    return a->len == b.len && memcmp(a->data, b.data, b.len) == 0;
}

static bm_str str_of(const bm_buf *buf)
{
    return (bm_str){buf->data, buf->len};
}

static void reset_unit(bm_page_unit *unit)
{
    bm_buf_reset(&unit->kept);
    bm_buf_reset(&unit->id);
    bm_free_all(unit->files, unit->run.text);
}

static void reset_document(bm_page_shortened *doc)
{
    bm_buf_reset(&doc->id);
    bm_free_all(doc->ranges, doc->text);
}

void bm_page_units_reset(bm_page_units *units)
{
    for (size_t i = 0; i < units->n; i++)
        reset_unit(&units->units[i]);
    for (size_t i = 0; i < units->n_docs; i++)
        reset_document(&units->docs[i]);
    bm_free_all(units->units, units->docs);
}

/* --- the parts with most rows --- */

/* Parts with more rows come first. Of two parts with equally many rows, the part with the earlier
 * first row comes first. */
static bool comes_before(const bm_page_unit *x, const bm_page_unit *y)
{
    return x->cuts != y->cuts ? x->cuts > y->cuts : x->row < y->row;
}

static bm_status offer_unit(bm_page *p, const bm_page_unit *unit, bm_error *err)
{
    bm_page_units *u = &p->units;
    const size_t most = p->options->pairs;
    if (most == 0 || (u->n == most && !comes_before(unit, &u->units[most - 1])))
        return BM_OK;
    BM_TRY(bm_grow_array(&u->units, &u->cap, u->n + 1, err));
    size_t at = u->n < most ? u->n++ : most - 1;
    for (; at > 0 && comes_before(unit, &u->units[at - 1]); at--)
        u->units[at] = u->units[at - 1];
    u->units[at] = *unit;
    return BM_OK;
}

/* Choose the parts with most rows. `rows`: the rows of cuts.tsv, sorted by the hash of their part.
 * Rows of one part stay in file order. */
static bm_status choose_units(bm_page *p, bm_sorted_runs *rows, bm_error *err)
{
    bm_page_unit unit = {0};
    bm_run_record row;
    bm_status status;
    BM_TRY(bm_sorted_runs_begin(rows, err));
    while ((status = bm_sorted_runs_next(rows, &row, err)) == BM_OK) {
        if (unit.cuts > 0 && row.key == unit.hash) {
            unit.cuts++;
            continue;
        }
        if (unit.cuts > 0)
            BM_TRY(offer_unit(p, &unit, err));
        unit = (bm_page_unit){.hash = row.key, .cuts = 1, .row = row.value, .doc = BM_PAGE_NO_DOC};
        p->units.of++;
    }
    if (status != BM_NOT_FOUND)
        return status;
    return unit.cuts > 0 ? offer_unit(p, &unit, err) : BM_OK;
}

/* `from` is not the seed: XXH3 combines a short input with the seed by an exclusive or, so many
 * pairs of an id and an offset would have one hash. */
static uint64_t hash_of(bm_str kept, uint64_t from)
{
    const uint64_t both[] = {XXH3_64bits(kept.data, kept.len), from};
    return XXH3_64bits(both, sizeof both);
}

/* --- bm_result_row_fn: one for each walk --- */

static bm_status read_row(const bm_tsv_table *row, bm_page_cut *out, bm_error *err)
{
    out->id = row->fields[BM_CUTS_ID];
    out->kept = row->fields[BM_CUTS_KEPT];
    BM_TRY(bm_tsv_table_uint(row, BM_CUTS_FROM, &out->from, err));
    BM_TRY(bm_tsv_table_uint(row, BM_CUTS_TO, &out->to, err));
    BM_TRY(bm_tsv_table_uint(row, BM_CUTS_KEPT_FROM, &out->kept_from, err));
    BM_TRY(bm_tsv_table_uint(row, BM_CUTS_LINE, &out->line, err));
    if (out->from >= out->to)
        return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line, "the range is empty");
    out->hash = hash_of(out->kept, out->kept_from);
    return BM_OK;
}

/* Called after the last row of a document, with the number of bytes that were cut out of it. Keeps
 * the document if it is among those that lose most. */
static bm_status offer_document(bm_page_units *u, bm_buf *id, uint64_t bytes, bm_error *err)
{
    if (id->len == 0 || (u->n_docs == CANDIDATES && bytes <= u->docs[CANDIDATES - 1].cut_bytes))
        return BM_OK;
    if (u->docs == NULL)
        BM_TRY(bm_new_zero(&u->docs, CANDIDATES, err));
    bm_page_shortened doc = {.cut_bytes = bytes, .doc = BM_PAGE_NO_DOC};
    BM_TRY(bm_buf_add(&doc.id, id->data, id->len, err));
    if (u->n_docs == CANDIDATES)
        reset_document(&u->docs[--u->n_docs]);
    size_t at = u->n_docs++;
    for (; at > 0 && u->docs[at - 1].cut_bytes < bytes; at--)
        u->docs[at] = u->docs[at - 1];
    u->docs[at] = doc;
    return BM_OK;
}

typedef struct counting {
    bm_page *page;
    bm_sorted_runs *rows;
    uint64_t n_rows;
    bm_buf id; /* the document of the previous row */
    uint64_t bytes;
} counting;

static bm_status count_row(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    counting *c = ctx;
    bm_page_units *u = &c->page->units;
    bm_page_cut cut;
    BM_TRY(read_row(row, &cut, err));
    BM_TRY(bm_sorted_runs_add(c->rows, cut.hash, c->n_rows++, err));
    if (!same(&c->id, cut.id)) {
        BM_TRY(offer_document(u, &c->id, c->bytes, err));
        c->id.len = 0;
        c->bytes = 0;
        BM_TRY(bm_buf_add(&c->id, cut.id.data, cut.id.len, err));
    }
    c->bytes += cut.to - cut.from;
    return BM_OK;
}

typedef struct naming {
    bm_page *page;
    size_t *by_row; /* indexes of units, in the order of their rows */
    size_t next;    /* index in by_row of the next unit */
    uint64_t n_rows;
} naming;

static int order_by_row(const void *a, const void *b, void *ctx)
{
    const bm_page_unit *units = ctx;
    const uint64_t x = units[*(const size_t *)a].row, y = units[*(const size_t *)b].row;
    return (x > y) - (x < y);
}

/* A bm_result_row_fn: if the row is the first row of the next unit, fills the unit from it. */
static bm_status name_row(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    naming *n = ctx;
    bm_page_units *u = &n->page->units;
    bm_page_cut cut;
    BM_TRY(read_row(row, &cut, err));
    if (n->next == u->n || n->n_rows++ != u->units[n->by_row[n->next]].row)
        return BM_OK;
    bm_page_unit *unit = &u->units[n->by_row[n->next++]];
    if (cut.hash != unit->hash)
        return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line, "changed while it was read");
    BM_TRY(bm_new_zero(&unit->files, bm_manifest_n_inputs(n->page->manifest), err));
    BM_TRY(bm_buf_add(&unit->kept, cut.kept.data, cut.kept.len, err));
    BM_TRY(bm_buf_add(&unit->id, cut.id.data, cut.id.len, err));
    unit->kept_from = cut.kept_from;
    unit->from = cut.from;
    unit->to = cut.to;
    unit->line = cut.line;
    return BM_OK;
}

static bm_status name_units(bm_page *p, bm_error *err)
{
    bm_page_units *u = &p->units;
    naming n = {.page = p};
    bm_status status = BM_OK;
    BM_TRY(bm_new(&n.by_row, u->n, err));
    for (size_t i = 0; i < u->n; i++)
        n.by_row[i] = i;
    qsort_r(n.by_row, u->n, sizeof *n.by_row, order_by_row, u->units);
    BM_TRY_OUT(bm_result_rows(&p->dir, BM_TABLE_CUTS, name_row, &n, err));
    if (n.next < u->n)
        status = bm_fail(err, BM_ERR_FORMAT, "cuts.tsv changed while it was read");
out:
    bm_free(n.by_row);
    return status;
}

typedef struct filling {
    bm_page *page;
    size_t input; /* input of the previous row; rows are in input order */
} filling;

static bm_status fill_row(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    filling *f = ctx;
    bm_page_units *u = &f->page->units;
    const bm_manifest *manifest = f->page->manifest;
    const size_t n_inputs = bm_manifest_n_inputs(manifest);
    const bm_str file = row->fields[BM_CUTS_FILE];
    bm_page_cut cut;
    BM_TRY(read_row(row, &cut, err));
    for (size_t i = 0; i < n_inputs; i++, f->input = (f->input + 1) % n_inputs) {
        if (bm_json_scan_is(file, bm_manifest_input_at(manifest, f->input)->file))
            break;
    }
    for (size_t i = 0; i < u->n && f->input < n_inputs; i++)
        if (u->units[i].hash == cut.hash && u->units[i].files[f->input]++ == 0)
            u->units[i].n_files++;
    for (size_t i = 0; i < u->n_docs; i++) {
        bm_page_shortened *doc = &u->docs[i];
        if (!same(&doc->id, cut.id))
            continue;
        doc->line = cut.line;
        BM_TRY(bm_grow_array(&doc->ranges, &doc->cap, doc->n + 1, err));
        doc->ranges[doc->n++] = (bm_page_range){cut.from, cut.to};
    }
    return BM_OK;
}

static bm_status drop_empty(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    bm_page_units *u = ctx;
    (void)err;
    for (size_t i = 0; i < u->n_docs; i++)
        if (same(&u->docs[i].id, row->fields[BM_REMOVED_ID])) {
            reset_document(&u->docs[i]);
            memmove(&u->docs[i], &u->docs[i + 1], (--u->n_docs - i) * sizeof *u->docs);
            break;
        }
    return BM_OK;
}

bm_status bm_page_units_tables(bm_page *p, bm_error *err)
{
    bm_page_units *u = &p->units;
    const uint64_t memory = p->settings->memory;
    counting c = {.page = p};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_sorted_runs_open(
        p->settings->temp_dir, memory == 0 ? SIZE_MAX / 2 : (size_t)(memory / 4), &c.rows, err));
    BM_TRY_OUT(bm_result_rows(&p->dir, BM_TABLE_CUTS, count_row, &c, err));
    BM_TRY_OUT(offer_document(u, &c.id, c.bytes, err));
    BM_TRY_OUT(choose_units(p, c.rows, err));
    bm_sorted_runs_close(c.rows);
    c.rows = NULL;
    BM_TRY_OUT(name_units(p, err));
    BM_TRY_OUT(bm_result_rows(&p->dir, BM_TABLE_REMOVED, drop_empty, u, err));
    while (u->n_docs > SHOWN)
        reset_document(&u->docs[--u->n_docs]);
    BM_TRY_OUT(bm_result_rows(&p->dir, BM_TABLE_CUTS, fill_row, &(filling){p, 0}, err));
    for (size_t i = 0; i < u->n; i++)
        BM_TRY_OUT(bm_page_show(p, str_of(&u->units[i].id), &u->units[i].doc, err));
    for (size_t i = 0; i < u->n_docs; i++)
        BM_TRY_OUT(bm_page_show(p, str_of(&u->docs[i].id), &u->docs[i].doc, err));
out:
    bm_sorted_runs_close(c.rows);
    bm_buf_reset(&c.id);
    return status;
}

/* --- texts --- */

static bool repaired(const bm_record *record, uint64_t from, uint64_t to, bm_page_range *out)
{
    *out = (bm_page_range){bm_utf8_after_repair(record->text, record->as_read, (size_t)from),
                           bm_utf8_after_repair(record->text, record->as_read, (size_t)to)};
    return out->from <= out->to && out->to <= record->text.len;
}

static int by_place(const void *a, const void *b)
{
    const bm_page_range *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

/* Store the document's text, beginning shortly before its first cut. The ranges are made disjoint,
 * and relative to the stored text. Does nothing if the document was found already, or if the record
 * is not the document's. */
static bm_status shorten(bm_page_shortened *doc, const bm_record *record, size_t most,
                         bm_error *err)
{
    const bm_str text = record->text;
    size_t n = 0;
    if (doc->found || doc->line != record->line || doc->n == 0)
        return BM_OK;
    qsort(doc->ranges, doc->n, sizeof *doc->ranges, by_place);
    for (size_t i = 0; i < doc->n; i++) {
        bm_page_range *r = &doc->ranges[i], *last = n > 0 ? &doc->ranges[n - 1] : NULL;
        if (!repaired(record, r->from, r->to, r))
            return BM_OK; /* cuts.tsv was made from a different text */
        if (last != NULL && r->from <= last->to)
            last->to = r->to > last->to ? r->to : last->to;
        else
            doc->ranges[n++] = *r;
    }
    size_t begin = doc->ranges[0].from > most / 4 ? (size_t)doc->ranges[0].from - most / 4 : 0;
    while (begin > 0 && ((unsigned char)text.data[begin] & 0xC0) == 0x80)
        begin--;
    const size_t left = text.len - begin, held = left < 2 * most ? left : 2 * most;
    doc->held = bm_utf8_valid_prefix(text.data + begin, held);
    BM_TRY(bm_new(&doc->text, doc->held, err));
    if (doc->held > 0)
        memcpy(doc->text, text.data + begin, doc->held);
    doc->found = true;
    doc->begin = begin;
    doc->bytes = text.len;
    doc->n = 0;
    doc->cut_bytes = 0; /* counted again below, because overlapping ranges count once */
    for (size_t i = 0; i < n; i++)
        doc->cut_bytes += doc->ranges[i].to - doc->ranges[i].from;
    for (size_t i = 0; i < n && doc->ranges[i].from < begin + doc->held; i++) {
        const bm_page_range r = {doc->ranges[i].from - begin, doc->ranges[i].to - begin};
        doc->ranges[doc->n++] = (bm_page_range){r.from, r.to < doc->held ? r.to : doc->held};
    }
    return BM_OK;
}

bm_status bm_page_units_document(bm_page *p, uint32_t number, const bm_record *record,
                                 bm_error *err)
{
    bm_page_units *u = &p->units;
    for (size_t i = 0; i < u->n; i++) {
        bm_page_unit *unit = &u->units[i];
        bm_page_range r;
        if (unit->doc == number && unit->line == record->line && !unit->run.found &&
            repaired(record, unit->from, unit->to, &r))
            BM_TRY(bm_page_run_set(&unit->run, record->text, (size_t)r.from, (size_t)r.to,
                                   p->options->text_bytes, err));
    }
    for (size_t i = 0; i < u->n_docs; i++)
        if (u->docs[i].doc == number)
            BM_TRY(shorten(&u->docs[i], record, p->options->text_bytes, err));
    return BM_OK;
}
