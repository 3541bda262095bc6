/* SPDX-License-Identifier: Apache-2.0 */
/* column.c -- takes stretches of address space, and maps pages in them.
 *
 * A 47-bit address space is plentiful, but a limit (ulimit -v) counts all that is mapped, so a
 * column maps no more than it uses. It begins at a slot of its own, far from other columns and from
 * other mappings of the system. The column can grow until another mapping is in the way, which
 * MAP_FIXED_NOREPLACE detects. If the system does not map pages at the slot (narrow address spaces,
 * some sanitizers), the column reserves a stretch of pages without access.
 *
 *     0x2000'0000'0000   slot 0   slot 1   ...   slot 383   0x5000'0000'0000
 *                        128 GiB each, used in an order that jumps far
 *
 * Tests: tests/unit/base/test_column.c */
#include "base/column.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/temp_file.h"

#define HUGE  ((size_t)2 << 20)
#define LARGE (2 * HUGE)

#define SLOTS      384u
#define STRIDE     239u /* coprime to SLOTS, so that every slot is used before a slot repeats */
#define SLOT_BYTES ((uintptr_t)1 << 37)
#define FIRST_SLOT ((uintptr_t)1 << 45)
#define TRIES      4u
#define STRETCH    ((size_t)1 << 30) /* address space that a column reserves, if it can */
#define SPARE(had) ((had) / 8)       /* extra bytes, so that a column grows less often */

#if !defined(MAP_FIXED_NOREPLACE)
#define MAP_FIXED_NOREPLACE                                                                        \
    0x100000 /* a kernel that does not know this flag treats the address as a mere hint */
#endif

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

/* Map pages at the address `at` and nowhere else. False: see errno. */
static bool map_at(char *at, size_t bytes, int flags, int fd, size_t from)
{
    void *got = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd, (off_t)from);
    if (got == MAP_FAILED)
        return false;
    if (got == at)
        return true;
    munmap(got, bytes);
    errno = EEXIST;
    return false;
}

/* --- the first growth --- */

/* The address of the next slot. The first slot depends on the address of the stack, which the
 * system chooses at random. */
static char *next_slot(void)
{
    static atomic_uint taken;
    unsigned none = 0;
    atomic_compare_exchange_strong(&taken, &none, 1 + (unsigned)((uintptr_t)&none >> 12) % SLOTS);
    const uintptr_t slot = (uintptr_t)atomic_fetch_add(&taken, 1) * STRIDE % SLOTS;
    return (char *)(FIRST_SLOT + slot * SLOT_BYTES); /* NOLINT(performance-no-int-to-ptr) */
}

