/* SPDX-License-Identifier: Apache-2.0 */
/* index_adder.c -- decides for each document of a batch whether it is added.
 *
 * With `unique`, the documents of a batch are searched for together, or as many at a time as fit
 * into memory. The search sees the index as it was before the batch. bm_index_near and bm_index_ids
 * compare the documents of the batch with each other.
 *
 * Tests: tests/cli/cases/index_add.sh, tests/cli/cases/index_ids.sh,
 *        tests/cli/cases/index_resume.sh, tests/cli/cases/index_unique.sh,
 *        tests/unit/index/test_index_adder.c */
#include "index/index_adder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "job/report_file.h"
#include "job/settings.h"
#include "json/json_write.h"
#include "lsh/similarity.h"
#include "model/scheme_facts.h"
#include "results/result_tables.h"

/* === index ids ===
 *
 * All ids of a batch are looked up in the index together, in the order of their hashes. */

static void clear(bm_index_ids *ids)
{
    for (size_t i = 0; i < ids->n_texts; i++)
        bm_free(ids->texts[i]);
    ids->n_texts = ids->n_gone = ids->n_sorted = 0;
    bm_id_set_reset(&ids->set);
}

static void index_ids_reset(bm_index_ids *ids)
{
    clear(ids);
    bm_free_all(ids->texts, ids->known, ids->holder, ids->gone, ids->sorted, ids->is_gone);
    *ids = (bm_index_ids){0};
}

static bool same(bm_str a, bm_str b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

/* --- ids in the index --- */

typedef struct id_key {
    uint64_t hash;
    uint32_t doc;
} id_key;

static int by_hash(const void *x, const void *y)
{
    const id_key *a = x, *b = y;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->doc < b->doc ? -1 : a->doc > b->doc;
}

static bm_status note_hits(bm_index_ids *ids, const id_key *keys, const bm_store_hits *hits,
                           bm_error *err)
{
    for (size_t i = 0; i < hits->n; i++) {
        bm_store_doc doc;
        const uint32_t asked = keys[hits->list[i].asked].doc;
        bm_status status = bm_store_view_doc(ids->view, hits->list[i].number, &doc, err);
        if (status != BM_OK)
            return status == BM_NOT_FOUND ? bm_fail(err, BM_ERR_FORMAT,
                                                    "the index is damaged: an id names a document "
                                                    "that is not there")
                                          : status;
        if (same(doc.id, ids->batch->docs[asked].id)) /* if not the same, only the hashes of the two
                                                         ids are equal */
            ids->known[asked] = hits->list[i].number;
    }
    return BM_OK;
}

static bm_status find_all(bm_index_ids *ids, uint32_t table, bm_error *err)
{
    const size_t n = ids->batch->n;
    bm_store_hits hits = {0};
    id_key *keys = bm_alloc(n, sizeof *keys);
    uint64_t *hashes = bm_alloc(n, sizeof *hashes);
    bm_status status = BM_OK;
    BM_TRY_OUT(keys != NULL && hashes != NULL
                   ? BM_OK
                   : bm_fail_nomem(err, n * (sizeof *keys + sizeof *hashes)));
    for (size_t i = 0; i < n; i++) {
        const bm_str id = ids->batch->docs[i].id;
        keys[i] = (id_key){XXH3_64bits(id.data, id.len), (uint32_t)i};
    }
    qsort(keys, n, sizeof *keys, by_hash);
    for (size_t i = 0; i < n; i++)
        hashes[i] = keys[i].hash;
    const bm_store_ask ask = {.table = table, .keys = hashes, .n = n};
    BM_TRY_OUT(bm_store_view_find(ids->view, &ask, &hits, err));
    status = note_hits(ids, keys, &hits, err);
out:
    bm_free_all(hits.list, keys, hashes);
    return status;
}

static bm_status sort_known(bm_index_ids *ids, bm_error *err)
{
    for (size_t i = 0; i < ids->batch->n; i++) {
        if (ids->known[i] == BM_ID_NONE)
            continue;
        bm_status status = bm_grow_array(&ids->sorted, &ids->cap_sorted, ids->n_sorted + 1, err);
        if (status != BM_OK)
            return status;
        ids->sorted[ids->n_sorted++] = ids->known[i];
    }
    if (ids->n_sorted > 1)
        qsort(ids->sorted, ids->n_sorted, sizeof *ids->sorted, bm_order_u32);
    bm_status status = bm_grow_array(&ids->is_gone, &ids->cap_is_gone, ids->n_sorted, err);
    if (status == BM_OK && ids->n_sorted > 0)
        memset(ids->is_gone, 0, ids->n_sorted * sizeof *ids->is_gone);
    return status;
}

/* Look up the ids of a finished batch in the view. The view and the batch are borrowed until the
 * next call. */
static bm_status index_ids_begin(bm_index_ids *ids, const bm_store_view *view, uint32_t table,
                                 const bm_gathered *batch, bm_error *err)
{
    clear(ids);
    ids->view = view;
    ids->batch = batch;
    BM_TRY(bm_grow_array(&ids->known, &ids->cap_known, batch->n, err));
    if (batch->n == 0)
        return BM_OK;
    for (size_t i = 0; i < batch->n; i++)
        ids->known[i] = BM_ID_NONE;
    BM_TRY(find_all(ids, table, err));
    return sort_known(ids, err);
}

/* Insert a number into `sorted`, unless it is already there. */
static bm_status add_known(bm_index_ids *ids, uint32_t number, bm_error *err)
{
    size_t at = ids->n_sorted;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_grow_array(&ids->sorted, &ids->cap_sorted, ids->n_sorted + 1, err));
    status = bm_grow_array(&ids->is_gone, &ids->cap_is_gone, ids->n_sorted + 1, err);
out:
    while (at > 0 && ids->sorted[at - 1] > number)
        at--;
    if (status != BM_OK || (at > 0 && ids->sorted[at - 1] == number))
        return status;
    memmove(ids->sorted + at + 1, ids->sorted + at, (ids->n_sorted - at) * sizeof *ids->sorted);
    memmove(ids->is_gone + at + 1, ids->is_gone + at, (ids->n_sorted - at) * sizeof *ids->is_gone);
    ids->sorted[at] = number;
    ids->is_gone[at] = false;
    ids->n_sorted++;
    return BM_OK;
}

