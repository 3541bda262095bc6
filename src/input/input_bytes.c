/* SPDX-License-Identifier: Apache-2.0 */
/* input_bytes.c -- reads a file, a pipe or the spool, and delivers decompressed bytes.
 *
 *     a file                                  .-> digest
 *     a pipe (first its bytes already read) --+-> decompressor, or nothing -> the caller
 *     the spool of a pipe                     '-> spool, when a pipe is read for the first time
 *
 * Bytes that are not compressed go straight into the caller's buffer.
 *
 * Tests: tests/cli/cases/tables_stdin.sh, tests/unit/input/test_input_copy.c,
 *        tests/unit/input/test_input_set.c, tests/unit/input/test_reader.c */
#include "input/input_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/temp_file.h"
#include "input/decompress.h"
#include "model/stream_hash.h"

#define STORED_BLOCK ((size_t)256 << 10)
#define ADVISE_BYTES ((uint64_t)1 << 20) /* a smaller file is not worth the system call */

/* Did the file itself cause the last failure? */
typedef enum breakage {
    NOT_BROKEN,
    DAMAGED,   /* yes: the contents of the file are broken */
    UNREADABLE /* yes: the stored bytes of the file could not be read */
} breakage;

struct bm_input_bytes {
    bm_piece_hash *hash; /* hash of the source's bytes as stored */
    bm_input_set *set;
    bm_source *source;
    bm_held *held;       /* NULL: a regular file */
    int fd;              /* descriptor of the held source; -1: none is open */
    bm_stored_file file; /* if `held` is NULL: the open file */
    bool spooling;       /* the bytes that are read are also copied to the spool */
    bool apart;          /* only bm_input_bytes_accept changes the set */
    unsigned window_log; /* log2 of a decoder's largest window; 0: decompress.h's limit */
    const bm_callbacks *callbacks;
    breakage broken;   /* whether the file itself caused the last failure */
    size_t head_pos;   /* bytes of held->head already delivered */
    off_t spool_pos;   /* offset in the spool, when the source is read again */
    uint64_t stored;   /* stored bytes of this source read so far */
    uint64_t done;     /* stored bytes of all sources before this one */
    bm_hash128 digest; /* digest of the source that was last read to its end */

    bm_decompress *decompress[BM_COMPRESSIONS]; /* opened when first needed */
    char *block;                                /* compressed bytes */
    /* block_pos: bytes of `block` already used; block_len: bytes in it */
    size_t block_pos, block_len;
    bool block_end; /* there are no more compressed bytes */
    /* bytes of `block` that read_packed has delivered */
    size_t packed_pos;
    char peek[BM_HEAD_BYTES]; /* the first decompressed bytes */
    size_t peek_pos, peek_len;
};

bm_status bm_input_bytes_open(bm_input_set *set, bm_input_bytes **out, bm_error *err)
{
    bm_input_bytes *bytes = NULL;
    BM_TRY(bm_new(&bytes, 1, err));
    memset(bytes, 0, sizeof *bytes);
    bytes->set = set;
    bytes->fd = -1;
    bytes->file = BM_STORED_FILE_NONE;
    bytes->callbacks = set->callbacks;
    bytes->window_log = set->window_log;
    bm_status status = bm_piece_hash_open(BM_FILE_PIECE_BYTES, &bytes->hash, err);
    if (status != BM_OK) {
        bm_free(bytes);
        return status;
    }
    *out = bytes;
    return BM_OK;
}

void bm_input_bytes_set_apart(bm_input_bytes *bytes, const bm_callbacks *callbacks,
                              unsigned window_log)
{
    bytes->apart = true;
    bytes->callbacks = callbacks;
    if (bytes->window_log == 0 || window_log < bytes->window_log)
        bytes->window_log = window_log;
}

static void close_file(bm_input_bytes *bytes)
{
    bm_stored_close(&bytes->file);
    bytes->fd = -1;
}

void bm_input_bytes_close(bm_input_bytes *bytes)
{
    if (bytes == NULL)
        return;
    close_file(bytes);
    for (size_t i = 0; i < BM_COMPRESSIONS; i++)
        bm_decompress_close(bytes->decompress[i]);
    bm_free(bytes->block);
    bm_piece_hash_close(bytes->hash);
    bm_free(bytes);
}

