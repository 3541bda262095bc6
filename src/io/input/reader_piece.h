/* reader_piece.h -- a run of whole records of one file becomes a piece of a batch. */
#ifndef BM_IO_INPUT_READER_PIECE_H
#define BM_IO_INPUT_READER_PIECE_H

#include "io/input/reader_state.h"

struct bm_reader;

/* data[piece.begin … piece.end-1] of the batch becomes a piece of the current file. */
bm_status bm_reader_add_piece(struct bm_reader *reader, bm_raw_batch *batch, bm_raw_piece piece,
                              bm_error *err);
/* The current file begins with the current piece: its header row says where its columns are. */
bm_status bm_reader_header(struct bm_reader *reader, const bm_cutter *c, bm_error *err);

#endif
