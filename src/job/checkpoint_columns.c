/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_columns.c -- saves documents and matches as columns in records of a file, and loads
 * them.
 *
 * A record contains the columns of some rows of a table (spill_saved.h). Loading trusts nothing:
 * each column of a record must have one element per row, and every number must be valid for the
 * job.
 *
 * Tests: tests/unit/job/test_checkpoint_documents.c, tests/unit/job/test_checkpoint_matches.c */
#include <inttypes.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "corpus/corpus.h"
#include "job/checkpoint_state.h"
#include "job/job_context.h"
#include "lsh/candidates.h"
#include "model/ids.h"
#include "spill/spill_saved.h"

/* === matches ===
 *
 * Loaded edges are stored by bm_edges_add, like new edges: in memory, or in files if the present
 * memory limit requires it. */

#define BLOCK_DOCS 32768u /* documents or edges per record */

/* Columns of matches. Without only_groups, MATCH_EDGES has a row per edge, and the columns after it
 * are empty. With only_groups, MATCH_EDGES is empty, and the columns after it have a row per
 * document. */
enum {
    MATCH_HEAD,         /* match_head, in each record */
    MATCH_EDGES,        /* bm_pair */
    MATCH_LABELS,       /* uint32_t: the root of the document's group */
    MATCH_EARLIER,      /* uint32_t: the earliest document that has an edge to this document;
                           BM_NO_DOC: there is no edge to an earlier document */
    MATCH_SIMILARITIES, /* double: the similarity of the edge to MATCH_EARLIER */
    N_MATCH_COLUMNS
};

/* The number of documents, and the counts of the whole matching. */
typedef struct match_head {
    uint64_t docs, candidates, verified, edges, not_compared;
} match_head;

/* --- saving --- */

static bm_status begin_matches(bm_spill_columns *out, const match_head *head, bm_error *err)
{
    BM_TRY(bm_spill_columns_begin(out, N_MATCH_COLUMNS, err));
    return bm_spill_columns_put(out, head, sizeof *head, err);
}

static bm_status end_matches(bm_spill_columns *out, bm_spill_file *file, bm_error *err)
{
    BM_TRY(bm_spill_columns_end(out, err));
    return bm_spill_add(file, out->buf.data, out->buf.len, NULL, err);
}

static bm_status put_groups(bm_match *match, size_t at, size_t n, bm_spill_columns *out,
                            bm_error *err)
{
    const bm_earlier_edge *edges = match->result.earlier.edges;
    BM_TRY(bm_spill_columns_end(out, err)); /* the column of edges is empty */
    bm_column_leave(&match->result.earlier.column);
    for (size_t i = at; i < at + n; i++) {
        const uint32_t root = bm_union_find_root(&match->result.groups, (uint32_t)i);
        BM_TRY(bm_buf_add(&out->buf, &root, sizeof root, err));
    }
    BM_TRY(bm_spill_columns_end(out, err));
    for (size_t i = at; edges != NULL && i < at + n; i++) {
        const uint32_t doc = edges[i].behind - 1; /* BM_NO_DOC if there is no edge */
        BM_TRY(bm_buf_add(&out->buf, &doc, sizeof doc, err));
    }
    BM_TRY(bm_spill_columns_end(out, err));
    for (size_t i = at; edges != NULL && i < at + n; i++)
        BM_TRY(bm_buf_add(&out->buf, &edges[i].similarity, sizeof edges[i].similarity, err));
    return BM_OK;
}

static bm_status save_groups(bm_match *match, const match_head *head, bm_spill_file *file,
                             bm_spill_columns *out, bm_error *err)
{
    const size_t n_docs = match->settings.corpus->n;
    for (size_t at = 0; at < n_docs; at += BLOCK_DOCS) {
        BM_TRY(begin_matches(out, head, err));
        BM_TRY(
            put_groups(match, at, n_docs - at < BLOCK_DOCS ? n_docs - at : BLOCK_DOCS, out, err));
        BM_TRY(end_matches(out, file, err));
    }
    return BM_OK;
}