/* Look up the id of document i, the latest of a growing batch. */
static bm_status index_ids_find(bm_index_ids *ids, size_t i, bm_error *err)
{
    uint32_t number;
    BM_TRY(bm_grow_array(&ids->known, &ids->cap_known, i + 1, err));
    ids->known[i] = BM_ID_NONE;
    bm_status status = bm_store_view_id(ids->view, ids->batch->docs[i].id, &number, err);
    if (status != BM_OK)
        return status == BM_NOT_FOUND ? BM_OK : status;
    ids->known[i] = number;
    return add_known(ids, number, err);
}

/* --- owners of ids --- */

/* The first index of `number` in `sorted`; n_sorted if it is not there. A number occurs more than
 * once if several documents of the batch have the same id. */
static size_t index_of(const bm_index_ids *ids, uint32_t number)
{
    const size_t at = bm_numbers_below(ids->sorted, ids->n_sorted, number);
    return at < ids->n_sorted && ids->sorted[at] == number ? at : ids->n_sorted;
}

/* Will this document of the index be removed? */
static bool index_ids_is_gone(const bm_index_ids *ids, uint32_t number)
{
    const size_t at = index_of(ids, number);
    return at < ids->n_sorted && ids->is_gone[at];
}

static uint32_t holder_of(const bm_index_ids *ids, bm_str id)
{
    const uint32_t number = ids->set.n == 0 ? BM_ID_NONE : bm_id_set_find(&ids->set, id);
    return number == BM_ID_NONE ? BM_ID_NONE : ids->holder[number];
}

/* Find the document that has the id of document i. If it is in the batch, *in_batch becomes true
 * and *who its position there. If it is in the index, *who becomes its number. Returns false if no
 * document has the id. */
static bool index_ids_owner(const bm_index_ids *ids, size_t i, bool *in_batch, uint32_t *who)
{
    const uint32_t holder = holder_of(ids, ids->batch->docs[i].id), known = ids->known[i];
    *in_batch = holder != BM_ID_NONE;
    if (*in_batch)
        *who = holder;
    else if (known != BM_ID_NONE && !index_ids_is_gone(ids, known))
        *who = known;
    else
        return false;
    return true;
}

/* Record that document i is added. No other document may now have its id, docs[i].id. */
static bm_status index_ids_add(bm_index_ids *ids, size_t i, bm_error *err)
{
    uint32_t number;
    BM_TRY(bm_id_set_add(&ids->set, ids->batch->docs[i].id, &number, err));
    BM_TRY(bm_grow_array(&ids->holder, &ids->cap_holder, number + 1, err));
    ids->holder[number] = (uint32_t)i;
    return BM_OK;
}

/* If an earlier document has the same id as document i, drop the earlier document. If that document
 * is in the batch, *dropped becomes its position, else BM_ID_NONE. */
static bm_status index_ids_drop(bm_index_ids *ids, size_t i, uint32_t *dropped, bm_error *err)
{
    bool in_batch;
    uint32_t who;
    *dropped = BM_ID_NONE;
    if (!index_ids_owner(ids, i, &in_batch, &who))
        return BM_OK;
    if (in_batch) {
        ids->holder[bm_id_set_find(&ids->set, ids->batch->docs[i].id)] = BM_ID_NONE;
        *dropped = who;
        return BM_OK;
    }
    BM_TRY(bm_grow_array(&ids->gone, &ids->cap_gone, ids->n_gone + 1, err));
    ids->gone[ids->n_gone++] = who;
    ids->is_gone[index_of(ids, who)] = true;
    return BM_OK;
}

/* --- id#N --- */

/* Set *out to the first of id#2, id#3 … that no document has yet. The text is freed when the next
 * batch begins. */
static bm_status index_ids_number(bm_index_ids *ids, bm_str id, bm_str *out, bm_error *err)
{
    bm_status status = bm_grow_array(&ids->texts, &ids->cap_texts, ids->n_texts + 1, err);
    if (status != BM_OK)
        return status;
    for (uint32_t number = 2;; number++) {
        char *text = NULL;
        uint32_t who;
        bm_buf made = {0};
        status = bm_buf_add(&made, id.data, id.len, err);
        if (status == BM_OK)
            status = bm_buf_add_format(&made, err, "#%" PRIu32, number);
        text = made.data;
        if (status == BM_OK) {
            *out = (bm_str){text, made.len};
            if (holder_of(ids, *out) == BM_ID_NONE)
                status = bm_store_view_id(ids->view, *out, &who, err);
        }
        if (status == BM_NOT_FOUND) {
            ids->texts[ids->n_texts++] = text;
            return BM_OK;
        }
        bm_buf_reset(&made);
        if (status != BM_OK)
            return status;
    }
}

