/* module_groups.h -- the rows of a Parquet file that stay, row group by row group, as a file like it. */
#ifndef BANDMILL_PARQUET_MODULE_GROUPS_H
#define BANDMILL_PARQUET_MODULE_GROUPS_H

#include "module_common.h"
#include "module_file.h"

#include <optional>
#include <string_view>

namespace bandmill_tables
{

// --- module_like.cpp ---

// With the columns of `schema` that are behind those of the file.
arrow::Result<std::unique_ptr<NewFile>> open_like(const Parquet &p, const arrow::Schema &schema,
                                                  const std::shared_ptr<Sink> &sink);

// --- module_spark.cpp ---

// The key of metadata under which Spark's own word for the columns stands.
constexpr const char *kSparkKey = "org.apache.spark.sql.parquet.row.metadata";
// That word with a field more; nothing where it is not as Spark writes it.
std::optional<std::string> spark_with(std::string_view text, const arrow::Field &field);

// --- module_keep.cpp ---

// The column with the groups of rows, of a table that has none of its name.
arrow::Result<std::shared_ptr<arrow::Field>> label_field(const arrow::Schema &schema);

// --- module_groups.cpp ---

arrow::Status keep_parquet(const bm_table_kept &kept, const std::shared_ptr<Sink> &sink);

} // namespace bandmill_tables

#endif
