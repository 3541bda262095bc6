/* test_lmdb_pages.c -- the walk yields what LMDB's own cursors yield, and nothing but the file's bytes is
 * read, whatever they say.
 *
 * Tests of src/store/bytes/lmdb_pages.c and src/store/bytes/lmdb_meta.c. */
#include "store/bytes/lmdb_pages.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/base/scratch.h"
#include "tests/unit/store_bytes/numbers.h"
#include "tests/unit/base/sized.h"

#define MUST(call) cr_assert_eq((call), 0, "%s", #call)

/* --- environments --- */

typedef struct environment {
    scratch s;
    MDB_env *env;
    MDB_dbi dbi;
    char file[1200];
} environment;

/* In a directory that is there. */
static void environment_begin(environment *e)
{
    MDB_txn *txn;
    MUST(mdb_env_create(&e->env));
    MUST(mdb_env_set_mapsize(e->env, (size_t)1 << 30));
    MUST(mdb_env_open(e->env, e->s.root, MDB_NOSYNC, 0600));
    MUST(mdb_txn_begin(e->env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, NULL, 0, &e->dbi));
    MUST(mdb_txn_commit(txn));
    snprintf(e->file, sizeof e->file, "%s/data.mdb", e->s.root);
}

static void environment_open(environment *e)
{
    scratch_open(&e->s);
    environment_begin(e);
}

static void environment_close(environment *e)
{
    mdb_env_close(e->env);
    scratch_close(&e->s);
}

static bm_lmdb_file read_file(const char *path)
{
    struct stat info;
    FILE *in = fopen(path, "rb");
    cr_assert_not_null(in);
    MUST(fstat(fileno(in), &info));
    const size_t size = (size_t)info.st_size;
    uint8_t *bytes = malloc(size); /* exactly: ASan sees a read behind */
    cr_assert_eq(fread(bytes, 1, size, in), size);
    fclose(in);
    return (bm_lmdb_file){bytes, size};
}

static void file_free(bm_lmdb_file *file)
{
    free((void *)(uintptr_t)file->bytes);
}

/* Key i: 1 … 511 bytes, the number in its first ones. */
static size_t key_make(uint64_t i, uint8_t key[511])
{
    const size_t more = number_of(i) % 16 == 0 ? number_of(i + 7) % 480 : number_of(i) % 20;
    snprintf((char *)key, 511, "%012llx", (unsigned long long)number_of(i) >> 16);
    memset(key + 12, (int)(i % 251), more);
    return 12 + more;
}

static void put(MDB_txn *txn, MDB_dbi dbi, uint64_t i, size_t len)
{
    static uint8_t value[200000];
    uint8_t key[511];
    MDB_val k = {key_make(i, key), key}, v = {len, value};
    memset(value, (int)(number_of(i) % 255), len);
    MUST(mdb_put(txn, dbi, &k, &v, 0));
}

static void drop(MDB_txn *txn, MDB_dbi dbi, uint64_t i)
{
    uint8_t key[511];
    MDB_val k = {key_make(i, key), key};
    const int rc = mdb_del(txn, dbi, &k, NULL);
    cr_assert(rc == 0 || rc == MDB_NOTFOUND);
}

/* Values of all kinds: none, in the leaf, on pages of their own. */
static size_t length_of(uint64_t i)
{
    const uint64_t kind = number_of(i * 31) % 20;
    return kind == 0   ? 0
           : kind == 1 ? 1000 + number_of(i) % 9000
           : kind == 2 ? 4080
                       : number_of(i) % 90;
}

/* --- the walk beside the cursor --- */

typedef struct beside {
    MDB_cursor *cursor;
    uint64_t n;
} beside;

static bm_status compare_next(void *ctx, bm_str key, bm_str value, bm_error *err)
{
    (void)err;
    beside *b = ctx;
    MDB_val k, v;
    MUST(mdb_cursor_get(b->cursor, &k, &v, MDB_NEXT));
    cr_assert(k.mv_size == key.len && memcmp(k.mv_data, key.data, key.len) == 0);
    cr_assert(v.mv_size == value.len && memcmp(v.mv_data, value.data, value.len) == 0);
    b->n++;
    return BM_OK;
}

