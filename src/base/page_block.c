/* page_block.c -- anonymous maps, moved by mremap.
 *
 * Tests: tests/unit/base/test_page_block.c */
#include "base/page_block.h"

#include <sys/mman.h>

#include "base/error.h"

#define PAGE  ((size_t)4 << 10) /* or a multiple: maps are rounded by the system */
#define HUGE  ((size_t)2 << 20)
#define LARGE (2 * HUGE)

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

bm_status bm_page_block_grow(bm_page_block *block, size_t bytes, bm_error *err)
{
    if (bytes <= block->bytes)
        return BM_OK;
    size_t wanted = block->bytes + block->bytes / 2;
    wanted = wanted < bytes ? bytes : wanted;
    if (wanted > SIZE_MAX / 2)
        return bm_fail_nomem(err, wanted);
    wanted = round_up(wanted, wanted >= LARGE ? HUGE : PAGE);
    void *data = block->data == NULL ? mmap(NULL, wanted, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                     : mremap(block->data, block->bytes, wanted, MREMAP_MAYMOVE);
    if (data == MAP_FAILED)
        return bm_fail_nomem(err, wanted);
    if (wanted >= LARGE)
        madvise(data, wanted, MADV_HUGEPAGE); /* where there are none it is slower, no more */
    block->data = data;
    block->bytes = wanted;
    return BM_OK;
}

void bm_page_block_trim(bm_page_block *block, size_t bytes)
{
    const size_t kept = round_up(bytes, PAGE);
    if (block->data == NULL || kept >= block->bytes)
        return;
    if (kept == 0) {
        bm_page_block_reset(block);
        return;
    }
    if (mremap(block->data, block->bytes, kept, 0) != MAP_FAILED)
        block->bytes = kept;
}

void bm_page_block_reset(bm_page_block *block)
{
    if (block->data != NULL)
        munmap(block->data, block->bytes);
    *block = (bm_page_block){0};
}
