// module_compress.cpp -- pages of a column chunk, compressed by the team while the next ones are made.
//
// ColumnWriter makes one page after another in the same memory, so each is copied. They go on to Arrow's page
// writer, compressed, as they came. Where there is no room for one it is compressed at once, as without threads.

#include "module_ahead.h"

#include <arrow/util/compression.h>

#include <cstring>

namespace bandmill_tables
{

namespace
{

std::unique_ptr<parquet::DataPageV1> with_bytes(const parquet::DataPageV1 &page,
                                                const std::shared_ptr<arrow::Buffer> &bytes)
{
    return std::make_unique<parquet::DataPageV1>(
        bytes, page.num_values(), page.encoding(), page.definition_level_encoding(),
        page.repetition_level_encoding(), page.uncompressed_size(), page.statistics(),
        page.first_row_index(), page.size_statistics());
}

arrow::Status resize(std::shared_ptr<arrow::ResizableBuffer> *buffer, int64_t bytes,
                     const Ahead &ahead)
{
    if (*buffer != nullptr)
        return (*buffer)->Resize(bytes, false);
    ARROW_ASSIGN_OR_RAISE(*buffer, arrow::AllocateResizableBuffer(bytes, pool_of(ahead.pool)));
    return arrow::Status::OK();
}

// A page that is compressed.
struct Slot {
    std::shared_ptr<arrow::ResizableBuffer> plain, compressed; // kept for the next page
    std::unique_ptr<parquet::DataPageV1> page;                 // what is said of it
    std::unique_ptr<arrow::util::Codec> codec;
    AheadWork ahead;

    arrow::Status copy(const parquet::DataPageV1 &from, parquet::Compression::type type,
                       const Ahead &shared)
    {
        if (codec == nullptr) {
            ARROW_ASSIGN_OR_RAISE(codec, arrow::util::Codec::Create(type));
        }
        if (plain == nullptr && !shared.has_room(2 * from.size()))
            return arrow::Status::OutOfMemory("no room ahead");
        ARROW_RETURN_NOT_OK(resize(&plain, from.size(), shared));
        ARROW_RETURN_NOT_OK(
            resize(&compressed, codec->MaxCompressedLen(from.size(), from.data()), shared));
        if (from.size() > 0)
            std::memcpy(plain->mutable_data(), from.data(), static_cast<std::size_t>(from.size()));
        page = with_bytes(from, plain);
        return arrow::Status::OK();
    }
    arrow::Status compress()
    {
        ARROW_ASSIGN_OR_RAISE(const int64_t n,
                              codec->Compress(plain->size(), plain->data(), compressed->size(),
                                              compressed->mutable_data()));
        return compressed->Resize(n, false);
    }
};

class CompressAhead : public parquet::PageWriter
{
  public:
    CompressAhead(std::unique_ptr<parquet::PageWriter> out, parquet::Compression::type codec,
                  Ahead &ahead, std::shared_ptr<int64_t> bytes)
        : out_(std::move(out)), codec_(codec), ahead_(ahead), bytes_(std::move(bytes)),
          slots_(ahead.pages())
    {
    }
    ~CompressAhead() override
    {
        for (Slot &slot : slots_)
            ahead_.team.drop(slot.ahead.work);
    }
    int64_t WriteDataPage(const parquet::DataPage &page) override
    {
        if (page.type() != parquet::PageType::DATA_PAGE)
            throw parquet::ParquetException("a page of another kind");
        if (n_ == slots_.size())
            write_first();
        const auto &v1 = static_cast<const parquet::DataPageV1 &>(page);
        Slot &slot = slots_[(first_ + n_) % slots_.size()];
        const arrow::Status status = caught([&] { return slot.copy(v1, codec_, ahead_); });
        if (!status.ok()) {
            write_all();
            write_now(v1);
            return 0;
        }
        n_++;
        slot.ahead.begin(ahead_.team, [&slot] { return slot.compress(); });
        return 0; // counted as it is written
    }
    int64_t WriteDictionaryPage(const parquet::DictionaryPage &page) override
    {
        write_all();
        *bytes_ += out_->WriteDictionaryPage(page);
        return 0;
    }
    void Close(bool has_dictionary, bool fallback) override
    {
        write_all();
        out_->Close(has_dictionary, fallback);
    }
    int64_t total_compressed_bytes_written() const override
    {
        return out_->total_compressed_bytes_written();
    }
    bool has_compressor() override
    {
        return false; // pages come as they are
    }
    void Compress(const arrow::Buffer &from, arrow::ResizableBuffer *to) override
    {
        out_->Compress(from, to);
    }

  private:
    void write_first()
    {
        Slot &slot = slots_[first_];
        ahead_.team.finish(slot.ahead.work);
        PARQUET_THROW_NOT_OK(slot.ahead.status);
        *bytes_ += out_->WriteDataPage(*with_bytes(*slot.page, slot.compressed));
        first_ = (first_ + 1) % slots_.size();
        n_--;
    }

    void write_all()
    {
        while (n_ > 0)
            write_first();
    }

    // None waits; their memory is given back first.
    void write_now(const parquet::DataPageV1 &page)
    {
        for (Slot &slot : slots_) {
            slot.page = nullptr;
            slot.plain = slot.compressed = nullptr;
        }
        if (now_ == nullptr) {
            PARQUET_ASSIGN_OR_THROW(now_, arrow::AllocateResizableBuffer(0, ahead_.rest));
        }
        out_->Compress(*page.buffer(), now_.get());
        *bytes_ += out_->WriteDataPage(*with_bytes(page, now_));
    }

    const std::unique_ptr<parquet::PageWriter> out_;
    const parquet::Compression::type codec_;
    Ahead &ahead_;
    const std::shared_ptr<int64_t> bytes_;
    std::vector<Slot> slots_;
    std::size_t first_ = 0, n_ = 0;
    std::shared_ptr<arrow::ResizableBuffer> now_;
};

} // namespace

std::unique_ptr<parquet::PageWriter> compress_ahead(std::unique_ptr<parquet::PageWriter> out,
                                                    parquet::Compression::type codec, Ahead &ahead,
                                                    const std::shared_ptr<int64_t> &bytes)
{
    return std::make_unique<CompressAhead>(std::move(out), codec, ahead, bytes);
}

} // namespace bandmill_tables
