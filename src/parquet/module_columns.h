/* module_columns.h -- the rows of a column chunk that stay, from file to file: levels and values as they
 * lie in its pages, no arrays of Arrow between. */
#ifndef BANDMILL_PARQUET_MODULE_COLUMNS_H
#define BANDMILL_PARQUET_MODULE_COLUMNS_H

#include "module_common.h"

#include <parquet/column_reader.h>
#include <parquet/column_writer.h>

namespace bandmill_tables
{

// Which rows of a row group stay.
struct Stays {
    const bm_table_kept *kept;
    uint64_t first; // of the file
    int64_t rows;   // of the group

    bool at(int64_t row) const
    {
        const uint64_t i = first + static_cast<uint64_t>(row);
        return i < kept->n_rows && (kept->rows[i / 8] >> i % 8 & 1) != 0;
    }
    int64_t count() const
    {
        int64_t n = 0;
        for (int64_t row = 0; row < rows; row++)
            n += at(row);
        return n;
    }
};

// A column chunk, and where its rows go.
struct ColumnCopy {
    parquet::ColumnReader *reader;
    parquet::ColumnWriter *writer;
    Stays stays;
    int64_t batch;           // levels at a time
    bool beside;             // read on a thread of its own
    arrow::MemoryPool *pool; // for what is read before it is written
};

// What it writes depends on neither thread nor pool.
arrow::Status copy_column(const ColumnCopy &copy);

} // namespace bandmill_tables

#endif
