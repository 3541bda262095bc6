/* store_pages.c -- see store_pages.h.
 *
 * Tests: tests/unit/store/test_store_damage.c, tests/unit/store/test_store_processes.c */
#include "store/store_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/piece.h"

#define FREE_TABLE  0u /* as mdb_stat has it */
#define FIRST_PAGE  2u /* behind the two that say which transaction is the last */
#define VALUE_AT    (BM_PIECE_PAGE - BM_PIECE_HEAD) /* in pages of its own */
#define MAP_ALIGNED ((uint32_t)sysconf(_SC_PAGESIZE))

typedef struct reading {
    const bm_pages_of *of;
    bm_piece_refs *pieces;
    bm_store_record *out;
    uint64_t *owned; /* a bit a page: it is free, or a value's */
    size_t cap_owned;
    uint64_t n_owned, last_owned;
    size_t last_freed; /* the transaction whose free pages were read last */
    bm_error *err;
} reading;

static bm_status damaged(const reading *r, const char *what)
{
    return bm_fail(r->err, BM_ERR_FORMAT, "the index is damaged: %s", what);
}

static bool is_owned(const reading *r, uint64_t page)
{
    return page / 64 < r->cap_owned && (r->owned[page / 64] >> page % 64 & 1) != 0;
}

/* Pages first … first+n-1 get an owner. Of free pages at the end some may never have been written, but each has a number in
 * the file. */
static bm_status own(reading *r, uint64_t first, uint64_t n)
{
    const uint64_t most = r->of->size / r->out->page_bytes + r->of->size / sizeof(size_t);
    const size_t cap = r->cap_owned;
    if (first < FIRST_PAGE || first > most || n == 0 || n > most - first + 1)
        return damaged(r, "it names a page that is not there");
    const uint64_t last = first + n - 1;
    BM_TRY(bm_grow_array(&r->owned, &r->cap_owned, (size_t)(last / 64 + 1), r->err));
    memset(r->owned + cap, 0, (r->cap_owned - cap) * sizeof *r->owned);
    for (uint64_t page = first; page <= last; page++) {
        if (is_owned(r, page))
            return damaged(r, "a page is used twice");
        r->owned[page / 64] |= UINT64_C(1) << page % 64;
    }
    r->n_owned += n;
    r->last_owned = last > r->last_owned ? last : r->last_owned;
    return BM_OK;
}

static bm_status take_piece(reading *r, const MDB_val *key, const MDB_val *value)
{
    bm_piece_refs *to = r->pieces;
    BM_TRY(bm_grow_array(&to->list, &to->cap, to->n + 1, r->err));
    bm_piece_ref *ref = &to->list[to->n++];
    if (!bm_piece_key_read((bm_str){key->mv_data, key->mv_size}, &ref->key) ||
        value->mv_size > UINT32_MAX)
        return damaged(r, "it has a key that none writes");
    if (to->n > 1 && bm_piece_key_order(&ref[-1].key, &ref->key) >= 0)
        return damaged(r, "its keys are not in order");
    ref->size = (uint32_t)value->mv_size;
    ref->bytes = value->mv_data; /* in LMDB's map */
    return BM_OK;
}

/* The pages that a transaction has freed: how many, and their numbers. */
static bm_status take_free(reading *r, const MDB_val *key, const MDB_val *value)
{
    const char *at = value->mv_data;
    size_t n = 0, page, txn = 0;
    if (key->mv_size == sizeof txn)
        memcpy(&txn, key->mv_data, sizeof txn);
    if (value->mv_size >= sizeof n)
        memcpy(&n, at, sizeof n);
    if (txn <= r->last_freed || value->mv_size < sizeof n || n > value->mv_size / sizeof n - 1)
        return damaged(r, "a list of free pages");
    r->last_freed = txn;
    for (size_t i = 1; i <= n; i++) {
        memcpy(&page, at + i * sizeof page, sizeof page);
        BM_TRY(own(r, page, 1));
    }
    r->out->n_free += n;
    return BM_OK;
}

