/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sealed.c -- arbitrary bytes as the files of an interrupted job. The first byte chooses: a
 * journal; the lines of one; a saved temporary file; or the records of sealed documents or matches,
 * which are first put into a file with right checksums, so that the code behind the checksums is
 * reached too. With the bit CHANGED the records are those that a job saves, with some bytes
 * changed, whatever a record's format.
 *
 * The file is accepted as it was written, or refused with a message (BM_ERR_FORMAT). Loaded data is
 * consistent, and groups can be made of it. */
#include <fcntl.h>

#include "fuzz_folder.h"
#include "input/input_set.h"
#include "job/checkpoint_state.h"
#include "match/edges.h"
#include "spill/spill_saved.h"
#include "tests/unit/match/ranked.h"

#define N_DOCS  12u /* documents of the saved job, between which matches are */
#define CHANGED 0x80u

/* --- journals --- */

/* A line may contain sums of arrays only for the documents that the next line names. `so_far`: the
 * state after the lines before. */
static void check_sums(const char *line, bm_checkpoint_saved *so_far)
{
    const bm_checkpoint_saved before = *so_far;
    bm_checkpoint_saved again = {0};
    char out[2][BM_CHECKPOINT_LINE_BYTES];
    if (!bm_checkpoint_line_read(line, so_far))
        return;
    const bool arrays = strncmp(line, "arrays\t", 7) == 0,
               documents = strncmp(line, "documents\t", 10) == 0;
    CHECK(!arrays || (so_far->next_sums.known && so_far->sums.known == before.sums.known));
    CHECK(!documents || (!so_far->next_sums.known && so_far->sums.known == before.next_sums.known));
    CHECK(arrays || documents ||
          (so_far->sums.known == before.sums.known &&
           memcmp(so_far->sums.of, before.sums.of, sizeof before.sums.of) == 0));
    if (!documents || !so_far->sums.known)
        return;
    bm_checkpoint_line_write(BM_LINE_ARRAYS, so_far, out[0]);
    bm_checkpoint_line_write(BM_LINE_DOCUMENTS, so_far, out[1]);
    CHECK(bm_checkpoint_line_read(out[0], &again) && bm_checkpoint_line_read(out[1], &again));
    CHECK(again.sums.known && memcmp(again.sums.of, so_far->sums.of, sizeof again.sums.of) == 0);
}

/* The facts of a job read from a line are written as the same line. */
static void check_line(const char *line, bm_checkpoint_saved *so_far)
{
    bm_checkpoint_saved saved = {0}, again = {0};
    char out[3][BM_CHECKPOINT_LINE_BYTES];
    check_sums(line, so_far);
    if (!bm_checkpoint_line_read(line, &saved))
        return;
    bm_checkpoint_line_write(BM_LINE_DOCUMENTS, &saved, out[0]);
    bm_checkpoint_line_write(BM_LINE_PLACE, &saved, out[1]);
    bm_checkpoint_line_write(BM_LINE_MATCH, &saved, out[2]);
    CHECK(bm_checkpoint_line_read(out[0], &again) && again.docs == saved.docs);
    if (saved.place.known)
        CHECK(bm_checkpoint_line_read(out[1], &again) && again.place.bytes == saved.place.bytes);
    if (saved.matched)
        CHECK(bm_checkpoint_line_read(out[2], &again) && again.match_bytes == saved.match_bytes);
    CHECK(again.complete == saved.complete && again.matched == saved.matched);
}

static bm_status open_journal(const char *path, bm_journal **out)
{
    bm_error err = {0};
    const bm_status status = bm_journal_open_in(AT_FDCWD, path, out, &err);
    CHECK(status == BM_OK || (status == BM_ERR_FORMAT && err.message[0] != '\0'));
    CHECK(status == BM_OK || (err.line > 0 && strcmp(err.file, path) == 0));
    return status;
}

/* Checks that the lines of `a` are the first lines of `b`. */
static void check_begins(const bm_journal *a, const bm_journal *b)
{
    CHECK(bm_journal_count(a) <= bm_journal_count(b));
    for (size_t i = 0; i < bm_journal_count(a); i++)
        CHECK(strcmp(bm_journal_line(a, i), bm_journal_line(b, i)) == 0);
}

