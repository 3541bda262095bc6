/* SPDX-License-Identifier: Apache-2.0 */
/* kept_pass.c -- copies kept and removed records. Records are only split, not parsed (except
 * elements of arrays), so the pass takes only the time of reading, finding line ends and writing.
 *
 *     reading    | batch 0 | batch 1 | batch 2 |          one thread at a time
 *     split        [0     ]  [1     ]  [2     ]           any thread; chooses the copies too
 *     in turn              0          1          2        batch by batch in input order: reserves
 *                                                         offsets in the outputs; compressed
 *                                                         outputs are written here instead
 *     write                    [0   ]     [1   ]          any thread, at the reserved offsets
 *
 * A batch has its turn after the turns of all earlier batches. Splitting a batch yields runs of
 * bytes. Adjacent records of the same copy form one run. If the rule is not by_place, batches are
 * split in input order too. If several batches cannot be read or split, the failure of the
 * first batch is reported. A batch with a record of more than BATCH_BYTES is processed alone, and
 * may use all memory of the job.
 *
 * Tests: tests/unit/jobs/test_jobs.c, tests/unit/jobs/test_checkpoint.c
 * Tests: tests/cli/cases/dedup.sh, tests/cli/cases/removed.sh, tests/race/race_pipeline.c */
#include "job/kept_pass.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "input/parser.h"
#include "input/table_module.h"
#include "job/rows.h"

#define BATCH_BYTES  (1u << 20)
#define BUFFER_BYTES ((size_t)256 << 10)
#define RUNS_MAX     16384u
#define LANE_BYTES   ((uint64_t)2 << 20) /* memory per thread: a batch, a buffer, runs */
#define NO_FILE      UINT32_MAX

/* Bytes that are written to one copy. */
typedef struct run {
    bm_str bytes;  /* point into the batch; but see `inserted` */
    uint32_t file; /* index of the input */
    bool more;     /* continues the record of the previous run */
    bool header;   /* a header row */
    bool inserted; /* bytes.data is not a pointer, but an offset into lane.insertions */
    uint8_t side;  /* the copy to write to (bm_copy_side) */
} run;

typedef struct copy {
    bm_job_context *job;
    bm_kept_writer *const *writers; /* writers[side] NULL: this copy is not written */
    const bm_kept_rule *rule;
    bm_record_budget budget;
    bm_long_gate gate;       /* calls wait_for_batches, then the gate of `budget` */
    pthread_mutex_t reading; /* protects the source, n_read, `alone` and `ended` */
    uint64_t n_read;         /* batches read; the end of the inputs counts as one */
    /* alone: the batch being read has a long record, and is processed alone. ended: all batches are
     * read, or reading failed. */
    bool alone, ended;
    pthread_mutex_t lock; /* protects the members up to `error` */
    pthread_cond_t moved;
    uint64_t turn;    /* number of the batch whose turn it is */
    uint64_t n_done;  /* number of batches written and freed */
    size_t n_writing; /* batches whose turn has ended, and that are still being written */
    bm_status status; /* the first failure */
    bm_error error;
    uint32_t n_lanes; /* the most threads that may work */
    /* `file` and `headed` are used only by the thread whose batch has its turn. */
    uint32_t file; /* the input that the open files of the writers belong to, or NO_FILE */
    bool headed;   /* the only header row of a stream was written */
} copy;

/* The state of one thread. */
typedef struct lane {
    copy *c;
    bm_batch_parser *parser;
    uint64_t number; /* number of the current batch */
    bool in_turn;    /* the batch has had its turn, or has it now */
    bool begun;      /* the batch's first record was seen, and has set `file`, `line` and `from` */
    uint32_t file;
    uint64_t line;
    bm_kept_at from, at; /* places of the first record and of the next record of the batch */
    run *runs;           /* runs that are not yet written; memory for RUNS_MAX */
    size_t n_runs;
    bm_buf insertions; /* inserted bytes of the runs */
    bm_buf ranges;     /* the ranges to cut from the current document */
    char *buffer;      /* BUFFER_BYTES, for joining runs before they are written */
    size_t first;      /* the first run that is written at the offsets in `places` */
    /* For each copy, the reserved offset at which its runs from `first` on are written. */
    bm_kept_place places[BM_N_COPIES];
} lane;

static bm_status changed(const bm_job_context *job, uint32_t file, uint64_t line, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_INPUT, bm_input_set_source(job->inputs.set, file)->name, line,
                      "the file changed while it was read (the same records twice)");
}

