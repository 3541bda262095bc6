// module_keep.cpp -- the rows of a file that stay, as a file of the same kind. Of IPC: read again batch by
// batch, the rows picked, written while the next batch is read.

#include "module_beside.h"
#include "module_common.h"
#include "module_groups.h"
#include "module_ipc.h"
#include "module_sink.h"

#include <arrow/io/api.h>
#include <arrow/ipc/writer.h>

namespace bandmill_tables
{

constexpr const char *kLabel = "bandmill";
constexpr uint64_t kAheadMost = 8; // batches that are there where they are read beside writing

// --- the column with the groups ---

arrow::Result<std::shared_ptr<arrow::Field>> label_field(const arrow::Schema &schema)
{
    if (schema.GetFieldIndex(kLabel) >= 0 || !schema.GetAllFieldIndices(kLabel).empty())
        return arrow::Status::Invalid("the table has a column '", kLabel, "' already");
    return arrow::field(kLabel,
                        arrow::struct_({arrow::field("group", arrow::int64()),
                                        arrow::field("kept", arrow::boolean(), false),
                                        arrow::field("jaccard", arrow::float64())}),
                        false);
}

namespace
{

// Batches with the labels of their rows, one batch after another.
class Labels
{
  public:
    Labels(const bm_table_kept &kept, std::shared_ptr<arrow::Field> field)
        : kept_(kept), field_(std::move(field))
    {
    }
    arrow::Result<std::shared_ptr<arrow::RecordBatch>>
    add(const std::shared_ptr<arrow::RecordBatch> &batch)
    {
        if (field_ == nullptr)
            return batch;
        const auto n = static_cast<uint64_t>(batch->num_rows());
        if (n > kept_.n_labels - at_)
            return arrow::Status::Invalid("fewer labels than rows");
        arrow::Int64Builder groups;
        arrow::BooleanBuilder kept;
        arrow::DoubleBuilder jaccards;
        for (uint64_t end = at_ + n; at_ < end; at_++) {
            const bm_table_label &label = kept_.labels[at_];
            ARROW_RETURN_NOT_OK(label.group != 0 ? groups.Append(static_cast<int64_t>(label.group))
                                                 : groups.AppendNull());
            ARROW_RETURN_NOT_OK(kept.Append(label.kept != 0));
            ARROW_RETURN_NOT_OK(label.millionths != BM_TABLE_JACCARD_UNKNOWN
                                    ? jaccards.Append(label.millionths / 1e6)
                                    : jaccards.AppendNull());
        }
        ARROW_ASSIGN_OR_RAISE(auto g, groups.Finish());
        ARROW_ASSIGN_OR_RAISE(auto k, kept.Finish());
        ARROW_ASSIGN_OR_RAISE(auto j, jaccards.Finish());
        ARROW_ASSIGN_OR_RAISE(auto column,
                              arrow::StructArray::Make({g, k, j}, field_->type()->fields()));
        return batch->AddColumn(batch->num_columns(), field_, column);
    }

  private:
    const bm_table_kept &kept_;
    std::shared_ptr<arrow::Field> field_; // NULL: none
    uint64_t at_ = 0;
};

// --- Arrow's IPC ---

using PushRows = Push<std::shared_ptr<arrow::RecordBatch>>;

arrow::Status read_ipc(Picker &picker, arrow::RecordBatchReader &batches, const PushRows &push)
{
    std::shared_ptr<arrow::RecordBatch> batch;
    for (;;) {
        ARROW_RETURN_NOT_OK(batches.ReadNext(&batch));
        if (batch == nullptr)
            return arrow::Status::OK();
        ARROW_RETURN_NOT_OK(batch->ValidateFull());
        ARROW_ASSIGN_OR_RAISE(auto rows, pick(picker, batch));
        if (rows != nullptr)
            ARROW_RETURN_NOT_OK(push(std::move(rows)));
    }
}

arrow::Status keep_ipc(const bm_table_kept &kept, const std::shared_ptr<Sink> &sink)
{
    const PoolHold pool = make_pool(ipc_most(kept.memory));
    auto reading = arrow::ipc::IpcReadOptions::Defaults();
    auto writing = arrow::ipc::IpcWriteOptions::Defaults();
    reading.memory_pool = writing.memory_pool = pool_of(pool);
    reading.use_threads = writing.use_threads = kept.threads != 1;
    writing.unify_dictionaries = false;
    writing.emit_dictionary_deltas = false;
    ARROW_ASSIGN_OR_RAISE(auto reader, ipc_open(kept.path, reading, &writing.codec));
    std::shared_ptr<arrow::Schema> schema = reader->schema();
    ARROW_ASSIGN_OR_RAISE(const IpcNeeds needs, ipc_needs(kept.path, *schema, {}));
    ARROW_RETURN_NOT_OK(check_room(needs, kept.memory));
    const bool beside = kept.threads != 1 && has_room(needs, kAheadMost, kept.memory);
    std::shared_ptr<arrow::Field> label;
    if (kept.labels != nullptr) {
        ARROW_ASSIGN_OR_RAISE(label, label_field(*schema));
        ARROW_ASSIGN_OR_RAISE(schema, schema->AddField(schema->num_fields(), label));
    }
    ARROW_ASSIGN_OR_RAISE(auto writer,
                          arrow::ipc::MakeFileWriter(sink, schema, writing, schema->metadata()));
    Picker picker{&kept, pool_of(pool), 0, {}};
    Labels labels(kept, label);
    const auto read = [&](const PushRows &push) { return read_ipc(picker, *reader, push); };
    const auto write = [&](std::shared_ptr<arrow::RecordBatch> batch) -> arrow::Status {
        ARROW_ASSIGN_OR_RAISE(auto rows, labels.add(batch));
        return writer->WriteRecordBatch(*rows);
    };
    ARROW_RETURN_NOT_OK(beside ? read_beside<std::shared_ptr<arrow::RecordBatch>>(read, write)
                               : read(write));
    return writer->Close();
}

} // namespace

bm_status module_keep(const bm_table_kept *kept, bm_table_words *words)
{
    std::shared_ptr<Sink> sink;
    const bm_status status = guarded(words, [&]() -> arrow::Status {
        ARROW_RETURN_NOT_OK(use_threads(kept->threads));
        sink = std::make_shared<Sink>(kept->write, kept->write_ctx);
        return kept->parquet ? keep_parquet(*kept, sink) : keep_ipc(*kept, sink);
    });
    return status != BM_OK && sink != nullptr && sink->broken() ? BM_ERR_PIPE : status;
}

} // namespace bandmill_tables
