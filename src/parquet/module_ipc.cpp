// module_ipc.cpp -- Arrow's IPC, files and streams, batch by batch: as a stream of arrays, and those of its rows that
// stay. What the batches take is checked before any of them is read (module_needs.cpp).

#include "module_ipc.h"

#include <arrow/ipc/api.h>
#include <arrow/util/iterator.h>

namespace bandmill_tables
{

namespace
{

constexpr uint64_t kAheadMost = 8; // batches that are there where they are read beside writing

using Batch = std::shared_ptr<arrow::RecordBatch>;
using Reader = std::shared_ptr<arrow::RecordBatchReader>;

arrow::Result<Reader> open_batches(const IpcFile &ipc, const arrow::ipc::IpcReadOptions &options)
{
    ARROW_ASSIGN_OR_RAISE(auto input, arrow::io::ReadableFile::Open(ipc.path, options.memory_pool));
    if (!ipc.whole)
        return arrow::ipc::RecordBatchStreamReader::Open(std::move(input), options);
    ARROW_ASSIGN_OR_RAISE(auto file, arrow::ipc::RecordBatchFileReader::Open(input, options));
    auto batches = arrow::MakeFunctionIterator([file, next = 0]() mutable -> arrow::Result<Batch> {
        return next < file->num_record_batches() ? file->ReadRecordBatch(next++) : nullptr;
    });
    return arrow::RecordBatchReader::MakeFromIterator(std::move(batches), file->schema());
}

// Batches whose buffers were checked: what is handed on is trusted to be as long as it says. What goes wrong
// has its place.
class Checked : public arrow::RecordBatchReader
{
  public:
    Checked(PoolHold pool, Reader reader) : pool_(std::move(pool)), reader_(std::move(reader))
    {
    }
    std::shared_ptr<arrow::Schema> schema() const override
    {
        return reader_->schema();
    }
    arrow::Status ReadNext(Batch *batch) override
    {
        const arrow::Status status = caught([&] {
            ARROW_RETURN_NOT_OK(reader_->ReadNext(batch));
            return *batch != nullptr ? (*batch)->ValidateFull() : arrow::Status::OK();
        });
        if (!status.ok())
            return status.WithMessage("behind row ", row_, ": ", status.message());
        row_ += *batch != nullptr ? (*batch)->num_rows() : 0;
        return status;
    }

  private:
    PoolHold pool_; // outlives the rest
    Reader reader_;
    int64_t row_ = 0;
};

// What Arrow may take where `memory` is all that there is (0: any): more than was checked, for what nobody tells before.
PoolHold ipc_pool(uint64_t memory)
{
    return make_pool(memory > UINT64_MAX / 2 ? 0 : memory * 2);
}

arrow::ipc::IpcReadOptions options_of(const PoolHold &pool)
{
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    options.memory_pool = pool_of(pool);
    options.use_threads = false;
    return options;
}

} // namespace

arrow::Result<Reader> ipc_stream(const bm_table_wish &wish)
{
    PoolHold pool = ipc_pool(wish.memory);
    auto options = options_of(pool);
    ARROW_ASSIGN_OR_RAISE(const IpcFile ipc, ipc_find(wish.path));
    ARROW_ASSIGN_OR_RAISE(auto reader, open_batches(ipc, options));
    options.included_fields = children_of(*reader->schema(), wish);
    ARROW_RETURN_NOT_OK(
        ipc_needs(ipc, *reader->schema(), options.included_fields, wish.memory).status());
    if (!options.included_fields.empty()) { // no field at all would stand for every field
        ARROW_ASSIGN_OR_RAISE(reader, open_batches(ipc, options));
    }
    return std::make_shared<Checked>(std::move(pool), std::move(reader));
}

arrow::Status keep_ipc(const bm_table_kept &kept,
                       const std::shared_ptr<arrow::io::OutputStream> &sink)
{
    const PoolHold pool = ipc_pool(kept.memory);
    auto writing = arrow::ipc::IpcWriteOptions::Defaults();
    writing.memory_pool = pool_of(pool);
    writing.use_threads = false;
    writing.unify_dictionaries = false;
    writing.emit_dictionary_deltas = false;
    ARROW_ASSIGN_OR_RAISE(const IpcFile ipc, ipc_find(kept.path));
    ARROW_ASSIGN_OR_RAISE(const auto reader, open_batches(ipc, options_of(pool)));
    std::shared_ptr<arrow::Schema> schema = reader->schema();
    ARROW_ASSIGN_OR_RAISE(const IpcNeeds needs, ipc_needs(ipc, *schema, {}, kept.memory));
    writing.codec = needs.codec;
    std::shared_ptr<arrow::Field> label;
    if (kept.labels != nullptr) {
        ARROW_ASSIGN_OR_RAISE(label, label_field(*schema));
        ARROW_ASSIGN_OR_RAISE(schema, schema->AddField(schema->num_fields(), label));
    }
    ARROW_ASSIGN_OR_RAISE(const auto writer,
                          arrow::ipc::MakeFileWriter(sink, schema, writing, schema->metadata()));
    uint64_t n_labels = 0; // that are written
    const auto write = [&](Batch rows) -> arrow::Status {
        if (label != nullptr) {
            const auto n = static_cast<uint64_t>(rows->num_rows());
            if (n > kept.n_labels - n_labels)
                return arrow::Status::Invalid("fewer labels than rows");
            ARROW_ASSIGN_OR_RAISE(const auto leaves, label_columns(kept.labels + n_labels, n));
            ARROW_ASSIGN_OR_RAISE(const auto column,
                                  arrow::StructArray::Make(leaves, label->type()->fields()));
            ARROW_ASSIGN_OR_RAISE(rows, rows->AddColumn(rows->num_columns(), label, column));
            n_labels += n;
        }
        return writer->WriteRecordBatch(*rows);
    };
    const auto read = [&](const Push &push) -> arrow::Status {
        Batch batch;
        for (uint64_t first = 0;;) {
            ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
            if (batch == nullptr)
                return arrow::Status::OK();
            ARROW_RETURN_NOT_OK(batch->ValidateFull());
            ARROW_ASSIGN_OR_RAISE(auto rows, pick_rows(kept, first, batch, pool_of(pool)));
            first += static_cast<uint64_t>(batch->num_rows());
            if (rows->num_rows() > 0)
                ARROW_RETURN_NOT_OK(push([&write, rows] { return write(rows); }));
        }
    };
    ARROW_RETURN_NOT_OK(
        read_beside(kept.threads != 1 && needs.has_room(kAheadMost, kept.memory), read));
    return writer->Close();
}

} // namespace bandmill_tables
