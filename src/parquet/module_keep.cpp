// module_keep.cpp -- the rows of a file that stay, as a file of the same kind: read again batch by batch,
// the rows picked, written while the next batch is read.

#include "module_common.h"
#include "module_sink.h"

#include <arrow/io/api.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/base64.h>
#include <arrow/util/int_util.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>
#include <parquet/file_writer.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace bandmill_tables
{

namespace
{

constexpr int64_t kBatchBytes = 1 << 20; // of what is read at a time: the same whatever the threads
constexpr std::size_t kAhead = 4;        // batches that are read before they are written
constexpr const char *kSchemaKey = "ARROW:schema";
constexpr const char *kLabel = "bandmill";

// --- reading beside writing ---

// Rows of one row group, or batch of IPC, that stay.
struct Piece {
    int group;
    std::shared_ptr<arrow::RecordBatch> rows;
};
using Push = std::function<arrow::Status(Piece)>;

class Queue
{
  public:
    arrow::Status push(Piece piece)
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return pieces_.size() < kAhead || ended_; });
        if (ended_)
            return arrow::Status::Cancelled("nobody writes any more");
        pieces_.push_back(std::move(piece));
        changed_.notify_all();
        return arrow::Status::OK();
    }
    // False at the end.
    bool pop(Piece *piece)
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !pieces_.empty() || ended_; });
        if (pieces_.empty())
            return false;
        *piece = std::move(pieces_.front());
        pieces_.pop_front();
        changed_.notify_all();
        return true;
    }
    void end()
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Piece> pieces_;
    bool ended_ = false;
};

// `read` pushes all pieces, `write` takes each, in their order; at the same time where there are threads for it.
arrow::Status read_and_write(uint32_t threads,
                             const std::function<arrow::Status(const Push &)> &read,
                             const Push &write)
{
    if (threads == 1)
        return read(write);
    Queue queue;
    arrow::Status was_read, written;
    std::thread reader([&] {
        was_read = caught([&] { return read([&](Piece p) { return queue.push(std::move(p)); }); });
        queue.end();
    });
    Piece piece;
    while (written.ok() && queue.pop(&piece))
        written = caught([&] { return write(std::move(piece)); });
    queue.end();
    reader.join();
    return written.ok() ? was_read : written;
}

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

// --- Parquet ---

bool is_dictionary(parquet::Encoding::type e)
{
    return e == parquet::Encoding::RLE_DICTIONARY || e == parquet::Encoding::PLAIN_DICTIONARY;
}

// An encoding that a column has instead of the plain one.
bool is_special(parquet::Encoding::type e)
{
    return e == parquet::Encoding::DELTA_BINARY_PACKED ||
           e == parquet::Encoding::DELTA_BYTE_ARRAY ||
           e == parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY ||
           e == parquet::Encoding::BYTE_STREAM_SPLIT;
}

// The codec and the encodings of one column.
void column_like(const parquet::ColumnChunkMetaData &chunk, const std::string &path,
                 parquet::WriterProperties::Builder *builder)
{
    const auto &encodings = chunk.encodings();
    int64_t indexed = 0, plain = 0; // pages
    for (const auto &pages : chunk.encoding_stats()) {
        if (pages.page_type == parquet::PageType::DATA_PAGE_V2)
            builder->data_page_version(parquet::ParquetDataPageVersion::V2);
        if (pages.page_type != parquet::PageType::DICTIONARY_PAGE)
            (is_dictionary(pages.encoding) ? indexed : plain) += pages.count;
    }
    builder->compression(path, chunk.compression());
    if (!chunk.is_stats_set())
        builder->disable_statistics(path);
    if (chunk.GetColumnIndexLocation().has_value())
        builder->enable_write_page_index(path);
    if (std::any_of(encodings.begin(), encodings.end(), is_dictionary) && indexed >= plain)
        return; // else its dictionary was given up
    builder->disable_dictionary(path);
    for (const auto encoding : encodings)
        if (is_special(encoding))
            builder->encoding(path, encoding);
}

// Older versions would write times in nanoseconds as microseconds.
bool has_nanoseconds(const arrow::DataType &type)
{
    if (type.id() == arrow::Type::TIMESTAMP)
        return static_cast<const arrow::TimestampType &>(type).unit() == arrow::TimeUnit::NANO;
    const auto &fields = type.fields();
    return std::any_of(fields.begin(), fields.end(),
                       [](const auto &field) { return has_nanoseconds(*field->type()); });
}