/* Map the first pages at the beginning of a slot. */
static bool map_slot(bm_column *column, size_t bytes)
{
    for (unsigned i = 0; sizeof(void *) == 8 && i < TRIES; i++) {
        char *at = next_slot();
        /* the address is only a hint */
        if (map_at(at, bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
            column->data = at;
            return true;
        }
    }
    return false;
}

static bool reserve_stretch(bm_column *column, size_t bytes)
{
    for (size_t space = bytes > STRETCH ? bytes : STRETCH; space >= bytes; space /= 2) {
        void *at = mmap(NULL, space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at != MAP_FAILED) {
            column->data = at;
            column->space = space;
            return true;
        }
    }
    return false;
}

/* --- pages --- */

static bool add_memory(const bm_column *column, size_t had, size_t bytes)
{
    char *at = (char *)column->data + had;
    if (column->space != 0 && mprotect(at, bytes - had, PROT_READ | PROT_WRITE) != 0)
        return false;
    if (column->space == 0 && had > 0 &&
        !map_at(at, bytes - had, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0))
        return false;
    if (bytes >= LARGE)
        /* only advice; without huge pages the column is slower */
        madvise(column->data, bytes, MADV_HUGEPAGE);
    return true;
}

/* Map pages of the file. Their disk space is reserved first, since a write to a mapped page cannot
 * report that the disk is full. */
static bm_status add_file(bm_column *column, size_t had, size_t bytes, bm_error *err)
{
    const int fd = atomic_load(&column->file) - 1;
    const size_t from = had - column->in_memory, more = bytes - had;
    int code = EINTR;
    while (code == EINTR)
        code = posix_fallocate(fd, (off_t)from, (off_t)more);
    if (code != 0)
        return bm_fail_temp_file(err, code, column->dir,
                                 "cannot make a temporary file here larger");
    /* the address space was reserved, or the column grows for the first time */
    const bool own = column->space != 0 || had == 0;
    const int how = MAP_SHARED | (own ? MAP_FIXED : MAP_FIXED_NOREPLACE);
    if (map_at((char *)column->data + had, more, how, fd, from))
        return BM_OK;
    if (errno == ENOMEM || errno == EEXIST)
        return bm_fail_nomem(err, bytes);
    const bm_status status =
        bm_fail_errno(err, errno, column->dir, "cannot map a temporary file here into memory");
    bm_error_advise(err, "file systems such as 9p and vboxsf cannot; `temp_dir` names another "
                         "directory, on a local disk");
    return status;
}

/* Open the file for the pages from `had` on. If the directory does not exist any more, no file is
 * opened. */
static bm_status open_file(bm_column *column, size_t had, const char *dir, bm_error *err)
{
    const int fd = bm_open_nameless(dir);
    if (fd < 0 && errno != ENOENT)
        return bm_fail_temp_file(err, errno, dir, "cannot make a temporary file here");
    if (fd < 0)
        return BM_OK;
    column->dir = dir;
    column->in_memory = had;
    atomic_store_explicit(&column->file, fd + 1, memory_order_release);
    return BM_OK;
}

/* Undo the first growth of a column, because it failed. */
static void give_up(bm_column *column, size_t bytes)
{
    munmap(column->data, column->space > bytes ? column->space : bytes);
    column->data = NULL;
    column->space = 0;
}

/* Map more pages, so that the column has `bytes` bytes. Their address space is reserved. */
static bm_status add_pages(bm_column *column, size_t had, size_t bytes, bm_error *err)
{
    if (atomic_load(&column->file) != 0)
        return add_file(column, had, bytes, err);
    return add_memory(column, had, bytes) ? BM_OK : bm_fail_nomem(err, bytes);
}

/* The size to which the column grows. It has `had` bytes now, and the caller needs `bytes`. */
static size_t with_spare(const bm_column *column, size_t had, size_t bytes)
{
    size_t wanted = had + SPARE(had);
    wanted = wanted < bytes ? bytes : wanted;
    wanted = round_up(wanted, wanted >= LARGE ? HUGE : page_bytes());
    return column->space != 0 && wanted > column->space ? column->space : wanted;
}

bm_status bm_column_grow(bm_column *column, size_t bytes, const char *dir, bm_error *err)
{
    const size_t had = atomic_load_explicit(&column->bytes, memory_order_relaxed);
    if (bytes <= had)
        return BM_OK;
    if (bytes > SIZE_MAX / 4)
        return bm_fail_nomem(err, bytes);
    if (atomic_load(&column->file) == 0 && dir != NULL)
        BM_TRY(open_file(column, had, dir, err));
    const size_t wanted = with_spare(column, had, bytes);
    if (wanted < bytes ||
        (had == 0 && !map_slot(column, wanted) && !reserve_stretch(column, wanted)))
        return bm_fail_nomem(err, bytes);
    const bm_status status = add_pages(column, had, wanted, err);
    if (status == BM_OK)
        atomic_store_explicit(&column->bytes, wanted, memory_order_release);
    else if (had == 0)
        give_up(column, wanted);
    return status;
}

static void close_file(bm_column *column)
{
    const int file = atomic_exchange(&column->file, 0);
    if (file != 0)
        close(file - 1);
}

void bm_column_trim(bm_column *column, size_t bytes)
{
    const size_t had = atomic_load(&column->bytes), kept = round_up(bytes, page_bytes());
    if (kept >= had)
        return;
    if (kept == 0) {
        bm_column_reset(column);
        return;
    }
    char *at = (char *)column->data + kept;
    if (column->space == 0
            ? munmap(at, had - kept) == 0
            : mmap(at, had - kept, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED)
        atomic_store(&column->bytes, kept);
}

/* Copy the first `used` bytes of the column from the file's pages to pages of memory, which replace
 * the file's pages. */
static bm_status replace_pages(bm_column *column, size_t used, bm_error *err)
{
    char *at = (char *)column->data + column->in_memory;
    const size_t bytes = atomic_load(&column->bytes) - column->in_memory;
    char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return bm_fail_nomem(err, bytes);
    if (bytes >= LARGE)
        madvise(pages, bytes, MADV_HUGEPAGE);
    memcpy(pages, at, used);
    if (mremap(pages, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED)
        return BM_OK;
    munmap(pages, bytes);
    return bm_fail_nomem(err, bytes);
}

bm_status bm_column_to_memory(bm_column *column, size_t used, bm_error *err)
{
    const size_t from = column->in_memory;
    if (atomic_load(&column->file) == 0)
        return BM_OK;
    if (used > from)
        BM_TRY(replace_pages(column, used - from, err));
    else
        bm_column_trim(column, from);
    close_file(column);
    return BM_OK;
}

void bm_column_reset(bm_column *column)
{
    const size_t bytes = atomic_load(&column->bytes);
    const size_t mapped = column->space > bytes ? column->space : bytes;
    if (mapped > 0)
        munmap(column->data, mapped);
    close_file(column);
    *column = (bm_column){0};
}

/* Returns the descriptor of the file, and sets *from to the offset in the column at which its pages
 * begin. -1: all pages are memory. */
static int file_of(const bm_column *column, size_t *from)
{
    const int fd = atomic_load_explicit(&column->file, memory_order_acquire) - 1;
    *from = fd < 0 ? 0 : column->in_memory;
    return fd;
}

void bm_column_leave_part(const bm_column *column, size_t from, size_t to)
{
    const size_t page = page_bytes(),
                 bytes = atomic_load_explicit(&column->bytes, memory_order_acquire);
    size_t of_file;
    if (file_of(column, &of_file) < 0)
        return;
    from = from / page * page;
    from = from < of_file ? of_file : from;
    to = to < bytes ? to : bytes;
    if (to > from)
        madvise((char *)column->data + from, to - from, MADV_DONTNEED); /* the file has the data */
}

void bm_column_leave(const bm_column *column)
{
    bm_column_leave_part(column, 0, SIZE_MAX);
}

bool bm_column_read(const bm_column *column, void *out, size_t n, uint64_t at)
{
    size_t from;
    const int fd = file_of(column, &from);
    return fd >= 0 && at >= from && pread(fd, out, n, (off_t)(at - from)) == (ssize_t)n;
}

bm_status bm_column_open_file(bm_column *column, size_t bytes, const char *dir, bm_error *err)
{
    BM_TRY(bm_column_grow(column, bytes, dir, err));
    if (bytes == 0 || bm_column_has_file(column))
        return BM_OK;
    bm_column_reset(column);
    return bm_fail_temp_file(err, ENOENT, dir, "cannot make a temporary file here");
}

bm_status bm_column_read_file(const bm_column *column, void *out, size_t n, uint64_t at,
                              bm_error *err)
{
    errno = EIO; /* in case the file is too short */
    if (n == 0 || bm_column_read(column, out, n, at))
        return BM_OK;
    return bm_fail_temp_file(err, errno, column->dir, "cannot read a temporary file here");
}

void bm_column_sum(const bm_column *column, uint64_t bytes, bm_column_sums *sums)
{
    size_t from;
    const uint64_t in_memory = file_of(column, &from) < 0 || bytes < from ? bytes : from;
    sums->in_memory += in_memory;
    sums->in_file += bytes - in_memory;
}
