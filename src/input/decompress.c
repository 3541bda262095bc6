/* SPDX-License-Identifier: Apache-2.0 */
/* decompress.c -- finds where members begin and end, and handles the bytes between them. unpack.c
 * calls the libraries. */
#include "input/decompress.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define PIECE_BYTES ((size_t)64 << 10)

/* Buffers for a library that reads and writes whole pieces (unpack.h). */
typedef struct pieces {
    char in[PIECE_BYTES], out[PIECE_BYTES];
    size_t in_len, used; /* in_len: bytes in `in`; used: bytes of `in` that the library has read */
    /* out_len: bytes in `out`; sent: bytes of `out` that were copied to the caller */
    size_t out_len, sent;
} pieces;

struct bm_decompress {
    bm_compression kind;
    unsigned window_log; /* log2 of the largest window allowed */
    const bm_unpack_ops *ops;
    void *state;
    pieces *pieces; /* NULL: the library needs none */
    const char *name;
    bool inside;      /* a member has begun and has not ended */
    bool begun;       /* at least one member of this file has begun */
    uint64_t padding; /* zeros read after the last member */
    bm_status failed; /* status of this file; details in `error` */
    bm_error error;
};

static const bm_unpack_ops *const rows[BM_COMPRESSIONS] = {
    [BM_COMPRESSION_GZ] = &bm_unpack_gz,   [BM_COMPRESSION_ZST] = &bm_unpack_zst,
    [BM_COMPRESSION_XZ] = &bm_unpack_xz,   [BM_COMPRESSION_BZ2] = &bm_unpack_bz2,
    [BM_COMPRESSION_LZ4] = &bm_unpack_lz4,
};

bm_status bm_decompress_open(bm_compression kind, bm_decompress **out, bm_error *err)
{
    bm_decompress *d = NULL;
    BM_TRY(bm_new_zero(&d, 1, err));
    d->kind = kind;
    d->window_log = BM_WINDOW_LOG_MAX;
    d->ops = rows[kind];
    bm_status status = BM_OK;
    BM_TRY_OUT(d->ops->open(&d->state, err));
    if (d->ops->pieces) {
        BM_TRY_OUT(bm_new(&d->pieces, 1, err));
    }
out:
    if (status != BM_OK) {
        bm_decompress_close(d);
        return status;
    }
    *out = d;
    return BM_OK;
}

void bm_decompress_limit(bm_decompress *d, unsigned window_log)
{
    if (d->ops->limit == NULL || window_log >= BM_WINDOW_LOG_MAX)
        return;
    d->window_log = window_log;
    d->ops->limit(d->state, window_log);
}

void bm_decompress_begin(bm_decompress *d, const char *name)
{
    d->name = name;
    d->inside = d->begun = false;
    d->padding = 0;
    d->failed = BM_OK;
    if (d->pieces != NULL)
        d->pieces->in_len = d->pieces->used = d->pieces->out_len = d->pieces->sent = 0;
}

/* Between members: skip padding and, if input is left, begin the next member. */
static bm_status begin_member(bm_decompress *d, bm_decompress_step *step, bm_error *err)
{
    const bm_unpack_ops *ops = d->ops;
    const bm_str in = step->in;
    while (d->begun && ops->padding != 0 && step->used < in.len && in.data[step->used] == 0) {
        d->padding++;
        step->used++;
    }
    if (step->used == in.len)
        return BM_OK;
    const unsigned char first = (unsigned char)in.data[step->used];
    const bool misplaced = d->padding > 0 && (ops->padding_ends || d->padding % ops->padding != 0);
    if (d->begun && (misplaced || (ops->first_byte >= 0 && first != ops->first_byte)))
        return bm_fail_at(err, BM_ERR_INPUT, d->name, 0,
                          "other bytes after the last %s %s (expected another %s%s)",
                          bm_compression_name(d->kind), ops->members, ops->members,
                          ops->padding_ends   ? " or zeros"
                          : ops->padding != 0 ? ", or zeros in fours"
                                              : "");
    if (!ops->reset(d->state))
        return bm_fail_nomem(err, (size_t)1 << 15);
    d->inside = d->begun = true;
    d->padding = 0;
    return BM_OK;
}

