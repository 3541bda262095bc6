/* module_ahead.h -- pages of a column that are decompressed before they are asked for, and compressed behind
 * those that made them, on the threads of a team: within one column of one row group. What is read and
 * written, and what is said of damage, does not depend on it. */
#ifndef BANDMILL_PARQUET_MODULE_AHEAD_H
#define BANDMILL_PARQUET_MODULE_AHEAD_H

#include "module_common.h"
#include "module_team.h"

#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/column_writer.h>
#include <parquet/file_reader.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace bandmill_tables
{

constexpr int64_t kSmall = 64 << 10;     // bytes of a chunk that is not worth a thread
constexpr int64_t kPagesMost = 64 << 20; // bytes of pages ahead, where memory is bound
constexpr int64_t kPagesLeast = 1;       // else the pool had no bound

// What the columns of a file share. Pages ahead are no part of the memory that is bound for the rest, which has
// as much as without threads. They take what is left of it, a small share at most.
struct Ahead {
    Ahead(arrow::MemoryPool *others, uint64_t memory, unsigned threads)
        : rest(others),
          all(memory > 0 && memory < INT64_MAX ? static_cast<int64_t>(memory) : INT64_MAX),
          most(std::min(all / 16, memory > 0 ? kPagesMost : 4 * kPagesMost)),
          pool(make_pool(static_cast<uint64_t>(std::max(most, kPagesLeast)))), team(threads)
    {
    }
    std::size_t pages() const // of a column, at most
    {
        return static_cast<std::size_t>(team.threads()) + 2;
    }
    bool has_room(int64_t bytes) const
    {
        const int64_t now = pool_of(pool)->bytes_allocated();
        return bytes <= most - now && bytes <= all - now - rest->bytes_allocated();
    }

    arrow::MemoryPool *const rest;
    const int64_t all, most; // bytes of both, of pages ahead
    const PoolHold pool;
    std::atomic<bool> off = false; // there was no room for one page
    Team team;
};

// A piece of work ahead: of one page.
struct AheadWork {
    arrow::Status status; // of `body`
    Work work;

    template <class Body> void begin(Team &team, Body body)
    {
        work.body = [this, body] { status = caught(body); };
        team.begin(work);
    }
};

// --- module_pages.cpp ---

// The file, whose column readers have pages ahead. `ahead` outlives it.
std::unique_ptr<parquet::ParquetFileReader>
open_ahead(const std::shared_ptr<arrow::io::RandomAccessFile> &file,
           const parquet::ReaderProperties &properties, Ahead &ahead);

// --- module_compress.cpp ---

// Pages of version 1 without a dictionary, compressed ahead, go to `out` in their order; `bytes` counts them
// as ColumnWriter would.
std::unique_ptr<parquet::PageWriter> compress_ahead(std::unique_ptr<parquet::PageWriter> out,
                                                    parquet::Compression::type codec, Ahead &ahead,
                                                    const std::shared_ptr<int64_t> &bytes);

} // namespace bandmill_tables

#endif
