/* SPDX-License-Identifier: Apache-2.0 */
// bandmill_parquet.cpp -- implements table_module.h over Arrow C++. It reads Parquet
// (module_parquet.cpp) and Arrow's IPC files (module_ipc.cpp) as streams of arrays, writes the kept
// rows of a table to a file of the same kind, and writes new files. Arrow runs on the calling
// thread. No exception leaves the module.

#include "module_common.h"

#include <arrow/c/bridge.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/config.h>
#include <parquet/arrow/writer.h>

#include <set>

namespace bandmill_tables
{

// --- which columns ---

// Return the column of a schema for a name with dots and brackets. It is the column of the whole
// name, or of the part before the first dot or bracket. ("\\." is a dot within a name.)
static int child_of(const arrow::Schema &schema, std::string_view name)
{
    const int whole = schema.GetFieldIndex(std::string(name));
    if (whole >= 0)
        return whole;
    std::string first;
    for (std::size_t i = 0; i < name.size() && name[i] != '.'; i++) {
        if (name.substr(i, 2) == "\\.")
            i++;
        first += name[i];
    }
    while (first.size() >= 2 && first.substr(first.size() - 2) == "[]")
        first.resize(first.size() - 2);
    return schema.GetFieldIndex(first);
}

std::vector<int> children_of(const arrow::Schema &schema, const bm_table_wish &wish)
{
    std::set<int> children;
    for (std::size_t i = 0; i < wish.n_columns; i++) {
        const int child = child_of(schema, wish.columns[i]);
        if (child >= 0)
            children.insert(child);
        for (int all = 0; child < 0 && i < wish.n_needed && all < schema.num_fields(); all++)
            children.insert(all);
    }
    return {children.begin(), children.end()};
}

namespace
{

// --- a new file written by Arrow, passed to the caller piece by piece ---

class Sink : public arrow::io::OutputStream
{
  public:
    Sink(bm_write_fn write, void *ctx) : write_(write), ctx_(ctx)
    {
    }
    arrow::Status Write(const void *data, int64_t n) override
    {
        broken_ = broken_ ||
                  write_(ctx_, static_cast<const char *>(data), static_cast<std::size_t>(n)) != 0;
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
    bool broken() const // write_ failed; the caller knows the reason
    {
        return broken_;
    }

  private:
    bm_write_fn write_;
    void *ctx_;
    int64_t at_ = 0;
    bool closed_ = false, broken_ = false;
};

template <class Writer>
arrow::Status write_batches(arrow::RecordBatchReader &batches, Writer &writer)
{
    Batch batch;
    for (;;) {
        ARROW_RETURN_NOT_OK(batches.ReadNext(&batch));
        if (batch == nullptr)
            return writer.Close();
        ARROW_RETURN_NOT_OK(writer.WriteRecordBatch(*batch));
    }
}

// Write a new file. A Parquet file gets no dictionaries, because these would not shorten columns of
// random words.
arrow::Status write_new(const bm_table_made &made, const std::shared_ptr<Sink> &sink)
{
    ARROW_ASSIGN_OR_RAISE(auto batches, arrow::ImportRecordBatchReader(made.stream));
    if (!made.parquet) {
        ARROW_ASSIGN_OR_RAISE(auto writer, arrow::ipc::MakeFileWriter(sink, batches->schema()));
        return write_batches(*batches, *writer);
    }
    parquet::WriterProperties::Builder raw;
    raw.created_by("bandmill")
        ->compression(arrow::Compression::ZSTD)
        ->disable_dictionary()
        ->max_row_group_length(static_cast<int64_t>(made.group_rows));
    parquet::ArrowWriterProperties::Builder properties;
    properties.store_schema();
    ARROW_ASSIGN_OR_RAISE(auto writer, parquet::arrow::FileWriter::Open(
                                           *batches->schema(), arrow::default_memory_pool(), sink,
                                           raw.build(), properties.build()));
    return write_batches(*batches, *writer);
}

// --- the three functions ---

bm_status module_open(const bm_table_wish *wish, struct ArrowArrayStream *out,
                      bm_table_words *words)
{
    return guarded(words, [&]() -> arrow::Status {
        ARROW_ASSIGN_OR_RAISE(auto reader,
                              wish->parquet ? parquet_stream(*wish) : ipc_stream(*wish));
        return arrow::ExportRecordBatchReader(reader, out);
    });
}

bm_status module_keep(const bm_table_kept *kept, bm_table_words *words)
{
    std::shared_ptr<Sink> sink;
    const bm_status status = guarded(words, [&] {
        sink = std::make_shared<Sink>(kept->write, kept->write_ctx);
        return kept->parquet ? keep_parquet(*kept, sink, words) : keep_ipc(*kept, sink, words);
    });
    return status != BM_OK && sink != nullptr && sink->broken() ? BM_ERR_PIPE : status;
}

bm_status module_write(const bm_table_made *made, bm_table_words *words)
{
    std::shared_ptr<Sink> sink;
    const bm_status status = guarded(words, [&] {
        sink = std::make_shared<Sink>(made->write, made->write_ctx);
        return write_new(*made, sink);
    });
    if (status != BM_OK && sink != nullptr && sink->broken())
        return BM_ERR_PIPE;
    return status == BM_ERR_INPUT ? BM_ERR_IO : status;
}

} // namespace

} // namespace bandmill_tables

extern "C" const bm_table_module *bm_table_module_get(void)
{
    using namespace bandmill_tables;
    static const bm_table_module module = {BM_TABLE_MODULE_ABI, "Arrow " ARROW_VERSION_STRING,
                                           module_open, module_keep, module_write};
    return &module;
}