static bm_status save_edges(const bm_match *match, const match_head *head, bm_spill_file *file,
                            bm_spill_columns *out, bm_error *err)
{
    bm_pair edge;
    bm_status status;
    BM_TRY(bm_edges_begin(match, err));
    BM_TRY(begin_matches(out, head, err));
    for (uint64_t n = 1; (status = bm_edges_next(match, &edge, err)) == BM_OK; n++) {
        BM_TRY(bm_buf_add(&out->buf, &edge, sizeof edge, err));
        if (n % BLOCK_DOCS != 0)
            continue;
        BM_TRY(end_matches(out, file, err));
        BM_TRY(begin_matches(out, head, err));
    }
    return status == BM_NOT_FOUND ? end_matches(out, file, err) : status;
}

bm_status bm_checkpoint_matches_save(bm_match *match, bm_spill_file *file, bm_error *err)
{
    const bm_match_counts *counts = &match->result.counts;
    const bool only_groups = match->settings.only_groups;
    const match_head head = {match->settings.corpus->n, counts->candidates, counts->verified,
                             counts->edges, counts->not_compared};
    bm_spill_columns out = {0};
    const bm_status status = only_groups ? save_groups(match, &head, file, &out, err)
                                         : save_edges(match, &head, file, &out, err);
    bm_buf_reset(&out.buf);
    return status == BM_OK ? bm_spill_flush(file, err) : status;
}

/* --- loading --- */

typedef struct matches_loading {
    bm_match *match;
    match_head head;
    bool has_head;
    uint64_t n; /* documents or edges loaded so far */
} matches_loading;

static bm_status damaged(const char *what, bm_error *err)
{
    return bm_fail(err, BM_ERR_FORMAT, "the saved matches are damaged: %s do not fit", what);
}

/* Is the value a similarity, or NAN (unknown)? */
static bool is_similarity(double value)
{
    return !(value < 0) && !(value > 1);
}

/* For n documents from `first` on, load the edges to earlier documents. Returns false if an edge
 * leads to a document that is not earlier, or if its similarity is invalid. */
static bool load_earlier(bm_earlier_edge *edges, size_t first, size_t n, const uint32_t *docs,
                         const double *similarities)
{
    for (size_t i = 0; i < n; i++) {
        bm_earlier_edge *edge = &edges[first + i];
        edge->behind = docs[i] + 1; /* 0 for BM_NO_DOC: there is no edge */
        edge->similarity = similarities[i];
        if (edge->behind > first + i || (edge->behind != 0 && !is_similarity(edge->similarity)))
            return false;
    }
    return true;
}

static bm_status load_groups(matches_loading *l, const bm_str *columns, bm_error *err)
{
    bm_match *match = l->match;
    bm_earlier_edges *earlier = &match->result.earlier;
    const uint32_t *labels = (const void *)columns[MATCH_LABELS].data;
    const size_t n = columns[MATCH_LABELS].len / sizeof *labels, at = (size_t)l->n,
                 n_earlier = earlier->edges != NULL ? n : 0;
    if (columns[MATCH_LABELS].len != n * sizeof *labels || n > match->settings.corpus->n - at ||
        columns[MATCH_EARLIER].len != n_earlier * sizeof(uint32_t) ||
        columns[MATCH_SIMILARITIES].len != n_earlier * sizeof(double))
        return damaged("groups", err);
    for (size_t i = 0; i < n; i++) {
        if (labels[i] > at + i)
            return damaged("labels", err);
        bm_union_find_link(&match->result.groups, (uint32_t)(at + i), labels[i]);
    }
    bm_column_leave(&earlier->column);
    if (!load_earlier(earlier->edges, at, n_earlier, (const void *)columns[MATCH_EARLIER].data,
                      (const void *)columns[MATCH_SIMILARITIES].data))
        return damaged("edges", err);
    l->n += n;
    return BM_OK;
}

