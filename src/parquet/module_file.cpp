// module_file.cpp -- see the header: as Arrow's own writer of files does it, byte for byte.

#include "module_file.h"

#include <parquet/file_writer.h>

namespace bandmill_tables
{

NewFile::NewFile(std::shared_ptr<Sink> sink, std::shared_ptr<parquet::schema::GroupNode> columns,
                 std::shared_ptr<parquet::WriterProperties> properties,
                 std::shared_ptr<const arrow::KeyValueMetadata> metadata)
    : sink_(std::move(sink)), properties_(std::move(properties)), key_values_(std::move(metadata))
{
    schema_.Init(std::move(columns));
    meta_ = parquet::FileMetaDataBuilder::Make(&schema_, properties_);
    if (properties_->page_index_enabled())
        index_ = parquet::PageIndexBuilder::Make(&schema_);
    PARQUET_THROW_NOT_OK(sink_->Write(parquet::kParquetMagic, sizeof parquet::kParquetMagic));
}

void NewFile::begin_group(bool side_by_side, Ahead *ahead)
{
    group_ = meta_->AppendRowGroup();
    if (index_ != nullptr)
        index_->AppendRowGroup();
    ahead_ = ahead;
    side_by_side_ = side_by_side;
    rows_ = -1;
    bytes_ = 0;
    for (int i = 0; side_by_side && i < schema_.num_columns(); i++)
        columns_.push_back(make());
}

// A dictionary's pages wait in memory until it is whole, where they had better be compressed. Pages of version
// 2 are compressed in part, as Arrow likes.
bool NewFile::can_go_ahead(const parquet::ColumnDescriptor &column) const
{
    return properties_->compression(column.path()) != parquet::Compression::UNCOMPRESSED &&
           properties_->data_page_version() == parquet::ParquetDataPageVersion::V1 &&
           !properties_->dictionary_enabled(column.path());
}

NewFile::Column NewFile::make()
{
    parquet::ColumnChunkMetaDataBuilder *chunk = group_->NextColumnChunk();
    const auto path = chunk->descr()->path();
    const int number = group_->current_column();
    const auto codec = properties_->compression(path);
    const bool indexed = index_ != nullptr && properties_->page_index_enabled(path);
    auto pages = parquet::PageWriter::Open(
        sink_, codec, chunk, -1, -1, properties_->memory_pool(), side_by_side_, nullptr, nullptr,
        properties_->page_checksum_enabled(),
        indexed && properties_->statistics_enabled(path) ? index_->GetColumnIndexBuilder(number)
                                                         : nullptr,
        indexed ? index_->GetOffsetIndexBuilder(number) : nullptr);
    Column column;
    if (ahead_ != nullptr && can_go_ahead(*chunk->descr())) {
        column.bytes = std::make_shared<int64_t>(0);
        pages = compress_ahead(std::move(pages), codec, *ahead_, column.bytes);
    }
    column.writer = parquet::ColumnWriter::Make(chunk, std::move(pages), properties_.get());
    return column;
}

void NewFile::end(Column &column)
{
    const int64_t bytes = column.writer->Close(), rows = column.writer->rows_written();
    if (rows_ >= 0 && rows != rows_)
        throw parquet::ParquetException("columns of different numbers of rows");
    rows_ = rows;
    bytes_ += column.bytes != nullptr ? *column.bytes : bytes;
}

parquet::ColumnWriter *NewFile::next()
{
    if (!columns_.empty())
        end(columns_[0]);
    columns_.clear();
    columns_.push_back(make());
    return columns_[0].writer.get();
}

void NewFile::end_group(int64_t rows)
{
    for (Column &column : columns_)
        end(column);
    columns_.clear();
    if (rows_ != rows)
        throw parquet::ParquetException("a row group of another number of rows");
    group_->set_num_rows(rows);
    group_->Finish(bytes_);
}

void NewFile::close()
{
    if (index_ != nullptr) {
        index_->Finish();
        const auto places = index_->WriteTo(sink_.get());
        meta_->SetIndexLocations(parquet::IndexKind::kColumnIndex, places.column_index_locations);
        meta_->SetIndexLocations(parquet::IndexKind::kOffsetIndex, places.offset_index_locations);
    }
    const auto meta = meta_->Finish(key_values_);
    parquet::WriteFileMetaData(*meta, sink_.get());
}

} // namespace bandmill_tables
