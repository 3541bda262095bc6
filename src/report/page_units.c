/* SPDX-License-Identifier: Apache-2.0 */
/* page_units.c -- for parts of documents: those repeated most, the files that repeat them, and some
 * documents before and after cutting.
 *
 *     cuts.tsv     first walk: the number of cuts of each part; the documents that lose most.
 *                  Second: the parts that are shown. Third: the files that repeat these parts; the
 *                  cuts of these documents
 *     removed.tsv  the documents that were left empty, which are not shown
 *     the inputs   the text around each part's first cut; the documents
 *
 * Tests: tests/cli/cases/report_units.sh */
#include <inttypes.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "json/json_scan.h"
#include "report/page.h"

#define CANDIDATES 64u /* candidates for the documents shown, because most may be left empty */
#define SHOWN      3u
#define SEEN       (UINT64_C(1) << 63) /* flag in a count: add_unit was called for the part */

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
    bm_hash_table_reset(&units->parts);
    bm_free_all(units->units, units->docs, units->counts);
}

/* --- counts, one for each hash of a kept part --- */

static uint64_t slot_hash(const bm_page_units *u, uint64_t hash)
{
    const uint64_t seed = u->parts.seed;
    return seed == 0 ? hash : bm_hash_seeded(hash, 0, seed);
}

static uint64_t hash_again(const void *owner, uint32_t part, uint64_t seed)
{
    const bm_page_units *u = owner;
    return bm_hash_seeded(u->counts[part].hash, 0, seed);
}

static bool has_hash(const void *owner, uint32_t part, const void *hash)
{
    const bm_page_units *u = owner;
    return u->counts[part].hash == *(const uint64_t *)hash;
}

static size_t slot_of(const bm_page_units *u, uint64_t hash)
{
    return bm_hash_table_find(&u->parts, slot_hash(u, hash), has_hash, u, &hash);
}

/* Count a cut of the part. */
static bm_status count_cut(bm_page *p, uint64_t hash, bm_error *err)
{
    bm_page_units *u = &p->units;
    BM_TRY(bm_hash_table_reserve(&u->parts, hash_again, u, err));
    const size_t at = slot_of(u, hash);
    if (!bm_hash_table_is_free(&u->parts, at)) {
        u->counts[bm_hash_table_number(&u->parts, at)].n++;
        return BM_OK;
    }
    const uint64_t bytes = (u->of + 1) * sizeof *u->counts + bm_hash_table_bytes(u->of + 1);
    if (u->of == UINT32_MAX - 1)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "more than 2^32-2 repeated parts");
    if (p->settings->memory != 0 && bytes > p->settings->memory / 2)
        return bm_fail(err, BM_ERR_NOMEM,
                       "%zu repeated parts cannot be counted in %" PRIu64 " bytes (`memory`)",
                       u->of, p->settings->memory);
    BM_TRY(bm_grow_array(&u->counts, &u->cap_counts, u->of + 1, err));
    u->counts[u->of] = (bm_page_unit_count){hash, 1};
    bm_hash_table_put(&u->parts, at, slot_hash(u, hash), (uint32_t)u->of++);
    return BM_OK;
}

static uint64_t hash_of(bm_str kept, uint64_t from)
{
    return XXH3_64bits_withSeed(kept.data, kept.len, from);
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

/* Called after the last row of a document, with the bytes cut out of it: keeps the document if it
 * is one of those that lose most. */
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
    bm_buf id; /* the document of the previous row */
    uint64_t bytes;
} counting;

static bm_status count_row(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    counting *c = ctx;
    bm_page_units *u = &c->page->units;
    bm_page_cut cut;
    BM_TRY(read_row(row, &cut, err));
    BM_TRY(count_cut(c->page, cut.hash, err));
    if (!same(&c->id, cut.id)) {
        BM_TRY(offer_document(u, &c->id, c->bytes, err));
        c->id.len = 0;
        c->bytes = 0;
        BM_TRY(bm_buf_add(&c->id, cut.id.data, cut.id.len, err));
    }
    c->bytes += cut.to - cut.from;
    return BM_OK;
}

static bm_status add_unit(bm_page *p, const bm_page_cut *cut, uint64_t n, bm_error *err)
{
    bm_page_units *u = &p->units;
    const size_t most = p->options->pairs;
    if (most == 0 || (u->n == most && n <= u->units[most - 1].cuts))
        return BM_OK;
    bm_page_unit unit = {.hash = cut->hash,
                         .cuts = n,
                         .kept_from = cut->kept_from,
                         .from = cut->from,
                         .to = cut->to,
                         .line = cut->line,
                         .doc = BM_PAGE_NO_DOC};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&unit.files, bm_manifest_n_inputs(p->manifest), err));
    BM_TRY_OUT(bm_buf_add(&unit.kept, cut->kept.data, cut->kept.len, err));
    BM_TRY_OUT(bm_buf_add(&unit.id, cut->id.data, cut->id.len, err));
    BM_TRY_OUT(bm_grow_array(&u->units, &u->cap, u->n + 1, err));
    if (u->n == most)
        reset_unit(&u->units[--u->n]);
    size_t at = u->n++;
    for (; at > 0 && u->units[at - 1].cuts < n; at--)
        u->units[at] = u->units[at - 1];
    u->units[at] = unit;
    return BM_OK;
out:
    reset_unit(&unit);
    return status;
}

static bm_status choose_row(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    bm_page *p = ctx;
    bm_page_units *u = &p->units;
    bm_page_cut cut;
    BM_TRY(read_row(row, &cut, err));
    const size_t at = u->of > 0 ? slot_of(u, cut.hash) : 0;
    if (u->of == 0 || bm_hash_table_is_free(&u->parts, at)) /* cuts.tsv has changed */
        return BM_OK;
    bm_page_unit_count *count = &u->counts[bm_hash_table_number(&u->parts, at)];
    if ((count->n & SEEN) != 0)
        return BM_OK;
    count->n |= SEEN;
    return add_unit(p, &cut, count->n & ~SEEN, err);
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
    counting c = {.page = p};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_result_rows(&p->dir, BM_TABLE_CUTS, count_row, &c, err));
    BM_TRY_OUT(offer_document(u, &c.id, c.bytes, err));
    BM_TRY_OUT(bm_result_rows(&p->dir, BM_TABLE_CUTS, choose_row, p, err));
    BM_TRY_OUT(bm_result_rows(&p->dir, BM_TABLE_REMOVED, drop_empty, u, err));
    while (u->n_docs > SHOWN)
        reset_document(&u->docs[--u->n_docs]);
    BM_TRY_OUT(bm_result_rows(&p->dir, BM_TABLE_CUTS, fill_row, &(filling){p, 0}, err));
    for (size_t i = 0; i < u->n; i++)
        BM_TRY_OUT(bm_page_show(p, str_of(&u->units[i].id), &u->units[i].doc, err));
    for (size_t i = 0; i < u->n_docs; i++)
        BM_TRY_OUT(bm_page_show(p, str_of(&u->docs[i].id), &u->docs[i].doc, err));
out:
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

/* Store the document's text from shortly before its first cut on. The ranges are made disjoint, and
 * relative to the stored text. */
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
    doc->cut_bytes = 0; /* overlapping ranges count once */
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