static bm_status load_edges(matches_loading *l, bm_str column, bm_error *err)
{
    const bm_pair *edges = (const void *)column.data;
    const size_t n = column.len / sizeof *edges;
    if (n * sizeof *edges != column.len)
        return damaged("edges", err);
    for (size_t i = 0; i < n; i++)
        if (edges[i].a >= edges[i].b || edges[i].b >= l->match->settings.corpus->n ||
            !is_similarity(edges[i].similarity))
            return damaged("edges", err);
    l->n += n;
    return bm_edges_add(l->match, edges, n, err);
}

static bm_status load_matches(void *ctx, uint64_t place, const void *data, size_t len,
                              bm_error *err)
{
    matches_loading *l = ctx;
    const bm_match *match = l->match;
    bm_str columns[N_MATCH_COLUMNS];
    (void)place;
    if (!bm_spill_columns_find(data, len, columns, N_MATCH_COLUMNS) ||
        columns[MATCH_HEAD].len != sizeof l->head)
        return damaged("lengths", err);
    memcpy(&l->head, columns[MATCH_HEAD].data, sizeof l->head);
    l->has_head = true;
    if (l->head.docs != match->settings.corpus->n)
        return damaged("numbers", err);
    return match->settings.only_groups ? load_groups(l, columns, err)
                                       : load_edges(l, columns[MATCH_EDGES], err);
}

bm_status bm_checkpoint_matches_load(bm_match *match, const bm_spill_file *file, bm_error *err)
{
    matches_loading l = {.match = match};
    bm_match_counts *counts = &match->result.counts;
    BM_TRY(bm_match_begin(match, err));
    BM_TRY(bm_spill_walk(file, load_matches, &l, err));
    if (!l.has_head || l.n != (match->settings.only_groups ? l.head.docs : l.head.edges))
        return damaged("counts", err);
    counts->candidates = l.head.candidates;
    counts->verified = l.head.verified;
    counts->edges = l.head.edges;
    counts->not_compared = l.head.not_compared;
    if (counts->not_compared > 0)
        bm_meter_log(match->settings.meter, BM_LOG_WARNING,
                     "up to %llu pairs of crowded buckets were not compared (`pairs` compares all)",
                     (unsigned long long)counts->not_compared);
    return match->settings.verify == BM_VERIFY_NONE /* grouping then needs the band keys */
               ? bm_corpus_keyset(match->settings.corpus, match->settings.pool, &match->result.keys,
                                  err)
               : BM_OK;
}

/* === documents === */

#define BLOCK_BYTES ((size_t)1 << 20) /* approximate bytes of columns in a record */
#define BLOCK_LEAST 64u               /* only the last record may have fewer documents */
#define BLOCK_MOST  8192u             /* most documents in a record */

/* Columns of documents. The columns before N_PLAIN have the same form as in memory. */
enum {
    DOC_ROWS,    /* bm_doc_row */
    DOC_ID_ENDS, /* uint64_t: end offset of the id in the concatenated ids of all documents */
    DOC_CONTENT, /* bm_hash128; empty once content hashes are no longer in memory */
    DOC_REP,     /* uint32_t: the representative; filled only if DOC_CONTENT is empty */
    DOC_TEXTS,   /* uint64_t: the place of the text; empty unless sets are made again from texts */
    N_PLAIN,
    DOC_KEYS = N_PLAIN, /* uint64_t: one band key per band, for each document */
    DOC_IDS,            /* the ids, concatenated */
    DOC_RANKS,          /* ranking keys, each a uint32_t length and the bytes */
    DOC_HEAD,           /* one doc_head */
    DOC_SOURCES,        /* a saved_source per input that was read to its end */
    DOC_SKIPPED,        /* a saved_skip per skipped record */
    DOC_REASONS,        /* bytes: the reasons for skipping, concatenated */
    N_DOC_COLUMNS
};