/* --- the turn of a batch, and writing after it --- */

/* Wait until the turn of the lane's batch. Returns false if the pass has failed. */
static bool wait_for_turn(lane *l)
{
    copy *c = l->c;
    if (l->in_turn)
        return true;
    pthread_mutex_lock(&c->lock);
    while (c->turn != l->number && c->status == BM_OK)
        pthread_cond_wait(&c->moved, &c->lock);
    l->in_turn = c->status == BM_OK;
    pthread_mutex_unlock(&c->lock);
    return l->in_turn;
}

static bm_str bytes_of(const lane *l, const run *r)
{
    return r->inserted ? (bm_str){l->insertions.data + (uintptr_t)r->bytes.data, r->bytes.len}
                       : r->bytes;
}

static bm_status write_side(const lane *l, size_t side, bm_error *err)
{
    bm_out_file *file = l->places[side].file;
    uint64_t at = l->places[side].at;
    size_t len = 0;
    for (size_t i = l->first; i < l->n_runs; i++) {
        const bm_str bytes = bytes_of(l, &l->runs[i]);
        if (l->runs[i].side != side)
            continue;
        if (bytes.len > BUFFER_BYTES - len) {
            BM_TRY(bm_out_file_write_at(file, at, l->buffer, len, err));
            at += len;
            len = 0;
        }
        if (bytes.len > BUFFER_BYTES) {
            BM_TRY(bm_out_file_write_at(file, at, bytes.data, bytes.len, err));
            at += bytes.len;
        } else {
            memcpy(l->buffer + len, bytes.data, bytes.len);
            len += bytes.len;
        }
    }
    return bm_out_file_write_at(file, at, l->buffer, len, err);
}

/* Write the runs from l->first on at the offsets reserved in `places`. */
static bm_status write_placed(lane *l, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t side = 0; side < BM_N_COPIES; side++) {
        if (l->places[side].file == NULL)
            continue;
        if (status == BM_OK)
            status = write_side(l, side, err);
        l->places[side].file = NULL;
    }
    return status;
}

/* Wait until no other thread writes. Then finish the open files, and begin the files of input
 * `file` (NO_FILE: none). */
static bm_status switch_file(copy *c, uint32_t file, bm_error *err)
{
    pthread_mutex_lock(&c->lock);
    while (c->n_writing > 0)
        pthread_cond_wait(&c->moved, &c->lock);
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < BM_N_COPIES; i++) {
        bm_kept_writer *writer = c->writers[i];
        if (writer != NULL && c->file != NO_FILE)
            BM_TRY(bm_kept_writer_end_file(writer, err));
        if (writer != NULL && file != NO_FILE)
            BM_TRY(bm_kept_writer_begin_file(writer, file, err));
    }
    c->file = file;
    return BM_OK;
}

/* Reserve space for the runs l->first … end-1 of copy `side`. All these runs belong to one input.
 * If the writer does not reserve space, write the runs. */
static bm_status place_side(lane *l, size_t end, size_t side, bm_error *err)
{
    bm_kept_writer *writer = l->c->writers[side];
    uint64_t bytes = 0;
    for (size_t i = l->first; i < end; i++)
        bytes += l->runs[i].side == side ? l->runs[i].bytes.len : 0;
    if (bytes > 0)
        BM_TRY(bm_kept_writer_reserve(writer, bytes, &l->places[side], err));
    for (size_t i = l->first; l->places[side].file == NULL && i < end; i++) {
        const run *r = &l->runs[i];
        if (r->side != side || (r->header && l->c->headed))
            continue;
        BM_TRY(r->more ? bm_kept_writer_more(writer, bytes_of(l, r), err)
                       : bm_kept_writer_write(writer, bytes_of(l, r), err));
        l->c->headed = l->c->headed || (r->header && l->c->job->settings->results.write != NULL);
    }
    return BM_OK;
}

/* In the turn of the batch: check that its first place is the place after the previous batch. */
static bm_status join(const lane *l, bm_error *err)
{
    const bm_kept_at *at = l->c->rule->at;
    return l->begun && at != NULL && (at->doc != l->from.doc || at->skipped != l->from.skipped)
               ? changed(l->c->job, l->file, l->line, err)
               : BM_OK;
}

/* In the turn of the batch: write all runs so far. For the runs of the last input, space may only
 * be reserved; write_placed writes these runs later. */