/* === index near ===
 *
 * The documents of a batch are in chains, which their band keys select. */

/* Begin a batch of up to `n` documents. The chains are emptied. The batch is borrowed until the
 * next call. At most 2^32 - 1 calls of index_near_best may follow. */
static bm_status index_near_begin(bm_index_near *near, const bm_gathered *batch, size_t n,
                                  const bm_gather_shape *shape, bm_error *err)
{
    const size_t entries = n * shape->bands;
    size_t n_heads = 1024;
    while (n_heads < entries)
        n_heads *= 2;
    near->batch = batch;
    near->shape = shape;
    if (entries >= UINT32_MAX)
        return bm_fail_nomem(err, entries * sizeof *near->next);
    BM_TRY(bm_grow_array(&near->heads, &near->cap_heads, n_heads, err));
    BM_TRY(bm_grow_array(&near->next, &near->cap_next, entries, err));
    BM_TRY(bm_grow_array(&near->seen, &near->cap_seen, n, err));
    BM_TRY(bm_grow_array(&near->there, &near->cap_there, n, err));
    near->n_heads = n_heads;
    near->question = 0;
    memset(near->heads, 0, n_heads * sizeof *near->heads);
    if (n > 0) {
        memset(near->seen, 0, n * sizeof *near->seen);
        memset(near->there, 0, n * sizeof *near->there);
    }
    return BM_OK;
}

static void index_near_reset(bm_index_near *near)
{
    bm_free_all(near->heads, near->next, near->seen, near->there);
    *near = (bm_index_near){0};
}

/* The head of the chain of a key. Keys are hashes, so their low bits spread them evenly over the
 * chains. */
static uint32_t *head_of(const bm_index_near *near, uint64_t key)
{
    return &near->heads[(size_t)key & (near->n_heads - 1)];
}

static void index_near_add(bm_index_near *near, size_t i)
{
    const uint32_t bands = near->shape->bands;
    near->there[i] = true;
    if (near->batch->docs[i].n_shingles == 0)
        return;
    for (size_t e = i * bands; e < (i + 1) * bands; e++) {
        uint32_t *head = head_of(near, near->batch->keys[e]);
        near->next[e] = *head;
        *head = (uint32_t)e + 1;
    }
}

static void index_near_remove(bm_index_near *near, size_t i)
{
    near->there[i] = false;
}

static double compare(bm_index_near *near, size_t i, size_t other)
{
    const bm_gathered *g = near->batch;
    const bm_gather_shape *shape = near->shape;
    const bm_similarity_rule rule =
        bm_search_rule(shape->sets ? BM_STORE_SETS : BM_STORE_SIGNATURES,
                       (bm_word_rows){shape->words, shape->word_bytes}, near->threshold);
    near->verified++;
    if (shape->sets)
        return bm_similarity(&rule, (bm_compared){g->sets[i], g->docs[i].n_shingles},
                             (bm_compared){g->sets[other], g->docs[other].n_shingles});
    return bm_similarity(&rule, (bm_compared){g->words + i * shape->words, 0},
                         (bm_compared){g->words + other * shape->words, 0});
}

/* Find the document in the chains that is most similar to document i. Of equally similar documents,
 * the first is chosen. Document `but` is excluded. Returns false if no document reaches the
 * threshold. */
static bool index_near_best(bm_index_near *near, size_t i, size_t but, size_t *best,
                            double *similarity)
{
    const bm_gathered *g = near->batch;
    const uint32_t bands = near->shape->bands;
    bool found = false;
    near->question++;
    for (size_t b = 0; g->docs[i].n_shingles > 0 && b < bands; b++) {
        const uint64_t key = g->keys[i * bands + b];
        for (uint32_t e = *head_of(near, key); e != 0; e = near->next[e - 1]) {
            const size_t other = (e - 1) / bands;
            if ((e - 1) % bands != b || g->keys[e - 1] != key || other == but ||
                !near->there[other] || near->seen[other] == near->question)
                continue;
            near->seen[other] = near->question;
            near->candidates++;
            const double s = compare(near, i, other);
            if (s < 0 || (found && (s < *similarity || (s == *similarity && other > *best))))
                continue;
            found = true;
            *best = other;
            *similarity = s;
        }
    }
    return found;
}

/* === index notes ===
 *
 * A note consists of lines of text, and is always written as a whole.
 *
 * The line of an add has these numbers, in hexadecimal and separated by tabs: names, settings,
 * records, file, bytes, digest (two numbers), 1 if the position is known (else 0), before. */

#define ADDS_MAX 64u /* most lines in the note of adds */
#define N_FIELDS 9u

/* --- inputs --- */

static size_t count_lines(bm_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] == '\n';
    return n;
}

