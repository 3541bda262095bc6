/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_npy.c -- arbitrary bytes as NumPy arrays. The first byte chooses: one file, whose header is
 * read; or two, hashes and offsets, with the start of the second in the next two bytes.
 *
 * The file has all the data that its header promises, and our own header of the same array reads
 * the same. Documents of hashes are the same in blocks of any size, and their digests are those of
 * the bytes. */
#define XXH_INLINE_ALL
#include "sources/batch_sources.c"

#include <xxhash.h>

#include "fuzz_folder.h"
#include "results/npy.h"
#include "tests/world/world_npy.h"

static bm_status read_header(const char *path, bm_npy_header *out)
{
    bm_error err = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    const bm_status status = bm_npy_header_read(fd, path, out, &err);
    close(fd);
    CHECK(status == BM_OK || status == BM_ERR_INPUT);
    CHECK(status == BM_OK || (err.message[0] != '\0' && strcmp(err.file, path) == 0));
    return status;
}

static void check_array(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    bm_npy_header header, again;
    fuzz_write(fuzz_path("array.npy", path), data, size);
    if (read_header(path, &header) != BM_OK)
        return;
    CHECK(header.n_dims == 1 || header.n_dims == 2);
    CHECK(header.data_offset <= size);
    const uint64_t rows = header.shape[0], columns = header.n_dims == 2 ? header.shape[1] : 1;
    const size_t bytes = size - (size_t)header.data_offset, cell = (size_t)(header.type[2] - '0');
    uint64_t promised;
    CHECK(!__builtin_mul_overflow(rows, columns, &promised));
    CHECK(!__builtin_mul_overflow(promised, cell, &promised) && promised == bytes);
    if (header.n_dims == 2 && columns == 0)
        return; /* our writer never writes such an array */
    char *ours = malloc(BM_NPY_HEADER_BYTES + bytes);
    CHECK(ours != NULL);
    world_npy_header(header.type, rows, header.n_dims == 2 ? columns : 0, ours);
    memcpy(ours + BM_NPY_HEADER_BYTES, data + header.data_offset, bytes);
    fuzz_write(path, ours, BM_NPY_HEADER_BYTES + bytes);
    free(ours);
    CHECK(read_header(path, &again) == BM_OK);
    CHECK(again.data_offset == BM_NPY_HEADER_BYTES && again.n_dims == header.n_dims);
    CHECK(strcmp(again.type, header.type) == 0 && again.shape[0] == rows);
    CHECK(header.n_dims == 1 || again.shape[1] == columns);
}

/* --- documents of hashes --- */

typedef struct documents {
    uint64_t n, hashes, sum;
} documents;

static void take_block(const hash_block *block, const hash_limits *limits, documents *d)
{
    const uint64_t *ends = block->offsets;
    CHECK(block->first_doc == d->n && block->n_docs <= limits->docs && ends[0] == 0);
    CHECK(block->n_docs == 1 || ends[block->n_docs] <= limits->hashes);
    for (size_t i = 0; i < block->n_docs; i++) {
        CHECK(ends[i] <= ends[i + 1]);
        const size_t n = (size_t)(ends[i + 1] - ends[i]);
        d->sum = XXH3_64bits_withSeed(n > 0 ? block->hashes + ends[i] : NULL, n * 8, d->sum);
    }
    d->n += block->n_docs;
    d->hashes += ends[block->n_docs];
}

static bm_status read_documents(const char *const paths[2], const hash_limits *limits, documents *d,
                                hash_file files[2])
{
    hash_input *input = NULL;
    hash_block block = {0};
    bm_error err = {0};
    *d = (documents){0};
    bm_status status = hash_input_open(paths[0], paths[1], &input, &err);
    while (status == BM_OK) {
        status = hash_input_next(input, limits, &block, &err);
        if (status != BM_OK || block.n_docs == 0)
            break;
        take_block(&block, limits, d);
    }
    CHECK(status == BM_OK || status == BM_ERR_INPUT);
    CHECK(status == BM_OK || (err.message[0] != '\0' && (strcmp(err.file, paths[0]) == 0 ||
                                                         strcmp(err.file, paths[1]) == 0)));
    if (status == BM_OK)
        hash_input_files(input, files);
    hash_block_reset(&block);
    hash_input_close(input);
    return status;
}

static void check_digest(const hash_file *file, const uint8_t *data, size_t size)
{
    const XXH128_hash_t sum = XXH3_128bits(data, size);
    CHECK(file->bytes == size && file->digest.lo == sum.low64 && file->digest.hi == sum.high64);
}

static void check_hashes(const uint8_t *data, size_t size)
{
    const size_t n = size < 2 ? 0 : (data[0] | (size_t)data[1] << 8) % (size - 1);
    char hashes[FUZZ_PATH], offsets[FUZZ_PATH];
    const char *const paths[] = {fuzz_path("hashes.npy", hashes),
                                 fuzz_path("offsets.npy", offsets)};
    if (size < 2)
        return;
    data += 2, size -= 2;
    fuzz_write(hashes, data, n);
    fuzz_write(offsets, data + n, size - n);
    documents whole, pieces;
    hash_file files[2];
    const hash_limits large = {1 << 16, 1 << 20, NULL}, small = {3, 5, NULL};
    const bm_status status = read_documents(paths, &large, &whole, files);
    CHECK(read_documents(paths, &small, &pieces, files) == status);
    if (status != BM_OK)
        return;
    CHECK(whole.n == pieces.n && whole.hashes == pieces.hashes && whole.sum == pieces.sum);
    CHECK(whole.hashes <= size / 4 && whole.n <= size / 8);
    check_digest(&files[0], data, n);
    check_digest(&files[1], data + n, size - n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] & 1)
        check_hashes(data + 1, size - 1);
    else
        check_array(data + 1, size - 1);
    return 0;
}