/* Lines can be added to an opened journal, and are there when it is opened again. */
static void check_goes_on(const char *path)
{
    bm_journal *journal, *again;
    bm_checkpoint_saved so_far = {0};
    if (open_journal(path, &journal) != BM_OK)
        return;
    const size_t n = bm_journal_count(journal);
    for (size_t i = 0; i < n; i++)
        check_line(bm_journal_line(journal, i), &so_far);
    CHECK(bm_journal_add(journal, "matched\t1\t2", NULL) == BM_OK);
    CHECK(open_journal(path, &again) == BM_OK && bm_journal_count(again) == n + 1);
    check_begins(journal, again);
    bm_journal_close(again);
    bm_journal_close(journal);
}

/* With `lines` as written, cut off or with a changed byte at `place`: opening gives the first
 * lines, or an error. */
static void check_damage(const char *path, const bm_journal *whole, const bm_buf *bytes,
                         size_t place)
{
    bm_journal *journal;
    fuzz_write(path, bytes->data, place);
    CHECK(open_journal(path, &journal) == BM_OK);
    check_begins(journal, whole);
    bm_journal_close(journal);
    bytes->data[place] = (char)(bytes->data[place] ^ 1);
    fuzz_write(path, bytes->data, bytes->len);
    if (open_journal(path, &journal) == BM_OK) {
        CHECK(bm_journal_count(journal) < bm_journal_count(whole));
        check_begins(journal, whole);
        bm_journal_close(journal);
    }
}

static void check_lines(const char *path, const uint8_t *data, size_t size)
{
    bm_journal *journal, *again;
    bm_checkpoint_saved so_far = {0};
    bm_buf bytes = {0};
    CHECK(bm_journal_create_in(AT_FDCWD, path, &journal, NULL) == BM_OK);
    for (size_t at = 0; at < size && bm_journal_count(journal) < 64;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        const size_t len = end == NULL ? size - at : (size_t)(end - data) - at;
        char line[512];
        snprintf(line, sizeof line, "%.*s", (int)(len < 500 ? len : 500), (const char *)data + at);
        CHECK(bm_journal_add(journal, line, NULL) == BM_OK);
        check_line(line, &so_far);
        at += len + 1;
    }
    CHECK(open_journal(path, &again) == BM_OK);
    CHECK(bm_journal_count(again) == bm_journal_count(journal));
    check_begins(journal, again);
    bm_journal_close(again);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && bm_buf_reserve(&bytes, size + 64 * 64, NULL) == BM_OK);
    bytes.len = (size_t)read(fd, bytes.data, bytes.cap);
    close(fd);
    if (bytes.len > 0)
        check_damage(path, journal, &bytes, (data[0] * 7u + size) % bytes.len);
    bm_journal_close(journal);
    bm_buf_reset(&bytes);
}

/* --- temporary files --- */

typedef struct walked {
    uint64_t n, end;
} walked;

static bm_status count_record(void *ctx, uint64_t place, const void *data, size_t len,
                              bm_error *err)
{
    walked *w = ctx;
    (void)err;
    CHECK(place == w->end && (uintptr_t)data % 8 == 0);
    w->n++;
    w->end = place + BM_SPILL_RECORD + len;
    return BM_OK;
}

static void check_spill(const char *path, const uint8_t *data, size_t size)
{
    bm_spill_file *file;
    bm_error err = {0};
    if (size < 2)
        return;
    const bm_spill_saved saved = {path, (bm_spill_kind)(1 + data[0] % 5), size - 2, data[1]};
    fuzz_write(path, data + 2, size - 2);
    bm_status status = bm_spill_reopen_in(AT_FDCWD, &saved, 64, &file, &err);
    if (status == BM_OK) {
        walked w = {0, BM_SPILL_HEADER};
        status = bm_spill_walk(file, count_record, &w, &err);
        CHECK(w.n <= size && (status != BM_OK || (w.n == saved.records && w.end == saved.bytes)));
        bm_spill_close(file);
    }
    CHECK(status == BM_OK || (status == BM_ERR_FORMAT && err.message[0] != '\0'));
}

