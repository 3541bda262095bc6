/* module_ipc.h -- what a file or stream of IPC says of itself and Arrow does not tell: where the batches of a file lie,
 * how large they are and how they are compressed. */
#ifndef BANDMILL_PARQUET_MODULE_IPC_H
#define BANDMILL_PARQUET_MODULE_IPC_H

#include "module_common.h"

#include <arrow/util/compression.h>

namespace bandmill_tables
{

struct IpcFile {
    std::string path;
    std::shared_ptr<arrow::io::ReadableFile> file;
    bool whole;                  // a file, not a stream
    int64_t bytes;               // of it
    std::vector<int64_t> blocks; // of a file: where its dictionaries begin, and then its batches
};

// Bytes of memory, and what the first batch is compressed with (NULL: it is not).
struct IpcNeeds {
    int64_t dictionaries = 0; // all that are there at a time
    int64_t batch = 0;        // the largest one
    std::shared_ptr<arrow::util::Codec> codec;

    // So many batches fit into `memory` (0: any).
    bool has_room(uint64_t batches, uint64_t memory) const;
};

// --- module_needs.cpp ---

// All blocks lie in it, as its footer says.
arrow::Result<IpcFile> ipc_find(const char *path);
// Of these columns; all where there are none. OutOfMemory, with the least that is needed, where two batches do not fit.
arrow::Result<IpcNeeds> ipc_needs(const IpcFile &ipc, const arrow::Schema &schema,
                                  const std::vector<int> &fields, uint64_t memory);

} // namespace bandmill_tables

#endif
