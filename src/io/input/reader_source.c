/* reader_source.c -- a source's bytes, as stored and then as the reader sees them.
 *
 *     file | pipe + its held head | spool  ->  read_stored  ->  digest, spool
 *                                                 '-> decompressor -> head looked at -> out
 *
 * Uncompressed bytes go straight into the caller's buffer. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "io/input/reader_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/wait_readable.h"
#include "io/input/decompress.h"
#include "io/input/input_set_private.h"

#define STORED_BLOCK ((size_t)256 << 10)
#define ADVISE_BYTES ((uint64_t)1 << 20) /* a smaller file is not worth the system call */

struct bm_stream {
    XXH3_state_t hash; /* first: it needs 64-byte alignment */
    bm_input_set *set;
    bm_source *source;
    bm_held *held; /* NULL: a regular file */
    int fd;        /* -1: none open */
    bool close_fd, spooling;
    size_t head_pos;       /* of the held head, given out so far */
    off_t spool_pos;       /* where a second reader stands in the spool */
    uint64_t stored, done; /* of this source; of those before it */

    bm_decompress *decompress[3]; /* by bm_compression; opened when first needed */
    char *block;                  /* compressed bytes */
    size_t block_pos, block_len;
    bool block_end; /* no more compressed bytes */
    char peek[BM_PROBE_BYTES];
    size_t peek_pos, peek_len;
};

bm_status bm_stream_open(bm_input_set *set, bm_stream **out, bm_error *err)
{
    bm_stream *stream = bm_alloc_aligned(1, sizeof *stream);
    if (stream == NULL)
        return bm_fail_nomem(err, sizeof *stream);
    memset(stream, 0, sizeof *stream);
    stream->set = set;
    stream->fd = -1;
    *out = stream;
    return BM_OK;
}

static void leave(bm_stream *stream)
{
    if (stream->fd >= 0 && stream->close_fd)
        close(stream->fd);
    stream->fd = -1;
}

void bm_stream_close(bm_stream *stream)
{
    if (stream == NULL)
        return;
    leave(stream);
    for (size_t i = 0; i < 3; i++)
        bm_decompress_close(stream->decompress[i]);
    bm_free(stream->block);
    bm_free(stream);
}

uint64_t bm_stream_stored(const bm_stream *stream)
{
    return stream->done + stream->stored;
}

/* An unlinked file in `dir`. */
static bm_status open_spool(const char *dir, int *fd, bm_error *err)
{
    *fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd >= 0)
        return BM_OK;
    size_t cap = strlen(dir) + sizeof "/bandmill-stdin-XXXXXX";
    char *path = bm_alloc(cap, 1);
    if (path == NULL)
        return bm_fail_nomem(err, cap);
    snprintf(path, cap, "%s/bandmill-stdin-XXXXXX", dir);
    *fd = mkostemp(path, O_CLOEXEC);
    bm_status status = BM_OK;
    if (*fd < 0)
        status = bm_fail_errno(err, errno, dir, "cannot make a copy of the standard input here");
    else
        unlink(path);
    bm_free(path);
    return status;
}

static bm_status begin_held(bm_stream *stream, bm_error *err)
{
    bm_held *held = stream->held;
    stream->fd = held->fd;
    stream->close_fd = false;
    stream->head_pos = 0;
    stream->spool_pos = 0;
    if (held->spooled)
        return BM_OK;
    if (held->taken)
        return bm_fail_at(err, BM_ERR_IO, stream->source->name, 0,
                          "this input can be read only once, and was");
    held->taken = true;
    stream->spooling = stream->set->spool_dir != NULL;
    return stream->spooling ? open_spool(stream->set->spool_dir, &held->spool_fd, err) : BM_OK;
}

