/* SPDX-License-Identifier: Apache-2.0 */
/* page_texts.c -- reads the texts that are shown. Every input is hashed before its texts are read,
 * because a text is shown only if its input is unchanged since dedup read it. Then records are
 * parsed. Only few are cut into shingles or kept, so one thread keeps up with the disk. Reading
 * ends at the last document that is needed.
 *
 * If ids are numbered, the number of a repeated id depends on all earlier records. So every id is
 * added to a table, and records after a missing input are not read.
 *
 * Tests: tests/cli/cases/report.sh, tests/reference/test_report.py,
 *        tests/unit/report/test_word_diff.c */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "job/job_context.h"
#include "lsh/verify.h"
#include "model/option_words.h"
#include "report/page.h"
#include "text/shingler.h"

/* === word diff ===
 *
 * Myers' difference ("An O(ND) Difference Algorithm and Its Variations", 1986).
 *
 * The edit graph has a diagonal step for each pair of equal words. From its origin, paths with d =
 * 0, 1, 2 … other steps are followed as far as they go. For every d, the end on each diagonal is
 * stored, so that the path can be traced back. After COST steps the farthest path is taken, and the
 * search starts again at its end. The result is then a common sequence, but perhaps not the
 * longest. Each round advances by at least COST words and takes at most COST² steps and 5 MB. */

#define XXH_INLINE_ALL
#include <xxhash.h>

#define COST 1600

/* --- words --- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bm_status cut_words(bm_diff_text *t, bm_error *err)
{
    for (size_t at = 0; at < t->text.len;) {
        bm_diff_word word = {.begin = at};
        while (at < t->text.len && is_space(t->text.data[at]))
            at++;
        word.word = at;
        while (at < t->text.len && !is_space(t->text.data[at]))
            at++;
        word.end = at;
        word.hash = XXH3_64bits(t->text.data + word.word, at - word.word);
        BM_TRY(bm_grow_array(&t->words, &t->cap, t->n + 1, err));
        t->words[t->n++] = word;
    }
    return BM_OK;
}

void bm_diff_text_reset(bm_diff_text *text)
{
    bm_free(text->words);
    *text = (bm_diff_text){0};
}

/* --- difference --- */

typedef struct differ {
    bm_diff_text *a, *b;
    /* the words still to compare: n words of a from x on, m words of b from y on */
    long x, y, n, m;
    int32_t *ends; /* row d has d + 1 entries, one for each diagonal -d, -d + 2 … d: words of a up
                    * to the end of the path on this diagonal */
    size_t cap;
} differ;

static int32_t *row_of(const differ *d, long steps)
{
    return d->ends + steps * (steps + 1) / 2;
}

static bool same(const differ *d, long x, long y)
{
    const bm_diff_word *p = &d->a->words[d->x + x], *q = &d->b->words[d->y + y];
    return p->hash == q->hash && p->end - p->word == q->end - q->word &&
           memcmp(d->a->text.data + p->word, d->b->text.data + q->word, p->end - p->word) == 0;
}

/* Return where the path enters diagonal k at this step: at 0 if this is step 0. Otherwise it comes
 * from diagonal k + 1 or k - 1 (*from), whichever reaches further. */
static long enter(const differ *d, long steps, long k, long *from)
{
    const int32_t *before = row_of(d, steps - 1);
    const long i = (k + steps) / 2;
    *from = k;
    if (steps == 0)
        return 0;
    const bool down = k == -steps || (k != steps && before[i - 1] < before[i]);
    *from = down ? k + 1 : k - 1;
    return down ? before[i] : before[i - 1] + 1;
}

/* Follow all diagonals by one more step. Returns the farthest position reached, in words of a plus
 * words of b, and sets *k to its diagonal. The end of both texts is n + m. */
