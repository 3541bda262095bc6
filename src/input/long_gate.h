/* long_gate.h -- how much of one record may be held?
 *
 * A source holds batches of a size that it is told. A record that is longer makes its batch longer,
 * as long as a document may be, and with many threads there may be many of them. So whoever bounds the
 * memory is asked before more of such a record is held. */
#ifndef BM_IO_INPUT_LONG_GATE_H
#define BM_IO_INPUT_LONG_GATE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* A record that may not be held: it was read to its end and dropped, to say what it is. */
typedef struct bm_long_record {
    const char *file;
    uint64_t line;
    uint64_t bytes;
    uint64_t words; /* that it has at most */
} bm_long_record;

typedef struct bm_long_gate {
    void *ctx;
    /* May `bytes` of the record that is being read be held? Called again as they become more; waits
     * until they may. false: never, and `refuse` is called. What it fails with ends the reading. */
    bm_status (*hold)(void *ctx, uint64_t bytes, bool *may, bm_error *err);
    /* Says what the record would need; never BM_OK. */
    bm_status (*refuse)(void *ctx, const bm_long_record *record, bm_error *err);
} bm_long_gate;

/* Words that begin in `len` bytes of a text at most: one behind each ASCII character that is no
 * letter or digit, and two for each three other bytes, for a character of a split script is a word
 * and lets another begin behind it. */
uint64_t bm_long_words(const char *data, size_t len);

#endif
