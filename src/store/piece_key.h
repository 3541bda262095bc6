/* piece_key.h -- the keys of the index's tables, in which big-endian numbers make the order (store.h). */
#ifndef BM_STORE_PIECE_KEY_H
#define BM_STORE_PIECE_KEY_H

#include <bandmill/types.h>

#define BM_PIECE_KEY_MAX 128u
#define BM_NOTE_NAME_MAX 100u

enum {
    BM_KEY_DOCUMENTS = 'D',
    BM_KEY_NOTE = 'N',
    BM_KEY_POSTINGS = 'P',
    BM_KEY_REMOVED = 'R',
    BM_KEY_STATE = 'S'
};

/* A piece, by its key. Versions and runs are numbers that no other piece of the index ever had. */
typedef struct bm_piece_key {
    char table;      /* BM_KEY_… */
    uint64_t run;    /* POSTINGS; of DOCUMENTS, REMOVED: the version */
    uint32_t band;   /* POSTINGS: table of the run */
    uint64_t first;  /* POSTINGS: key of the first entry; NOTE: XXH3_64bits of its name */
    uint32_t number; /* POSTINGS: of the first entry; DOCUMENTS: the first; REMOVED: the range */
} bm_piece_key;

/* `out`: BM_PIECE_KEY_MAX bytes, filled. Not of a note. */
bm_str bm_piece_key_write(const bm_piece_key *key, char *out);
/* The key of a note, whose name has BM_NOTE_NAME_MAX bytes at most. */
bm_str bm_piece_key_note(bm_str name, char *out);
/* false: it is none of ours. */
bool bm_piece_key_read(bm_str bytes, bm_piece_key *out);
/* As the keys' bytes are in order, of which notes are all one. */
int bm_piece_key_order(const bm_piece_key *a, const bm_piece_key *b);
uint64_t bm_note_name_hash(bm_str name);

#endif
