/* chunk_texts.h -- the texts of a row of a table: its cells, and the values of its lists.
 *
 * All of them are joined by newlines. Null is an empty text, and so is a list without values, or that is null. */
#ifndef BM_IO_SOURCES_CHUNK_TEXTS_H
#define BM_IO_SOURCES_CHUNK_TEXTS_H

#include "base/memory.h"
#include "sources/table_stream.h"

/* Bytes of its n texts, without what joins them; words as a long gate counts them. */
size_t bm_chunk_text_bytes(const bm_table_chunk *chunk, size_t n, size_t row);
uint64_t bm_chunk_text_words(const bm_table_chunk *chunk, size_t n, size_t row);

/* The texts that are wanted. */
typedef struct bm_text_wish {
    size_t n, row;
    bm_buf *joined; /* where they are put, if there are several */
} bm_text_wish;

/* *out lies in the chunk where one cell is all, else in `joined`. */
bm_status bm_chunk_text(const bm_table_chunk *chunk, const bm_text_wish *wish, bm_str *out,
                        bm_error *err);

#endif
