/* reader_piece.h -- a run of whole records of one file becomes a piece of a batch. */
#ifndef BM_IO_INPUT_READER_PIECE_H
#define BM_IO_INPUT_READER_PIECE_H

#include "input/reader_state.h"

struct bm_reader;

/* data[piece.begin … piece.end-1] of the batch becomes a piece of the current file. */
bm_status bm_reader_add_piece(struct bm_reader *reader, bm_raw_batch *batch, bm_raw_piece piece,
                              bm_error *err);
/* The current file begins with the current piece: its header row says where its columns are. */
bm_status bm_reader_header(struct bm_reader *reader, const bm_cutter *c, bm_error *err);
/* `row`, without a byte order mark, is that row. */
bm_status bm_reader_columns(struct bm_reader *reader, bm_str row, bm_error *err);
/* BM_ERR_INPUT: it is longer than a document may be. */
bm_status bm_reader_header_too_long(const struct bm_reader *reader, bm_error *err);
/* So many bytes more of the current file are taken in. BM_ERR_FORMAT: they are not those that stood
 * before the place that is looked for. */
bm_status bm_reader_saw(const struct bm_reader *reader, const char *data, size_t len,
                        bm_error *err);
/* All of the current file is read: the next one follows. BM_ERR_FORMAT: it ended before that place. */
bm_status bm_reader_end_file(struct bm_reader *reader, bm_error *err);

#endif
