/* store_child.c -- see store_child.h.
 *
 * The child calls LMDB, which is open already, and ends; nothing that the process holds is changed by it.
 *
 * Tests: tests/unit/store/test_store_damage.c, tests/damage/test_index_damage.py */
#include "store/store_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "store/store_pages.h"

static bm_status read_anew(const char *path, const char *name, int data, bool slot, bm_error *err)
{
    bm_store_env env = {0};
    bm_piece_refs pieces = {NULL, 0, 0};
    bm_store_record record = {0};
    struct stat info;
    MDB_txn *txn = NULL;
    bm_pages_of of = {.env = &env};
    if (fstat(data, &info) != 0)
        return bm_fail_errno(err, errno, name, "cannot read the index");
    if (info.st_size == 0)
        return bm_fail(err, BM_ERR_FORMAT, "it is empty");
    const bm_store_env_cfg cfg = {path, name, MDB_RDONLY | (slot ? 0 : MDB_NOLOCK),
                                  (uint64_t)info.st_size};
    BM_TRY(bm_store_env_open(&cfg, &env, err));
    BM_TRY(bm_store_env_read(&env, &txn, err));
    if (fstat(data, &info) != 0) /* it may have grown before the transaction began */
        return bm_fail_errno(err, errno, name, "cannot read the index");
    of.txn = txn;
    of.size = (size_t)info.st_size;
    of.bytes = mmap(NULL, of.size, PROT_READ, MAP_SHARED, data, 0);
    if (of.bytes == MAP_FAILED)
        return bm_fail_errno(err, errno, name, "cannot read the index");
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
_Noreturn static void be_child(const char *path, const char *name, int data, bool slot, int out)
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
    bm_status status = read_anew(path, name, data, slot, &err);
    if (status != BM_OK && is_damage(&err))
        status = BM_ERR_FORMAT;
    const uint8_t byte = (uint8_t)status;
    _exit(write(out, &byte, 1) == 1 ? 0 : 1);
}

bm_status bm_child_reads_pages(const char *path, const char *name, int data, bool slot,
                               bm_error *err)
{
    int ends[2];
    uint8_t byte = (uint8_t)BM_ERR_FORMAT; /* it was ended */
    if (pipe2(ends, O_CLOEXEC) != 0)
        return bm_fail_errno(err, errno, name, "cannot look at the index");
    const pid_t child = fork();
    if (child == 0)
        be_child(path, name, data, slot, ends[1]);
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
