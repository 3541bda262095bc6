// module_write.cpp -- a stream of arrays as a new file: Parquet (zstd), or Arrow's IPC format.

#include "module_write.h"

#include "module_sink.h"

#include <arrow/api.h>
#include <arrow/c/bridge.h>
#include <arrow/io/api.h>
#include <arrow/ipc/api.h>
#include <parquet/arrow/writer.h>

#include <exception>
#include <new>
#include <string>

namespace
{

using bandmill_tables::Sink;

// The columns are of random words, which no dictionary makes shorter.
arrow::Status write_parquet(const bm_table_made &made, arrow::RecordBatchReader &batches,
                            const std::shared_ptr<Sink> &out)
{
    parquet::WriterProperties::Builder raw;
    raw.created_by("bandmill")
        ->compression(arrow::Compression::ZSTD)
        ->disable_dictionary()
        ->max_row_group_length(static_cast<int64_t>(made.group_rows));
    parquet::ArrowWriterProperties::Builder properties;
    properties.store_schema();
    ARROW_ASSIGN_OR_RAISE(auto writer, parquet::arrow::FileWriter::Open(
                                           *batches.schema(), arrow::default_memory_pool(), out,
                                           raw.build(), properties.build()));
    std::shared_ptr<arrow::RecordBatch> batch;
    for (;;) {
        ARROW_RETURN_NOT_OK(batches.ReadNext(&batch));
        if (batch == nullptr)
            return writer->Close();
        ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*batch));
    }
}

arrow::Status write_ipc(arrow::RecordBatchReader &batches, const std::shared_ptr<Sink> &out)
{
    ARROW_ASSIGN_OR_RAISE(auto writer, arrow::ipc::MakeFileWriter(out, batches.schema()));
    std::shared_ptr<arrow::RecordBatch> batch;
    for (;;) {
        ARROW_RETURN_NOT_OK(batches.ReadNext(&batch));
        if (batch == nullptr)
            return writer->Close();
        ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*batch));
    }
}

arrow::Status write_all(const bm_table_made &made, const std::shared_ptr<Sink> &out)
{
    ARROW_ASSIGN_OR_RAISE(auto batches, arrow::ImportRecordBatchReader(made.stream));
    return made.parquet ? write_parquet(made, *batches, out) : write_ipc(*batches, out);
}

void say(bm_table_words *words, const std::string &text)
{
    const std::size_t n = std::min(text.size(), sizeof words->text - 1);
    for (std::size_t i = 0; i < n; i++)
        words->text[i] = text[i] == '\n' ? ' ' : text[i];
    words->text[n] = '\0';
}

} // namespace

bm_status bandmill_table_write(const bm_table_made *made, bm_table_words *words)
{
    try {
        const auto out = std::make_shared<Sink>(made->write, made->write_ctx);
        const arrow::Status status = write_all(*made, out);
        if (status.ok())
            return BM_OK;
        say(words, status.message());
        return out->broken() ? BM_ERR_PIPE : status.IsOutOfMemory() ? BM_ERR_NOMEM : BM_ERR_IO;
    } catch (const std::bad_alloc &) {
        say(words, "out of memory");
        return BM_ERR_NOMEM;
    } catch (const std::exception &e) {
        say(words, e.what());
        return BM_ERR_IO;
    }
}
