/* store_note.c -- see store_note.h.
 *
 * Tests: tests/unit/store/test_store_model.c */
#include "store/store_note.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

bool bm_store_note_read(const bm_piece_ref *ref, bm_str *name, bm_str *bytes)
{
    bm_piece_head head;
    if (!bm_piece_head_of(ref->bytes, ref->size, BM_PIECE_NOTE, &head) ||
        head.n > ref->size - BM_PIECE_HEAD_BYTES)
        return false;
    const char *at = (const char *)ref->bytes + BM_PIECE_HEAD_BYTES;
    *name = (bm_str){at, head.n};
    *bytes = (bm_str){at + head.n, ref->size - BM_PIECE_HEAD_BYTES - head.n};
    return true;
}

static bm_writer_note *find(const bm_writer *w, const char *name)
{
    for (size_t i = 0; i < w->n_notes; i++)
        if (strcmp(w->notes[i].name, name) == 0)
            return &w->notes[i];
    return NULL;
}

static bm_status add(bm_writer_note **list, size_t *n, size_t *cap, const bm_writer_note *note,
                     bm_error *err)
{
    BM_TRY(bm_grow_array(list, cap, *n + 1, err));
    bm_writer_note copy = {.name = bm_strdup(note->name), .len = note->len};
    if (note->bytes != NULL)
        copy.bytes = bm_strndup(note->bytes, note->len);
    if (copy.name == NULL || (note->bytes != NULL && copy.bytes == NULL)) {
        bm_free(copy.name);
        bm_free(copy.bytes);
        return bm_fail_nomem(err, note->len);
    }
    (*list)[(*n)++] = copy;
    return BM_OK;
}

bm_status bm_store_notes_set(bm_writer *w, const char *name, bm_str bytes, bm_error *err)
{
    if (name[0] == '\0' || strlen(name) > BM_NOTE_NAME_MAX ||
        bytes.len > UINT32_MAX - BM_PIECE_KEY_MAX)
        return bm_fail(err, BM_ERR_INTERNAL, "a note without a name, or a long one");
    bm_writer_note note = {(char *)(uintptr_t)name, NULL, bytes.len};
    if (bytes.len > 0)
        note.bytes = (char *)(uintptr_t)bytes.data;
    bm_writer_note *old = find(w, name);
    if (old == NULL)
        return add(&w->notes, &w->n_notes, &w->cap_notes, &note, err);
    char *copy = NULL;
    if (bytes.len > 0 && (copy = bm_strndup(bytes.data, bytes.len)) == NULL)
        return bm_fail_nomem(err, bytes.len);
    bm_free(old->bytes);
    old->bytes = copy;
    old->len = bytes.len;
    return BM_OK;
}

bm_status bm_store_notes_copy(const bm_writer *w, bm_writer_note **out, size_t *n, bm_error *err)
{
    size_t cap = 0;
    for (size_t i = 0; i < w->n_notes; i++)
        BM_TRY(add(out, n, &cap, &w->notes[i], err));
    return BM_OK;
}

void bm_store_notes_free(bm_writer_note *notes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bm_free(notes[i].name);
        bm_free(notes[i].bytes);
    }
    bm_free(notes);
}

uint64_t bm_store_notes_size(const bm_writer *w)
{
    uint64_t size = 0;
    for (size_t i = 0; i < w->n_notes; i++)
        size += BM_PIECE_HEAD_BYTES + 2 * BM_PIECE_KEY_MAX + w->notes[i].len;
    return size;
}

static bm_status put(bm_store *store, const bm_writer_note *note, bm_error *err)
{
    char key[BM_PIECE_KEY_MAX];
    const bm_str name = {note->name, strlen(note->name)};
    const bm_piece_head head = {
        .kind = BM_PIECE_NOTE, .n = (uint32_t)name.len, .first = bm_note_name_hash(name)};
    const size_t size = BM_PIECE_HEAD_BYTES + name.len + note->len;
    void *piece = NULL;
    if (note->bytes == NULL)
        return bm_store_env_del(&store->env, bm_piece_key_note(name, key), err);
    BM_TRY(bm_store_env_put(&store->env, bm_piece_key_note(name, key), size, &piece, err));
    char *at = piece;
    bm_piece_begin(piece, &head);
    memcpy(at + BM_PIECE_HEAD_BYTES, name.data, name.len);
    memcpy(at + BM_PIECE_HEAD_BYTES + name.len, note->bytes, note->len);
    bm_piece_seal(piece, size);
    return BM_OK;
}

bm_status bm_store_notes_put(bm_store *store, bm_error *err)
{
    for (size_t i = 0; i < store->writer->n_notes; i++)
        BM_TRY(put(store, &store->writer->notes[i], err));
    return BM_OK;
}

void bm_store_notes_done(bm_writer *w)
{
    bm_store_notes_free(w->notes, w->n_notes);
    w->notes = NULL;
    w->n_notes = w->cap_notes = 0;
}
