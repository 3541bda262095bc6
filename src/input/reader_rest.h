/* reader_rest.h -- what the reader does not hold or cannot read: records that are too long, and the rest
 * of a file that is broken.
 *
 * A file may be broken where its bytes cannot be read (a failing disk, damaged compression) or where its
 * array of JSON ends. Where bad records are skipped, what is left of it, from the record that has begun, is
 * then one bad record: an empty piece with `broken` ends the file, and the next file follows. Else
 * reading ends with the error. */
#ifndef BM_IO_INPUT_READER_REST_H
#define BM_IO_INPUT_READER_REST_H

#include "input/reader_state.h"

/* Begin the current file, and read from it. Where the file is broken and bad records are skipped: BM_OK,
 * *got 0, and reader->broken.rest. */
bm_status bm_reader_begin_file(struct bm_reader *reader, bm_error *err);
bm_status bm_reader_read(struct bm_reader *reader, char *out, size_t cap, size_t *got,
                         bm_error *err);
/* The piece that stands for the rest of the file, which begins on `line`. */
bm_status bm_reader_add_rest(struct bm_reader *reader, bm_raw_batch *batch, uint64_t line,
                             bm_error *err);
/* The array of the current file is broken on this line: once what stands before is handed out, that is the
 * end, or the rest of the file is passed over. */
bm_status bm_reader_break_off(struct bm_reader *reader, uint64_t line, const char *why,
                              bm_error *err);
/* The record that has begun is longer than a document may be: its first bytes become a piece of their own. Or
 * else (`to_refuse`) the gate will not have it held, and how long it is has yet to be seen. */
bm_status bm_reader_take_too_long(struct bm_reader *reader, bm_cutter *c, bool to_refuse,
                                  bm_error *err);

#endif