static const size_t plain_bytes[N_PLAIN] = {
    [DOC_ROWS] = sizeof(bm_doc_row),    [DOC_ID_ENDS] = sizeof(uint64_t),
    [DOC_CONTENT] = sizeof(bm_hash128), [DOC_REP] = sizeof(uint32_t),
    [DOC_TEXTS] = sizeof(uint64_t),
};

typedef struct doc_head {
    uint64_t first;   /* number of the first document of the record */
    bm_counts counts; /* counts of the job when it was saved; the last record's are used */
} doc_head;

typedef struct saved_skip {
    uint64_t line;
    uint32_t file, len; /* index of the input; length of the reason in bytes */
} saved_skip;

typedef struct saved_source {
    bm_hash128 digest;
    uint64_t bytes_read;
} saved_source;

static size_t bands_of(const bm_checkpoint_documents *what)
{
    return what->corpus != NULL ? what->corpus->cfg.bands : 0;
}

/* --- saving --- */

/* Set of[c] to column c in memory, from document 0 on. NULL: the job has no documents, or no such
 * column. */
static void plain_columns(const bm_checkpoint_documents *what, const char *of[N_PLAIN])
{
    const bm_corpus *corpus = what->corpus;
    memset(of, 0, N_PLAIN * sizeof *of);
    of[DOC_ROWS] = (const void *)what->docs->rows;
    of[DOC_ID_ENDS] = (const void *)what->docs->ids.ends;
    if (corpus == NULL)
        return;
    of[DOC_CONTENT] = (const void *)corpus->copies.content;
    of[DOC_REP] = corpus->copies.content == NULL ? (const void *)corpus->rep : NULL;
    of[DOC_TEXTS] = corpus->sets.state == BM_SETS_AGAIN ? (const void *)corpus->sets.texts : NULL;
}

/* Bytes per document of the plain columns and of the band keys. */
static size_t bytes_of_columns(const bm_checkpoint_documents *what)
{
    const char *of[N_PLAIN];
    size_t bytes = bands_of(what) * sizeof(uint64_t);
    plain_columns(what, of);
    for (unsigned c = 0; c < N_PLAIN; c++)
        bytes += of[c] != NULL ? plain_bytes[c] : 0;
    return bytes;
}

static uint64_t id_begin(const bm_doc_table *docs, size_t row)
{
    return row == 0 ? 0 : docs->ids.ends[row - 1];
}

uint64_t bm_checkpoint_documents_unsaved_bytes(const bm_checkpoint_documents *what, size_t first)
{
    const bm_doc_table *docs = what->docs;
    return (docs->n - first) * bytes_of_columns(what) + id_begin(docs, docs->n) -
           id_begin(docs, first);
}

static bm_status put_plain(const bm_checkpoint_documents *what, size_t first, size_t n,
                           bm_spill_columns *out, bm_error *err)
{
    const char *of[N_PLAIN];
    plain_columns(what, of);
    for (unsigned c = 0; c < N_PLAIN; c++) {
        const bool has = of[c] != NULL && n > 0;
        BM_TRY(bm_spill_columns_put(out, has ? of[c] + first * plain_bytes[c] : NULL,
                                    has ? n * plain_bytes[c] : 0, err));
    }
    bm_doc_table_leave(what->docs);
    return BM_OK;
}

static bm_status put_keys(const bm_checkpoint_documents *what, size_t first, size_t n,
                          bm_spill_columns *out, bm_error *err)
{
    const size_t bytes = n * bands_of(what) * sizeof(uint64_t);
    if (bytes > 0) {
        BM_TRY(bm_buf_reserve(&out->buf, bytes, err));
        BM_TRY(bm_corpus_copy_keys(what->corpus, first, n, (void *)(out->buf.data + out->buf.len),
                                   err));
        out->buf.len += bytes;
    }
    return bm_spill_columns_end(out, err);
}

/* The number of inputs, plus 1 if the inputs have a file of offsets. */
static size_t count_sources(bm_input_set *inputs)
{
    return bm_input_set_count(inputs) + (bm_input_set_offsets(inputs) != NULL);
}

