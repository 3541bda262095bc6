// bandmill_parquet.cpp -- the library that table_module.h speaks of, over Arrow C++: Parquet and Arrow's IPC files as streams of
// arrays, and the rows of them that stay as files of the same kind. No exception leaves it.

#include <arrow/api.h>
#include <arrow/c/bridge.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/io/api.h>
#include <arrow/ipc/api.h>
#include <arrow/util/config.h>
#include <arrow/util/thread_pool.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>

#include <cstring>
#include <string_view>

#include "module_write.h"

namespace
{

constexpr int64_t kBatchRows = 16384;

// --- what goes wrong ---

// Words of one line, without the place in Arrow's sources that some of its messages end with.
void say(bm_table_words *words, std::string_view text)
{
    text = text.substr(0, text.find(". Detail:"));
    const std::size_t n = std::min(text.size(), sizeof words->text - 1);
    for (std::size_t i = 0; i < n; i++)
        words->text[i] = text[i] == '\n' ? ' ' : text[i];
    words->text[n] = '\0';
}

bm_status status_of(const arrow::Status &status)
{
    if (status.IsOutOfMemory())
        return BM_ERR_NOMEM;
    return status.IsIOError() && status.detail() != nullptr ? BM_ERR_IO : BM_ERR_INPUT;
}

bm_status fail(const arrow::Status &status, bm_table_words *words)
{
    say(words, status.message());
    return status_of(status);
}

// `body` gives an arrow::Status.
template <class Body> bm_status guarded(bm_table_words *words, Body body)
{
    try {
        const arrow::Status status = body();
        return status.ok() ? BM_OK : fail(status, words);
    } catch (const std::bad_alloc &) {
        say(words, "out of memory");
        return BM_ERR_NOMEM;
    } catch (const std::exception &e) {
        say(words, e.what());
        return BM_ERR_INPUT;
    }
}

arrow::Status use_threads(uint32_t threads)
{
    return threads > 0 ? arrow::SetCpuThreadPoolCapacity(static_cast<int>(threads))
                       : arrow::Status::OK();
}

// --- which columns ---

// The child of a schema that a name with dots leads into: all of the name, or what stands before its first dot.
int child_of(const arrow::Schema &schema, std::string_view name)
{
    const int whole = schema.GetFieldIndex(std::string(name));
    return whole >= 0 ? whole : schema.GetFieldIndex(std::string(name.substr(0, name.find('.'))));
}

// The columns asked for, each once, in their order; all of them where one that must be there is not: then whoever reads says
// which there are.
std::vector<int> children_of(const arrow::Schema &schema, const bm_table_wish &wish)
{
    std::vector<bool> wanted(static_cast<std::size_t>(schema.num_fields()), false);
    for (std::size_t i = 0; i < wish.n_columns; i++)
        if (const int child = child_of(schema, wish.columns[i]); child >= 0)
            wanted[static_cast<std::size_t>(child)] = true;
    for (std::size_t i = 0; i < wish.n_needed; i++)
        if (child_of(schema, wish.columns[i]) < 0)
            wanted.assign(wanted.size(), true);
    std::vector<int> children;
    for (std::size_t i = 0; i < wanted.size(); i++)
        if (wanted[i])
            children.push_back(static_cast<int>(i));
    return children;
}

// --- reading ---

// A stream that holds what it reads from.
class Held : public arrow::RecordBatchReader
{
  public:
    Held(std::shared_ptr<void> owner, std::shared_ptr<arrow::RecordBatchReader> reader)
        : owner_(std::move(owner)), reader_(std::move(reader))
    {
    }
    std::shared_ptr<arrow::Schema> schema() const override
    {
        return reader_->schema();
    }
    arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch> *batch) override
    {
        return reader_->ReadNext(batch);
    }

  private:
    std::shared_ptr<void> owner_;
    std::shared_ptr<arrow::RecordBatchReader> reader_;
};

struct Parquet {
    std::shared_ptr<arrow::io::ReadableFile> file;
    std::unique_ptr<parquet::arrow::FileReader> reader;
};