static bm_status add_names(const bm_job_context *job, bm_buf *out, bm_error *err)
{
    if (job->settings->index.follow) /* a followed standard input is not among the job's inputs */
        return bm_buf_add_text(out, "-\n", err);
    for (size_t i = 0; i < job->inputs.names.n; i++) {
        const char *name = job->inputs.names.names[i];
        BM_TRY(bm_tsv_escape(out, (bm_str){name, strlen(name)}, err));
        BM_TRY(bm_buf_add(out, "\n", 1, err));
    }
    return BM_OK;
}

/* Return the offset in `all` at which the whole lines `lines` occur, or SIZE_MAX if they do not. */
static size_t find_lines(bm_str all, bm_str lines)
{
    for (size_t at = 0; lines.len > 0 && at + lines.len <= all.len;) {
        const char *found = memmem(all.data + at, all.len - at, lines.data, lines.len);
        if (found == NULL)
            return SIZE_MAX;
        if (found == all.data || found[-1] == '\n')
            return (size_t)(found - all.data);
        at = (size_t)(found - all.data) + 1;
    }
    return SIZE_MAX;
}

bm_status bm_index_inputs_list(const bm_job_context *job, const bm_store_view *view, bm_buf *names,
                               uint32_t *first, bm_error *err)
{
    const bm_str listed =
        view != NULL ? bm_store_view_note(view, BM_NOTE_INPUTS) : (bm_str){NULL, 0};
    bm_buf own = {0};
    *first = BM_INDEX_NO_INPUT;
    bm_status status = bm_buf_add(names, listed.data, listed.len, err);
    if (status != BM_OK || bm_job_context_format(job) == BM_FORMAT_FILES)
        return status;
    status = add_names(job, &own, err);
    if (status == BM_OK) {
        const size_t at = find_lines(listed, (bm_str){own.data, own.len});
        *first = (uint32_t)count_lines((bm_str){listed.data, at == SIZE_MAX ? listed.len : at});
        if (at == SIZE_MAX)
            status = bm_buf_add(names, own.data, own.len, err);
    }
    bm_buf_reset(&own);
    return status;
}

/* Set `out` to the name in line number `input` of `names`, unescaped; "" if there is no such
 * line. */
static bm_status index_input_name(bm_str names, uint32_t input, bm_buf *out, bm_error *err)
{
    const char *at = names.data, *end = names.len > 0 ? at + names.len : at;
    for (uint32_t i = 0; at < end && i < input; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline == NULL ? end : newline + 1;
    }
    out->len = 0;
    if (at == end || at == NULL)
        return bm_buf_end(out, err);
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    BM_TRY(bm_buf_add(out, at, (size_t)((newline == NULL ? end : newline) - at), err));
    const size_t len = bm_tsv_unescape(out->data, out->len);
    out->len = len == SIZE_MAX ? out->len : len;
    return bm_buf_end(out, err);
}

/* --- the hashes that identify an add --- */

static void hash_setting(void *ctx, const bm_setting *setting)
{
    uint64_t *hash = ctx;
    bm_json json = {0};
    bm_report_setting_value(&json, setting);
    *hash = XXH3_64bits_withSeed(setting->name, strlen(setting->name), *hash);
    *hash = XXH3_64bits_withSeed(json.buf.data, json.buf.len, *hash);
    bm_buf_reset(&json.buf);
}

static void identify(const bm_job_context *job, bm_index_add_note *note)
{
    const bm_file_names *names = &job->inputs.names;
    bm_settings_list(job->settings, bm_job_context_format(job), hash_setting, &note->settings);
    for (size_t i = 0; i < names->n; i++)
        note->names = XXH3_64bits_withSeed(names->names[i], strlen(names->names[i]), note->names);
}

/* Extend the hash note->before so that it covers the first `n` inputs, which were read to their
 * ends. For an unreadable input, zeros are hashed. */
static bm_status hash_before(bm_index_add_note *note, const bm_job_context *job, size_t n,
                             bm_error *err)
{
    for (; note->n_before < n; note->n_before++) {
        const bm_source *source = bm_input_set_source(job->inputs.set, note->n_before);
        struct stat info = {0};
        if (source->unreadable == NULL && stat(source->path, &info) != 0)
            return bm_fail_errno(err, errno, source->name, "cannot look at");
        const uint64_t facts[] = {(uint64_t)info.st_size, (uint64_t)info.st_mtim.tv_sec,
                                  (uint64_t)info.st_mtim.tv_nsec};
        note->before = XXH3_64bits_withSeed(facts, sizeof facts, note->before);
    }
    return BM_OK;
}

/* --- lines --- */

/* Read the numbers of a line, in order. Returns false if the line has another form. */
static bool read_line(const char *line, uint64_t fields[N_FIELDS])
{
    for (size_t i = 0; i < N_FIELDS; i++) {
        char *end;
        fields[i] = strtoull(line, &end, 16);
        if (end == line || *end != (i + 1 < N_FIELDS ? '\t' : '\n'))
            return false;
        line = end + 1;
    }
    return true;
}

/* Go through the lines of `text`, which ends with a NUL. The numbers of this add's line are stored
 * in `fields`; *found: there is such a line. The lines of other adds are appended to
 * note->others. */
