/* SPDX-License-Identifier: Apache-2.0 */
// module_parquet.cpp -- reads the requested columns of Parquet files as streams of arrays, row
// group by row group. As far as possible, the metadata of a file are checked before Arrow uses
// them.
//
// If all pages of a text column consist of indices into dictionaries, the column is read as a
// dictionary. So a repeated text is in memory only once, even if a small file repeats a long text
// very often.

#include "module_common.h"

#include <arrow/util/iterator.h>
#include <parquet/size_statistics.h>

#include <algorithm>

namespace bandmill_tables
{

constexpr int64_t kBatchRows = 16384, kFewestRows = 16;

namespace
{

// --- checks ---

arrow::Status encrypted(const std::string &column)
{
    return arrow::Status::Invalid("column '", column, "' is encrypted");
}

// Check that a column chunk is within the file, and is not encrypted.
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
            if (!status.ok() && meta.is_encryption_algorithm_set()) // metadata cannot be read
                return encrypted(meta.schema()->Column(column)->path()->ToDotString());
            if (!status.ok())
                return status.WithMessage("row group ", g, ": ", status.message());
        }
    }
    return rows == meta.num_rows() ? arrow::Status::OK()
                                   : arrow::Status::Invalid("its row groups have ", rows,
                                                            " rows, the file ", meta.num_rows());
}

// --- the columns to read ---

using Batches = std::function<arrow::Result<Batch>()>;

bool is_text(const arrow::DataType &type)
{
    return arrow::is_base_binary_like(type.id()) || arrow::is_binary_view_like(type);
}

// Return the size of the values of a chunk, if the file states it, but at least the size of its
// pages.
int64_t value_bytes(const parquet::ColumnChunkMetaData &chunk)
{
    const auto sizes = chunk.size_statistics();
    return std::max<int64_t>(
        {0, chunk.total_uncompressed_size(),
         sizes != nullptr ? sizes->unencoded_byte_array_data_bytes.value_or(0) : 0});
}

// Is this a column of texts, in no list or struct, that is stored only as indices and dictionaries?
// False if texts hardly repeat, as in a column of ids.
bool has_indices(const Parquet &p, int child, int leaf)
{
    const auto *column = p.meta->schema()->Column(leaf);
    bool all = column->max_repetition_level() == 0 && column->path()->ToDotVector().size() == 1 &&
               column->physical_type() == parquet::Type::BYTE_ARRAY &&
               is_text(*p.schema->field(child)->type());
    bool again = false;
    for (int group = 0; all && group < p.meta->num_row_groups(); group++) {
        const auto chunk = p.meta->RowGroup(group)->ColumnChunk(leaf);
        all = is_indexed(*chunk, false);
        again = again || chunk->size_statistics() == nullptr ||
                value_bytes(*chunk) / 2 > chunk->total_uncompressed_size();
    }
    return all && again;
}

// Find the leaves below the children.
Asked asked_of(const Parquet &p, const std::vector<int> &children, std::size_t bytes)
{
    const auto *schema = p.meta->schema();
    Asked asked{children, {}, {}, static_cast<int64_t>(bytes)};
    for (int leaf = 0; leaf < schema->num_columns(); leaf++) {
        const int root = schema->group_node()->FieldIndex(*schema->GetColumnRoot(leaf));
        if (std::find(children.begin(), children.end(), root) == children.end())
            continue;
        asked.leaves.push_back(leaf);
        if (has_indices(p, root, leaf))
            asked.indexed.push_back(leaf);
    }
    return asked;
}

// Return the mean size of a row in an array, as far as the file states sizes.
int64_t row_bytes(const parquet::RowGroupMetaData &group, const Asked &asked)
{
    int64_t bytes = 0;
    for (const int leaf : asked.leaves) {
        const auto chunk = group.ColumnChunk(leaf);
        const bool indexed =
            std::find(asked.indexed.begin(), asked.indexed.end(), leaf) != asked.indexed.end();
        bytes +=
            indexed ? std::max<int64_t>(chunk->total_uncompressed_size(), 0) : value_bytes(*chunk);
    }
    return bytes / std::max<int64_t>(group.num_rows(), 1) + 1;
}