uint64_t bm_input_bytes_stored(const bm_input_bytes *bytes)
{
    return bytes->done + bytes->stored;
}

uint64_t bm_input_bytes_in_source(const bm_input_bytes *bytes)
{
    return bytes->stored;
}

/* Open a new, nameless file in `dir`. */
static bm_status open_spool(const char *dir, int *fd, bm_error *err)
{
    *fd = bm_open_nameless(dir);
    return *fd >= 0 ? BM_OK
                    : bm_fail_temp_file(err, errno, dir,
                                        "cannot make a copy of the standard input here");
}

static bm_status begin_held(bm_input_bytes *bytes, bm_error *err)
{
    bm_held *held = bytes->held;
    bytes->fd = held->fd;
    bytes->head_pos = 0;
    bytes->spool_pos = 0;
    if (held->spooled)
        return BM_OK;
    if (held->taken)
        return bm_fail_at(err, BM_ERR_IO, bytes->source->name, 0,
                          "this input can be read only once, and was");
    held->taken = true;
    bytes->spooling = bytes->set->spool_dir != NULL;
    return bytes->spooling ? open_spool(bytes->set->spool_dir, &held->spool_fd, err) : BM_OK;
}

/* Called when opening or reading the source failed with `why`. Returns `status` with an error in
 * *err, and records in bytes->broken whether the source itself caused the failure. */
static bm_status fail_source(bm_input_bytes *bytes, bm_status status, const bm_error *why,
                             bm_error *err)
{
    const bool is_its_own =
        status != BM_ERR_NOMEM && status != BM_ERR_CANCELLED && bm_errno_is_of_file((int)why->code);
    bytes->broken = is_its_own ? UNREADABLE : NOT_BROKEN;
    if (err != NULL)
        *err = *why;
    return status;
}

