/* store_note.h -- notes: a piece is its head (n: bytes of the name), the name, the caller's bytes. */
#ifndef BM_STORE_STORE_NOTE_H
#define BM_STORE_STORE_NOTE_H

#include "store/store_writer.h"

/* false: it is none. */
bool bm_store_note_read(const bm_piece_ref *ref, bm_str *name, bm_str *bytes);
/* For the next commit: as bm_store_note. */
bm_status bm_store_notes_set(bm_writer *writer, const char *name, bm_str bytes, bm_error *err);
/* Copies of those. */
bm_status bm_store_notes_copy(const bm_writer *writer, bm_writer_note **out, size_t *n,
                              bm_error *err);
void bm_store_notes_free(bm_writer_note *notes, size_t n);
/* Bytes that they take, and putting them into the file, all in one transaction. */
uint64_t bm_store_notes_size(const bm_writer *writer);
bm_status bm_store_notes_put(bm_store *store, bm_error *err);
void bm_store_notes_done(bm_writer *writer); /* they are committed */

#endif