/* Free pages, and free pages + pages in use, as LMDB counts them. */
static void assert_same_pages(MDB_txn *txn, const bm_lmdb_meta *meta, uint64_t n_free)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    MDB_stat keys, unused;
    uint64_t n = 0;
    MUST(mdb_cursor_open(txn, 0, &cursor));
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
        n += *(size_t *)value.mv_data;
    mdb_cursor_close(cursor);
    cr_assert_eq(n, n_free);
    MUST(mdb_stat(txn, 0, &unused));
    MUST(mdb_stat(txn, 1, &keys));
    cr_assert_eq(keys.ms_entries, meta->entries);
    cr_assert_eq(keys.ms_leaf_pages, meta->leaf_pages);
    cr_assert_eq(2 + n + keys.ms_leaf_pages + keys.ms_branch_pages + keys.ms_overflow_pages +
                     unused.ms_leaf_pages + unused.ms_branch_pages + unused.ms_overflow_pages,
                 meta->last_page + 1);
}

static void assert_same(environment *e)
{
    bm_lmdb_file file = read_file(e->file);
    bm_lmdb_meta meta, again;
    bm_error err = {0};
    uint64_t n_free;
    MDB_txn *txn;
    beside b = {0};
    MUST(mdb_txn_begin(e->env, NULL, MDB_RDONLY, &txn));
    MUST(mdb_cursor_open(txn, e->dbi, &b.cursor));
    const uint64_t id = mdb_txn_id(txn);
    cr_assert_eq(bm_lmdb_meta_of(file, id, &meta, &err), BM_OK, "%s", err.message);
    cr_assert_eq(meta.txn, id);
    cr_assert_eq(bm_lmdb_meta_of(file, UINT64_MAX, &again, &err), BM_OK);
    cr_assert_eq(again.txn, id);
    cr_assert_eq(bm_lmdb_meta_of(file, id + 1, &again, &err), BM_NOT_FOUND);
    cr_assert_eq(bm_lmdb_walk(file, &meta, compare_next, &b, &err), BM_OK, "%s", err.message);
    MDB_val k, v;
    cr_assert_eq(mdb_cursor_get(b.cursor, &k, &v, MDB_NEXT), MDB_NOTFOUND);
    cr_assert_eq(b.n, meta.entries);
    cr_assert_eq(bm_lmdb_check_pages(file, &meta, &n_free, &err), BM_OK, "%s", err.message);
    assert_same_pages(txn, &meta, n_free);
    mdb_cursor_close(b.cursor);
    mdb_txn_abort(txn);
    file_free(&file);
}

Test(lmdb_pages, a_walk_yields_what_a_cursor_yields)
{
    static const uint64_t sizes[] = {0, 1, 2, 10, 100, 1000, 10000, 300000};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0] - sized(0, 1); s++) {
        environment e;
        MDB_txn *txn;
        environment_open(&e);
        MUST(mdb_txn_begin(e.env, NULL, 0, &txn));
        for (uint64_t i = 0; i < sizes[s]; i++)
            put(txn, e.dbi, i, sizes[s] > 10000 && length_of(i) > 90 ? 8 : length_of(i));
        MUST(mdb_txn_commit(txn));
        assert_same(&e);
        environment_close(&e);
    }
}

/* Transactions that add, replace and remove, of which some are given up; values large and small. */
Test(lmdb_pages, after_any_commits)
{
    environment e;
    uint64_t next = 0;
    environment_open(&e);
    for (uint64_t round = 0; round < sized(400, 200); round++) {
        MDB_txn *txn;
        MUST(mdb_txn_begin(e.env, NULL, 0, &txn));
        const uint64_t n = number_of(round << 8) % (round % 7 == 0 ? 1500 : 30);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t any = number_of(round << 20 | i), kind = any % 8;
            const size_t len = any % 101 == 0 ? 100000 + any % 90000 : length_of(any);
            if (kind < 4)
                put(txn, e.dbi, next++, len);
            else if (kind < 6)
                put(txn, e.dbi, any / 8 % (next + 1), len);
            else
                drop(txn, e.dbi, any / 8 % (next + 1));
        }
        for (uint64_t i = 0; round % 50 == 49 && i < next; i++)
            if (i % 16 != 0 || round % 100 == 99)
                drop(txn, e.dbi, i); /* most of it; then all */
        if (round % 11 == 10)
            mdb_txn_abort(txn);
        else
            MUST(mdb_txn_commit(txn));
        if (round % 5 == 0 || round % 50 >= 48)
            assert_same(&e);
    }
    environment_close(&e);
}

