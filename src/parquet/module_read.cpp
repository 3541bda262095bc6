// module_read.cpp -- files of tables as streams of arrays: of the columns that are asked for, row group by
// row group. What a file says of itself is checked before Arrow acts on it, as far as that can be.

#include "module_ahead.h"
#include "module_ipc.h"

#include <arrow/c/bridge.h>
#include <arrow/io/api.h>
#include <arrow/util/thread_pool.h>
#include <parquet/exception.h>
#include <parquet/size_statistics.h>

#include <algorithm>
#include <string_view>

namespace bandmill_tables
{

constexpr int64_t kBatchRows = 16384, kFewestRows = 16;

arrow::Status use_threads(uint32_t threads)
{
    return threads > 0 ? arrow::SetCpuThreadPoolCapacity(static_cast<int>(threads))
                       : arrow::Status::OK();
}

unsigned threads_of(uint32_t threads)
{
    return threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
}

namespace
{

// --- which columns ---

// The child of a schema that a name with dots and brackets leads into: all of the name, or what stands
// before the first of them.
int child_of(const arrow::Schema &schema, std::string_view name)
{
    const int whole = schema.GetFieldIndex(std::string(name));
    if (whole >= 0)
        return whole;
    std::string_view first = name.substr(0, name.find('.'));
    while (first.size() >= 2 && first.substr(first.size() - 2) == "[]")
        first.remove_suffix(2);
    return schema.GetFieldIndex(std::string(first));
}

// The columns asked for, each once, in their order; all of them where one that must be there is not: then
// whoever reads says which there are.
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

// The leaves below the children.
std::vector<int> leaves_of(const Parquet &p, const std::vector<int> &children)
{
    const auto *schema = p.meta->schema();
    std::vector<int> leaves;
    for (int leaf = 0; leaf < schema->num_columns(); leaf++) {
        const int root = schema->group_node()->FieldIndex(*schema->GetColumnRoot(leaf));
        if (std::find(children.begin(), children.end(), root) != children.end())
            leaves.push_back(leaf);
    }
    return leaves;
}

// --- Parquet ---

arrow::Status encrypted(const std::string &column)
{
    return arrow::Status::Invalid("column '", column, "' is encrypted");
}

// A column chunk lies in the file, and in plain text.
arrow::Status check_chunk(const parquet::ColumnChunkMetaData &chunk, int64_t file_bytes)
{
    const int64_t data = chunk.data_page_offset(), n = chunk.total_compressed_size();
    int64_t begin = data;
    if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0)
        begin = std::min(begin, chunk.dictionary_page_offset());
    if (begin < 0 || n < 0 || chunk.num_values() < 0 || begin > file_bytes - n)
        return arrow::Status::Invalid("column '", chunk.path_in_schema()->ToDotString(),
                                      "' does not lie in the file");
    return chunk.crypto_metadata() == nullptr ? arrow::Status::OK()
                                              : encrypted(chunk.path_in_schema()->ToDotString());
}

arrow::Status check_groups(const parquet::FileMetaData &meta, int64_t file_bytes)
{
    int64_t rows = 0;
    for (int g = 0; g < meta.num_row_groups(); g++) {
        const auto group = meta.RowGroup(g);
        const int64_t n = group->num_rows();
        if (n < 0 || n > meta.num_rows() - rows)
            return arrow::Status::Invalid("row group ", g, " has ", n, " rows, the file ",
                                          meta.num_rows());
        rows += n;
        for (int column = 0; column < meta.num_columns(); column++) {
            const arrow::Status status =
                caught([&] { return check_chunk(*group->ColumnChunk(column), file_bytes); });
            if (!status.ok() && meta.is_encryption_algorithm_set()) // what it says cannot be read
                return encrypted(meta.schema()->Column(column)->path()->ToDotString());
            if (!status.ok())
                return status.WithMessage("row group ", g, ": ", status.message());
        }
    }
    return rows == meta.num_rows() ? arrow::Status::OK()
                                   : arrow::Status::Invalid("its row groups have ", rows,
                                                            " rows, the file ", meta.num_rows());
}

// Bytes of a row of these leaves, as far as the file tells.
int64_t row_bytes(const parquet::RowGroupMetaData &group, const std::vector<int> *leaves)
{
    int64_t bytes = 0;
    const auto add = [&](int leaf) {
        const auto chunk = group.ColumnChunk(leaf);
        const auto sizes = chunk->size_statistics();
        int64_t n = chunk->total_uncompressed_size();
        if (sizes != nullptr && sizes->unencoded_byte_array_data_bytes.has_value())
            n = std::max(n, *sizes->unencoded_byte_array_data_bytes);
        bytes += std::max<int64_t>(n, 0);
    };
    for (int leaf = 0; leaves == nullptr && leaf < group.num_columns(); leaf++)
        add(leaf);
    for (std::size_t i = 0; leaves != nullptr && i < leaves->size(); i++)
        add((*leaves)[i]);
    return bytes / std::max<int64_t>(group.num_rows(), 1) + 1;
}

// One column is not nearly all of what is read: then it is read at once where it is asked for.
bool worth_threads(const parquet::RowGroupMetaData &group, const std::vector<int> *leaves)
{
    int64_t all = 0, most = 0;
    const int n = leaves != nullptr ? static_cast<int>(leaves->size()) : group.num_columns();
    for (int i = 0; i < n; i++) {
        const int leaf = leaves != nullptr ? (*leaves)[static_cast<std::size_t>(i)] : i;
        const int64_t bytes =
            std::max<int64_t>(group.ColumnChunk(leaf)->total_uncompressed_size(), 0);
        all += std::min(bytes, INT64_MAX / 4 - all);
        most = std::max(most, bytes);
    }
    return all / 3 * 2 >= most;
}

// The rows of a file, a row group after another: what goes wrong has its place. With threads the next batch is
// read while the one before is worked on, where there is room for both.
class Groups : public arrow::RecordBatchReader
{
  public:
    Groups(std::shared_ptr<Parquet> p, std::vector<int> leaves,
           std::shared_ptr<arrow::Schema> schema, int64_t bytes)
        : p_(std::move(p)), leaves_(std::move(leaves)), schema_(std::move(schema)), bytes_(bytes)
    {
    }
    ~Groups() override
    {
        if (p_->ahead != nullptr)
            p_->ahead->team.drop(work_.work);
    }
    std::shared_ptr<arrow::Schema> schema() const override
    {
        return schema_;
    }
    arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch> *batch) override
    {
        arrow::Status status = begun_ ? read_ahead(batch) : read(batch);
        begun_ = status.ok() && *batch != nullptr && has_room();
        if (begun_)
            work_.begin(p_->ahead->team, [this] { return read(&next_); });
        return status;
    }

