/* module_ipc.h -- what IPC says of itself and Arrow does not tell. */
#ifndef BANDMILL_PARQUET_MODULE_IPC_H
#define BANDMILL_PARQUET_MODULE_IPC_H

#include "module_common.h"

namespace bandmill_tables
{

// --- module_ipc.cpp ---

// A file, not a stream.
arrow::Result<bool> is_ipc_file(arrow::io::RandomAccessFile &file);
// Where the dictionaries of an IPC file begin, and then its batches: all of them lie in it, as its footer says.
arrow::Result<std::vector<int64_t>> blocks_of(arrow::io::RandomAccessFile &file);
// As the first batch of an IPC file (whole), or stream, is compressed; NULL: it is not.
arrow::Result<std::shared_ptr<arrow::util::Codec>> codec_like(arrow::io::RandomAccessFile &file,
                                                              bool whole);

// --- module_needs.cpp ---

// Bytes of memory.
struct IpcNeeds {
    int64_t dictionaries; // all that are there at a time
    int64_t batch;        // the largest one
};
// Of these columns; all where there are none.
arrow::Result<IpcNeeds> ipc_needs(const char *path, const arrow::Schema &schema,
                                  const std::vector<int> &fields);
// What Arrow may take where `memory` is all that there is (0: any): more than was checked, for what nobody tells before.
constexpr uint64_t ipc_most(uint64_t memory)
{
    return memory > UINT64_MAX / 2 ? 0 : memory * 2;
}
// So many batches of those fit into it.
bool has_room(const IpcNeeds &needs, uint64_t batches, uint64_t memory);
// OutOfMemory, with the least that is needed, where two batches do not fit.
arrow::Status check_room(const IpcNeeds &needs, uint64_t memory);

} // namespace bandmill_tables

#endif