/* A reader keeps its state while others are written, up to the next but one. */
Test(lmdb_pages, the_state_before_the_last_is_there_too)
{
    environment e;
    environment_open(&e);
    for (uint64_t round = 0; round < 5; round++) {
        MDB_txn *reader, *txn;
        bm_lmdb_meta meta;
        bm_error err = {0};
        MUST(mdb_txn_begin(e.env, NULL, MDB_RDONLY, &reader));
        const uint64_t id = mdb_txn_id(reader);
        for (uint64_t commits = 0; commits < 3; commits++) {
            bm_lmdb_file file = read_file(e.file);
            const bm_status status = bm_lmdb_meta_of(file, id, &meta, &err);
            cr_assert_eq(status, commits < 2 ? BM_OK : BM_NOT_FOUND);
            beside b = {0};
            MUST(mdb_cursor_open(reader, e.dbi, &b.cursor));
            if (status == BM_OK)
                cr_assert_eq(bm_lmdb_walk(file, &meta, compare_next, &b, &err), BM_OK);
            mdb_cursor_close(b.cursor);
            file_free(&file);
            MUST(mdb_txn_begin(e.env, NULL, 0, &txn));
            for (uint64_t i = 0; i < 500; i++)
                put(txn, e.dbi, i * (commits + round), length_of(i));
            MUST(mdb_txn_commit(txn));
        }
        mdb_txn_abort(reader);
    }
    environment_close(&e);
}

/* What another process does, as fast as it can. */
static bool write_commits(const char *root, unsigned commits)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    bool fine = mdb_env_create(&env) == 0 && mdb_env_set_mapsize(env, (size_t)1 << 30) == 0 &&
                mdb_env_open(env, root, MDB_NOSYNC, 0600) == 0;
    for (uint64_t i = 0; fine && i < commits; i++) {
        fine = mdb_txn_begin(env, NULL, 0, &txn) == 0 && mdb_dbi_open(txn, NULL, 0, &dbi) == 0;
        for (uint64_t j = 0; fine && j < 4; j++) {
            uint8_t key[511], value[6000] = {0};
            MDB_val k = {key_make(i * j % 300, key), key}, v = {number_of(i + j) % 6000, value};
            fine = mdb_put(txn, dbi, &k, &v, 0) == 0;
        }
        fine = fine && mdb_txn_commit(txn) == 0;
    }
    mdb_env_close(env);
    return fine;
}

/* The newest state can always be read; a file that grows between its size and its first pages is read again. */
static void read_newest(const environment *e, const uint8_t *map)
{
    struct stat info;
    bm_lmdb_meta meta;
    bm_error err = {0};
    bm_status status = BM_ERR_FORMAT;
    for (int i = 0; i < 100 && status != BM_OK; i++) {
        MUST(stat(e->file, &info));
        status =
            bm_lmdb_meta_of((bm_lmdb_file){map, (size_t)info.st_size}, UINT64_MAX, &meta, &err);
    }
    cr_assert_eq(status, BM_OK, "%s", err.message);
}

/* The state of a reader's transaction, walked in a map of its own. */
static bool walk_beside_writer(environment *e, const uint8_t *map, uint64_t *newest)
{
    MDB_txn *txn;
    struct stat info;
    bm_lmdb_meta meta;
    bm_error err = {0};
    beside b = {0};
    MUST(mdb_txn_begin(e->env, NULL, MDB_RDONLY, &txn));
    MUST(mdb_cursor_open(txn, e->dbi, &b.cursor));
    MUST(stat(e->file, &info));
    const bm_lmdb_file file = {map, (size_t)info.st_size};
    const bm_status status = bm_lmdb_meta_of(file, mdb_txn_id(txn), &meta, &err);
    cr_assert(status == BM_OK || status == BM_NOT_FOUND, "%s", err.message);
    if (status == BM_OK) {
        cr_assert_eq(bm_lmdb_walk(file, &meta, compare_next, &b, &err), BM_OK, "%s", err.message);
        cr_assert_geq(meta.txn, *newest);
        *newest = meta.txn;
    }
    mdb_cursor_close(b.cursor);
    mdb_txn_abort(txn);
    for (int i = 0; i < 20; i++)
        read_newest(e, map);
    return status == BM_OK;
}