static bm_status run_member(bm_decompress *d, bm_decompress_step *step, bm_error *err)
{
    const bm_unpacked unpacked = d->ops->run(d->state, step);
    const char *kind = bm_compression_name(d->kind);
    switch (unpacked.got) {
    case BM_UNPACK_END:
        d->inside = false;
        break;
    case BM_UNPACK_MORE:
        break;
    case BM_UNPACK_BROKEN:
        return bm_fail_at(err, BM_ERR_INPUT, d->name, 0, "broken %s data (%s)", kind, unpacked.why);
    case BM_UNPACK_TOO_LARGE:
        if (d->window_log < BM_WINDOW_LOG_MAX)
            return bm_fail_at(err, BM_ERR_NOMEM, d->name, 0,
                              "the %s data asks for a window of more than %u MiB, which is what "
                              "`memory` leaves for one (at least %uM for any)",
                              kind, (1u << d->window_log) >> 20, BM_WINDOW_MEMORY_MIB);
        return bm_fail_at(
            err, BM_ERR_INPUT, d->name, 0,
            "the %s data asks for a window of more than 2^%d bytes (`%s | bandmill ... "
            "-` unpacks it before; or compress it with a smaller one)",
            kind, BM_WINDOW_LOG_MAX,
            d->kind == BM_COMPRESSION_ZST ? "zstd -dc --long=31" : "xz -dc");
    case BM_UNPACK_NO_MEMORY:
        return bm_fail_nomem(err, (size_t)1 << BM_WINDOW_LOG_MAX);
    }
    return BM_OK;
}

/* Run until input or output space is used up. */
static bm_status run_members(bm_decompress *d, bm_decompress_step *step, bm_error *err)
{
    bm_status status = BM_OK;
    /* Stop only after two rounds without progress, since one call of ops->run may make none
     * (unpack.h). */
    for (unsigned idle = 0; status == BM_OK && idle < 2 && step->n_out < step->out_cap;) {
        const size_t used = step->used, n_out = step->n_out;
        if (!d->inside && step->used < step->in.len)
            status = begin_member(d, step, err);
        if (status == BM_OK && d->inside)
            status = run_member(d, step, err);
        idle = step->used == used && step->n_out == n_out ? idle + 1 : 0;
    }
    return status;
}

static void move(char *to, size_t *n_to, bm_str from, size_t *n_from)
{
    size_t n = from.len - *n_from;
    if (n > 0)
        memcpy(to, from.data + *n_from, n);
    *n_to += n;
    *n_from += n;
}

/* Copy the unpacked bytes to the caller's buffer; false: not all of them fit. */
static bool send_piece(pieces *p, bm_decompress_step *step)
{
    const size_t left = p->out_len - p->sent, room = step->out_cap - step->n_out;
    const bm_str piece = {p->out, left < room ? p->out_len : p->sent + room};
    move(step->out + step->n_out, &step->n_out, piece, &p->sent);
    return p->sent == p->out_len;
}

/* Fill the input piece. False: the piece is not full yet, and more input will come. */
static bool fill_piece(pieces *p, bm_decompress_step *step)
{
    if (p->used == p->in_len)
        p->used = p->in_len = 0;
    else if (p->used > 0 || p->in_len == PIECE_BYTES)
        return true; /* the library has begun to read this piece */
    const size_t left = step->in.len - step->used, room = PIECE_BYTES - p->in_len;
    const bm_str in = {step->in.data, left < room ? step->in.len : step->used + room};
    move(p->in + p->in_len, &p->in_len, in, &step->used);
    return p->in_len == PIECE_BYTES || step->end;
}

static bm_status run_pieces(bm_decompress *d, bm_decompress_step *step, bm_error *err)
{
    pieces *p = d->pieces;
    bm_status status = d->failed;
    bool more = true;
    while (send_piece(p, step) && status == BM_OK && more && fill_piece(p, step)) {
        const bool straight = step->out_cap - step->n_out >= PIECE_BYTES; /* into the output */
        bm_decompress_step inner = {.in = {p->in, p->in_len},
                                    .used = p->used,
                                    .out = straight ? step->out + step->n_out : p->out,
                                    .out_cap = PIECE_BYTES};
        status = run_members(d, &inner, err);
        more = inner.used > p->used || inner.n_out > 0;
        p->used = inner.used;
        p->out_len = inner.n_out;
        p->sent = straight ? inner.n_out : 0;
        step->n_out += p->sent;
    }
    return status;
}

bm_status bm_decompress_run(bm_decompress *d, bm_decompress_step *step, bm_error *err)
{
    step->n_out = 0;
    if (d->pieces != NULL)
        d->failed = run_pieces(d, step, &d->error);
    else if (d->failed == BM_OK)
        d->failed = run_members(d, step, &d->error);
    if (d->failed == BM_OK || step->n_out > 0)
        return BM_OK;
    if (err != NULL)
        *err = d->error;
    return d->failed;
}

bm_status bm_decompress_end(const bm_decompress *d, bm_error *err)
{
    if (d->begun && !d->inside && (d->padding == 0 || d->padding % d->ops->padding == 0))
        return BM_OK;
    return bm_fail_at(err, BM_ERR_INPUT, d->name, 0, "the %s data is cut short",
                      bm_compression_name(d->kind));
}

void bm_decompress_close(bm_decompress *d)
{
    if (d == NULL)
        return;
    d->ops->close(d->state);
    bm_free_all(d->pieces, d);
}