// As the file was written, as far as it says.
std::shared_ptr<parquet::WriterProperties> properties_like(const Parquet &p)
{
    const parquet::FileMetaData &meta = *p.meta;
    parquet::WriterProperties::Builder builder;
    builder.memory_pool(pool_of(p.pool))
        ->version(has_nanoseconds(*arrow::struct_(p.schema->fields()))
                      ? parquet::ParquetVersion::PARQUET_2_6
                      : meta.version())
        ->created_by("bandmill")
        ->max_row_group_length(INT64_MAX)
        ->disable_write_page_index();
    if (meta.num_row_groups() == 0)
        return builder.build();
    const auto group = meta.RowGroup(0);
    for (int column = 0; column < meta.num_columns(); column++)
        column_like(*group->ColumnChunk(column),
                    meta.schema()->Column(column)->path()->ToDotString(), &builder);
    builder.set_sorting_columns(group->sorting_columns());
    return builder.build();
}

// The metadata of the file; Arrow's own word for its columns with those that are new.
arrow::Result<std::shared_ptr<const arrow::KeyValueMetadata>>
metadata_like(const Parquet &p, const arrow::Schema &schema)
{
    const auto own = p.meta->key_value_metadata();
    if (own == nullptr || !own->Contains(kSchemaKey) ||
        schema.num_fields() == p.schema->num_fields())
        return own;
    auto changed = own->Copy();
    ARROW_ASSIGN_OR_RAISE(auto bytes, arrow::ipc::SerializeSchema(schema));
    ARROW_RETURN_NOT_OK(changed->Set(kSchemaKey, arrow::util::base64_encode(bytes->ToString())));
    return changed;
}

// The columns as the file has them, to the letter, and those of `schema` that are new.
arrow::Result<std::shared_ptr<parquet::schema::GroupNode>>
columns_like(const Parquet &p, const arrow::Schema &schema,
             const parquet::WriterProperties &properties)
{
    using parquet::schema::GroupNode;
    const auto root = std::static_pointer_cast<GroupNode>(p.meta->schema()->schema_root());
    const GroupNode &own = *root;
    parquet::schema::NodeVector nodes;
    for (int i = 0; i < own.field_count(); i++)
        nodes.push_back(own.field(i));
    for (int i = own.field_count(); i < schema.num_fields(); i++) {
        std::shared_ptr<parquet::SchemaDescriptor> made;
        const arrow::Schema more({schema.field(i)});
        ARROW_RETURN_NOT_OK(parquet::arrow::ToParquetSchema(&more, properties, &made));
        nodes.push_back(made->group_node()->field(0));
    }
    if (schema.num_fields() == own.field_count())
        return root;
    return std::static_pointer_cast<GroupNode>(
        GroupNode::Make(own.name(), own.repetition(), nodes, nullptr, own.field_id()));
}

arrow::Result<std::unique_ptr<parquet::arrow::FileWriter>>
open_like(const Parquet &p, const std::shared_ptr<arrow::Schema> &schema,
          const std::shared_ptr<Sink> &sink, bool threads)
{
    const auto properties = properties_like(p);
    parquet::ArrowWriterProperties::Builder arrow_properties;
    arrow_properties.set_use_threads(threads);
    ARROW_ASSIGN_OR_RAISE(auto metadata, metadata_like(p, *schema));
    ARROW_ASSIGN_OR_RAISE(auto columns, columns_like(p, *schema, *properties));
    std::unique_ptr<parquet::arrow::FileWriter> writer;
    ARROW_RETURN_NOT_OK(parquet::arrow::FileWriter::Make(
        pool_of(p.pool), parquet::ParquetFileWriter::Open(sink, columns, properties, metadata),
        schema, arrow_properties.build(), &writer));
    return writer;
}

// Indices that a page has need not be of its dictionary, and nobody has looked.
arrow::Status check_indices(const arrow::ArrayData &data)
{
    if (data.type->id() == arrow::Type::DICTIONARY) {
        arrow::ArraySpan indices(data);
        indices.type = static_cast<const arrow::DictionaryType &>(*data.type).index_type().get();
        return arrow::internal::CheckIndexBounds(indices,
                                                 static_cast<uint64_t>(data.dictionary->length));
    }
    for (const auto &child : data.child_data)
        ARROW_RETURN_NOT_OK(check_indices(*child));
    return arrow::Status::OK();
}