// Return the batches of one row group; NULL at the end. Different threads may read different row
// groups at the same time.
arrow::Result<Batches> read_group(const Parquet &p, const Asked &asked, int number)
{
    const auto meta = p.meta->RowGroup(number);
    ARROW_ASSIGN_OR_RAISE(const auto reader, arrow_reader(p, asked, p.reader()));
    reader->set_batch_size(
        asked.bytes > 0 ? std::clamp(asked.bytes / row_bytes(*meta, asked), kFewestRows, kBatchRows)
                        : kBatchRows);
    ARROW_ASSIGN_OR_RAISE(const Reader batches,
                          reader->GetRecordBatchReader({number}, asked.leaves));
    return [reader, batches, left = meta->num_rows()]() mutable -> arrow::Result<Batch> {
        ARROW_ASSIGN_OR_RAISE(auto batch, batches->Next());
        const int64_t n = batch != nullptr ? batch->num_rows() : 0;
        if (n > left || (batch == nullptr && left > 0))
            return arrow::Status::Invalid("it holds another number of rows than it says");
        left -= n;
        return batch;
    };
}

} // namespace

arrow::Result<std::shared_ptr<parquet::arrow::FileReader>>
arrow_reader(const Parquet &p, const Asked &asked, std::unique_ptr<parquet::ParquetFileReader> raw)
{
    parquet::ArrowReaderProperties properties;
    properties.set_use_threads(false);
    properties.set_pre_buffer(false);
    for (const int leaf : asked.indexed)
        properties.set_read_dictionary(leaf, true);
    return parquet::arrow::FileReader::Make(p.pool.get(), std::move(raw), properties);
}

// The batches of all row groups in order, so that errors can name the row.
struct InOrder {
    std::shared_ptr<Parquet> p;
    Asked asked;
    Batches group = {}; // batches of row group `number`; empty: reading has not begun
    int number = 0;
    uint64_t row = 0;          // the next row
    uint64_t from = 0;         // earlier rows are skipped
    uint64_t end = UINT64_MAX; // row groups that begin at or after this row are not read

    arrow::Result<Batch> next()
    {
        Batch batch;
        do {
            const arrow::Status status = caught([&] { return read(&batch); });
            if (!status.ok())
                return status.WithMessage("row group ", number, ", after row ", row, ": ",
                                          status.message());
            row += batch != nullptr ? static_cast<uint64_t>(batch->num_rows()) : 0;
        } while (batch != nullptr && row <= from && batch->num_rows() > 0);
        const uint64_t n = batch != nullptr ? static_cast<uint64_t>(batch->num_rows()) : 0;
        return row - n < from && n > 0 ? batch->Slice(static_cast<int64_t>(n - (row - from)))
                                       : batch;
    }

  private:
    arrow::Status read(Batch *batch)
    {
        for (*batch = nullptr; number < p->meta->num_row_groups() && (group || row < end);
             number++) {
            if (!group) {
                ARROW_ASSIGN_OR_RAISE(group, read_group(*p, asked, number));
            }
            ARROW_ASSIGN_OR_RAISE(*batch, group());
            if (*batch != nullptr)
                break;
            group = nullptr;
        }
        return arrow::Status::OK();
    }
};

void seek(InOrder &in_order, uint64_t row, uint64_t end)
{
    uint64_t first = 0, rows = 0;
    int number = 0;
    for (; number < in_order.p->meta->num_row_groups(); number++) {
        rows = static_cast<uint64_t>(in_order.p->meta->RowGroup(number)->num_rows());
        if (row < first + rows)
            break;
        first += rows;
    }
    in_order.group = nullptr;
    in_order.number = number;
    in_order.row = first;
    in_order.from = row;
    in_order.end = end;
}