static bm_status place_runs(lane *l, bm_error *err)
{
    const size_t n = l->n_runs;
    for (size_t end = 0; end < n;) {
        const uint32_t file = l->runs[end].file;
        l->n_runs = end;
        BM_TRY(write_placed(l, err));
        for (l->first = end; end < n && l->runs[end].file == file;)
            end++;
        if (file != l->c->file)
            BM_TRY(switch_file(l->c, file, err));
        for (size_t side = 0; side < BM_N_COPIES; side++)
            BM_TRY(place_side(l, end, side, err));
    }
    l->n_runs = n;
    return BM_OK;
}

/* --- a batch --- */

/* Make room for n more runs. If necessary, wait for the batch's turn, and write the runs so far. */
static bm_status reserve_runs(lane *l, size_t n, bm_error *err)
{
    if (l->n_runs + n <= RUNS_MAX)
        return BM_OK;
    if (!wait_for_turn(l))
        return BM_ERR_CANCELLED; /* another batch has failed, and its failure is reported */
    BM_TRY(join(l, err));
    BM_TRY(place_runs(l, err));
    BM_TRY(write_placed(l, err));
    l->n_runs = l->insertions.len = 0;
    return BM_OK;
}

/* Add the runs of a record with an insertion: the bytes before `at`, the inserted bytes, and the
 * rest of the record. */
static bm_status add_with(lane *l, const run *record, const bm_insertion *insertion, bm_error *err)
{
    run parts[3] = {*record, *record, *record};
    parts[0].bytes.len = insertion->at;
    parts[1].bytes = (bm_str){(const char *)(uintptr_t)l->insertions.len, insertion->text.len};
    parts[1].more = parts[1].inserted = parts[2].more = true;
    parts[2].bytes.data += insertion->at;
    parts[2].bytes.len -= insertion->at;
    const size_t n = parts[2].bytes.len > 0 ? 3 : 2;
    memcpy(l->runs + l->n_runs, parts, n * sizeof *parts);
    l->n_runs += n;
    return bm_buf_add(&l->insertions, insertion->text.data, insertion->text.len, err);
}

/* Add a piece of a record: original or inserted bytes. An empty piece is added only if it is the
 * record's first. *begun: does the record already have a piece? Becomes true. */
static bm_status add_piece(lane *l, const run *record, bm_str bytes, bool inserted, bool *begun,
                           bm_error *err)
{
    if (bytes.len == 0 && *begun)
        return BM_OK;
    BM_TRY(reserve_runs(l, 1, err));
    run piece = *record;
    piece.bytes = bytes;
    piece.more = *begun;
    piece.inserted = inserted;
    if (inserted)
        piece.bytes.data = (const char *)(uintptr_t)l->insertions.len;
    *begun = true;
    l->runs[l->n_runs++] = piece;
    return inserted ? bm_buf_add(&l->insertions, bytes.data, bytes.len, err) : BM_OK;
}

/* For a row of a table, add the row number, then a bm_table_text_cut for each range to cut from the
 * text of the row. */
static bm_status add_row_cuts(lane *l, const run *r, bm_error *err)
{
    bool begun = false;
    bm_table_text_cut cut;
    memcpy(&cut.row, r->bytes.data, sizeof cut.row);
    BM_TRY(add_piece(l, r, r->bytes, false, &begun, err));
    for (size_t at = 0; at < l->ranges.len; at += sizeof(bm_text_range)) {
        bm_text_range range;
        memcpy(&range, l->ranges.data + at, sizeof range);
        cut.from = range.from;
        cut.to = range.to;
        BM_TRY(add_piece(l, r, (bm_str){(const char *)&cut, sizeof cut}, true, &begun, err));
    }
    return BM_OK;
}

/* Add the record. The ranges in l->ranges are cut from its text. */
static bm_status add_cut(lane *l, const run *r, const bm_record *record, bm_error *err)
{
    if (record->parser == NULL)
        return add_row_cuts(l, r, err);
    const bm_record_edit *edits;
    size_t n, at = 0;
    bool begun = false;
    BM_TRY(bm_parser_cut(record->parser, record, (const bm_text_range *)l->ranges.data,
                         l->ranges.len / sizeof(bm_text_range), &edits, &n, err));
    for (size_t i = 0; i < n; i++) {
        const bm_str before = {record->raw.data + at, edits[i].from - at};
        BM_TRY(add_piece(l, r, before, false, &begun, err));
        if (edits[i].n_with > 0)
            BM_TRY(add_piece(l, r, (bm_str){edits[i].with, edits[i].n_with}, true, &begun, err));
        at = edits[i].to;
    }
    return add_piece(l, r, (bm_str){record->raw.data + at, record->raw.len - at}, false, &begun,
                     err);
}

