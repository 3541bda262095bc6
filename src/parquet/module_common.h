/* SPDX-License-Identifier: Apache-2.0 */
/* module_common.h -- what the parts of the module share, in C++: what goes wrong, the memory that
 * is counted, and reading beside writing. Everything lies in namespace bandmill_tables; the module
 * exports one function. */
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

// Fills `words`, which are of one line.
bm_status fail(const arrow::Status &status, bm_table_words *words);

// `body` gives an arrow::Status; no exception leaves here.
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

// Arrow's memory with a bound of its own (0: none). It lives until it and all that it gave are
// dropped.
using Pool = std::shared_ptr<arrow::MemoryPool>;
Pool make_pool(uint64_t bytes);

// `read` hands over steps, which are done in their order: at once, or, `beside` reading, each by
// another thread while this one reads on.
using Step = std::function<arrow::Status()>;
using Push = std::function<arrow::Status(Step)>;
arrow::Status read_beside(bool beside, const std::function<arrow::Status(const Push &)> &read);

// The file at the path, or the one that lies elsewhere.
using File = std::shared_ptr<arrow::io::RandomAccessFile>;
arrow::Result<File> open_file(const char *path, const bm_table_bytes &bytes,
                              arrow::MemoryPool *pool);

// Is the row one of those that stay?
inline bool stays_at(const bm_table_kept &kept, uint64_t row)
{
    return row < kept.n_rows && (kept.rows[row / 8] >> row % 8 & 1) != 0;
}

// Cuts the strings of the text column; rows ascend, and in each the strings come in order.
class TextCuts
{
  public:
    TextCuts() = default;
    // From row `first` on.
    TextCuts(const bm_table_kept &kept, uint64_t first);
    // Has the row a cut from here on? If not, its strings need not be told.
    bool has(uint64_t row);
    // The next string of the row; what is left of it goes to `out`.
    void cut(uint64_t row, std::string_view value, std::string *out);
    // The next one is null.
    void pass(uint64_t row)
    {
        std::string none;
        if (has(row))
            cut(row, {}, &none);
    }

  private:
    const bm_table_text_cut *next_ = nullptr, *end_ = nullptr;
    uint64_t row_ = UINT64_MAX; // that was told last, and how much of its text was
    uint64_t at_ = 0;
};

// `name` up to its first dot or [] is `*first`; the rest, without these, is what it becomes.
// `list`: it was [].
struct NameStep {
    std::string_view first;
    bool list;
};
NameStep next_step(std::string_view *name);
// Do strings lie in lists of lists?
bool is_nested(std::string_view name);

// Compare the schema of the next table that goes to the same file with the schema of the first. If
// they differ, `words` names the difference and the status is not OK.
arrow::Status check_schema(const arrow::Schema &first, const arrow::Schema &other,
                           bm_table_words *words);

// The column with the groups of rows, of a table that has none of its name.
arrow::Result<std::shared_ptr<arrow::Field>> label_field(const arrow::Schema &schema);
// The columns of its struct, for `n` rows from the first of `labels` on.
arrow::Result<arrow::ArrayVector> label_columns(const bm_table_label *labels, uint64_t n);

// --- module_parquet.cpp, module_ranges.cpp, module_groups.cpp, module_ipc.cpp ---

// It does not change once it is open: any number of threads may read of it.
struct Parquet {
    Pool pool; // outlives the rest
    File file;
    std::shared_ptr<parquet::FileMetaData> meta;
    std::shared_ptr<arrow::Schema> schema;

    std::unique_ptr<parquet::ParquetFileReader> reader() const;
};

arrow::Result<std::shared_ptr<Parquet>> open_parquet(const char *path, const bm_table_bytes &bytes,
                                                     const Pool &pool);
// All pages of the chunk are indices into its dictionary; `untold`: where it does not say.
bool is_indexed(const parquet::ColumnChunkMetaData &chunk, bool untold);

// The request for each row group of a file.
struct Asked {
    std::vector<int> children; // of the schema, in their order
    std::vector<int> leaves;   // below them
    std::vector<int> indexed;  // of the leaves: those that are read as dictionaries
    int64_t bytes;             // of an array, about; 0: any
};

arrow::Result<std::shared_ptr<parquet::arrow::FileReader>>
arrow_reader(const Parquet &p, const Asked &asked, std::unique_ptr<parquet::ParquetFileReader> raw);
// The rows of a file in order, from any row on: no more than one thread at a time.
struct InOrder;
void seek(InOrder &in_order, uint64_t row, uint64_t end);

arrow::Result<Reader> parquet_stream(const bm_table_wish &wish);
// Fills wish.cut: ranges of the table that is read `in_order`.
void cut_parquet(std::shared_ptr<Parquet> p, Asked asked, std::shared_ptr<arrow::Schema> schema,
                 std::shared_ptr<InOrder> in_order, const bm_table_wish &wish);
arrow::Status keep_parquet(const bm_table_kept &kept, const Output &sink, bm_table_words *words);
arrow::Result<Reader> ipc_stream(const bm_table_wish &wish);
arrow::Status keep_ipc(const bm_table_kept &kept, const Output &sink, bm_table_words *words);

// The columns asked for, each once, in their order; all of them if a required one is missing: then
// the reader lists the columns that are there. (bandmill_parquet.cpp)
std::vector<int> children_of(const arrow::Schema &schema, const bm_table_wish &wish);

} // namespace bandmill_tables