/* Makes a file of records, each preceded by its length in two bytes. */
static bm_spill_file *records_of(bm_spill_kind kind, const uint8_t *data, size_t size)
{
    bm_spill_file *file;
    char path[FUZZ_PATH];
    fuzz_path("", path);
    CHECK(bm_spill_open(path, kind, 4096, &file, NULL) == BM_OK);
    for (size_t at = 0; at + 2 <= size;) {
        size_t len = data[at] | (size_t)data[at + 1] << 8;
        at += 2;
        len = len < size - at ? len : size - at;
        CHECK(bm_spill_add(file, data + at, len, NULL, NULL) == BM_OK);
        at += len;
    }
    CHECK(bm_spill_flush(file, NULL) == BM_OK);
    return file;
}

static bm_status add_record(void *ctx, uint64_t place, const void *data, size_t len, bm_error *err)
{
    const uint8_t head[2] = {(uint8_t)len, (uint8_t)(len >> 8)};
    (void)place;
    CHECK(len <= UINT16_MAX);
    BM_TRY(bm_buf_add(ctx, head, sizeof head, err));
    return bm_buf_add(ctx, data, len, err);
}

/* Copies the records of `file`, which is closed, with changes of three bytes each: a position, and
 * the bits that change there. */
static bm_spill_file *changed(bm_spill_kind kind, bm_spill_file *file, const uint8_t *data,
                              size_t size)
{
    bm_buf bytes = {0};
    CHECK(bm_spill_walk(file, add_record, &bytes, NULL) == BM_OK && bytes.len > 0);
    for (size_t at = 0; at + 3 <= size; at += 3) {
        char *byte = &bytes.data[(data[at] | (size_t)data[at + 1] << 8) % bytes.len];
        *byte = (char)(*byte ^ data[at + 2]);
    }
    bm_spill_close(file);
    file = records_of(kind, (const void *)bytes.data, bytes.len);
    bm_buf_reset(&bytes);
    return file;
}

/* --- documents --- */

static bm_input_set *open_inputs(void)
{
    char a[FUZZ_PATH], b[FUZZ_PATH];
    const char *const paths[] = {fuzz_path("a.jsonl", a), fuzz_path("b.jsonl", b)};
    bm_sign_options options;
    bm_input_set *inputs;
    bm_sign_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = 2;
    fuzz_write(a, "{}\n", 3);
    fuzz_write(b, "{}\n", 3);
    CHECK(bm_input_set_open(&options.input, NULL, 0, NULL, &inputs, NULL) == BM_OK);
    return inputs;
}

/* Checks that rows are in order with all their ids, and that copies come after their
 * representatives. */
static void check_documents(const bm_doc_table *docs, const bm_corpus *corpus)
{
    for (size_t i = 0; i < docs->n; i++) {
        CHECK(docs->rows[i].file < 2 && docs->ids.ends[i] <= docs->ids.text.len);
        CHECK(i == 0 || docs->ids.ends[i - 1] <= docs->ids.ends[i]);
        if (corpus != NULL)
            CHECK(corpus->rep[i] <= i && corpus->rep[corpus->rep[i]] == corpus->rep[i]);
    }
    for (size_t i = 0; i < docs->n_skipped; i++)
        CHECK(docs->skipped[i].file < 2 && docs->skipped[i].reason != NULL);
}

/* Documents of which some are similar, one is empty and one is a copy. */
static void fill_corpus(bm_corpus *corpus, bm_doc_table *docs)
{
    uint64_t keys[N_DOCS][2];
    bm_ingest_batch batch = {.keys = keys[0]};
    bm_shingle_batch *s = &batch.shingles;
    for (uint32_t i = 0; i < N_DOCS; i++) {
        const uint32_t n = i == 5 ? 0 : 6, base = i == 7 ? 3 : i;
        const char id = (char)('a' + i);
        const bm_doc_row row = {.line = i + 1, .text_bytes = i * 7 % 5, .n_shingles = n};
        CHECK(bm_doc_table_add(docs, &row, (bm_doc_id){{&id, 1}, i}, "f", NULL) == BM_OK);
        CHECK(bm_shingle_batch_reserve(s, 1, n + 1, NULL) == BM_OK);
        for (uint32_t j = 0; j < n; j++)
            s->hashes[s->offsets[i] + j] = 1000 + base / 3 * 100 + base % 3 + j;
        s->content[i] = (bm_hash128){base, 5};
        s->offsets[i + 1] = s->offsets[i] + n;
        s->n_docs++;
        for (uint32_t b = 0; b < 2; b++)
            keys[i][b] = n == 0 ? BM_NO_BAND_KEY : base / 3 * 10 + b;
    }
    CHECK(bm_corpus_add(corpus, &batch, 0, NULL) == BM_OK);
    bm_shingle_batch_reset(s);
}