Test(lmdb_pages, beside_a_process_that_commits)
{
    environment e;
    uint64_t walked = 0, newest = 0;
    int ended = 0;
    scratch_open(&e.s);
    const pid_t child = fork(); /* before this process has an environment */
    if (child == 0)
        _exit(write_commits(e.s.root, 3000) ? 0 : 1);
    environment_begin(&e);
    const int fd = open(e.file, O_RDONLY);
    const uint8_t *map = mmap(NULL, (size_t)1 << 30, PROT_READ, MAP_SHARED, fd, 0);
    cr_assert(map != MAP_FAILED);
    while (waitpid(child, &ended, WNOHANG) == 0)
        walked += walk_beside_writer(&e, map, &newest);
    cr_assert(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    walked += walk_beside_writer(&e, map, &newest);
    cr_assert(walked > 0 && newest >= 3000);
    munmap((void *)(uintptr_t)map, (size_t)1 << 30);
    close(fd);
    assert_same(&e);
    environment_close(&e);
}

/* --- damage --- */

typedef struct inside {
    bm_lmdb_file file;
    uint64_t n, sum;
} inside;

/* Each byte that is handed out is one of the file's. */
static bm_status read_inside(void *ctx, bm_str key, bm_str value, bm_error *err)
{
    inside *in = ctx;
    const char *begin = (const char *)in->file.bytes, *end = begin + in->file.size;
    (void)err;
    cr_assert(key.data >= begin && key.len <= 511 && key.data + key.len <= end);
    cr_assert(value.data >= begin && value.data <= end && value.len <= (size_t)(end - value.data));
    for (size_t i = 0; i < key.len; i++)
        in->sum += (uint8_t)key.data[i];
    if (value.len > 0)
        in->sum += (uint8_t)value.data[0] + (uint8_t)value.data[value.len - 1];
    in->n++;
    return BM_OK;
}

/* The pages, the walk: BM_OK or BM_ERR_FORMAT with its reason. */
static bm_status ask_all(bm_lmdb_file file, inside *in)
{
    bm_lmdb_meta meta;
    bm_error err = {0};
    uint64_t n_free;
    *in = (inside){.file = file};
    bm_status status = bm_lmdb_meta_of(file, UINT64_MAX, &meta, &err);
    if (status == BM_OK)
        status = bm_lmdb_walk(file, &meta, read_inside, in, &err);
    if (status == BM_OK)
        status = bm_lmdb_check_pages(file, &meta, &n_free, &err);
    cr_assert(status == BM_OK || (status == BM_ERR_FORMAT && err.message[0] != '\0'));
    return status;
}

/* A tree of two levels, values in leaves and in runs, free pages of several transactions. */
static bm_lmdb_file small_file(void)
{
    environment e;
    environment_open(&e);
    for (uint64_t round = 0; round < 4; round++) {
        MDB_txn *txn;
        MUST(mdb_txn_begin(e.env, NULL, 0, &txn));
        for (uint64_t i = round * 20; i < round * 20 + 40; i++)
            put(txn, e.dbi, i, i % 16 == 3 ? 5000 : i % 50 * 4);
        for (uint64_t i = 0; i < 6; i++)
            drop(txn, e.dbi, round * 20 + i * 5);
        MUST(mdb_txn_commit(txn));
    }
    assert_same(&e);
    bm_lmdb_file file = read_file(e.file);
    environment_close(&e);
    return file;
}

/* LMDB reads all of it, and writes to it. */
static void lmdb_takes(scratch *s, bm_lmdb_file file, uint64_t n)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t seen = 0;
    scratch_put(s, "data.mdb", file.bytes, file.size);
    MUST(mdb_env_create(&env));
    MUST(mdb_env_set_mapsize(env, (size_t)1 << 30));
    MUST(mdb_env_open(env, s->root, MDB_NOSYNC | MDB_NOLOCK, 0600));
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, NULL, 0, &dbi));
    for (uint64_t i = 1000; i < 1040; i++)
        put(txn, dbi, i, i % 10 == 0 ? 9000 : 60);
    MUST(mdb_txn_commit(txn));
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        MUST(mdb_cursor_del(cursor, 0));
        seen++;
    }
    cr_assert_eq(seen, n + 40);
    MUST(mdb_txn_commit(txn));
    mdb_env_close(env);
}