static bm_status part(const char *text, bm_index_add_note *note, uint64_t fields[N_FIELDS],
                      bool *found, bm_error *err)
{
    uint64_t line[N_FIELDS];
    *found = false;
    for (const char *next; *text != '\0'; text = next) {
        const char *newline = strchr(text, '\n');
        next = newline == NULL ? text + strlen(text) : newline + 1;
        /* a line of another form, perhaps of a later version, is skipped */
        if (newline == NULL || !read_line(text, line))
            continue;
        if (line[0] == note->names) {
            memcpy(fields, line, sizeof line);
            *found = true;
            continue;
        }
        BM_TRY(bm_buf_add(&note->others, text, (size_t)(next - text), err));
    }
    return BM_OK;
}

static bm_status resume_from(bm_index_add_note *note, const bm_job_context *job,
                             const uint64_t fields[N_FIELDS], bm_index_add_place *place,
                             bm_error *err)
{
    const char *path = job->settings->output.path;
    const size_t n = bm_input_set_count(job->inputs.set);
    if (fields[1] != note->settings)
        return bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                          "the interrupted add of these inputs had other options (the same ones, "
                          "or without `resume`)");
    *place = (bm_index_add_place){.records = fields[2],
                                  .place = {.file = fields[3],
                                            .bytes = fields[4],
                                            .digest = {.lo = fields[5], .hi = fields[6]},
                                            .known = fields[7] != 0}};
    BM_TRY(place->place.known && place->place.file < n
               ? hash_before(note, job, (size_t)place->place.file, err)
               : hash_before(note, job, n, err));
    if (note->before != fields[8])
        return bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                          "inputs have changed since the add of them was interrupted (sizes or "
                          "times of those that were read)");
    return BM_OK;
}

bm_status bm_index_add_note_open(const bm_job_context *job, const bm_store_view *view,
                                 bm_index_add_note *note, bm_index_add_place *place, bm_error *err)
{
    const bm_str noted = bm_store_view_note(view, BM_NOTE_ADDS);
    uint64_t fields[N_FIELDS];
    bool found;
    bm_buf text = {0};
    *place = (bm_index_add_place){0};
    if (job->inputs.set == NULL) /* the job follows standard input, or reads signatures */
        return BM_OK;
    note->noted = bm_input_set_stays(job->inputs.set);
    if (job->settings->results.resume && !note->noted)
        return bm_fail_field(err, "resume",
                             "`resume` needs inputs that can be read again (regular files, not "
                             "standard input or a pipe)");
    identify(job, note);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_buf_add(&text, noted.data, noted.len, err));
    BM_TRY_OUT(bm_buf_end(&text, err));
    BM_TRY_OUT(part(text.data, note, fields, &found, err));
    if (found && job->settings->results.resume)
        BM_TRY_OUT(resume_from(note, job, fields, place, err));
out:
    bm_buf_reset(&text);
    return status;
}

static void index_add_note_reset(bm_index_add_note *note)
{
    bm_buf_reset(&note->others);
    *note = (bm_index_add_note){0};
}

/* Return the newest of the lines, at most ADDS_MAX - 1. */
static bm_str last_lines(const bm_buf *lines)
{
    bm_str text = {lines->data, lines->len};
    for (size_t n = count_lines(text); n >= ADDS_MAX; n--) {
        const size_t len =
            (size_t)((const char *)memchr(text.data, '\n', text.len) - text.data) + 1;
        text = (bm_str){text.data + len, text.len - len};
    }
    return text;
}

/* Record the progress of the add in its note, which the next commit writes. Does nothing if the add
 * cannot be resumed. */
static bm_status index_add_note_save(bm_index_add_note *note, const bm_job_context *job,
                                     const bm_index_add_place *place, bm_store *store,
                                     bm_error *err)
{
    const bm_content_place *p = &place->place;
    bm_buf text = {0};
    if (!note->noted)
        return BM_OK;
    const size_t n = bm_input_set_count(job->inputs.set);
    bm_status status = BM_OK;
    BM_TRY_OUT(hash_before(note, job, p->known && p->file < n ? (size_t)p->file : n, err));
    const bm_str others = last_lines(&note->others);
    BM_TRY_OUT(bm_buf_add(&text, others.data, others.len, err));
    BM_TRY_OUT(bm_buf_add_format(&text, err,
                                 "%016" PRIx64 "\t%016" PRIx64 "\t%" PRIx64 "\t%" PRIx64
                                 "\t%" PRIx64 "\t%016" PRIx64 "\t%016" PRIx64 "\t%d\t%016" PRIx64
                                 "\n",
                                 note->names, note->settings, place->records, p->file, p->bytes,
                                 p->digest.lo, p->digest.hi, p->known, note->before));
    status = bm_store_note(store, BM_NOTE_ADDS, (bm_str){text.data, text.len}, err);
out:
    bm_buf_reset(&text);
    return status;
}

#define COMMIT_INPUT   (UINT64_C(64) << 20)
#define COMMIT_SECONDS 10.0
#define SHOWN_ID       200

void bm_index_adder_reset(bm_index_adder *adder)
{
    bm_buf_reset(&adder->input_names);
    index_add_note_reset(&adder->note);
    bm_rows_reset(&adder->rows);
    bm_store_view_close(adder->view);
    index_ids_reset(&adder->ids);
    index_near_reset(&adder->near);
    bm_search_result_reset(&adder->found);
    bm_free(adder->stays);
    *adder = (bm_index_adder){0};
}

/* --- ids --- */