static bm_status copy_record(lane *l, size_t side, const bm_record *record, bm_error *err)
{
    const bm_kept_rule *rule = l->c->rule;
    const run r = {.bytes = record->raw,
                   .file = record->file,
                   .side = (uint8_t)side,
                   .header = record->is_header};
    if (l->c->writers[side] == NULL)
        return BM_OK;
    BM_TRY(reserve_runs(l, 3, err));
    l->ranges.len = 0;
    if (rule->cuts != NULL && !record->is_header && side == BM_COPY_KEPT)
        BM_TRY(rule->cuts->ranges(rule->cuts->ctx, l->at.doc - 1, &l->ranges, err));
    if (l->ranges.len > 0)
        return add_cut(l, &r, record, err);
    if (rule->insert != NULL) {
        bm_insertion insertion = {0};
        BM_TRY(rule->insert(rule->ctx, record, &insertion, err));
        if (insertion.text.len > 0)
            return add_with(l, &r, &insertion, err);
    }
    run *last = l->n_runs > 0 ? &l->runs[l->n_runs - 1] : NULL;
    if (last != NULL && last->side == side && last->file == r.file && !last->more &&
        !last->header && last->bytes.data + last->bytes.len == r.bytes.data)
        last->bytes.len += r.bytes.len;
    else
        l->runs[l->n_runs++] = r;
    return BM_OK;
}

static bool is_before(uint32_t file, uint64_t line, const bm_record *record)
{
    return file < record->file || (file == record->file && line < record->line);
}

/* Find the place of a record by its file and line. */
static bm_kept_at seek(const bm_doc_table *docs, const bm_record *record)
{
    bm_bisect doc = {0, docs->n}, skipped = {0, docs->n_skipped};
    while (doc.low < doc.high) {
        const bm_doc_row *row = bm_doc_table_row(docs, bm_middle(&doc));
        bm_bisect_go(&doc, is_before(row->file, row->line, record));
    }
    while (skipped.low < skipped.high) {
        const bm_skipped *row = &docs->skipped[bm_middle(&skipped)];
        bm_bisect_go(&skipped, is_before(row->file, row->line, record));
    }
    return (bm_kept_at){.doc = doc.low, .skipped = skipped.low};
}

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    lane *l = ctx;
    const bm_kept_rule *rule = l->c->rule;
    if (!l->begun) {
        l->begun = true;
        l->file = record->file;
        l->line = record->line;
        if (rule->at != NULL)
            l->at = l->from = rule->by_place ? seek(&l->c->job->docs, record) : *rule->at;
    }
    if (record->is_header) {
        for (size_t side = 0; side < BM_N_COPIES; side++)
            BM_TRY(copy_record(l, side, record, err));
        return BM_OK;
    }
    bm_copy_side side = BM_COPY_NEITHER;
    BM_TRY(rule->keep(rule->ctx, record, &l->at, &side, err));
    return side == BM_COPY_NEITHER ? BM_OK : copy_record(l, side, record, err);
}

/* --- the threads --- */

/* Record that the pass has failed, unless it has failed before. */
static void fail(copy *c, bm_status status, const bm_error *error)
{
    pthread_mutex_lock(&c->lock);
    if (c->status == BM_OK) {
        c->status = status;
        c->error = *error;
    }
    pthread_cond_broadcast(&c->moved);
    pthread_mutex_unlock(&c->lock);
}

/* In the turn of the batch: check its place, and write its runs, or reserve space for them
 * (place_runs). `split`: the status of splitting the batch; if it is a failure, it is returned. */
static bm_status do_turn(lane *l, bm_status split, bm_error *err)
{
    bm_kept_at *at = l->c->rule->at;
    BM_TRY(join(l, err));
    BM_TRY(split);
    BM_TRY(place_runs(l, err));
    if (l->begun && at != NULL)
        *at = l->at;
    return BM_OK;
}

static bm_status split(lane *l, const bm_source_batch *batch, bm_error *err)
{
    if (!l->c->rule->by_place && !wait_for_turn(l))
        return BM_ERR_CANCELLED; /* another batch has failed, and its failure is reported */
    return bm_batch_parser_split(l->parser, batch, on_record, l, err);
}