static long follow(differ *d, long steps, long *k)
{
    long farthest = -1, from;
    for (long diagonal = -steps; diagonal <= steps; diagonal += 2) {
        long at = enter(d, steps, diagonal, &from);
        while (at < d->n && at - diagonal < d->m && same(d, at, at - diagonal))
            at++;
        row_of(d, steps)[(diagonal + steps) / 2] = (int32_t)at;
        if (at <= d->n && at - diagonal <= d->m && 2 * at - diagonal > farthest) {
            farthest = 2 * at - diagonal;
            *k = diagonal;
        }
    }
    return farthest;
}

/* Mark the common words along a path, from its end back to its beginning. */
static void mark_path(differ *d, long steps, long k)
{
    for (long from = k; steps >= 0; steps--, k = from) {
        long at = row_of(d, steps)[(k + steps) / 2];
        const long begin = enter(d, steps, k, &from);
        while (at-- > begin) {
            d->a->words[d->x + at].common = true;
            d->b->words[d->y + at - k].common = true;
        }
    }
}

static bm_status compare(differ *d, bm_error *err)
{
    while (d->n > 0 && d->m > 0) {
        long steps = -1, farthest = 0, k = 0;
        while (steps < COST && farthest < d->n + d->m) {
            steps++;
            BM_TRY(bm_grow_array(&d->ends, &d->cap, (size_t)((steps + 1) * (steps + 2) / 2), err));
            farthest = follow(d, steps, &k);
        }
        mark_path(d, steps, k);
        const long x = (farthest + k) / 2, y = (farthest - k) / 2;
        d->x += x;
        d->y += y;
        d->n -= x;
        d->m -= y;
    }
    return BM_OK;
}

bm_status bm_word_diff(bm_diff_text *a, bm_diff_text *b, bm_error *err)
{
    bm_status status = cut_words(a, err);
    if (status == BM_OK)
        status = cut_words(b, err);
    differ d = {.a = a, .b = b, .n = (long)a->n, .m = (long)b->n};
    if (status == BM_OK)
        status = compare(&d, err);
    bm_free(d.ends);
    return status;
}

#define TEXT_HELD_LEAST 8192u /* least bytes of a text to compare, even if fewer are shown */
#define TEXT_HELD_TIMES 4u    /* bytes of a text to compare, for each byte shown */
#define SHARE           4u    /* 1/SHARE of the memory is for shingles, another for making them */

/* --- inputs --- */

static bm_status check_bytes(const bm_manifest_input *input, const char *path,
                             const bm_callbacks *callbacks, bm_error *err)
{
    bool same = false;
    BM_TRY(bm_input_is_same(input, path, NULL, callbacks, &same, err));
    return same ? BM_OK
                : bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                             "the file is not the one that dedup has read (its bytes differ)");
}

bm_status bm_page_check_inputs(bm_page *p, bm_error *err)
{
    const bm_settings *settings = p->settings;
    const bm_input_places places = {.manifest = bm_manifest_path(p->manifest),
                                    .sources = settings->recorded.sources,
                                    .callbacks = &settings->callbacks};
    const size_t n = bm_manifest_n_inputs(p->manifest);
    if (p->options->stream != NULL)
        return n == 1 && settings->input.format == BM_FORMAT_ARROW
                   ? BM_OK
                   : bm_fail_field(err, "stream", "`stream` is for the result of one table");
    for (size_t i = 0; i < n; i++) {
        const bm_manifest_input *input = bm_manifest_input_at(p->manifest, i);
        bm_page_source *source = &p->sources[i];
        bm_error why = {0};
        char message[2100];
        bm_status status = bm_input_find(input, &places, &source->path, &why);
        if (status == BM_OK)
            status = check_bytes(input, source->path, &settings->callbacks, &why);
        if (status == BM_OK)
            continue;
        if (status != BM_ERR_IO && status != BM_ERR_FORMAT && status != BM_ERR_INPUT) {
            if (err != NULL)
                *err = why;
            return status;
        }
        bm_free(source->path);
        source->path = NULL;
        bm_error_format(&why, message, sizeof message);
        source->gone = bm_strdup(message);
        p->n_gone++;
        if (source->gone == NULL)
            return bm_fail_nomem(err, strlen(message));
    }
    return BM_OK;
}