/* Describe where a document comes from, for messages; "" if it is unknown. */
static void format_place(const bm_index_adder *a, const bm_store_doc *doc, char *out, size_t cap)
{
    bm_buf name = {0};
    const bm_str names = {a->input_names.data, a->input_names.len};
    out[0] = '\0';
    if (index_input_name(names, doc->input, &name, NULL) == BM_OK && name.len > 0) {
        if (doc->line > 0)
            snprintf(out, cap, ", from %.350s:%" PRIu64, name.data, doc->line);
        else
            snprintf(out, cap, ", from %.350s", name.data);
    }
    bm_buf_reset(&name);
}

static int shown_id(const bm_store_doc *doc)
{
    return (int)(doc->id.len > SHOWN_ID ? SHOWN_ID : doc->id.len);
}

/* Fail with BM_ERR_INPUT and a message that names the document's input and line, as far as they are
 * known. */
static bm_status refuse(const bm_index_adder *a, const bm_store_doc *doc, const char *why,
                        bm_error *err)
{
    bm_buf name = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(index_input_name((bm_str){a->input_names.data, a->input_names.len}, doc->input,
                                &name, err));
    status = bm_fail_at(err, BM_ERR_INPUT, name.len > 0 ? name.data : NULL, doc->line, "%s", why);
out:
    bm_buf_reset(&name);
    return status;
}

/* Fail because document `who` already has the id of `doc`. If `in_batch` is set, `who` is a
 * position in the batch, else a number in the index. */
static bm_status repeated(const bm_index_adder *a, const bm_store_doc *doc, bool in_batch,
                          uint32_t who, bm_error *err)
{
    char place[400], why[SHOWN_ID + 600];
    bm_store_doc other = in_batch ? a->ids.batch->docs[who] : *doc;
    BM_TRY(in_batch ? BM_OK : bm_store_view_doc(a->view, who, &other, err));
    format_place(a, &other, place, sizeof place);
    snprintf(why, sizeof why,
             "the id '%.*s' is in the index already%s (ids must differ; `duplicate_ids` skip, "
             "replace or number says what becomes of it)",
             shown_id(doc), doc->id.data, place);
    return refuse(a, doc, why, err);
}

/* If the new ids have a declared type, check that the ids in the index have the same; row numbers
 * fit any type. Without a declared type, each new id is checked later (a->wanted). In a new index,
 * the new ids decide the type. */
static bm_status check_ids(bm_index_adder *a, bm_error *err)
{
    const bm_batch_source *source = a->job->inputs.source;
    const bm_store_counts counts = bm_store_view_counts(a->view);
    if (a->given == BM_IDS_UNTYPED && source != NULL)
        a->given = source->ids;
    a->ids_checked = true;
    if (counts.ids == BM_IDS_UNTYPED && counts.next_number == 0) {
        const bm_id_kind first = a->given == BM_IDS_UNTYPED ? BM_IDS_TEXT
                                 : a->given == BM_IDS_ROWS  ? BM_IDS_INT64
                                                            : a->given;
        return bm_store_set_ids(a->store, first, err);
    }
    if (a->given == BM_IDS_UNTYPED)
        a->wanted = counts.ids;
    if (counts.ids == BM_IDS_UNTYPED || a->given == BM_IDS_UNTYPED || a->given == BM_IDS_ROWS ||
        a->given == counts.ids)
        return BM_OK;
    return bm_fail_at(err, BM_ERR_INPUT,
                      a->job->inputs.names.n > 0 ? a->job->inputs.names.names[0] : NULL, 0,
                      "the ids are %s, where those of the index are %s (ids of one type; a cast "
                      "makes them so)",
                      bm_id_kind_word(a->given), bm_id_kind_word(counts.ids));
}

static bm_status of_another_type(const bm_index_adder *a, const bm_store_doc *doc, bm_error *err)
{
    char why[SHOWN_ID + 100];
    snprintf(why, sizeof why, "the id '%.*s' is no %s, as those of the index are", shown_id(doc),
             doc->id.data, bm_id_kind_word(a->wanted));
    return refuse(a, doc, why, err);
}

/* Choose the id of document i, which is about to be added. If another document has the id, the rule
 * for repeated ids decides: document i gets a numbered id, or the other document is dropped. */
static bm_status claim_id(bm_index_adder *a, size_t i, bm_error *err)
{
    const bm_duplicate_ids rule = a->job->settings->input.duplicate_ids;
    bm_store_doc *doc = &a->ids.batch->docs[i];
    bool in_batch;
    uint32_t who, dropped;
    bm_status status = BM_OK;
    if (index_ids_owner(&a->ids, i, &in_batch, &who)) {
        if (rule == BM_DUPLICATE_IDS_NUMBER) {
            status = index_ids_number(&a->ids, doc->id, &doc->id, err);
            a->counts.numbered++;
        } else {
            status = index_ids_drop(&a->ids, i, &dropped, err);
            a->counts.replaced++;
            if (status == BM_OK && dropped != BM_ID_NONE) {
                a->stays[dropped] = false;
                a->counts.added--;
                if (a->job->settings->index.unique)
                    index_near_remove(&a->near, dropped);
            }
        }
    }
    return status == BM_OK ? index_ids_add(&a->ids, i, err) : status;
}

/* --- unique --- */

static double threshold_of(const bm_settings *s)
{
    return s->index.threshold > 0 ? s->index.threshold : s->bands.threshold;
}

