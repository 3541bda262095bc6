/* reader_state.h -- what a reader knows between two batches, and while it looks for a cut. For the
 * files of the reader alone. */
#ifndef BM_IO_INPUT_READER_STATE_H
#define BM_IO_INPUT_READER_STATE_H

#include "base/memory.h"
#include "input/content_place.h"
#include "input/input_ahead.h"
#include "input/long_gate.h"
#include "input/raw_batch.h"
#include "input/record_rules.h"
#include "input/record_format.h"

struct bm_input_set;

/* What was handed out. */
typedef struct bm_reader_batches {
    uint64_t n;
    bm_status failed; /* not BM_OK: there are no more, the reader can only be closed */
} bm_reader_batches;

/* The current file is broken. */
typedef struct bm_reader_break {
    bm_error error; /* not BM_OK: to be returned next, when what stood before is handed out; */
    bool rest;      /* or, where bad records are skipped, what is left of the file is one of them */
} bm_reader_break;

/* Who is told of what is read. */
typedef struct bm_reader_watch {
    const bm_long_gate *gate;    /* borrowed; NULL: any record may be held */
    bm_content_tracker *tracker; /* NULL: places are not wanted */
} bm_reader_watch;

struct bm_reader {
    struct bm_input_set *set;
    const bm_record_format *format;
    const bm_record_rules *rules;
    size_t batch_bytes;
    uint32_t batch_records;
    bm_input_ahead *bytes;
    size_t file;         /* the current file, or the next to open */
    bool open, file_end; /* a file is open; all of it has been read */
    bool begun;          /* a piece of the current file has been made */
    uint64_t line;       /* on which the next piece begins */
    unsigned state;      /* of the scan there */
    bm_buf carry;        /* the beginning of the next batch */
    uint32_t *columns;   /* of the current file (record_rules.h) */
    double mean_bytes;   /* of the records so far, the last ones counting most */
    uint64_t n_records;  /* in the batch being made */
    bm_reader_break broken;
    bm_reader_batches batches;
    bm_reader_watch watch;
};

/* The search for a cut in the current piece. */
typedef struct bm_cutter {
    bm_raw_batch *batch;
    size_t begin; /* of the piece, in the batch */
    size_t end;   /* of the bytes read */
    size_t seen;  /* looked at so far */
    size_t cut;   /* behind the last whole record; begin: none yet */
    bm_scan scan;
    unsigned state; /* of the scan at `cut` */
    bool counted;   /* how many newlines there are before `cut`: ... */
    uint64_t lines; /* so many */
    bool full;      /* the batch must end at `cut` */
} bm_cutter;

#endif