static bm_source *source_at(bm_input_set *inputs, size_t i)
{
    return i < bm_input_set_count(inputs) ? bm_input_set_source(inputs, i)
                                          : bm_input_set_offsets(inputs);
}

/* Put the digests of the inputs that were read to their end. If reading is not complete, the input
 * of the last document may still be open, so only inputs before it are put. */
static bm_status put_sources(const bm_checkpoint_documents *what, bm_spill_columns *out,
                             bm_error *err)
{
    const bm_doc_table *docs = what->docs;
    const size_t n = what->complete ? count_sources(what->inputs)
                     : docs->n > 0  ? bm_doc_table_row(docs, docs->n - 1)->file
                                    : 0;
    for (size_t i = 0; i < n; i++) {
        const bm_source *source = source_at(what->inputs, i);
        const saved_source saved = {source->digest, source->bytes_read};
        BM_TRY(bm_buf_add(&out->buf, &saved, sizeof saved, err));
    }
    return bm_spill_columns_end(out, err);
}

static bm_status put_skipped(const bm_doc_table *docs, size_t first, bm_spill_columns *out,
                             bm_error *err)
{
    for (size_t i = first; i < docs->n_skipped; i++) {
        const bm_skipped *skipped = &docs->skipped[i];
        const saved_skip saved = {skipped->line, skipped->file, (uint32_t)strlen(skipped->reason)};
        BM_TRY(bm_buf_add(&out->buf, &saved, sizeof saved, err));
    }
    BM_TRY(bm_spill_columns_end(out, err));
    for (size_t i = first; i < docs->n_skipped; i++)
        BM_TRY(bm_buf_add_text(&out->buf, docs->skipped[i].reason, err));
    return bm_spill_columns_end(out, err);
}

bm_status bm_checkpoint_documents_save(const bm_checkpoint_documents *what, size_t first_doc,
                                       size_t first_skipped, bm_spill_file *file, bm_error *err)
{
    const bm_doc_table *docs = what->docs;
    size_t most = BLOCK_BYTES / bytes_of_columns(what), at = first_doc, n;
    bm_unsaved_reader ranks = {0};
    bm_spill_columns out = {0};
    bm_status status = BM_OK;
    most = most > BLOCK_MOST ? BLOCK_MOST : most < BLOCK_LEAST ? BLOCK_LEAST : most;
    do { /* write at least one record, because a record has the counts */
        n = docs->n - at < most ? docs->n - at : most;
        const doc_head head = {at, *what->counts};
        BM_TRY_OUT(bm_spill_columns_begin(&out, N_DOC_COLUMNS, err));
        BM_TRY_OUT(put_plain(what, at, n, &out, err));
        BM_TRY_OUT(put_keys(what, at, n, &out, err));
        const uint64_t ids = id_begin(docs, at), id_bytes = id_begin(docs, at + n) - ids;
        BM_TRY_OUT(bm_spill_columns_put(&out, id_bytes > 0 ? docs->ids.text.data + ids : NULL,
                                        (size_t)id_bytes, err));
        if (what->keep != NULL)
            BM_TRY_OUT(bm_keep_keys_copy_unsaved(what->keep, &ranks, n, &out.buf, err));
        BM_TRY_OUT(bm_spill_columns_end(&out, err));
        BM_TRY_OUT(bm_spill_columns_put(&out, &head, sizeof head, err));
        at += n;
        if (at == docs->n) {
            BM_TRY_OUT(put_sources(what, &out, err));
            BM_TRY_OUT(put_skipped(docs, first_skipped, &out, err));
        }
        BM_TRY_OUT(bm_spill_add(file, out.buf.data, out.buf.len, NULL, err));
    } while (at < docs->n);
    status = bm_spill_flush(file, err);
out:
    bm_buf_reset(&ranks.block);
    bm_buf_reset(&out.buf);
    return status;
}