  private:
    bool has_room() const
    {
        return p_->ahead != nullptr && !p_->ahead->off &&
               (p_->memory == 0 ||
                pool_of(p_->pool)->bytes_allocated() <= static_cast<int64_t>(p_->memory / 4));
    }

    // What lacked memory is read again, now that the batch before may be gone.
    arrow::Status read_ahead(std::shared_ptr<arrow::RecordBatch> *batch)
    {
        p_->ahead->team.finish(work_.work);
        *batch = std::move(next_);
        if (!work_.status.IsOutOfMemory())
            return work_.status;
        p_->ahead->off = true;
        batches_ = nullptr;
        return read(batch);
    }

    arrow::Status read(std::shared_ptr<arrow::RecordBatch> *batch)
    {
        const arrow::Status status = caught([&] { return next(batch); });
        return status.ok() ? status
                           : status.WithMessage("row group ", group_, ", behind row ", row_, ": ",
                                                status.message());
    }

    // Behind those of its batches that were read.
    arrow::Status open_group()
    {
        ARROW_ASSIGN_OR_RAISE(batches_, group_batches(*p_, group_, &leaves_, bytes_));
        std::shared_ptr<arrow::RecordBatch> batch;
        for (int64_t i = 0; i < n_read_; i++)
            ARROW_RETURN_NOT_OK(batches_->ReadNext(&batch));
        return arrow::Status::OK();
    }