typedef struct best_match {
    double similarity; /* less than 0: no match */
    bool in_batch;
    uint32_t number; /* if in_batch: position in the batch; else number in the index */
} best_match;

/* Set *best to the best match, in the index, of document number k of the search. Documents that
 * will be removed are left out. If there is no match, *best is unchanged. */
static void best_of_index(const bm_index_adder *a, size_t k, best_match *best)
{
    for (uint64_t at = a->found.begin[k]; at < a->found.begin[k + 1]; at++) {
        if (index_ids_is_gone(&a->ids, a->found.list[at].number))
            continue;
        *best = (best_match){a->found.list[at].similarity, false, a->found.list[at].number};
        return;
    }
}

static void best_of_batch(bm_index_adder *a, size_t i, best_match *best)
{
    size_t other = 0;
    double similarity = 0;
    bool in_batch;
    uint32_t who;
    const bool replaces = a->job->settings->input.duplicate_ids == BM_DUPLICATE_IDS_REPLACE &&
                          index_ids_owner(&a->ids, i, &in_batch, &who) && in_batch;
    if (index_near_best(&a->near, i, replaces ? who : SIZE_MAX, &other, &similarity) &&
        similarity > best->similarity)
        *best = (best_match){similarity, true, (uint32_t)other};
}

static bm_status write_row(bm_index_adder *a, size_t i, const best_match *best, bm_error *err)
{
    bm_store_doc target = a->ids.batch->docs[best->in_batch ? best->number : i];
    BM_TRY(best->in_batch ? BM_OK : bm_store_view_doc(a->view, best->number, &target, err));
    const bm_pair_line line = {.id_a = a->ids.batch->docs[i].id,
                               .id_b = target.id,
                               .measure = BM_MEASURE_JACCARD,
                               .similarity = best->similarity};
    BM_TRY(a->job->settings->results.json ? bm_answer_line_add_json(&a->rows.buf, &line, err)
                                          : bm_pair_line_add(&a->rows.buf, &line, err));
    return bm_rows_flush(&a->rows, false, err);
}

/* --- a batch --- */

/* Decide whether document i is added. If a match prevents this, write a row. With `unique`, k is
 * the number of document i in the search. */
static bm_status decide_doc(bm_index_adder *a, size_t i, size_t k, bm_error *err)
{
    const bm_settings *s = a->job->settings;
    const bm_store_doc *doc = &a->ids.batch->docs[i];
    best_match best = {.similarity = -1};
    bool in_batch;
    uint32_t who;
    const bool taken = index_ids_owner(&a->ids, i, &in_batch, &who);
    a->stays[i] = false;
    if (doc->id.len == 0)
        return refuse(a, doc, "the id is empty (documents of an index have one)", err);
    if (!bm_id_is_of(doc->id, a->wanted))
        return of_another_type(a, doc, err);
    if (taken && s->input.duplicate_ids == BM_DUPLICATE_IDS_ERROR)
        return repeated(a, doc, in_batch, who, err);
    if (taken && s->input.duplicate_ids == BM_DUPLICATE_IDS_SKIP) {
        a->counts.passed_over++;
        return BM_OK;
    }
    if (s->index.unique) {
        best_of_index(a, k, &best);
        best_of_batch(a, i, &best);
    }
    if (best.similarity >= 0) {
        a->counts.matched++;
        return write_row(a, i, &best, err);
    }
    BM_TRY(claim_id(a, i, err));
    a->stays[i] = true;
    a->counts.added++;
    if (s->index.unique)
        index_near_add(&a->near, i);
    return BM_OK;
}

/* Search the index for the documents from `begin` on, as many as fit into memory. */
static bm_status search(bm_index_adder *a, const bm_gathered *batch, size_t begin, bm_error *err)
{
    const bm_settings *s = a->job->settings;
    const bool replaces = s->input.duplicate_ids == BM_DUPLICATE_IDS_REPLACE;
    const size_t n = batch->n - begin;
    uint32_t *n_shingles = bm_alloc(n, sizeof *n_shingles);
    bm_str *ids = bm_alloc(n, sizeof *ids);
    bm_status status = BM_OK;
    BM_TRY_OUT(n_shingles != NULL && ids != NULL ? BM_OK : bm_fail_nomem(err, n * 20));
    for (size_t i = 0; i < n; i++) {
        n_shingles[i] = batch->docs[begin + i].n_shingles;
        ids[i] = batch->docs[begin + i].id;
    }
    const bm_search_cfg cfg = {.view = a->view,
                               .facts = bm_store_facts_of(a->store),
                               .word_bytes = bm_scheme_value_bytes(s->sketch.scheme),
                               .pool = a->job->pool,
                               .threshold = threshold_of(s),
                               .top = replaces ? 0 : 1,
                               .skip_same_id = replaces,
                               .memory = a->search_memory};
    const bm_search_batch asked = {.n = n,
                                   .keys = batch->keys + begin * a->shape.bands,
                                   .n_shingles = n_shingles,
                                   .sets = a->shape.sets ? batch->sets + begin : NULL,
                                   .words =
                                       a->shape.sets ? NULL : batch->words + begin * a->shape.words,
                                   .ids = ids};
    status = bm_search_run(&cfg, &asked, &a->found, err);
out:
    bm_free_all(n_shingles, ids);
    return status;
}