static bm_status begin_file(bm_stream *stream, bm_error *err)
{
    stream->fd = open(stream->source->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    stream->close_fd = true;
    if (stream->fd < 0)
        return bm_fail_errno(err, errno, stream->source->name, "cannot open");
    if (stream->source->size >= ADVISE_BYTES)
        (void)posix_fadvise(stream->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return BM_OK;
}

static bm_status write_spool(bm_stream *stream, const char *data, size_t len, bm_error *err)
{
    while (len > 0) {
        ssize_t n = write(stream->held->spool_fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bm_fail_errno(err, errno, stream->set->spool_dir,
                                 "cannot write the copy of the standard input");
        data += n;
        len -= (size_t)n;
    }
    return BM_OK;
}

/* The file has been read to its end: its digest, or the proof that it is not what it was. */
static bm_status finish(bm_stream *stream, bm_error *err)
{
    bm_source *source = stream->source;
    XXH128_hash_t sum = XXH3_128bits_digest(&stream->hash);
    bm_hash128 digest = {.lo = sum.low64, .hi = sum.high64};
    bool first = source->digest.lo == 0 && source->digest.hi == 0;
    leave(stream);
    if (stream->held != NULL && stream->spooling)
        stream->held->spooled = true;
    stream->spooling = false;
    if (!first && (digest.lo != source->digest.lo || digest.hi != source->digest.hi ||
                   stream->stored != source->bytes_read))
        return bm_fail_at(err, BM_ERR_INPUT, source->name, 0,
                          "the file changed while the job read it");
    source->digest = digest;
    source->bytes_read = stream->stored;
    return BM_OK;
}

/* Bytes as stored; *got 0 at the end. */
static bm_status read_stored(bm_stream *stream, char *out, size_t cap, size_t *got, bm_error *err)
{
    bm_held *held = stream->held;
    *got = 0;
    if (stream->fd < 0)
        return BM_OK;
    if (held != NULL && !held->spooled && stream->head_pos < held->head_len) {
        size_t left = held->head_len - stream->head_pos;
        *got = left < cap ? left : cap;
        memcpy(out, held->head + stream->head_pos, *got);
        stream->head_pos += *got;
    } else {
        ssize_t n;
        bm_status status = held != NULL && !held->spooled
                               ? bm_wait_readable(stream->set->callbacks, stream->fd, err)
                               : BM_OK;
        if (status != BM_OK)
            return status;
        do
            n = held != NULL && held->spooled ? pread(held->spool_fd, out, cap, stream->spool_pos)
                                              : read(stream->fd, out, cap);
        while (n < 0 && errno == EINTR);
        if (n < 0)
            return bm_fail_errno(err, errno, stream->source->name, "cannot read");
        *got = (size_t)n;
        stream->spool_pos += n;
    }
    if (*got == 0)
        return finish(stream, err);
    stream->stored += *got;
    XXH3_128bits_update(&stream->hash, out, *got);
    return stream->spooling ? write_spool(stream, out, *got, err) : BM_OK;
}

static bm_status read_unpacked(bm_stream *stream, char *out, size_t cap, size_t *got, bm_error *err)
{
    bm_decompress *d = stream->decompress[stream->source->compression];
    *got = 0;
    for (;;) {
        bm_str in = {.data = stream->block, .len = stream->block_len};
        bm_status status = bm_decompress_run(d, in, &stream->block_pos, out, cap, got, err);
        if (status != BM_OK || *got > 0)
            return status;
        if (stream->block_end)
            return bm_decompress_end(d, err);
        stream->block_pos = 0;
        status = read_stored(stream, stream->block, STORED_BLOCK, &stream->block_len, err);
        if (status != BM_OK)
            return status;
        stream->block_end = stream->block_len == 0;
    }
}

/* A compressed tar or Parquet file is refused like a plain one: look at what comes out first. */
static bm_status begin_unpacked(bm_stream *stream, bm_error *err)
{
    bm_compression kind = stream->source->compression;
    bm_status status = BM_OK;
    if (stream->decompress[kind] == NULL)
        status = bm_decompress_open(kind, &stream->decompress[kind], err);
    if (status == BM_OK && stream->block == NULL &&
        (stream->block = bm_alloc(STORED_BLOCK, 1)) == NULL)
        status = bm_fail_nomem(err, STORED_BLOCK);
    if (status == BM_OK)
        status = bm_decompress_begin(stream->decompress[kind], stream->source->name, err);
    stream->block_pos = stream->block_len = 0;
    stream->block_end = false;
    size_t got = 1;
    while (status == BM_OK && got > 0 && stream->peek_len < sizeof stream->peek) {
        status = read_unpacked(stream, stream->peek + stream->peek_len,
                               sizeof stream->peek - stream->peek_len, &got, err);
        stream->peek_len += status == BM_OK ? got : 0;
    }
    if (status == BM_OK)
        status = bm_probe_refused(stream->source->name, stream->peek, stream->peek_len, err);
    return status;
}

bm_status bm_stream_begin(bm_stream *stream, size_t source, bm_error *err)
{
    leave(stream);
    stream->done += stream->stored;
    stream->stored = 0;
    stream->source = bm_input_set_source(stream->set, source);
    stream->held = bm_input_set_held(stream->set, source);
    stream->spooling = false;
    stream->peek_pos = stream->peek_len = 0;
    XXH3_128bits_reset(&stream->hash);
    bm_status status = stream->held != NULL ? begin_held(stream, err) : begin_file(stream, err);
    if (status == BM_OK && stream->source->compression != BM_COMPRESSION_NONE)
        status = begin_unpacked(stream, err);
    if (status != BM_OK)
        leave(stream);
    return status;
}

bm_status bm_stream_read(bm_stream *stream, char *out, size_t cap, size_t *got, bm_error *err)
{
    if (stream->source->compression == BM_COMPRESSION_NONE)
        return read_stored(stream, out, cap, got, err);
    if (stream->peek_pos < stream->peek_len) {
        size_t left = stream->peek_len - stream->peek_pos;
        *got = left < cap ? left : cap;
        memcpy(out, stream->peek + stream->peek_pos, *got);
        stream->peek_pos += *got;
        return BM_OK;
    }
    return read_unpacked(stream, out, cap, got, err);
}