    arrow::Status next(std::shared_ptr<arrow::RecordBatch> *batch)
    {
        *batch = nullptr;
        while (group_ < p_->meta->num_row_groups()) {
            if (batches_ == nullptr)
                ARROW_RETURN_NOT_OK(open_group());
            ARROW_RETURN_NOT_OK(batches_->ReadNext(batch));
            const int64_t n = *batch != nullptr ? (*batch)->num_rows() : 0;
            const int64_t left = p_->meta->RowGroup(group_)->num_rows() - rows_read_;
            if (n > left || (*batch == nullptr && left > 0))
                return arrow::Status::Invalid("it holds another number of rows than it says");
            rows_read_ += n;
            row_ += n;
            n_read_++;
            if (*batch != nullptr)
                return arrow::Status::OK();
            batches_ = nullptr;
            rows_read_ = n_read_ = 0;
            group_++;
        }
        return arrow::Status::OK();
    }

    std::shared_ptr<Parquet> p_;
    std::vector<int> leaves_;
    std::shared_ptr<arrow::Schema> schema_;
    int64_t bytes_;
    std::unique_ptr<arrow::RecordBatchReader> batches_; // of the group
    int group_ = 0;
    int64_t n_read_ = 0, rows_read_ = 0; // of its batches, of its rows
    int64_t row_ = 0;                    // rows before, of the file
    bool begun_ = false;                 // the next batch
    std::shared_ptr<arrow::RecordBatch> next_;
    AheadWork work_;
};

// Rows without columns: so many as the file says.
class RowsAlone : public arrow::RecordBatchReader
{
  public:
    explicit RowsAlone(int64_t rows) : left_(rows)
    {
    }
    std::shared_ptr<arrow::Schema> schema() const override
    {
        return arrow::schema({});
    }
    arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch> *batch) override
    {
        const int64_t n = std::min(left_, kBatchRows);
        left_ -= n;
        *batch = n > 0 ? arrow::RecordBatch::Make(schema(), n, arrow::ArrayVector{}) : nullptr;
        return arrow::Status::OK();
    }

  private:
    int64_t left_;
};

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> parquet_stream(const bm_table_wish &wish)
{
    ARROW_ASSIGN_OR_RAISE(auto p, open_parquet(wish.path, wish.threads, wish.memory));
    if (wish.n_columns == 0)
        return std::make_shared<RowsAlone>(p->meta->num_rows());
    const std::vector<int> children = children_of(*p->schema, wish);
    std::vector<int> leaves = leaves_of(*p, children);
    arrow::FieldVector fields;
    for (const int child : children)
        fields.push_back(p->schema->field(child));
    return std::make_shared<Groups>(p, std::move(leaves),
                                    arrow::schema(std::move(fields), p->schema->metadata()),
                                    static_cast<int64_t>(wish.batch_bytes));
}

// --- Arrow's IPC ---

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

