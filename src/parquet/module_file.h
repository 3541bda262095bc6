/* module_file.h -- a new Parquet file, row group by row group: Arrow's writers of columns and of what is said
 * of them, put together here so that their pages may be compressed ahead. */
#ifndef BANDMILL_PARQUET_MODULE_FILE_H
#define BANDMILL_PARQUET_MODULE_FILE_H

#include "module_ahead.h"
#include "module_sink.h"

#include <parquet/page_index.h>
#include <parquet/properties.h>

namespace bandmill_tables
{

class NewFile
{
  public:
    // What is not there yet, but for its first bytes, which are written.
    NewFile(std::shared_ptr<Sink> sink, std::shared_ptr<parquet::schema::GroupNode> columns,
            std::shared_ptr<parquet::WriterProperties> properties,
            std::shared_ptr<const arrow::KeyValueMetadata> metadata);

    // All columns at once, in memory, where `side_by_side`. `ahead` may be NULL; it outlives the group.
    void begin_group(bool side_by_side, Ahead *ahead);
    // The next column, where they come one after another: the one before is whole.
    parquet::ColumnWriter *next();
    // Where they come side by side.
    parquet::ColumnWriter *column(int i)
    {
        return columns_[static_cast<std::size_t>(i)].writer.get();
    }
    // Its pages are compressed elsewhere than in the writer's thread.
    bool is_ahead(int i) const
    {
        return ahead_ != nullptr && can_go_ahead(*schema_.Column(i));
    }
    void end_group(int64_t rows);
    void close();

  private:
    struct Column {
        std::shared_ptr<parquet::ColumnWriter> writer;
        std::shared_ptr<int64_t> bytes; // of pages compressed ahead
    };

    bool can_go_ahead(const parquet::ColumnDescriptor &column) const;
    Column make();
    void end(Column &column);

    const std::shared_ptr<Sink> sink_;
    const std::shared_ptr<parquet::WriterProperties> properties_;
    const std::shared_ptr<const arrow::KeyValueMetadata> key_values_;
    parquet::SchemaDescriptor schema_;
    std::unique_ptr<parquet::FileMetaDataBuilder> meta_;
    std::unique_ptr<parquet::PageIndexBuilder> index_;
    // of the row group
    parquet::RowGroupMetaDataBuilder *group_ = nullptr;
    Ahead *ahead_ = nullptr;
    std::vector<Column> columns_;
    bool side_by_side_ = false;
    int64_t rows_ = -1, bytes_ = 0; // of the columns that are whole
};

} // namespace bandmill_tables

#endif