static bm_status decide_docs(bm_index_adder *a, const bm_gathered *batch, bm_error *err)
{
    const bool unique = a->job->settings->index.unique;
    if (unique) {
        a->near.threshold = threshold_of(a->job->settings);
        BM_TRY(index_near_begin(&a->near, batch, batch->n, &a->shape, err));
    }
    for (size_t i = 0, begin = 0, end = unique ? 0 : batch->n; i < batch->n; i++) {
        if (i == end) {
            begin = i;
            BM_TRY(search(a, batch, begin, err));
            end = begin + a->found.n;
        }
        BM_TRY(decide_doc(a, i, i - begin, err));
    }
    return BM_OK;
}

/* Remove replaced documents from the index, and add the documents for which a->stays is true. */
static bm_status write_batch(bm_index_adder *a, bm_gathered *batch, bm_error *err)
{
    uint32_t first;
    bm_status status = BM_OK;
    if (a->ids.n_gone > 0)
        status = bm_store_remove(a->store, a->ids.gone, a->ids.n_gone, err);
    bm_gathered_drop(batch, &a->shape, a->stays);
    const bm_store_batch added = {.n = batch->n,
                                  .docs = batch->docs,
                                  .sets = batch->sets,
                                  .words = batch->words,
                                  .keys = batch->keys};
    return status == BM_OK && batch->n > 0 ? bm_store_add(a->store, &added, &first, err) : status;
}

static double seconds_between(const bm_index_adder *a)
{
    const double wanted = a->job->settings->resources.checkpoint_seconds;
    return wanted >= 0 ? wanted : COMMIT_SECONDS;
}

static bm_status commit(bm_index_adder *a, bm_error *err)
{
    const bm_str names = {a->input_names.data, a->input_names.len};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_rows_flush(&a->rows, true, err));
    if (names.len > 0)
        BM_TRY_OUT(bm_store_note(a->store, BM_NOTE_INPUTS, names, err));
    if (a->commits.on)
        BM_TRY_OUT(index_add_note_save(&a->note, a->job, &a->place, a->store, err));
    status = bm_store_commit(a->store, err);
out:
    a->commits.due = bm_clock_seconds() + seconds_between(a);
    a->commits.input = 0;
    a->counts.commits += status == BM_OK;
    return status;
}

bool bm_index_adder_is_due(const bm_index_adder *a)
{
    return a->commits.on &&
           (a->commits.input >= COMMIT_INPUT || bm_clock_seconds() >= a->commits.due);
}

bm_status bm_index_adder_add(void *ctx, bm_gathered *batch, bm_error *err)
{
    bm_index_adder *a = ctx;
    const bm_store_facts *facts = bm_store_facts_of(a->store);
    const uint64_t records = batch->records + a->skipped_records, input = batch->input_bytes;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_grow_array(&a->stays, &a->cap_stays, batch->n, err));
    BM_TRY_OUT(bm_store_view_open(a->store, &a->view, err));
    BM_TRY_OUT(a->ids_checked ? BM_OK : check_ids(a, err));
    BM_TRY_OUT(index_ids_begin(&a->ids, a->view, facts->bands, batch, err));
    BM_TRY_OUT(decide_docs(a, batch, err));
    /* if a batch is broken, its ids are checked, but nothing is written */
    if (!batch->broken)
        BM_TRY_OUT(bm_index_adder_end_batch(a, batch, err));
out:
    bm_store_view_close(a->view);
    a->view = NULL;
    if (status != BM_OK || batch->broken)
        return status;
    a->place = (bm_index_add_place){records, batch->place};
    a->commits.input += input;
    return bm_index_adder_is_due(a) ? commit(a, err) : bm_rows_flush(&a->rows, true, err);
}

bm_status bm_index_adder_begin_batch(bm_index_adder *a, const bm_gathered *batch, size_t most,
                                     bm_error *err)
{
    const bm_store_facts *facts = bm_store_facts_of(a->store);
    BM_TRY(bm_grow_array(&a->stays, &a->cap_stays, most, err));
    a->near.threshold = threshold_of(a->job->settings);
    BM_TRY(bm_store_view_open(a->store, &a->view, err));
    BM_TRY(a->ids_checked ? BM_OK : check_ids(a, err));
    BM_TRY(index_ids_begin(&a->ids, a->view, facts->bands, batch, err));
    return index_near_begin(&a->near, batch, most, &a->shape, err);
}

bm_status bm_index_adder_add_one(bm_index_adder *a, const bm_gathered *batch, bm_error *err)
{
    const size_t i = batch->n - 1;
    bm_status status = BM_OK;
    BM_TRY_OUT(index_ids_find(&a->ids, i, err));
    BM_TRY_OUT(search(a, batch, i, err));
    status = decide_doc(a, i, 0, err);
out:
    a->commits.input += batch->input_bytes;
    return status;
}

bm_status bm_index_adder_end_batch(bm_index_adder *a, bm_gathered *batch, bm_error *err)
{
    bm_store_view_close(a->view); /* a->rows has copies of the ids, so the view is not needed */
    a->view = NULL;
    return write_batch(a, batch, err);
}

void bm_index_adder_begin_commits(bm_index_adder *adder)
{
    adder->commits =
        (bm_index_commits){.on = true, .due = bm_clock_seconds() + seconds_between(adder)};
}

bm_status bm_index_adder_finish(bm_index_adder *adder, bm_error *err)
{
    return commit(adder, err);
}