// Batches whose buffers were checked: what is handed on is trusted to be as long as it says. What goes wrong
// has its place.
class Checked : public arrow::RecordBatchReader
{
  public:
    Checked(PoolHold pool, std::shared_ptr<arrow::RecordBatchReader> reader)
        : pool_(std::move(pool)), reader_(std::move(reader))
    {
    }
    std::shared_ptr<arrow::Schema> schema() const override
    {
        return reader_->schema();
    }
    arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch> *batch) override
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
    std::shared_ptr<arrow::RecordBatchReader> reader_;
    int64_t row_ = 0;
};

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> ipc_stream(const bm_table_wish &wish)
{
    PoolHold pool = make_pool(ipc_most(wish.memory));
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    options.memory_pool = pool_of(pool);
    options.use_threads = wish.threads != 1;
    ARROW_ASSIGN_OR_RAISE(auto reader, ipc_open(wish.path, options, nullptr));
    options.included_fields = children_of(*reader->schema(), wish);
    ARROW_ASSIGN_OR_RAISE(const IpcNeeds needs,
                          ipc_needs(wish.path, *reader->schema(), options.included_fields));
    ARROW_RETURN_NOT_OK(check_room(needs, wish.memory));
    if (!options.included_fields.empty()) { // no field at all would stand for every field
        ARROW_ASSIGN_OR_RAISE(reader, ipc_open(wish.path, options, nullptr));
    }
    return std::make_shared<Checked>(std::move(pool), reader);
}

} // namespace

arrow::Result<std::shared_ptr<Parquet>> open_parquet(const char *path, uint32_t threads,
                                                     uint64_t memory)
{
    auto p = std::make_shared<Parquet>();
    p->memory = memory;
    p->pool = make_pool(memory);
    if (threads_of(threads) > 1)
        p->ahead = std::make_shared<Ahead>(pool_of(p->pool), memory, threads_of(threads) - 1);
    ARROW_ASSIGN_OR_RAISE(p->file, arrow::io::ReadableFile::Open(path, pool_of(p->pool)));
    ARROW_ASSIGN_OR_RAISE(const int64_t file_bytes, p->file->GetSize());
    parquet::ReaderProperties raw(pool_of(p->pool));
    raw.enable_buffered_stream(); // a page at a time, not a column chunk
    parquet::ArrowReaderProperties properties;
    properties.set_use_threads(threads != 1);
    properties.set_pre_buffer(false);
    ARROW_ASSIGN_OR_RAISE(p->reader,
                          parquet::arrow::FileReader::Make(
                              pool_of(p->pool),
                              p->ahead != nullptr ? open_ahead(p->file, raw, *p->ahead)
                                                  : parquet::ParquetFileReader::Open(p->file, raw),
                              properties));
    p->meta = p->reader->parquet_reader()->metadata();
    ARROW_RETURN_NOT_OK(check_groups(*p->meta, file_bytes));
    ARROW_RETURN_NOT_OK(p->reader->GetSchema(&p->schema));
    return p;
}

arrow::Result<std::unique_ptr<arrow::RecordBatchReader>>
group_batches(Parquet &p, int group, const std::vector<int> *leaves, int64_t bytes)
{
    int64_t rows = kBatchRows;
    if (bytes > 0)
        rows = std::clamp(bytes / row_bytes(*p.meta->RowGroup(group), leaves), kFewestRows,
                          kBatchRows);
    p.reader->set_batch_size(rows);
    p.reader->set_use_threads(p.ahead != nullptr &&
                              worth_threads(*p.meta->RowGroup(group), leaves));
    return leaves != nullptr ? p.reader->GetRecordBatchReader({group}, *leaves)
                             : p.reader->GetRecordBatchReader({group});
}

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>>
ipc_open(const char *path, const arrow::ipc::IpcReadOptions &options,
         std::shared_ptr<arrow::util::Codec> *codec)
{
    ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path, options.memory_pool));
    ARROW_ASSIGN_OR_RAISE(const bool whole, is_ipc_file(*file));
    if (codec != nullptr) {
        ARROW_ASSIGN_OR_RAISE(*codec, codec_like(*file, whole));
    }
    ARROW_RETURN_NOT_OK(file->Seek(0));
    if (!whole) {
        ARROW_ASSIGN_OR_RAISE(auto reader,
                              arrow::ipc::RecordBatchStreamReader::Open(file, options));
        return reader;
    }
    ARROW_RETURN_NOT_OK(blocks_of(*file));
    ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchFileReader::Open(file, options));
    return std::make_shared<FileBatches>(reader);
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

} // namespace bandmill_tables