/* Copy a batch. `read`: the status of reading the batch. If the batch could not be read or split,
 * the failure is reported in the batch's turn. */
static void copy_batch(lane *l, const bm_batch_next *next, bm_status read, bm_error *error)
{
    copy *c = l->c;
    l->n_runs = l->insertions.len = 0;
    l->begun = false;
    bm_status status = read == BM_OK ? split(l, next->batch, error) : read;
    if (wait_for_turn(l)) {
        status = do_turn(l, status, error);
        if (status != BM_OK)
            fail(c, status, error);
        bm_meter_progress(&c->job->meter, next->bytes_read,
                          bm_batch_source_total_bytes(c->job->inputs.source), 0);
        pthread_mutex_lock(&c->lock);
        c->turn++;
        c->n_writing++;
        pthread_cond_broadcast(&c->moved);
        pthread_mutex_unlock(&c->lock);
    }
    status = write_placed(l, error);
    if (status != BM_OK)
        fail(c, status, error);
}

/* Read a batch and copy it. Returns false if no batch is left, or if the pass has failed. */
static bool copy_next(lane *l)
{
    copy *c = l->c;
    bm_batch_next next = {0};
    bm_error error = {0};
    double in_turn = 0;
    bm_batch_source_lock(c->job->inputs.source, &c->reading);
    if (c->ended) {
        pthread_mutex_unlock(&c->reading);
        return false;
    }
    c->alone = l->in_turn = false;
    bm_status status = bm_meter_check(&c->job->meter, &error);
    if (status == BM_OK)
        status = bm_batch_source_next(c->job->inputs.source, &next, &error);
    c->ended = status != BM_OK || next.got == BM_BATCH_END;
    l->number = c->n_read++;
    const bool alone = c->alone;
    if (!alone)
        pthread_mutex_unlock(&c->reading);
    if (next.batch != NULL) {
        status = bm_batch_source_fill(c->job->inputs.source, next.batch, &in_turn, &error);
        next.bytes_read = next.batch->bytes_read;
    }
    if (status != BM_OK || next.got != BM_BATCH_END)
        copy_batch(l, &next, status, &error);
    bm_batch_source_free_batch(c->job->inputs.source, next.batch);
    pthread_mutex_lock(&c->lock);
    c->n_done++;
    c->n_writing -= l->in_turn;
    const bool failed = c->status != BM_OK;
    pthread_cond_broadcast(&c->moved);
    pthread_mutex_unlock(&c->lock);
    if (alone)
        pthread_mutex_unlock(&c->reading);
    return !failed;
}

static bm_status run_lane(void *ctx, uint32_t thread, bm_error *err)
{
    copy *c = ctx;
    lane l = {.c = c};
    bm_error error = {0};
    (void)err;
    if (thread >= c->n_lanes)
        return BM_OK;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_batch_parser_open(c->job->inputs.source, &l.parser, &error));
    BM_TRY_OUT(bm_new(&l.runs, RUNS_MAX, &error));
    BM_TRY_OUT(bm_new(&l.buffer, BUFFER_BYTES, &error));
    while (copy_next(&l))
        ;
out:
    if (status != BM_OK)
        fail(c, status, &error);
    bm_batch_parser_close(l.parser);
    bm_free_all(l.runs, l.buffer);
    bm_buf_reset(&l.insertions);
    bm_buf_reset(&l.ranges);
    return BM_OK;
}

/* The `hold` function of the gate: wait until all earlier batches are written, and mark the batch
 * to be processed alone. Then ask the gate of the budget. The caller has locked `reading`, so no
 * later batch is read before this batch is done. */
static bm_status wait_for_batches(void *ctx, uint64_t bytes, bool *may, bm_error *err)
{
    copy *c = ctx;
    pthread_mutex_lock(&c->lock);
    while (c->n_done < c->n_read)
        pthread_cond_wait(&c->moved, &c->lock);
    pthread_mutex_unlock(&c->lock);
    c->alone = true;
    return c->budget.gate.hold(c->budget.gate.ctx, bytes, may, err);
}

static bm_status refuse(void *ctx, const bm_long_record *record, bm_error *err)
{
    const copy *c = ctx;
    return c->budget.gate.refuse(c->budget.gate.ctx, record, err);
}