/* --- loading --- */

typedef struct documents_loading {
    const bm_checkpoint_documents *what;
    uint64_t place;           /* offset of the current record in the file */
    bm_str of[N_DOC_COLUMNS]; /* columns of the record */
    size_t n;                 /* number of documents in the record */
} documents_loading;

static const void *column(const documents_loading *l, unsigned c)
{
    return l->of[c].len > 0 ? l->of[c].data : NULL;
}

static bm_status not_saved(const documents_loading *l, const char *what, bm_error *err)
{
    return bm_fail(err, BM_ERR_FORMAT,
                   "the saved documents are damaged: %s do not fit (block at byte %" PRIu64 ")",
                   what, l->place);
}

/* Do the columns have the right lengths for l->n documents? The columns from DOC_CONTENT to
 * DOC_TEXTS may also be empty. */
static bool columns_fit(const documents_loading *l)
{
    for (unsigned c = 0; c < N_PLAIN; c++)
        if (l->of[c].len != l->n * plain_bytes[c] && (c < DOC_CONTENT || l->of[c].len != 0))
            return false;
    return l->of[DOC_KEYS].len == l->n * bands_of(l->what) * sizeof(uint64_t) &&
           l->of[DOC_HEAD].len == sizeof(doc_head);
}

static bm_status load_rows(const documents_loading *l, bm_error *err)
{
    bm_doc_table *docs = l->what->docs;
    bm_input_set *inputs = l->what->inputs;
    const bm_doc_row *rows = column(l, DOC_ROWS);
    const uint64_t *ends = column(l, DOC_ID_ENDS);
    const bm_str ids = l->of[DOC_IDS];
    const uint64_t begin = l->n > 0 ? ends[l->n - 1] - ids.len : 0;
    uint64_t at = begin;
    for (size_t i = 0; i < l->n; i++) {
        if (ends[i] < at || ends[i] - begin > ids.len)
            return not_saved(l, "ids", err);
        const bm_str id = {ids.data + (at - begin), (size_t)(ends[i] - at)};
        if (rows[i].file >= bm_input_set_count(inputs))
            return bm_fail(err, BM_ERR_FORMAT, "the saved documents are of other inputs");
        const bm_doc_id hashed = {id, XXH3_64bits(id.data, id.len)};
        BM_TRY(bm_doc_table_add(docs, &rows[i], hashed,
                                bm_input_set_source(inputs, rows[i].file)->name, err));
        at = ends[i];
    }
    return BM_OK;
}

static bm_status load_corpus(const documents_loading *l, bm_error *err)
{
    bm_corpus *corpus = l->what->corpus;
    const bm_corpus_rows rows = {.n = l->n,
                                 .docs = column(l, DOC_ROWS),
                                 .content = column(l, DOC_CONTENT),
                                 .rep = column(l, DOC_REP),
                                 .keys = column(l, DOC_KEYS),
                                 .texts = column(l, DOC_TEXTS)};
    const bool content = rows.content != NULL, rep = rows.rep != NULL;
    if (corpus == NULL ? content || rep || rows.texts != NULL : l->n > 0 && content == rep)
        return not_saved(l, "columns", err);
    return corpus == NULL || l->n == 0 ? BM_OK : bm_corpus_restore_rows(corpus, &rows, err);
}

static bm_status load_sources(const documents_loading *l, bm_error *err)
{
    const saved_source *saved = column(l, DOC_SOURCES);
    const size_t n = l->of[DOC_SOURCES].len / sizeof *saved;
    if (n * sizeof *saved != l->of[DOC_SOURCES].len || n > count_sources(l->what->inputs))
        return not_saved(l, "inputs", err);
    for (size_t i = 0; i < n; i++) {
        bm_source *source = source_at(l->what->inputs, i);
        source->digest = saved[i].digest;
        source->bytes_read = saved[i].bytes_read;
    }
    return BM_OK;
}