/* Saves documents as a job does, alone or with the corpus, whose sets are saved and, for `what`,
 * restored. */
static bm_spill_file *save_documents(const bm_checkpoint_documents *what)
{
    bm_corpus corpus;
    bm_doc_table docs = {0};
    bm_counts counts = {.documents = N_DOCS, .skipped = 1};
    bm_spill_file *file;
    char path[FUZZ_PATH], sets[FUZZ_PATH];
    bm_corpus_init(&corpus, &what->corpus->cfg);
    fill_corpus(&corpus, &docs);
    bm_skipped skipped = {.line = 99, .reason = bm_strdup("a reason")};
    CHECK(bm_doc_table_skip(&docs, &skipped, NULL) == BM_OK);
    const bm_checkpoint_documents saved = {.docs = &docs,
                                           .counts = &counts,
                                           .corpus = &corpus,
                                           .inputs = what->inputs,
                                           .complete = true};
    fuzz_path("sets", sets);
    CHECK(bm_corpus_save_sets(&corpus, sets, NULL) == BM_OK);
    CHECK(bm_spill_open(fuzz_path("", path), BM_SPILL_ROWS, 4096, &file, NULL) == BM_OK);
    CHECK(bm_checkpoint_documents_save(&saved, 0, 0, file, NULL) == BM_OK);
    CHECK(bm_corpus_restore_sets(what->corpus, sets, corpus.sets.saved.bytes,
                                 corpus.sets.saved.records, NULL) == BM_OK);
    bm_corpus_reset(&corpus);
    bm_doc_table_reset(&docs);
    return file;
}

static void check_sealed_documents(const uint8_t *data, size_t size)
{
    const uint8_t form = size > 0 ? data[0] : 0;
    bm_corpus_cfg cfg = {.hashes = (form & 2) != 0,
                         .find_identical = (form & 4) != 0,
                         .bands = form >> 4 & 3,
                         .words = {form & 8 ? 3 : 0, 4}};
    char folder[FUZZ_PATH];
    bm_corpus corpus;
    bm_doc_table docs = {0};
    bm_counts counts = {0};
    bm_error err = {0};
    if (form & CHANGED)
        cfg = (bm_corpus_cfg){
            .hashes = true, .find_identical = true, .bands = 2, .temp_dir = fuzz_path("", folder)};
    bm_corpus_init(&corpus, &cfg);
    bm_input_set *inputs = open_inputs();
    const bm_checkpoint_documents what = {.docs = &docs,
                                          .counts = &counts,
                                          .corpus = form & (CHANGED | 1) ? &corpus : NULL,
                                          .inputs = inputs};
    data += size > 0;
    size -= size > 0;
    bm_spill_file *file = form & CHANGED ? changed(BM_SPILL_ROWS, save_documents(&what), data, size)
                                         : records_of(BM_SPILL_ROWS, data, size);
    bm_status status = bm_checkpoint_documents_load(&what, file, &err);
    /* a duplicate id has its own status */
    CHECK(status == BM_OK || status == BM_ERR_FORMAT || status == BM_ERR_INPUT);
    CHECK(status == BM_OK || err.message[0] != '\0');
    CHECK(status == BM_OK || !(form & CHANGED) || size >= 3);
    if (status == BM_OK) {
        CHECK(what.corpus == NULL || corpus.n == docs.n);
        check_documents(&docs, what.corpus);
        if (what.corpus != NULL)
            CHECK(bm_corpus_end_adding(&corpus, NULL) == BM_OK);
    }
    bm_spill_close(file);
    bm_input_set_close(inputs);
    bm_doc_table_reset(&docs);
    bm_corpus_reset(&corpus);
}

