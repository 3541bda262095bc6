/* SPDX-License-Identifier: Apache-2.0 */
/* module_common.h -- what the C++ parts of the module share: errors, counted memory, and reading
 * beside writing. Everything is in namespace bandmill_tables; the module exports one function. */
#pragma once

#include <arrow/api.h>
#include <arrow/io/api.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "input/table_module.h"

namespace bandmill_tables
{

using Batch = std::shared_ptr<arrow::RecordBatch>;
using Reader = std::shared_ptr<arrow::RecordBatchReader>;
using Output = std::shared_ptr<arrow::io::OutputStream>;

// --- module_common.cpp ---

// Set words->text to the message of `status`, on one line. Returns the bm_status for `status`.
bm_status fail(const arrow::Status &status, bm_table_words *words);

// Call `body`, which returns an arrow::Status, and convert exceptions to a status.
template <class Body> arrow::Status caught(Body body)
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return arrow::Status::OutOfMemory("out of memory");
    } catch (const parquet::ParquetStatusException &e) {
        return e.status();
    } catch (const std::exception &e) {
        return arrow::Status::Invalid(e.what());
    }
}

template <class Body> bm_status guarded(bm_table_words *words, Body body)
{
    const arrow::Status status = caught(body);
    return status.ok() ? BM_OK : fail(status, words);
}

// Make an Arrow memory pool with its own limit (0: no limit). The pool exists until it is released
// and everything allocated from it is freed.
using Pool = std::shared_ptr<arrow::MemoryPool>;
Pool make_pool(uint64_t bytes);

// Call `read`, which pushes steps. The steps run in order. Each runs at once or, with `beside`, on
// another thread while `read` goes on.
using Step = std::function<arrow::Status()>;
using Push = std::function<arrow::Status(Step)>;
arrow::Status read_beside(bool beside, const std::function<arrow::Status(const Push &)> &read);

// Open the file at `path`. If bytes.file is set, its contents are read through `bytes`.
using File = std::shared_ptr<arrow::io::RandomAccessFile>;
arrow::Result<File> open_file(const char *path, const bm_table_bytes &bytes,
                              arrow::MemoryPool *pool);

// Is the row kept?
inline bool stays_at(const bm_table_kept &kept, uint64_t row)
{
    return row < kept.n_rows && (kept.rows[row / 8] >> row % 8 & 1) != 0;
}

// Cuts the strings of the text column. Rows must ascend, and the strings of each row must come in
// order.
class TextCuts
{
  public:
    TextCuts() = default;
    // Begins at row `first`.
    TextCuts(const bm_table_kept &kept, uint64_t first);
    // Does the row have a cut from here on? If not, its strings need not be passed to cut().
    bool has(uint64_t row);
    // Cut the next string of the row; `out` receives what is left of it.
    void cut(uint64_t row, std::string_view value, std::string *out);
    // Skip a null string of the row.
    void pass(uint64_t row)
    {
        std::string none;
        if (has(row))
            cut(row, {}, &none);
    }

  private:
    const bm_table_text_cut *next_ = nullptr, *end_ = nullptr;
    uint64_t row_ = UINT64_MAX; // the current row
    uint64_t at_ = 0;           // how much of the row's text was passed so far, in bytes
};

// Split `name` at its first separator, a dot or []. `first`: the part before the separator; `list`:
// the separator is []. *name becomes the part after the separator.
struct NameStep {
    std::string_view first;
    bool list;
};
NameStep next_step(std::string_view *name);
// Does the name have more than one [], as for strings in lists of lists?
bool is_nested(std::string_view name);

// Compare the schema of a later table for the same file with the schema of the first table. If they
// differ, words->other_schema is set, and the status names the difference.
arrow::Status check_schema(const arrow::Schema &first, const arrow::Schema &other,
                           bm_table_words *words);

// The column for group labels. The table must not have a column of that name.
arrow::Result<std::shared_ptr<arrow::Field>> label_field(const arrow::Schema &schema);
// The columns of the label struct, for the first `n` of `labels`.
arrow::Result<arrow::ArrayVector> label_columns(const bm_table_label *labels, uint64_t n);

// --- module_parquet.cpp, module_ranges.cpp, module_groups.cpp, module_ipc.cpp ---

// An open file. It never changes, so any number of threads may read it.
struct Parquet {
    Pool pool; // outlives the rest
    File file;
    std::shared_ptr<parquet::FileMetaData> meta;
    std::shared_ptr<arrow::Schema> schema;

    std::unique_ptr<parquet::ParquetFileReader> reader() const;
};

arrow::Result<std::shared_ptr<Parquet>> open_parquet(const char *path, const bm_table_bytes &bytes,
                                                     const Pool &pool);
// Do all pages of the chunk consist of indices into its dictionary? If the file does not record
// this, returns `untold`.
bool is_indexed(const parquet::ColumnChunkMetaData &chunk, bool untold);

// The columns to read from each row group of a file.
struct Asked {
    std::vector<int> children; // indexes of columns, ascending
    std::vector<int> leaves;   // leaves below these columns
    std::vector<int> indexed;  // leaves that are read as dictionaries
    int64_t bytes;             // approximate size of an array; 0: any size
};

arrow::Result<std::shared_ptr<parquet::arrow::FileReader>>
arrow_reader(const Parquet &p, const Asked &asked, std::unique_ptr<parquet::ParquetFileReader> raw);
// Reads the rows of a file in order, from any row on. Used by one thread at a time.
struct InOrder;
void seek(InOrder &in_order, uint64_t row, uint64_t end);

arrow::Result<Reader> parquet_stream(const bm_table_wish &wish);
// Set wish.cut to the ranges of the table that `in_order` reads.
void cut_parquet(std::shared_ptr<Parquet> p, Asked asked, std::shared_ptr<arrow::Schema> schema,
                 std::shared_ptr<InOrder> in_order, const bm_table_wish &wish);
arrow::Status keep_parquet(const bm_table_kept &kept, const Output &sink, bm_table_words *words);
arrow::Result<Reader> ipc_stream(const bm_table_wish &wish);
arrow::Status keep_ipc(const bm_table_kept &kept, const Output &sink, bm_table_words *words);

// Return the requested columns, ascending, each once. If a required column is missing, return all
// columns, so that the reader can report which exist. (bandmill_parquet.cpp)
std::vector<int> children_of(const arrow::Schema &schema, const bm_table_wish &wish);

} // namespace bandmill_tables