static bm_status walk(reading *r, MDB_dbi table,
                      bm_status (*fn)(reading *r, const MDB_val *key, const MDB_val *value))
{
    const bm_lmdb_library *lib = &r->of->env->lib;
    MDB_cursor *cursor;
    MDB_val key, value;
    bm_status status = BM_OK;
    int rc = lib->mdb_cursor_open(r->of->txn, table, &cursor);
    if (rc != 0)
        return bm_lmdb_fail(lib, rc, r->of->env->name, "cannot read the index", r->err);
    while ((rc = lib->mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0)
        BM_TRY_OUT(fn(r, &key, &value));
    if (rc != MDB_NOTFOUND)
        status = bm_lmdb_fail(lib, rc, r->of->env->name, "cannot read the index", r->err);
out:
    lib->mdb_cursor_close(cursor);
    return status;
}

/* *base: where page 0 is in LMDB's map. Below the value of the lowest address there are pages of LMDB's own and free ones: of
 * the others the first that is the same as that value's page in LMDB's map is that page. */
static bm_status find_base(const reading *r, const uint8_t **base)
{
    const size_t page_bytes = r->out->page_bytes;
    const uint8_t *low = r->pieces->n > 0 ? r->pieces->list[0].bytes : NULL;
    for (size_t i = 1; i < r->pieces->n; i++)
        low = r->pieces->list[i].bytes < low ? r->pieces->list[i].bytes : low;
    low -= (uintptr_t)low % page_bytes;
    const uint64_t pages = r->of->size / page_bytes;
    for (uint64_t page = FIRST_PAGE; page < pages; page++)
        if (!is_owned(r, page) && memcmp(r->of->bytes + page * page_bytes, low, page_bytes) == 0) {
            *base = low - page * page_bytes;
            return BM_OK;
        }
    return damaged(r, "a value is not in the file");
}

/* Each piece to its place in our map. */
static bm_status place_pieces(reading *r, uint64_t n_pages)
{
    const size_t page_bytes = r->out->page_bytes;
    const uint8_t *base = NULL;
    XXH3_state_t heads;
    if (r->pieces->n > 0)
        BM_TRY(find_base(r, &base));
    XXH3_64bits_reset(&heads);
    for (size_t i = 0; i < r->pieces->n; i++) {
        bm_piece_ref *ref = &r->pieces->list[i];
        const uintptr_t at = (uintptr_t)ref->bytes - (uintptr_t)base;
        if (at > r->of->size || ref->size > r->of->size - at)
            return damaged(r, "a value is not in the file");
        ref->bytes = r->of->bytes + at;
        if (at % page_bytes != VALUE_AT)
            continue;
        const uint64_t n = (VALUE_AT + (uint64_t)ref->size + page_bytes - 1) / page_bytes;
        BM_TRY(own(r, at / page_bytes, n));
        XXH3_64bits_update(&heads, ref->bytes - VALUE_AT, VALUE_AT);
        n_pages -= n;
    }
    r->out->heads = XXH3_64bits_digest(&heads);
    return n_pages == 0 ? BM_OK : damaged(r, "a value has other pages than LMDB counts");
}

/* List the remaining pages, which are LMDB's own. Their number gives the last page. */
static bm_status list_spans(reading *r, uint64_t n_pages)
{
    bm_store_record *out = r->out;
    out->last_page = FIRST_PAGE + r->n_owned + n_pages - 1;
    if (r->last_owned > out->last_page || n_pages > r->of->size / out->page_bytes)
        return damaged(r, "a page is nobody's");
    for (uint64_t page = FIRST_PAGE; page <= out->last_page; page++) {
        if (is_owned(r, page))
            continue;
        bm_page_span *last = out->n_spans > 0 ? &out->spans[out->n_spans - 1] : NULL;
        if (last != NULL && last->first + last->n == page) {
            last->n++;
            continue;
        }
        BM_TRY(bm_grow_array(&out->spans, &out->cap_spans, out->n_spans + 1, r->err));
        out->spans[out->n_spans++] = (bm_page_span){page, 1};
    }
    return BM_OK;
}

static bm_status read_all(reading *r)
{
    const bm_lmdb_library *lib = &r->of->env->lib;
    MDB_dbi table;
    MDB_stat keys, unused;
    int rc = lib->mdb_dbi_open(r->of->txn, NULL, 0, &table);
    if (rc == 0)
        rc = lib->mdb_stat(r->of->txn, table, &keys);
    if (rc == 0)
        rc = lib->mdb_stat(r->of->txn, FREE_TABLE, &unused);
    if (rc != 0)
        return bm_lmdb_fail(lib, rc, r->of->env->name, "cannot read the index", r->err);
    r->out->page_bytes = keys.ms_psize;
    r->out->txn = lib->mdb_txn_id(r->of->txn);
    if (keys.ms_psize == 0 || MAP_ALIGNED % keys.ms_psize != 0)
        return bm_fail(r->err, BM_ERR_FORMAT,
                       "an index of a machine with larger pages (or a damaged one)");
    BM_TRY(walk(r, table, take_piece));
    BM_TRY(walk(r, FREE_TABLE, take_free));
    BM_TRY(place_pieces(r, keys.ms_overflow_pages));
    return list_spans(r, keys.ms_branch_pages + keys.ms_leaf_pages + unused.ms_branch_pages +
                             unused.ms_leaf_pages + unused.ms_overflow_pages);
}

bm_status bm_pages_read(const bm_pages_of *of, bm_piece_refs *pieces, bm_store_record *out,
                        bm_error *err)
{
    reading r = {.of = of, .pieces = pieces, .out = out, .err = err};
    pieces->n = out->n_spans = 0;
    out->n_free = 0;
    const bm_status status = read_all(&r);
    bm_free(r.owned);
    return status;
}

/* --- in a child, which calls LMDB and ends; nothing that the process holds is changed by it --- */

static bm_status read_anew(const bm_store_place *place, bool slot, bm_error *err)
{
    bm_store_env env = {0};
    bm_piece_refs pieces = {NULL, 0, 0};
    bm_store_record record = {0};
    struct stat info;
    MDB_txn *txn = NULL;
    if (fstat(place->data, &info) != 0)
        return bm_fail_errno(err, errno, place->path, "cannot read the index");
    if (info.st_size == 0)
        return bm_fail(err, BM_ERR_FORMAT, "it is empty");
    const bm_store_env_cfg cfg = {bm_store_place_name(place), place->path,
                                  MDB_RDONLY | (slot ? 0 : MDB_NOLOCK), (uint64_t)info.st_size};
    BM_TRY(bm_store_env_open(&cfg, &env, err));
    BM_TRY(bm_store_env_read(&env, &txn, err));
    if (fstat(place->data, &info) != 0) /* it may have grown before the transaction began */
        return bm_fail_errno(err, errno, place->path, "cannot read the index");
    const bm_pages_of of = {&env, txn,
                            mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, place->data, 0),
                            (size_t)info.st_size};
    if (of.bytes == MAP_FAILED)
        return bm_fail_errno(err, errno, place->path, "cannot read the index");
    const bm_status status = bm_pages_read(&of, &pieces, &record, err);
    env.lib.mdb_txn_abort(txn); /* its slot is free */
    bm_store_env_close(&env);
    return status;
}

