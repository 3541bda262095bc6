/* SPDX-License-Identifier: Apache-2.0 */
/* input_digest.c -- reads the file in large blocks and digests them with XXH3 128.
 *
 * Tests: tests/unit/input/test_content_place.c, tests/unit/input/test_input_digest.c */
#include "input/input_digest.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"

/* === content place ===
 *
 * The tracker runs an XXH3 over the current file. */

struct bm_content_tracker {
    bm_stream_hash *hash;
    uint64_t file, bytes;
    bm_content_place check;
    bool checks; /* the reader has not yet passed the position to check */
    bool lost;
};

bm_status bm_content_tracker_open(const bm_content_place *check, bm_content_tracker **out,
                                  bm_error *err)
{
    bm_content_tracker *tracker = NULL;
    BM_TRY(bm_new(&tracker, 1, err));
    bm_status status = bm_stream_hash_open(bm_isa_best(), &tracker->hash, err);
    if (status != BM_OK) {
        bm_free(tracker);
        return status;
    }
    tracker->check = check != NULL ? *check : (bm_content_place){0};
    tracker->checks = tracker->check.known;
    bm_content_tracker_begin(tracker, 0);
    *out = tracker;
    return BM_OK;
}

void bm_content_tracker_close(bm_content_tracker *tracker)
{
    if (tracker != NULL)
        bm_stream_hash_close(tracker->hash);
    bm_free(tracker);
}

void bm_content_tracker_begin(bm_content_tracker *tracker, size_t file)
{
    bm_stream_hash_begin(tracker->hash);
    tracker->file = file;
    tracker->bytes = 0;
    tracker->lost = false;
}

void bm_content_tracker_lose(bm_content_tracker *tracker)
{
    tracker->lost = true;
}

bm_content_place bm_content_tracker_place(const bm_content_tracker *tracker)
{
    return (bm_content_place){tracker->file, tracker->bytes, bm_stream_hash_end(tracker->hash),
                              !tracker->lost};
}

static bm_status changed(const char *name, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, name, 0,
                      "has changed before the place up to which its documents are saved (repair it "
                      "after that place only; start again with `force`)");
}

bm_status bm_content_tracker_add(bm_content_tracker *tracker, const char *data, size_t len,
                                 const char *name, bm_error *err)
{
    const bm_content_place *check = &tracker->check;
    size_t first = 0;
    if (tracker->checks && tracker->file == check->file && len >= check->bytes - tracker->bytes) {
        first = (size_t)(check->bytes - tracker->bytes);
        bm_stream_hash_add(tracker->hash, data, first);
        tracker->bytes += first;
        tracker->checks = false;
        const bm_content_place here = bm_content_tracker_place(tracker);
        if (here.digest.lo != check->digest.lo || here.digest.hi != check->digest.hi)
            return changed(name, err);
    }
    bm_stream_hash_add(tracker->hash, data + first, len - first);
    tracker->bytes += len - first;
    return BM_OK;
}

bm_status bm_content_tracker_end(const bm_content_tracker *tracker, const char *name, bm_error *err)
{
    return tracker->checks && tracker->file == tracker->check.file ? changed(name, err) : BM_OK;
}

#define BLOCK_BYTES ((size_t)1 << 20)

typedef struct work {
    bm_piece_hash *hash;
    char block[BLOCK_BYTES];
} work;

static bm_status read_all(const bm_stored_file *file, const bm_digest_of *of,
                          const bm_callbacks *callbacks, work *w, bm_error *err)
{
    for (uint64_t done = 0; done < of->bytes;) {
        BM_TRY(bm_check_cancelled(callbacks, err));
        const uint64_t left = of->bytes - done;
        size_t n;
        BM_TRY(bm_stored_read(file, w->block, left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES,
                              of->from + done, &n, err));
        if (n == 0)
            return BM_OK;
        bm_piece_hash_add(w->hash, w->block, n);
        done += n;
    }
    return BM_OK;
}

bm_status bm_input_digest_file(const bm_digest_of *of, const bm_callbacks *callbacks,
                               bm_hash128 *out, bm_error *err)
{
    work *w = NULL;
    BM_TRY(bm_new(&w, 1, err));
    bm_status status = bm_piece_hash_open(of->piece_bytes, &w->hash, err);
    if (status != BM_OK) {
        bm_free(w);
        return status;
    }
    bm_stored_file file;
    status = bm_stored_open(of->path, of->remote, callbacks, &file, err);
    if (status == BM_OK)
        status = read_all(&file, of, callbacks, w, err);
    bm_stored_close(&file);
    if (status == BM_OK)
        *out = bm_piece_hash_end(w->hash);
    bm_piece_hash_close(w->hash);
    bm_free(w);
    return status;
}