static bm_status load_skipped(const documents_loading *l, bm_error *err)
{
    const saved_skip *saved = column(l, DOC_SKIPPED);
    const size_t n = l->of[DOC_SKIPPED].len / sizeof *saved;
    bm_str reasons = l->of[DOC_REASONS];
    bm_status status =
        n * sizeof *saved == l->of[DOC_SKIPPED].len ? BM_OK : not_saved(l, "skipped records", err);
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        if (saved[i].len > reasons.len || saved[i].file >= bm_input_set_count(l->what->inputs))
            return not_saved(l, "skipped records", err);
        bm_skipped skipped = {.line = saved[i].line,
                              .file = saved[i].file,
                              .reason = bm_strndup(reasons.data, saved[i].len)};
        status = skipped.reason == NULL ? bm_fail_nomem(err, saved[i].len)
                                        : bm_doc_table_skip(l->what->docs, &skipped, err);
        if (status != BM_OK)
            bm_free(skipped.reason);
        reasons = (bm_str){reasons.data + saved[i].len, reasons.len - saved[i].len};
    }
    return status;
}

static bm_status load_ranks(const documents_loading *l, bm_error *err)
{
    bm_keep_keys *keys = l->what->keep;
    bm_str left = l->of[DOC_RANKS];
    for (size_t i = 0; keys != NULL && i < l->n; i++) {
        uint32_t len = 0;
        const bool has = left.len >= sizeof len;
        if (has)
            memcpy(&len, left.data, sizeof len);
        if (!has || len > left.len - sizeof len || len < keys->rules->n_by_field)
            return not_saved(l, "keys of the order of keeping", err);
        BM_TRY(bm_keep_keys_add(keys, (bm_str){left.data + sizeof len, len}, err));
        left = (bm_str){left.data + sizeof len + len, left.len - sizeof len - len};
    }
    return BM_OK;
}

static bool is_more(const void *data, size_t len)
{
    uint64_t first = 0;
    if (len >= sizeof first)
        memcpy(&first, data, sizeof first);
    return first == BM_CHECKPOINT_MORE;
}

static bm_status load_documents(void *ctx, uint64_t place, const void *data, size_t len,
                                bm_error *err)
{
    documents_loading *l = ctx;
    const bm_checkpoint_documents *what = l->what;
    doc_head head;
    l->place = place;
    if (is_more(data, len))
        return what->more == NULL || what->more->save == NULL
                   ? not_saved(l, "records of another job", err)
                   : what->more->load(what->more->ctx, data, len, err);
    if (!bm_spill_columns_find(data, len, l->of, N_DOC_COLUMNS))
        return not_saved(l, "lengths", err);
    l->n = l->of[DOC_ROWS].len / sizeof(bm_doc_row);
    if (!columns_fit(l))
        return not_saved(l, "columns", err);
    memcpy(&head, l->of[DOC_HEAD].data, sizeof head);
    if (head.first != what->docs->n || l->n > BM_DOCS_MAX)
        return not_saved(l, "numbers", err);
    bm_status status = BM_OK;
    BM_TRY_OUT(load_rows(l, err));
    BM_TRY_OUT(load_corpus(l, err));
    BM_TRY_OUT(load_sources(l, err));
    BM_TRY_OUT(load_skipped(l, err));
    status = load_ranks(l, err);
out:
    *what->counts = head.counts;
    return status;
}

bm_status bm_checkpoint_documents_load(const bm_checkpoint_documents *what,
                                       const bm_spill_file *file, bm_error *err)
{
    documents_loading l = {.what = what};
    const bool saves = what->keep != NULL && what->keep->saves;
    if (saves)
        what->keep->saves = false; /* loaded ranking keys are saved already */
    const bm_status status = bm_spill_walk(file, load_documents, &l, err);
    if (saves)
        what->keep->saves = true;
    BM_TRY(status);
    return what->corpus != NULL ? bm_corpus_restore_end(what->corpus, err) : BM_OK;
}