static bm_status begin_file(bm_input_bytes *bytes, bm_error *err)
{
    const bm_source *source = bytes->source;
    bm_error why = {0};
    const bm_status status = bm_stored_open(source->path, source->remote, NULL, &bytes->file, &why);
    if (status != BM_OK)
        return fail_source(bytes, status, &why, err);
    if (bytes->file.fd >= 0 && source->size >= ADVISE_BYTES)
        (void)posix_fadvise(bytes->file.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return BM_OK;
}

static bm_status read_file(bm_input_bytes *bytes, char *out, size_t cap, size_t *got, bm_error *err)
{
    bm_error why = {0};
    bm_status status = BM_OK;
    if (bytes->file.remote != NULL) {
        status =
            bm_remote_read(bytes->file.remote, out, cap, bm_input_bytes_place(bytes), got, &why);
    } else {
        ssize_t n;
        do
            n = pread(bytes->file.fd, out, cap, (off_t)bm_input_bytes_place(bytes));
        while (n < 0 && errno == EINTR);
        *got = n < 0 ? 0 : (size_t)n;
        if (n < 0)
            status = bm_fail_errno(&why, errno, bytes->source->name, "cannot read");
    }
    return status == BM_OK ? BM_OK : fail_source(bytes, status, &why, err);
}

static bm_status write_spool(bm_input_bytes *bytes, const char *data, size_t len, bm_error *err)
{
    while (len > 0) {
        ssize_t n = write(bytes->held->spool_fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bm_fail_temp_file(err, errno, bytes->set->spool_dir,
                                     "cannot write the copy of the standard input");
        data += n;
        len -= (size_t)n;
        bytes->held->spool_bytes += (uint64_t)n;
    }
    return BM_OK;
}

void bm_input_bytes_accept(const bm_input_bytes *bytes)
{
    bytes->source->digest = bytes->digest;
    bytes->source->bytes_read = bytes->stored;
}

/* Check a source that was read to its end. A part of a file must have the length of the part. If
 * the source was read before, its contents must not have changed. */
static bm_status check_same(const bm_source *source, bm_hash128 digest, uint64_t n, bm_error *err)
{
    const bool first = source->digest.lo == 0 && source->digest.hi == 0;
    if ((!first && (digest.lo != source->digest.lo || digest.hi != source->digest.hi ||
                    n != source->bytes_read)) ||
        (source->cut.to != 0 && n != source->cut.to - source->cut.from))
        return bm_fail_at(err, BM_ERR_INPUT, source->name, 0,
                          "the file changed while the job read it");
    return BM_OK;
}

bm_status bm_input_bytes_pass_source(bm_input_bytes *bytes, size_t source, bm_hash128 digest,
                                     uint64_t n, bm_error *err)
{
    bm_source *of = bm_input_set_source(bytes->set, source);
    BM_TRY(check_same(of, digest, n, err));
    of->digest = digest;
    of->bytes_read = n;
    bytes->done += n;
    return BM_OK;
}

/* End a source that was read to its end: check it (check_same) and, unless bytes->apart, record its
 * digest in the set. */
static bm_status finish(bm_input_bytes *bytes, bm_error *err)
{
    bytes->digest = bm_piece_hash_end(bytes->hash);
    close_file(bytes);
    if (bytes->held != NULL && bytes->spooling)
        bytes->held->spooled = true;
    bytes->spooling = false;
    BM_TRY(check_same(bytes->source, bytes->digest, bytes->stored, err));
    if (!bytes->apart)
        bm_input_bytes_accept(bytes);
    return BM_OK;
}

/* Read bytes as stored; *got 0 at the end. */
static bm_status read_stored(bm_input_bytes *bytes, char *out, size_t cap, size_t *got,
                             bm_error *err)
{
    bm_held *held = bytes->held;
    const bm_source_cut *cut = &bytes->source->cut;
    *got = 0;
    if (bytes->fd < 0 && !bm_stored_is_open(&bytes->file))
        return BM_OK;
    if (cut->to != 0 && cap > cut->to - cut->from - bytes->stored)
        cap = (size_t)(cut->to - cut->from - bytes->stored); /* 0 at the end of the cut */
    bm_status asked = bm_check_cancelled(bytes->callbacks, err);
    if (asked != BM_OK)
        return asked;
    if (held != NULL && !held->spooled && bytes->head_pos < held->head.len) {
        size_t left = held->head.len - bytes->head_pos;
        *got = left < cap ? left : cap;
        memcpy(out, held->head.bytes + bytes->head_pos, *got);
        bytes->head_pos += *got;
    } else if (held == NULL) {
        BM_TRY(read_file(bytes, out, cap, got, err));
    } else {
        ssize_t n;
        bm_error why = {0};
        if (!held->spooled)
            BM_TRY(bm_read_ready(bytes->set->callbacks, bytes->fd, out, cap, &n, err));
        else
            do
                n = pread(held->spool_fd, out, cap, bytes->spool_pos);
            while (n < 0 && errno == EINTR);
        if (n < 0)
            return fail_source(
                bytes, bm_fail_errno(&why, errno, bytes->source->name, "cannot read"), &why, err);
        *got = (size_t)n;
        bytes->spool_pos += n;
    }
    if (*got == 0)
        return finish(bytes, err);
    bytes->stored += *got;
    bm_piece_hash_add(bytes->hash, out, *got);
    return bytes->spooling ? write_spool(bytes, out, *got, err) : BM_OK;
}

static bm_status read_decompressed(bm_input_bytes *bytes, char *out, size_t cap, size_t *got,
                                   bm_error *err)
{
    bm_decompress *d = bytes->decompress[bytes->source->compression];
    *got = 0;
    for (;;) {
        bm_decompress_step step = {.in = {.data = bytes->block, .len = bytes->block_len},
                                   .used = bytes->block_pos,
                                   .end = bytes->block_end,
                                   .out = out,
                                   .out_cap = cap};
        bm_status status = bm_decompress_run(d, &step, err);
        bytes->block_pos = step.used;
        *got = step.n_out;
        if (status == BM_OK && *got > 0)
            return BM_OK;
        if (status == BM_OK && bytes->block_end)
            status = bm_decompress_end(d, err);
        if (status != BM_OK || bytes->block_end) {
            bytes->broken = status == BM_ERR_INPUT ? DAMAGED : NOT_BROKEN;
            return status;
        }
        bytes->block_pos = 0;
        status = read_stored(bytes, bytes->block, STORED_BLOCK, &bytes->block_len, err);
        if (status != BM_OK)
            return status;
        bytes->block_end = bytes->block_len == 0;
    }
}

/* Refuse a compressed tar or Parquet file by its first unpacked bytes, like an uncompressed one. */
static bm_status peek_at_decompressed(bm_input_bytes *bytes, bm_error *err)
{
    bm_error error;
    bm_status status = BM_OK;
    size_t got = 1;
    while (status == BM_OK && got > 0 && bytes->peek_len < sizeof bytes->peek) {
        status = read_decompressed(bytes, bytes->peek + bytes->peek_len,
                                   sizeof bytes->peek - bytes->peek_len, &got, &error);
        bytes->peek_len += status == BM_OK ? got : 0;
    }
    if (status != BM_OK && bytes->broken != DAMAGED) {
        if (err != NULL)
            *err = error;
        return status;
    }
    /* a later read will report the damage, after the bytes before it */
    status = bm_probe_refused(bytes->source->name, bytes->peek, bytes->peek_len, err);
    bytes->broken = status == BM_OK ? NOT_BROKEN : DAMAGED;
    return status;
}

static bm_status begin_decompressed(bm_input_bytes *bytes, bm_error *err)
{
    bm_compression kind = bytes->source->compression;
    bm_status status = BM_OK;
    if (bytes->decompress[kind] == NULL) {
        BM_TRY_OUT(bm_decompress_open(kind, &bytes->decompress[kind], err));
        if (bytes->window_log != 0)
            bm_decompress_limit(bytes->decompress[kind], bytes->window_log);
    }
    if (bytes->block == NULL && (bytes->block = bm_alloc(STORED_BLOCK, 1)) == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, STORED_BLOCK));
    bm_decompress_begin(bytes->decompress[kind], bytes->source->name);
out:
    bytes->block_pos = bytes->block_len = 0;
    bytes->block_end = false;
    return status == BM_OK ? peek_at_decompressed(bytes, err) : status;
}

bm_status bm_input_bytes_begin(bm_input_bytes *bytes, size_t source, bm_error *err)
{
    close_file(bytes);
    bytes->done += bytes->stored;
    bytes->stored = 0;
    bytes->source = bm_input_set_source(bytes->set, source);
    bytes->held = bm_input_set_held(bytes->set, source);
    bytes->spooling = false;
    bytes->broken = NOT_BROKEN;
    bytes->peek_pos = bytes->peek_len = bytes->packed_pos = 0;
    bm_piece_hash_begin(bytes->hash);
    if (bytes->source->unreadable != NULL) {
        bytes->broken = UNREADABLE;
        return bm_fail_at(err, BM_ERR_INPUT, bytes->source->name, 0, "%s",
                          bytes->source->unreadable);
    }
    bm_status status = BM_OK;
    BM_TRY_OUT(bytes->held != NULL ? begin_held(bytes, err) : begin_file(bytes, err));
    if (bytes->source->compression != BM_COMPRESSION_NONE)
        BM_TRY_OUT(begin_decompressed(bytes, err));
out:
    if (status != BM_OK && bytes->broken == NOT_BROKEN)
        close_file(bytes);
    return status;
}

bool bm_input_bytes_is_broken(const bm_input_bytes *bytes)
{
    return bytes->broken != NOT_BROKEN;
}

bm_status bm_input_bytes_pass_over(bm_input_bytes *bytes, bm_error *err)
{
    bm_status status = BM_OK;
    if (bytes->block == NULL && (bytes->block = bm_alloc(STORED_BLOCK, 1)) == NULL)
        return bm_fail_nomem(err, STORED_BLOCK);
    size_t got = 1;
    while (got > 0 && bytes->broken != UNREADABLE)
        BM_TRY_OUT(read_stored(bytes, bytes->block, STORED_BLOCK, &got, err));
out:
    close_file(bytes);
    return bytes->broken == UNREADABLE ? BM_OK : status;
}

bm_status bm_input_bytes_read(bm_input_bytes *bytes, char *out, size_t cap, size_t *got,
                              bm_error *err)
{
    bytes->broken = NOT_BROKEN;
    if (bytes->source->compression == BM_COMPRESSION_NONE)
        return read_stored(bytes, out, cap, got, err);
    /* decompressing a few bytes may take long */
    BM_TRY(bm_check_cancelled(bytes->callbacks, err));
    if (bytes->peek_pos < bytes->peek_len) {
        size_t left = bytes->peek_len - bytes->peek_pos;
        *got = left < cap ? left : cap;
        memcpy(out, bytes->peek + bytes->peek_pos, *got);
        bytes->peek_pos += *got;
        return BM_OK;
    }
    return read_decompressed(bytes, out, cap, got, err);
}

const bm_stored_file *bm_input_bytes_file(const bm_input_bytes *bytes)
{
    const bool is_plain = bytes->source != NULL && bm_stored_is_open(&bytes->file) &&
                          bytes->source->compression == BM_COMPRESSION_NONE;
    return is_plain ? &bytes->file : NULL;
}

uint64_t bm_input_bytes_place(const bm_input_bytes *bytes)
{
    return bytes->source->cut.from + bytes->stored;
}

void bm_input_bytes_pass(bm_input_bytes *bytes, const char *data, size_t n)
{
    bytes->stored += n;
    bm_piece_hash_add(bytes->hash, data, n);
}

bm_status bm_input_bytes_read_packed(bm_input_bytes *bytes, char *out, size_t cap, size_t *got,
                                     bm_error *err)
{
    const size_t left = bytes->block_len - bytes->packed_pos;
    if (bytes->packed_pos == 0 && bytes->stored != bytes->block_len)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "the first bytes are not held any more");
    if (left == 0)
        return read_stored(bytes, out, cap, got, err);
    *got = left < cap ? left : cap;
    memcpy(out, bytes->block + bytes->packed_pos, *got);
    bytes->packed_pos += *got;
    return BM_OK;
}