/* --- documents --- */

typedef struct reader {
    bm_page *page;
    bm_job_context *context;
    size_t left;             /* number of documents and lengths that were not found yet */
    bool enough;             /* `left` is 0 */
    const uint32_t *numbers; /* for each input that is read, its number in the manifest */
    bm_shingler *shingler;
    bm_shingle_batch one; /* shingles of one document */
    uint64_t budget, hash_bytes;
} reader;

static bm_status set_text(const bm_page *p, bm_str text, bm_page_doc *doc, bm_error *err)
{
    const size_t times = (size_t)p->options->text_bytes * TEXT_HELD_TIMES,
                 most = times > TEXT_HELD_LEAST ? times : TEXT_HELD_LEAST;
    doc->held = bm_utf8_valid_prefix(text.data, text.len < most ? text.len : most);
    doc->text = bm_alloc(doc->held, 1); /* the stored text is cut to whole characters */
    if (doc->text == NULL)
        return bm_fail_nomem(err, doc->held);
    if (doc->held > 0)
        memcpy(doc->text, text.data, doc->held);
    return BM_OK;
}

/* Store a document's distinct shingles, ascending. If they do not fit into memory, none are stored,
 * and `counted` stays false. */
static bm_status set_shingles(reader *r, bm_str text, bm_page_doc *doc, bm_error *err)
{
    bm_shingle_batch_clear(&r->one);
    bm_status status = bm_shingler_add(r->shingler, text, &r->one, err);
    if (status == BM_ERR_NOMEM && bm_shingler_needed(r->shingler) > 0)
        return BM_OK;
    if (status != BM_OK)
        return status;
    const size_t n = bm_shingle_batch_hashes(&r->one);
    if (r->budget != 0 && r->hash_bytes + 2 * n * sizeof *doc->hashes > r->budget)
        return BM_OK;
    BM_TRY(bm_new(&doc->hashes, n, err));
    if (n > 0)
        memcpy(doc->hashes, r->one.hashes, n * sizeof *doc->hashes);
    bm_sorter sorter = {0};
    status = bm_sorter_sort(&sorter, doc->hashes, n, err);
    bm_sorter_reset(&sorter);
    BM_TRY(status);
    doc->n_hashes = bm_hashes_distinct(doc->hashes, n);
    doc->content = r->one.content[0];
    doc->counted = true;
    r->hash_bytes += n * sizeof *doc->hashes;
    return BM_OK;
}

/* Fill in a wanted document, unless it was found already. `is_shown`: also fill in its text; a
 * member of the graph needs only the shingles. For results of overlap or of units, only the parts
 * to show are stored. */
static bm_status set_wanted(reader *r, const bm_record *record, bool is_shown, bm_page_doc *doc,
                            bm_error *err)
{
    if (doc->found)
        return BM_OK;
    doc->file = r->numbers[record->file];
    doc->line = record->line;
    doc->text_bytes = record->text.len;
    bm_status status = BM_OK;
    if (r->page->overlap.is) {
        status = bm_page_overlap_document(r->page, (uint32_t)(doc - r->page->docs), record, err);
        goto out;
    }
    if (r->page->units.is) {
        status = bm_page_units_document(r->page, (uint32_t)(doc - r->page->docs), record, err);
        goto out;
    }
    if (is_shown)
        BM_TRY_OUT(set_text(r->page, record->text, doc, err));
    status = set_shingles(r, record->text, doc, err);
out:
    doc->found = status == BM_OK;
    r->left--;
    return status;
}

static uint32_t find(const bm_id_set *ids, const void *list, bm_str id)
{
    return list != NULL && ids->n > 0 ? bm_id_set_find(ids, id) : BM_ID_NONE;
}

