/* module_common.h -- what the parts of the module share, in C++: what goes wrong, and the memory that is
 * counted. Everything lies in namespace bandmill_tables; the module exports one function. */
#ifndef BANDMILL_PARQUET_MODULE_COMMON_H
#define BANDMILL_PARQUET_MODULE_COMMON_H

#include <arrow/api.h>
#include <arrow/ipc/api.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>

#include <memory>
#include <string>
#include <vector>

#include "io/tables/table_module.h"

namespace bandmill_tables
{

// --- module_words.cpp ---

bm_status fail(const arrow::Status &status, bm_table_words *words);

// `body` gives an arrow::Status; no exception leaves here.
template <class Body> arrow::Status caught(Body body)
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return arrow::Status::OutOfMemory("out of memory");
    } catch (const parquet::ParquetStatusException &e) {
        return e.status();
    } catch (const std::exception &e) {
        return arrow::Status::Invalid(e.what());
    }
}

template <class Body> bm_status guarded(bm_table_words *words, Body body)
{
    const arrow::Status status = caught(body);
    return status.ok() ? BM_OK : fail(status, words);
}

// --- module_memory.cpp ---

// Arrow's memory with a bound of its own (0: none). It lives until it and all that it gave are dropped.
class Pool;
struct DropPool {
    void operator()(Pool *pool) const;
};
using PoolHold = std::unique_ptr<Pool, DropPool>;
PoolHold make_pool(uint64_t bytes);
arrow::MemoryPool *pool_of(const PoolHold &pool);

// --- module_read.cpp ---

struct Ahead; // module_ahead.h

struct Parquet {
    PoolHold pool;                // outlives the rest
    uint64_t memory = 0;          // its bound; 0: none
    std::shared_ptr<Ahead> ahead; // NULL: one thread
    std::shared_ptr<arrow::io::RandomAccessFile> file;
    std::unique_ptr<parquet::arrow::FileReader> reader;
    std::shared_ptr<arrow::Schema> schema;
    std::shared_ptr<parquet::FileMetaData> meta;
};

arrow::Status use_threads(uint32_t threads);
unsigned threads_of(uint32_t threads); // 0: all that there are
arrow::Result<std::shared_ptr<Parquet>> open_parquet(const char *path, uint32_t threads,
                                                     uint64_t memory);
// The batches of one row group, about `bytes` each; all leaves where `leaves` is NULL.
arrow::Result<std::unique_ptr<arrow::RecordBatchReader>>
group_batches(Parquet &p, int group, const std::vector<int> *leaves, int64_t bytes);
// Fills *codec as codec_like says, unless it is NULL.
arrow::Result<std::shared_ptr<arrow::RecordBatchReader>>
ipc_open(const char *path, const arrow::ipc::IpcReadOptions &options,
         std::shared_ptr<arrow::util::Codec> *codec);
bm_status module_open(const bm_table_wish *wish, struct ArrowArrayStream *out,
                      bm_table_words *words);

// --- module_pick.cpp ---

// Which rows of one batch after another stay.
struct Picker {
    const bm_table_kept *kept;
    arrow::MemoryPool *pool;
    uint64_t row;            // the first of the next batch
    std::vector<bool> stays; // of the batch
};

// Those of the next batch; NULL: none.
arrow::Result<std::shared_ptr<arrow::RecordBatch>>
pick(Picker &picker, const std::shared_ptr<arrow::RecordBatch> &batch);

// --- module_keep.cpp ---

bm_status module_keep(const bm_table_kept *kept, bm_table_words *words);

} // namespace bandmill_tables

#endif