arrow::Status read_parquet(const bm_table_kept &kept, Parquet &p, const Push &push)
{
    Picker picker{&kept, pool_of(p.pool), 0, {}};
    std::shared_ptr<arrow::RecordBatch> batch;
    for (int group = 0; group < p.meta->num_row_groups(); group++) {
        ARROW_ASSIGN_OR_RAISE(auto batches, group_batches(p, group, nullptr, kBatchBytes));
        for (;;) {
            ARROW_RETURN_NOT_OK(batches->ReadNext(&batch));
            if (batch == nullptr)
                break;
            for (const auto &column : batch->column_data())
                ARROW_RETURN_NOT_OK(check_indices(*column));
            ARROW_ASSIGN_OR_RAISE(auto rows, pick(picker, batch));
            if (rows != nullptr)
                ARROW_RETURN_NOT_OK(push({group, rows}));
        }
    }
    return arrow::Status::OK();
}

arrow::Status keep_parquet(const bm_table_kept &kept, const std::shared_ptr<Sink> &sink)
{
    ARROW_ASSIGN_OR_RAISE(auto p, open_parquet(kept.path, kept.threads, kept.memory));
    std::shared_ptr<arrow::Schema> schema = p->schema;
    std::shared_ptr<arrow::Field> label;
    if (kept.labels != nullptr) {
        ARROW_ASSIGN_OR_RAISE(label, label_field(*schema));
        ARROW_ASSIGN_OR_RAISE(schema, schema->AddField(schema->num_fields(), label));
    }
    ARROW_ASSIGN_OR_RAISE(auto writer, open_like(*p, schema, sink, kept.threads != 1));
    Labels labels(kept, label);
    int group = -1;
    ARROW_RETURN_NOT_OK(read_and_write(
        kept.threads, [&](const Push &push) { return read_parquet(kept, *p, push); },
        [&](Piece piece) -> arrow::Status {
            if (piece.group != group)
                ARROW_RETURN_NOT_OK(writer->NewBufferedRowGroup());
            group = piece.group;
            ARROW_ASSIGN_OR_RAISE(auto rows, labels.add(piece.rows));
            return writer->WriteRecordBatch(*rows);
        }));
    return writer->Close();
}

// --- Arrow's IPC ---

arrow::Status read_ipc(Picker &picker, arrow::RecordBatchReader &batches, const Push &push)
{
    std::shared_ptr<arrow::RecordBatch> batch;
    for (;;) {
        ARROW_RETURN_NOT_OK(batches.ReadNext(&batch));
        if (batch == nullptr)
            return arrow::Status::OK();
        ARROW_RETURN_NOT_OK(batch->ValidateFull());
        ARROW_ASSIGN_OR_RAISE(auto rows, pick(picker, batch));
        if (rows != nullptr)
            ARROW_RETURN_NOT_OK(push({0, rows}));
    }
}

arrow::Status keep_ipc(const bm_table_kept &kept, const std::shared_ptr<Sink> &sink)
{
    const PoolHold pool = make_pool(kept.memory);
    auto reading = arrow::ipc::IpcReadOptions::Defaults();
    auto writing = arrow::ipc::IpcWriteOptions::Defaults();
    reading.memory_pool = writing.memory_pool = pool_of(pool);
    reading.use_threads = writing.use_threads = kept.threads != 1;
    writing.unify_dictionaries = false;
    writing.emit_dictionary_deltas = false;
    ARROW_ASSIGN_OR_RAISE(auto reader, ipc_open(kept.path, reading));
    std::shared_ptr<arrow::Schema> schema = reader->schema();
    std::shared_ptr<arrow::Field> label;
    if (kept.labels != nullptr) {
        ARROW_ASSIGN_OR_RAISE(label, label_field(*schema));
        ARROW_ASSIGN_OR_RAISE(schema, schema->AddField(schema->num_fields(), label));
    }
    ARROW_ASSIGN_OR_RAISE(auto writer,
                          arrow::ipc::MakeFileWriter(sink, schema, writing, schema->metadata()));
    Picker picker{&kept, pool_of(pool), 0, {}};
    Labels labels(kept, label);
    ARROW_RETURN_NOT_OK(read_and_write(
        kept.threads, [&](const Push &push) { return read_ipc(picker, *reader, push); },
        [&](Piece piece) -> arrow::Status {
            ARROW_ASSIGN_OR_RAISE(auto rows, labels.add(piece.rows));
            return writer->WriteRecordBatch(*rows);
        }));
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