arrow::Result<std::shared_ptr<Parquet>> open_parquet(const char *path)
{
    auto p = std::make_shared<Parquet>();
    ARROW_ASSIGN_OR_RAISE(p->file, arrow::io::ReadableFile::Open(path));
    parquet::ReaderProperties raw;
    raw.enable_buffered_stream(); // a page at a time, not a column chunk
    parquet::ArrowReaderProperties properties;
    properties.set_use_threads(true);
    properties.set_batch_size(kBatchRows);
    properties.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    ARROW_RETURN_NOT_OK(builder.Open(p->file, raw));
    ARROW_RETURN_NOT_OK(builder.properties(properties)->Build(&p->reader));
    return p;
}

std::vector<int> all_row_groups(const Parquet &p)
{
    std::vector<int> groups(static_cast<std::size_t>(p.reader->num_row_groups()));
    for (std::size_t i = 0; i < groups.size(); i++)
        groups[i] = static_cast<int>(i);
    return groups;
}

// The leaves below the children.
std::vector<int> leaves_of(const Parquet &p, const std::vector<int> &children)
{
    const auto *schema = p.reader->parquet_reader()->metadata()->schema();
    std::vector<int> leaves;
    for (int leaf = 0; leaf < schema->num_columns(); leaf++) {
        const int root = schema->group_node()->FieldIndex(*schema->GetColumnRoot(leaf));
        if (std::find(children.begin(), children.end(), root) != children.end())
            leaves.push_back(leaf);
    }
    return leaves;
}

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> parquet_stream(const bm_table_wish &wish)
{
    ARROW_ASSIGN_OR_RAISE(auto p, open_parquet(wish.path));
    std::shared_ptr<arrow::Schema> schema;
    ARROW_RETURN_NOT_OK(p->reader->GetSchema(&schema));
    const std::vector<int> leaves = leaves_of(*p, children_of(*schema, wish));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatchReader> reader,
                          wish.n_columns > 0 && leaves.empty()
                              ? p->reader->GetRecordBatchReader(all_row_groups(*p))
                              : p->reader->GetRecordBatchReader(all_row_groups(*p), leaves));
    return std::make_shared<Held>(p, reader);
}

// The batches of an IPC file, one after another.
class FileBatches : public arrow::RecordBatchReader
{
  public:
    explicit FileBatches(std::shared_ptr<arrow::ipc::RecordBatchFileReader> file)
        : file_(std::move(file))
    {
    }
    std::shared_ptr<arrow::Schema> schema() const override
    {
        return file_->schema();
    }
    arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch> *batch) override
    {
        *batch = nullptr;
        if (next_ == file_->num_record_batches())
            return arrow::Status::OK();
        ARROW_ASSIGN_OR_RAISE(*batch, file_->ReadRecordBatch(next_++));
        return arrow::Status::OK();
    }

  private:
    std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;
    int next_ = 0;
};

// Batches whose buffers were checked: what is handed on is trusted to be as long as it says.
class Checked : public arrow::RecordBatchReader
{
  public:
    explicit Checked(std::shared_ptr<arrow::RecordBatchReader> reader) : reader_(std::move(reader))
    {
    }
    std::shared_ptr<arrow::Schema> schema() const override
    {
        return reader_->schema();
    }
    arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch> *batch) override
    {
        ARROW_RETURN_NOT_OK(reader_->ReadNext(batch));
        return *batch != nullptr ? (*batch)->ValidateFull() : arrow::Status::OK();
    }

  private:
    std::shared_ptr<arrow::RecordBatchReader> reader_;
};

arrow::Result<bool> is_ipc_file(arrow::io::ReadableFile &file)
{
    ARROW_ASSIGN_OR_RAISE(auto head, file.ReadAt(0, 6));
    return head->size() == 6 && std::memcmp(head->data(), "ARROW1", 6) == 0;
}

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>>
ipc_open(const char *path, const arrow::ipc::IpcReadOptions &options)
{
    ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
    ARROW_ASSIGN_OR_RAISE(const bool whole, is_ipc_file(*file));
    ARROW_RETURN_NOT_OK(file->Seek(0));
    if (!whole) {
        ARROW_ASSIGN_OR_RAISE(auto reader,
                              arrow::ipc::RecordBatchStreamReader::Open(file, options));
        return reader;
    }
    ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchFileReader::Open(file, options));
    return std::make_shared<FileBatches>(reader);
}

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> ipc_stream(const bm_table_wish &wish)
{
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    ARROW_ASSIGN_OR_RAISE(auto all, ipc_open(wish.path, options));
    options.included_fields = children_of(*all->schema(), wish);
    if (options.included_fields.empty())
        return std::make_shared<Checked>(all); // no field at all would stand for every field
    ARROW_ASSIGN_OR_RAISE(auto some, ipc_open(wish.path, options));
    return std::make_shared<Checked>(some);
}