static bm_status set_document(reader *r, bm_str id, const bm_record *record, bm_error *err)
{
    bm_page *p = r->page;
    const bm_page_what_if *what_if = &p->what_if;
    const uint32_t shown = find(&p->ids, p->docs, id),
                   member = find(&p->graph.ids, p->graph.members, id),
                   length = find(&what_if->ids, what_if->lengths, id);
    if (length != BM_ID_NONE && what_if->lengths[length] == BM_PAGE_NO_LENGTH) {
        what_if->lengths[length] = record->text_bytes;
        r->left--;
    }
    if (shown != BM_ID_NONE)
        BM_TRY(set_wanted(r, record, true, &p->docs[shown], err));
    if (member != BM_ID_NONE)
        BM_TRY(set_wanted(r, record, false, &p->graph.members[member], err));
    r->enough = r->left == 0;
    return BM_OK;
}

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    reader *r = ctx;
    bm_doc_table *docs = &r->context->docs;
    const bm_doc_row row = {.file = record->file, .line = record->line};
    if (record->bad)
        return BM_OK;
    if (!docs->number_duplicates)
        return set_document(r, record->id, record, err);
    const bm_doc_id id = {record->id, XXH3_64bits(record->id.data, record->id.len)};
    BM_TRY(bm_doc_table_add(docs, &row, id, r->context->inputs.names.names[record->file], err));
    return set_document(r, bm_doc_table_id(docs, docs->n - 1), record, err);
}

/* Read the unchanged inputs in order. */
static bm_status read_present(reader *r, const char **paths, const char **names, uint32_t *numbers,
                              bm_error *err)
{
    const bm_page *p = r->page;
    const bool in_order = bm_input_numbers_ids(&p->settings->input);
    bm_settings reading = *p->settings;
    bm_job_context context;
    size_t n = 0;
    for (size_t i = 0; i < bm_manifest_n_inputs(p->manifest); i++) {
        if (p->sources[i].gone != NULL && in_order)
            break;
        if (p->sources[i].gone != NULL)
            continue;
        paths[n] = p->sources[i].path;
        names[n] = bm_manifest_input_at(p->manifest, i)->file;
        numbers[n++] = (uint32_t)i;
    }
    if (n == 0)
        return BM_OK;
    reading.input.paths = paths;
    reading.recorded.names = names;
    reading.input.n_paths = reading.recorded.n_names = n;
    if (p->options->stream != NULL) {
        reading.input.stream = p->options->stream;
        reading.input.stream_name = names[0];
        reading.input.row_ids = bm_manifest_row_ids(p->manifest);
        reading.input.n_paths = 0;
    }
    reading.output = (bm_output_options){0};
    BM_TRY(bm_job_context_open(&reading, &context, err));
    r->context = &context;
    r->numbers = numbers;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_context_inputs(r->context, err));
    BM_TRY_OUT(bm_shingler_open(&reading.text, reading.device.cpu, &r->shingler, err));
    bm_shingler_limit(r->shingler, reading.memory / SHARE);
    status = bm_records_read(r->context, on_record, r, &r->enough, err);
out:
    bm_shingler_close(r->shingler);
    bm_shingle_batch_reset(&r->one);
    bm_job_context_close(&context);
    return status;
}

bm_status bm_page_read_texts(bm_page *p, bm_error *err)
{
    const size_t n = bm_manifest_n_inputs(p->manifest);
    const char **paths = bm_alloc(2 * n, sizeof *paths);
    uint32_t *numbers = bm_alloc(n, sizeof *numbers);
    reader r = {.page = p, .budget = p->settings->memory / SHARE};
    bm_status status = BM_OK;
    r.left = p->ids.n + (p->graph.members != NULL ? p->graph.ids.n : 0) +
             (p->what_if.lengths != NULL ? p->what_if.ids.n : 0);
    if (paths == NULL || numbers == NULL)
        status = bm_fail_nomem(err, 2 * n * sizeof *paths);
    else if (r.left > 0)
        status = read_present(&r, paths, paths + n, numbers, err);
    bm_free_all(paths, numbers);
    return status;
}