/* Its own errors, and what the system says to sizes that cannot be. */
static bool is_damage(const bm_error *err)
{
    return err->code < 0 || err->code == EINVAL || err->code == ENOMEM || err->code == EOVERFLOW ||
           err->code == EFBIG;
}

/* It may end in any way; what it has goes with it. */
_Noreturn static void be_child(const bm_store_place *place, bool slot, int out)
{
    static const int ends[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    const struct rlimit none = {0, 0};
    bm_error err = {0};
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        signal(ends[i], SIG_DFL);
    (void)setrlimit(RLIMIT_CORE, &none);
    if (nothing >= 0)
        (void)dup2(nothing, STDERR_FILENO); /* LMDB's last words */
    bm_status status = read_anew(place, slot, &err);
    if (status != BM_OK && is_damage(&err))
        status = BM_ERR_FORMAT;
    const uint8_t byte = (uint8_t)status;
    _exit(write(out, &byte, 1) == 1 ? 0 : 1);
}

bm_status bm_pages_read_in_child(const bm_store_place *place, bool slot, bm_error *err)
{
    const char *name = place->path;
    int ends[2];
    uint8_t byte = (uint8_t)BM_ERR_FORMAT; /* it was ended */
    if (pipe2(ends, O_CLOEXEC) != 0)
        return bm_fail_errno(err, errno, name, "cannot look at the index");
    const pid_t child = fork();
    if (child == 0)
        be_child(place, slot, ends[1]);
    const int code = errno;
    close(ends[1]);
    while (child > 0 && read(ends[0], &byte, 1) < 0 && errno == EINTR)
        ;
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    if (child < 0)
        return bm_fail_errno(err, code, name, "cannot look at the index in a child");
    if (byte == BM_OK)
        return BM_OK;
    if (byte == BM_ERR_NOMEM || byte == BM_ERR_IO)
        return bm_fail_at(err, (bm_status)byte, name, 0, "a child cannot read the index");
    return bm_fail_at(err, BM_ERR_FORMAT, name, 0, "the index is damaged: LMDB cannot read it");
}