/* --- matches --- */

static void check_grouping(const bm_match *match, const bm_doc_table *docs, bm_cluster cluster,
                           bm_keep keep)
{
    bm_grouping g;
    bm_error err = {0};
    bm_keep_rank rank = ranked(docs, keep);
    const bm_grouping_options options = {.rank = &rank, .cluster = cluster};
    CHECK(bm_grouping_make(match, &options, &g, &err) == BM_OK);
    CHECK(g.n == N_DOCS);
    for (size_t i = 0; i < g.n; i++) {
        CHECK(g.label[i] <= i && g.kept[i] < N_DOCS && g.kept[g.kept[i]] == g.kept[i]);
        CHECK(g.label[g.kept[i]] == g.label[i]);
        CHECK(!(g.similarity[i] < 0 || g.similarity[i] > 1));
    }
    bm_grouping_reset(&g);
    bm_keep_rank_reset(&rank);
}

/* Saves the matches of the same documents, as a job does. */
static bm_spill_file *save_matches(const bm_match *match)
{
    bm_match found = {.settings = match->settings};
    bm_spill_file *file;
    char path[FUZZ_PATH];
    CHECK(bm_match_run(&found, NULL) == BM_OK);
    CHECK(bm_spill_open(fuzz_path("", path), BM_SPILL_RUN, 4096, &file, NULL) == BM_OK);
    CHECK(bm_checkpoint_matches_save(&found, file, NULL) == BM_OK);
    bm_match_reset(&found);
    return file;
}

static void check_sealed_matches(const uint8_t *data, size_t size)
{
    static const bm_verify verify[] = {BM_VERIFY_EXACT, BM_VERIFY_NONE};
    static bm_pool *pool;
    const uint8_t form = size > 0 ? data[0] : 0;
    const bm_corpus_cfg cfg = {.hashes = true, .find_identical = true, .bands = 2};
    bm_corpus corpus;
    bm_doc_table docs = {0};
    bm_meter meter;
    bm_error err = {0};
    CHECK(pool != NULL || bm_pool_open(1, &pool, NULL) == BM_OK);
    bm_meter_init(&meter, NULL);
    bm_corpus_init(&corpus, &cfg);
    fill_corpus(&corpus, &docs);
    bm_match match = {.settings = {.corpus = &corpus,
                                   .pool = pool,
                                   .meter = &meter,
                                   .verify = verify[form & 1],
                                   .threshold = 0.5,
                                   .only_groups = (form & 2) != 0}};
    data += size > 0;
    size -= size > 0;
    bm_spill_file *file = form & CHANGED ? changed(BM_SPILL_RUN, save_matches(&match), data, size)
                                         : records_of(BM_SPILL_RUN, data, size);
    const bm_status status = bm_checkpoint_matches_load(&match, file, &err);
    CHECK(status == BM_OK || (status == BM_ERR_FORMAT && err.message[0] != '\0'));
    CHECK(status == BM_OK || !(form & CHANGED) || size >= 3);
    if (status == BM_OK)
        check_grouping(&match, &docs,
                       form & 2 || form & 4 ? BM_CLUSTER_COMPONENTS : BM_CLUSTER_STAR,
                       (bm_keep)(form >> 3 & 3));
    bm_spill_close(file);
    bm_match_reset(&match);
    bm_corpus_reset(&corpus);
    bm_doc_table_reset(&docs);
    bm_meter_reset(&meter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    if (size == 0)
        return 0;
    const unsigned kind = data[0] % 5u;
    data++, size--;
    fuzz_path("sealed", path);
    if (kind == 0) {
        fuzz_write(path, data, size);
        check_goes_on(path);
    } else if (kind == 1) {
        check_lines(path, data, size);
        check_goes_on(path);
    } else if (kind == 2) {
        check_spill(path, data, size);
    } else if (kind == 3) {
        check_sealed_documents(data, size);
    } else {
        check_sealed_matches(data, size);
    }
    return 0;
}