bool is_indexed(const parquet::ColumnChunkMetaData &chunk, bool untold)
{
    const auto &encodings = chunk.encodings();
    const auto &told = chunk.encoding_stats(); // one entry for each kind of page
    const auto is_dictionary = [](parquet::Encoding::type e) {
        return e == parquet::Encoding::RLE_DICTIONARY || e == parquet::Encoding::PLAIN_DICTIONARY;
    };
    const bool plain = std::any_of(told.begin(), told.end(), [&](const auto &pages) {
        return pages.page_type != parquet::PageType::DICTIONARY_PAGE && pages.count > 0 &&
               !is_dictionary(pages.encoding);
    });
    return std::any_of(encodings.begin(), encodings.end(), is_dictionary) && !plain &&
           (untold || !told.empty());
}

std::unique_ptr<parquet::ParquetFileReader> Parquet::reader() const
{
    parquet::ReaderProperties properties(pool.get());
    properties.enable_buffered_stream();             // reads one page at a time, not a whole column
                                                     // chunk
    properties.set_page_checksum_verification(true); // for pages that have a checksum
    return parquet::ParquetFileReader::Open(file, properties, meta);
}

arrow::Result<std::shared_ptr<Parquet>> open_parquet(const char *path, const bm_table_bytes &bytes,
                                                     const Pool &pool)
{
    auto p = std::make_shared<Parquet>();
    p->pool = pool;
    ARROW_ASSIGN_OR_RAISE(p->file, open_file(path, bytes, p->pool.get()));
    ARROW_ASSIGN_OR_RAISE(const int64_t file_bytes, p->file->GetSize());
    p->meta = p->reader()->metadata();
    ARROW_ASSIGN_OR_RAISE(const auto reader, arrow_reader(*p, {}, p->reader()));
    ARROW_RETURN_NOT_OK(check_groups(*p->meta, file_bytes));
    ARROW_RETURN_NOT_OK(reader->GetSchema(&p->schema));
    return p;
}

arrow::Result<Reader> parquet_stream(const bm_table_wish &wish)
{
    ARROW_ASSIGN_OR_RAISE(auto p, open_parquet(wish.path, wish.bytes, make_pool(wish.memory)));
    for (int g = 0; wish.group != nullptr && g < p->meta->num_row_groups(); g++)
        if (!wish.group(wish.group_ctx, static_cast<uint64_t>(p->meta->RowGroup(g)->num_rows())))
            break;
    if (wish.n_columns == 0) // only the number of rows is needed; it comes from the metadata
        return std::make_shared<arrow::TableBatchReader>(arrow::Table::Make(
            arrow::schema({}), arrow::ChunkedArrayVector{}, p->meta->num_rows()));
    const std::vector<int> children = children_of(*p->schema, wish);
    const Asked asked = asked_of(*p, children, wish.batch_bytes);
    ARROW_ASSIGN_OR_RAISE(const auto reader, arrow_reader(*p, asked, p->reader()));
    std::shared_ptr<arrow::Schema> whole;
    ARROW_RETURN_NOT_OK(reader->GetSchema(&whole));
    arrow::FieldVector fields;
    for (const int child : children)
        fields.push_back(whole->field(child));
    const auto schema = arrow::schema(std::move(fields), whole->metadata());
    const auto in_order = std::make_shared<InOrder>(InOrder{p, asked});
    if (wish.n_rows > 0)
        seek(*in_order, wish.first_row, wish.first_row + wish.n_rows);
    ARROW_ASSIGN_OR_RAISE(
        auto stream,
        arrow::RecordBatchReader::MakeFromIterator(
            arrow::MakeFunctionIterator([in_order] { return in_order->next(); }), schema));
    if (wish.cut != nullptr && wish.range_bytes > 0)
        cut_parquet(p, asked, schema, in_order, wish);
    return stream;
}

} // namespace bandmill_tables