bm_status module_open(const bm_table_wish *wish, struct ArrowArrayStream *out,
                      bm_table_words *words)
{
    return guarded(words, [&]() -> arrow::Status {
        ARROW_RETURN_NOT_OK(use_threads(wish->threads));
        ARROW_ASSIGN_OR_RAISE(auto reader,
                              wish->parquet ? parquet_stream(*wish) : ipc_stream(*wish));
        return arrow::ExportRecordBatchReader(reader, out);
    });
}

// --- keeping ---

// What is written goes to the caller.
class Sink : public arrow::io::OutputStream
{
  public:
    explicit Sink(const bm_table_kept &kept) : kept_(kept)
    {
    }
    arrow::Status Write(const void *data, int64_t n) override
    {
        broken_ = broken_ || kept_.write(kept_.write_ctx, static_cast<const char *>(data),
                                         static_cast<std::size_t>(n)) != 0;
        at_ += n;
        return broken_ ? arrow::Status::IOError("cannot write") : arrow::Status::OK();
    }
    using OutputStream::Write;
    arrow::Status Close() override
    {
        closed_ = true;
        return arrow::Status::OK();
    }
    arrow::Result<int64_t> Tell() const override
    {
        return at_;
    }
    bool closed() const override
    {
        return closed_;
    }
    bool broken() const
    {
        return broken_;
    }

  private:
    const bm_table_kept &kept_;
    int64_t at_ = 0;
    bool closed_ = false, broken_ = false;
};

// Rows first … first + n - 1 as a mask; behind kept.n_rows none stays.
arrow::Result<arrow::Datum> mask_of(const bm_table_kept &kept, uint64_t first, int64_t n)
{
    arrow::BooleanBuilder builder;
    ARROW_RETURN_NOT_OK(builder.Reserve(n));
    for (uint64_t row = first; row < first + static_cast<uint64_t>(n); row++)
        builder.UnsafeAppend(row < kept.n_rows && (kept.rows[row / 8] >> row % 8 & 1) != 0);
    ARROW_ASSIGN_OR_RAISE(auto mask, builder.Finish());
    return arrow::Datum(mask);
}

// As the file was written, as far as it says.
std::shared_ptr<parquet::WriterProperties> properties_like(const parquet::FileMetaData &meta)
{
    parquet::WriterProperties::Builder builder;
    builder.version(meta.version())->created_by("bandmill")->max_row_group_length(INT64_MAX);
    for (int column = 0; meta.num_row_groups() > 0 && column < meta.num_columns(); column++) {
        const auto group = meta.RowGroup(0);
        const auto chunk = group->ColumnChunk(column);
        const std::string path = meta.schema()->Column(column)->path()->ToDotString();
        builder.compression(path, chunk->compression());
        const auto encodings = chunk->encodings();
        const bool indexed =
            std::any_of(encodings.begin(), encodings.end(), [](parquet::Encoding::type e) {
                return e == parquet::Encoding::RLE_DICTIONARY ||
                       e == parquet::Encoding::PLAIN_DICTIONARY;
            });
        if (!indexed)
            builder.disable_dictionary(path);
    }
    return builder.build();
}