bm_status bm_kept_copy(bm_job_context *job, bm_kept_writer *const writers[BM_N_COPIES],
                       const bm_kept_rule *rule, bm_error *err)
{
    copy c = {.job = job, .writers = writers, .rule = rule, .file = NO_FILE};
    const uint64_t fit = bm_budget_batches(&job->budget) / LANE_BYTES;
    c.n_lanes = job->budget.total == 0 ? UINT32_MAX : fit > 1 ? (uint32_t)fit : 1;
    bm_record_budget_init(job, BM_RECORDS_SPLIT, &c.budget);
    c.gate = (bm_long_gate){&c, wait_for_batches, refuse};
    pthread_mutex_init(&c.reading, NULL);
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.moved, NULL);
    const bm_batch_limits limits = {
        .bytes = BATCH_BYTES, .gate = &c.gate, .records_only = true, .helped = true};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_batch_source_begin(job->inputs.source, &limits, 0, err));
    BM_TRY_OUT(bm_pool_run(job->pool, run_lane, &c, err));
    if ((status = c.status) != BM_OK && err != NULL)
        *err = c.error;
    BM_TRY_OUT(status);
    status = switch_file(&c, NO_FILE, err);
out:
    bm_batch_source_end(job->inputs.source);
    pthread_cond_destroy(&c.moved);
    pthread_mutex_destroy(&c.lock);
    pthread_mutex_destroy(&c.reading);
    return status;
}

/* --- after dedup --- */

typedef struct walk {
    bm_job_context *job;
    const uint8_t *dropped;
    bm_kept_at end; /* the place after the last batch that has had its turn */
} walk;

static bm_status keep_document(void *ctx, const bm_record *record, bm_kept_at *at,
                               bm_copy_side *side, bm_error *err)
{
    const walk *w = ctx;
    const uint32_t file = record->file;
    const uint64_t line = record->line;
    const bm_doc_table *docs = &w->job->docs;
    if (!record->bad && at->doc < docs->n && bm_doc_table_row(docs, at->doc)->file == file &&
        bm_doc_table_row(docs, at->doc)->line == line) {
        *side = w->dropped[at->doc++] == 0 ? BM_COPY_KEPT : BM_COPY_REMOVED;
        return BM_OK;
    }
    if (at->skipped < docs->n_skipped && docs->skipped[at->skipped].file == file &&
        docs->skipped[at->skipped].line == line) {
        at->skipped++;
        *side = BM_COPY_NEITHER;
        return BM_OK;
    }
    return changed(w->job, file, line, err);
}

static bm_status check_unchanged(const walk *w, const bm_hash128 *before, bm_error *err)
{
    const bm_job_context *job = w->job;
    for (size_t i = 0; i < bm_input_set_count(job->inputs.set); i++)
        if (memcmp(&before[i], &bm_input_set_source(job->inputs.set, i)->digest,
                   sizeof before[i]) != 0)
            return changed(job, (uint32_t)i, 0, err);
    if (w->end.doc != job->docs.n || w->end.skipped != job->docs.n_skipped)
        return changed(
            job, w->end.doc < job->docs.n ? bm_doc_table_row(&job->docs, w->end.doc)->file : 0, 0,
            err);
    return BM_OK;
}

static bm_status copy_documents(bm_job_context *job, const uint8_t *dropped,
                                const bm_kept_cuts *cuts,
                                bm_kept_writer *const writers[BM_N_COPIES], bm_error *err)
{
    size_t n = bm_input_set_count(job->inputs.set);
    walk w = {.job = job, .dropped = dropped};
    bm_hash128 *before = NULL;
    BM_TRY(bm_new(&before, n, err));
    for (size_t i = 0; i < n; i++)
        before[i] = bm_input_set_source(job->inputs.set, i)->digest;
    /* Elements of an array cannot be found by file and line, since several may begin on one
     * line. */
    const bm_kept_rule rule = {.keep = keep_document,
                               .ctx = &w,
                               .cuts = cuts,
                               .at = &w.end,
                               .by_place = bm_input_set_format(job->inputs.set) != BM_FORMAT_JSON};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_kept_copy(job, writers, &rule, err));
    status = check_unchanged(&w, before, err);
out:
    bm_free(before);
    return status;
}