/* One changed byte: refused, or all keys are there, and some of such files are given to LMDB. */
static bool one_change(scratch *s, bm_lmdb_file file, size_t i, unsigned mask, uint64_t n)
{
    static uint64_t taken = 0;
    uint8_t *at = (uint8_t *)(uintptr_t)file.bytes + i;
    inside in;
    *at = (uint8_t)(*at ^ mask);
    const bool refused = ask_all(file, &in) != BM_OK;
    if (!refused) {
        cr_assert_eq(in.n, n, "byte %zu", i);
        if (taken++ % 997 == 0 || (i % 4096 < 64 && taken % 17 == 0))
            lmdb_takes(s, file, n);
    }
    *at = (uint8_t)(*at ^ mask);
    return refused;
}

/* Each byte in turn: an error, or a walk that ends and stays in the file. A file that is taken is safe with LMDB. Of bytes that
 * nobody reads, or values, one change is enough. */
Test(lmdb_pages, every_changed_byte_gives_an_error_or_a_walk_within_the_file)
{
    bm_lmdb_file file = small_file();
    static const uint8_t masks[] = {0x01, 0x02, 0x10, 0x80, 0xFF};
    inside whole;
    scratch s;
    scratch_open(&s);
    cr_assert_eq(ask_all(file, &whole), BM_OK);
    cr_assert_gt(whole.n, 50);
    uint64_t refused = 0;
    for (size_t i = 0; i < file.size; i++) {
        const bool matters = one_change(&s, file, i, 0x04, whole.n) || i % 4096 < 160;
        const size_t step = sized(1, 4); /* else others of them at each byte */
        for (size_t m = i % step; matters && m < sizeof masks; m += step)
            refused += one_change(&s, file, i, masks[m], whole.n);
    }
    cr_assert_gt(refused, sized(5000, 1000));
    scratch_close(&s);
    file_free(&file);
}

Test(lmdb_pages, many_changed_bytes_too)
{
    bm_lmdb_file file = small_file();
    uint8_t *bytes = (uint8_t *)(uintptr_t)file.bytes, *copy = malloc(file.size);
    memcpy(copy, bytes, file.size);
    for (uint64_t round = 0; round < 40000; round++) {
        const uint64_t n = 1 + number_of(round << 10) % 12;
        inside in;
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t any = number_of(round << 10 | (i + 1));
            const size_t page = any % (file.size / 4096) * 4096;
            const size_t at = any >> 60 < 8 ? (any >> 20) % 152 : (any >> 20) % 4096;
            bytes[page + at] = (uint8_t)(any >> 40 & 1 ? any >> 48 : any >> 56 | 1);
        }
        (void)ask_all(file, &in);
        if (round % 3 == 0) /* of two rounds the damage adds up */
            memcpy(bytes, copy, file.size);
    }
    for (size_t size = 0; size < file.size; size += size < 300 ? 1 : 1021) {
        inside in;
        uint8_t *cut = malloc(size + 1);
        memcpy(cut, copy, size);
        (void)ask_all((bm_lmdb_file){cut, size}, &in);
        free(cut);
    }
    free(copy);
    file_free(&file);
}

/* What fn returns ends the walk. */
static bm_status stop_at_third(void *ctx, bm_str key, bm_str value, bm_error *err)
{
    uint64_t *n = ctx;
    (void)key, (void)value, (void)err;
    return ++*n == 3 ? BM_ERR_CANCELLED : BM_OK;
}

Test(lmdb_pages, the_caller_can_end_the_walk)
{
    bm_lmdb_file file = small_file();
    bm_lmdb_meta meta;
    uint64_t n = 0;
    cr_assert_eq(bm_lmdb_meta_of(file, UINT64_MAX, &meta, NULL), BM_OK);
    cr_assert_eq(bm_lmdb_walk(file, &meta, stop_at_third, &n, NULL), BM_ERR_CANCELLED);
    cr_assert_eq(n, 3);
    file_free(&file);
}
