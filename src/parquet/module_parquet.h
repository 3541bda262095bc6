/* module_parquet.h -- a Parquet file: what it says of itself, checked, and its row groups, each by its number, read by
 * Arrow on the thread that asks. */
#ifndef BANDMILL_PARQUET_MODULE_PARQUET_H
#define BANDMILL_PARQUET_MODULE_PARQUET_H

#include "module_common.h"

#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/file_writer.h>
#include <parquet/metadata.h>

#include <optional>
#include <string_view>

namespace bandmill_tables
{

// --- module_parquet.cpp ---

// It does not change once it is open: any number of threads may read of it.
struct Parquet {
    PoolHold pool; // outlives the rest
    std::shared_ptr<arrow::io::RandomAccessFile> file;
    std::shared_ptr<parquet::FileMetaData> meta;
    std::shared_ptr<arrow::Schema> schema;

    std::unique_ptr<parquet::ParquetFileReader> reader() const;
};

arrow::Result<std::shared_ptr<Parquet>> open_parquet(const char *path, uint64_t memory);

// All pages of the chunk are indices into its dictionary; `untold`: where it does not say.
bool is_indexed(const parquet::ColumnChunkMetaData &chunk, bool untold);

// --- module_like.cpp ---

// A new file, with the columns of `schema` that are behind those of the file.
arrow::Result<std::unique_ptr<parquet::ParquetFileWriter>>
open_like(const Parquet &p, const arrow::Schema &schema,
          const std::shared_ptr<arrow::io::OutputStream> &sink);

// --- module_spark.cpp ---

// The key of metadata under which Spark's own word for the columns stands.
constexpr const char *kSparkKey = "org.apache.spark.sql.parquet.row.metadata";
// That word with a field more; nothing where it is not as Spark writes it.
std::optional<std::string> spark_with(std::string_view text, const arrow::Field &field);

} // namespace bandmill_tables

#endif