static bm_status write_ids(const bm_job_context *job, const uint8_t *dropped,
                           bm_kept_writer *writer, bm_error *err)
{
    for (size_t i = 0; i < job->docs.n; i++) {
        bm_doc_table_pass(&job->docs, i);
        if (dropped[i] == 0)
            BM_TRY(bm_kept_writer_id(writer, bm_doc_table_id(&job->docs, i), err));
    }
    return BM_OK;
}

static bm_kept_cfg cfg_of(const bm_job_context *job, bm_copy_side side, pthread_rwlock_t *memory)
{
    const bm_result_settings *results = &job->settings->results;
    const bool removed = bm_settings_write_removed(job->settings), other = side == BM_COPY_REMOVED;
    return (bm_kept_cfg){.set = job->inputs.set,
                         .kept = !other    ? results->kept
                                 : removed ? results->removed
                                           : BM_RECORDS_NOT_WRITTEN,
                         .written = other ? BM_WRITTEN_REMOVED : BM_WRITTEN_KEPT,
                         .halves =
                             removed && results->kept != BM_RECORDS_NOT_WRITTEN ? memory : NULL};
}

bm_status bm_kept_check_names(const bm_job_context *job, bm_error *err)
{
    if ((!bm_job_does(job->settings, BM_JOB_GROUPS) &&
         !bm_job_does(job->settings, BM_JOB_COPIES)) ||
        job->settings->results.write != NULL)
        return BM_OK;
    for (size_t i = 0; i < BM_N_COPIES; i++) {
        const bm_kept_cfg cfg = cfg_of(job, (bm_copy_side)i, NULL);
        BM_TRY(bm_kept_writer_check_names(&cfg, err));
    }
    return BM_OK;
}

/* Check that all inputs have the same header row. A stream has only one header row. */
static bm_status check_headers(const bm_input_set *set, bm_error *err)
{
    const bm_source *first = NULL;
    for (size_t i = 0; i < bm_input_set_count(set); i++) {
        const bm_source *source = bm_input_set_source(set, i);
        if (source->header.lo == 0 && source->header.hi == 0)
            continue; /* an empty file has no header */
        if (first != NULL && memcmp(&first->header, &source->header, sizeof first->header) != 0)
            return bm_fail_at(err, BM_ERR_INPUT, source->name, 1,
                              "the header is not that of %.200s (the kept documents are one "
                              "stream, which has one header)",
                              first->name);
        first = first == NULL ? source : first;
    }
    return BM_OK;
}

bm_status bm_kept_pass(bm_job_context *job, const uint8_t *dropped, const bm_kept_cuts *cuts,
                       bool has_text, bm_out_dir *dir, bm_error *err)
{
    bm_kept_writer *writers[BM_N_COPIES] = {NULL};
    if (job->settings->results.kept == BM_RECORDS_NOT_WRITTEN &&
        !bm_settings_write_removed(job->settings))
        return BM_OK;
    const bm_result_settings *results = &job->settings->results;
    if (!has_text && dir != NULL)
        return bm_rows_kept_ids(dir, &job->docs, dropped, job->pool, err);
    if (!has_text)
        return bm_rows_write_ids(
            &(bm_rows){.write = results->write, .write_ctx = results->write_ctx}, &job->docs,
            dropped, err);
    if (dir == NULL)
        BM_TRY(check_headers(job->inputs.set, err));
    pthread_rwlock_t memory;
    pthread_rwlock_init(&memory, NULL);
    bm_status status = BM_OK;
    for (size_t i = 0; i < BM_N_COPIES; i++) {
        bm_kept_cfg cfg = cfg_of(job, (bm_copy_side)i, &memory);
        cfg.dir = dir;
        cfg.write = results->write;
        cfg.write_ctx = results->write_ctx;
        if (cfg.kept != BM_RECORDS_NOT_WRITTEN)
            BM_TRY_OUT(bm_kept_writer_open(&cfg, &writers[i], err));
    }
    bm_kept_writer *kept = writers[BM_COPY_KEPT];
    BM_TRY_OUT(kept != NULL && bm_kept_writer_wants_ids(kept)
                   ? write_ids(job, dropped, kept, err)
                   : copy_documents(job, dropped, cuts, writers, err));
    for (size_t i = 0; i < BM_N_COPIES; i++)
        if (writers[i] != NULL)
            BM_TRY_OUT(bm_kept_writer_finish(writers[i], err));
out:
    for (size_t i = 0; i < BM_N_COPIES; i++)
        bm_kept_writer_close(writers[i]);
    pthread_rwlock_destroy(&memory);
    return status;
}