/* === input copy ===
 *
 * The unlinked copy is opened again through /proc/self/fd. */

#define BLOCK_BYTES ((size_t)256 << 10)
#define PLACE_BYTES 40u

/* Read the source from its first byte to its last, so that all of it is copied to the spool. */
static bm_status copy_all(bm_input_set *set, size_t index, char *block, bm_error *err)
{
    bm_input_bytes *bytes = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_input_bytes_open(set, &bytes, err));
    BM_TRY_OUT(bm_input_bytes_begin(bytes, index, err));
    for (size_t got = 1; got > 0;)
        BM_TRY_OUT(bm_input_bytes_read(bytes, block, BLOCK_BYTES, &got, err));
out:
    bm_input_bytes_close(bytes);
    return status;
}

static bm_status find_spool_dir(bm_input_set *set, bm_error *err)
{
    const char *dir = set->resources.temp_dir != NULL ? set->resources.temp_dir : "/tmp";
    if (set->spool_dir == NULL && (set->spool_dir = bm_strdup(dir)) == NULL)
        return bm_fail_nomem(err, strlen(dir));
    return BM_OK;
}

bm_status bm_input_copy(bm_input_set *set, size_t index, bm_error *err)
{
    bm_held *held = bm_input_set_held(set, index);
    bm_source *source = bm_input_set_source(set, index);
    if (held == NULL || source->copy != NULL)
        return BM_OK;
    char *block = bm_alloc(BLOCK_BYTES, 1), *place = bm_alloc(PLACE_BYTES, 1);
    bm_status status = BM_OK;
    BM_TRY_OUT(block != NULL && place != NULL ? find_spool_dir(set, err)
                                              : bm_fail_nomem(err, BLOCK_BYTES));
    status = copy_all(set, index, block, err);
out:
    bm_free(block);
    if (status != BM_OK) {
        bm_free(place);
        return status;
    }
    snprintf(place, PLACE_BYTES, "/proc/self/fd/%d", held->spool_fd);
    source->copy = place;
    return BM_OK;
}