// The rows of one group, *row being the number of its first, and of the next group's afterwards.
arrow::Status keep_group(const bm_table_kept &kept, arrow::RecordBatchReader &batches,
                         parquet::arrow::FileWriter &writer, uint64_t *row)
{
    std::shared_ptr<arrow::RecordBatch> batch;
    bool begun = false;
    for (;;) {
        ARROW_RETURN_NOT_OK(batches.ReadNext(&batch));
        if (batch == nullptr)
            return arrow::Status::OK();
        ARROW_ASSIGN_OR_RAISE(const arrow::Datum mask, mask_of(kept, *row, batch->num_rows()));
        ARROW_ASSIGN_OR_RAISE(const arrow::Datum rest,
                              arrow::compute::Filter(arrow::Datum(batch), mask));
        *row += static_cast<uint64_t>(batch->num_rows());
        if (rest.record_batch()->num_rows() == 0)
            continue;
        if (!begun)
            ARROW_RETURN_NOT_OK(writer.NewBufferedRowGroup());
        begun = true;
        ARROW_RETURN_NOT_OK(writer.WriteRecordBatch(*rest.record_batch()));
    }
}

arrow::Status keep_parquet(const bm_table_kept &kept, const std::shared_ptr<Sink> &sink)
{
    ARROW_ASSIGN_OR_RAISE(auto p, open_parquet(kept.path));
    std::shared_ptr<arrow::Schema> schema;
    ARROW_RETURN_NOT_OK(p->reader->GetSchema(&schema));
    const auto meta = p->reader->parquet_reader()->metadata();
    parquet::ArrowWriterProperties::Builder arrow_properties;
    const auto own = meta->key_value_metadata();
    if (own != nullptr && own->Contains("ARROW:schema"))
        arrow_properties.store_schema();
    ARROW_ASSIGN_OR_RAISE(auto writer, parquet::arrow::FileWriter::Open(
                                           *schema, arrow::default_memory_pool(), sink,
                                           properties_like(*meta), arrow_properties.build()));
    uint64_t row = 0;
    for (int group = 0; group < p->reader->num_row_groups(); group++) {
        ARROW_ASSIGN_OR_RAISE(auto batches, p->reader->GetRecordBatchReader({group}));
        ARROW_RETURN_NOT_OK(keep_group(kept, *batches, *writer, &row));
    }
    return writer->Close();
}

arrow::Status keep_ipc(const bm_table_kept &kept, const std::shared_ptr<Sink> &sink)
{
    ARROW_ASSIGN_OR_RAISE(auto reader, ipc_open(kept.path, arrow::ipc::IpcReadOptions::Defaults()));
    auto options = arrow::ipc::IpcWriteOptions::Defaults();
    options.unify_dictionaries = false;
    options.emit_dictionary_deltas = false;
    ARROW_ASSIGN_OR_RAISE(auto writer, arrow::ipc::MakeFileWriter(sink, reader->schema(), options,
                                                                  reader->schema()->metadata()));
    uint64_t row = 0;
    std::shared_ptr<arrow::RecordBatch> batch;
    for (;;) {
        ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
        if (batch == nullptr)
            break;
        ARROW_RETURN_NOT_OK(batch->ValidateFull());
        ARROW_ASSIGN_OR_RAISE(const arrow::Datum mask, mask_of(kept, row, batch->num_rows()));
        ARROW_ASSIGN_OR_RAISE(const arrow::Datum rest,
                              arrow::compute::Filter(arrow::Datum(batch), mask));
        row += static_cast<uint64_t>(batch->num_rows());
        if (rest.record_batch()->num_rows() > 0)
            ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*rest.record_batch()));
    }
    return writer->Close();
}

bm_status module_keep(const bm_table_kept *kept, bm_table_words *words)
{
    std::shared_ptr<Sink> sink;
    const bm_status status = guarded(words, [&]() -> arrow::Status {
        ARROW_RETURN_NOT_OK(use_threads(kept->threads));
        ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
        sink = std::make_shared<Sink>(*kept);
        return kept->parquet ? keep_parquet(*kept, sink) : keep_ipc(*kept, sink);
    });
    return status != BM_OK && sink != nullptr && sink->broken() ? BM_ERR_PIPE : status;
}

} // namespace

extern "C" const bm_table_module *bm_table_module_get(void)
{
    static const bm_table_module module = {BM_TABLE_MODULE_ABI, "Arrow " ARROW_VERSION_STRING,
                                           module_open, module_keep, bandmill_table_write};
    return &module;
}
