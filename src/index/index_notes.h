/* index_notes.h -- what an index notes of those that filled it: the names of inputs, and how far each add came.
 *
 *     inputs   a name a line (escaped as in TSV); bm_store_doc.input is the number of the line, from 0
 *     adds     a line an add, the last 64 of them: what it is, how far it came, so that it can go on
 *
 * Inputs that are each one document (format files) are not listed: there the id says which it was. */
#ifndef BM_INDEX_INDEX_NOTES_H
#define BM_INDEX_INDEX_NOTES_H

#include "job/job_context.h"
#include "store/store_write.h"

#define BM_INDEX_NO_INPUT UINT32_MAX

/* List the inputs of a job behind those that are listed in the view (NULL: none are); *first: the number of file 0,
 * BM_INDEX_NO_INPUT where they are not listed. `names`: the whole list, the caller's to reset. */
bm_status bm_index_inputs_list(const bm_job_context *job, const bm_store_view *view, bm_buf *names,
                               uint32_t *first, bm_error *err);
/* The name of an input, unescaped, into an empty buffer; "" where there is none. */
bm_status bm_index_input_name(bm_str names, uint32_t input, bm_buf *out, bm_error *err);

/* Where an add has come to. */
typedef struct bm_index_add_place {
    uint64_t records;
    bm_content_place place; /* behind the last of them; not known: the end of all inputs */
} bm_index_add_place;

/* What an add is, and what is noted of others. */
typedef struct bm_index_add_note {
    uint64_t names, settings; /* hashes of the names of its inputs, of what decides its results */
    uint64_t before;          /* of the first n_before inputs: names, sizes, times of change */
    size_t n_before;
    bm_buf others;   /* lines */
    bool noted;      /* its inputs can be read again, so it could go on */
} bm_index_add_note; /* {0}; reset */

/* What this job is, and, with `resume`, where it came to before: records 0 is the beginning. BM_ERR_FORMAT:
 * inputs before that place are not what they were, or the options are others. BM_ERR_USAGE: inputs that cannot be read
 * again. */
bm_status bm_index_add_note_open(const bm_job_context *job, const bm_store_view *view,
                                 bm_index_add_note *note, bm_index_add_place *place, bm_error *err);
void bm_index_add_note_reset(bm_index_add_note *note);
/* With the next commit it has come so far. */
bm_status bm_index_add_note_save(bm_index_add_note *note, const bm_job_context *job,
                                 const bm_index_add_place *place, bm_store *store, bm_error *err);

#endif
