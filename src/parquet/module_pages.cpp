// module_pages.cpp -- pages of a column chunk, decompressed before they are asked for.
//
// Arrow's page reader, told that nothing is compressed, hands out the pages as they lie. They are decompressed
// by the team and handed on in their order. Whatever is not plain (a dictionary, whose page does not say how
// large it becomes; damage; a page too large for the memory) is left to Arrow's page reader, as it would be
// used without threads: it goes from the first page to that one, and from there on it reads the chunk, or says
// what is wrong.

#include "module_ahead.h"

#include <arrow/util/compression.h>

#include <cstring>
#include <functional>

namespace bandmill_tables
{

namespace
{

using Pages = std::unique_ptr<parquet::PageReader>;
using Page = std::shared_ptr<parquet::Page>;

int64_t levels_of(const parquet::Page &page)
{
    if (page.type() != parquet::PageType::DATA_PAGE_V2)
        return 0;
    const auto &v2 = static_cast<const parquet::DataPageV2 &>(page);
    return int64_t{v2.definition_levels_byte_length()} + v2.repetition_levels_byte_length();
}

// The page with other bytes.
Page with_bytes(const parquet::Page &page, const std::shared_ptr<arrow::Buffer> &bytes)
{
    if (page.type() == parquet::PageType::DATA_PAGE_V2) {
        const auto &v2 = static_cast<const parquet::DataPageV2 &>(page);
        return std::make_shared<parquet::DataPageV2>(
            bytes, v2.num_values(), v2.num_nulls(), v2.num_rows(), v2.encoding(),
            v2.definition_levels_byte_length(), v2.repetition_levels_byte_length(),
            v2.uncompressed_size(), v2.is_compressed(), v2.statistics());
    }
    const auto &v1 = static_cast<const parquet::DataPageV1 &>(page);
    return std::make_shared<parquet::DataPageV1>(
        bytes, v1.num_values(), v1.encoding(), v1.definition_level_encoding(),
        v1.repetition_level_encoding(), v1.uncompressed_size(), v1.statistics());
}

// A page that lies ahead.
struct Slot {
    Page page; // as it lies
    std::shared_ptr<arrow::Buffer> bytes;
    std::unique_ptr<arrow::util::Codec> codec;
    AheadWork ahead;

    bool is_dictionary() const
    {
        return page->type() == parquet::PageType::DICTIONARY_PAGE;
    }
    bool is_plain() const // as it lies
    {
        return page->type() == parquet::PageType::DATA_PAGE_V2 &&
               !static_cast<const parquet::DataPageV2 &>(*page).is_compressed();
    }
    int64_t whole() const
    {
        return static_cast<const parquet::DataPage &>(*page).uncompressed_size();
    }
    arrow::Status decompress() const
    {
        const int64_t levels = levels_of(*page), from = page->size(), to = whole();
        if (levels < 0 || levels > from || levels > to)
            return arrow::Status::Invalid("levels that do not lie in the page");
        uint8_t *out = bytes->mutable_data();
        if (levels > 0)
            std::memcpy(out, page->data(), static_cast<std::size_t>(levels));
        if (to == levels)
            return arrow::Status::OK();
        ARROW_ASSIGN_OR_RAISE(
            const int64_t n,
            codec->Decompress(from - levels, page->data() + levels, to - levels, out + levels));
        return n == to - levels ? arrow::Status::OK() : arrow::Status::Invalid("another length");
    }
};

class PagesAhead : public parquet::PageReader
{
  public:
    // `own`: opens Arrow's page reader.
    PagesAhead(Pages raw, std::function<Pages()> own, parquet::Compression::type codec,
               Ahead &ahead)
        : raw_(std::move(raw)), open_own_(std::move(own)), codec_(codec), ahead_(ahead),
          slots_(ahead.pages())
    {
    }
    ~PagesAhead() override
    {
        drop_all();
    }
    void set_max_page_header_size(uint32_t size) override
    {
        header_size_ = size;
        if (raw_ != nullptr)
            raw_->set_max_page_header_size(size);
        if (own_ != nullptr)
            own_->set_max_page_header_size(size);
    }
    std::shared_ptr<parquet::Page> NextPage() override
    {
        if (raw_ == nullptr)
            return own_page();
        fill();
        if (n_ == 0)
            return ended_ ? nullptr : rest_from_own();
        Slot &slot = at(0);
        if (!slot.is_dictionary() && !is_ready(slot))
            return rest_from_own();
        Page page = slot.is_dictionary() ? own_page()
                    : slot.is_plain()    ? std::move(slot.page)
                                         : with_bytes(*slot.page, slot.bytes);
        slot.page = nullptr;
        slot.bytes = nullptr;
        first_ = (first_ + 1) % slots_.size();
        n_--;
        next_++;
        return page;
    }

  private:
    Slot &at(std::size_t i)
    {
        return slots_[(first_ + i) % slots_.size()];
    }

    bool is_ready(Slot &slot)
    {
        ahead_.team.finish(slot.ahead.work);
        if (slot.ahead.status.IsOutOfMemory()) { // now that none is before it
            begin(slot);
            ahead_.team.finish(slot.ahead.work);
            ahead_.off = ahead_.off || slot.ahead.status.IsOutOfMemory();
        }
        return slot.ahead.status.ok();
    }

    void begin(Slot &slot)
    {
        slot.ahead.status = arrow::Status::OK();
        if (slot.is_dictionary() || slot.is_plain())
            return;
        slot.ahead.status = caught([&]() -> arrow::Status {
            if (!ahead_.has_room(slot.whole()))
                return arrow::Status::OutOfMemory("no room ahead");
            if (slot.codec == nullptr) {
                ARROW_ASSIGN_OR_RAISE(slot.codec, arrow::util::Codec::Create(codec_));
            }
            ARROW_ASSIGN_OR_RAISE(slot.bytes,
                                  arrow::AllocateBuffer(slot.whole(), pool_of(ahead_.pool)));
            largest_ = std::max(largest_, slot.whole() + slot.page->size());
            return arrow::Status::OK();
        });
        if (slot.ahead.status.ok())
            slot.ahead.begin(ahead_.team, [&slot] { return slot.decompress(); });
    }

    // As many as there is room for.
    void fill()
    {
        while (n_ < slots_.size() && !ended_ && !failed_) {
            if (n_ > 0 && !ahead_.has_room(2 * largest_))
                return;
            Slot &slot = at(n_);
            const arrow::Status status = caught([&] {
                slot.page = raw_->NextPage();
                return arrow::Status::OK();
            });
            failed_ = !status.ok();
            ahead_.off = ahead_.off || status.IsOutOfMemory();
            ended_ = !failed_ && slot.page == nullptr;
            if (failed_ || ended_)
                return;
            begin(slot);
            n_++;
        }
    }

    void drop_all()
    {
        for (Slot &slot : slots_) {
            ahead_.team.drop(slot.ahead.work);
            slot.page = nullptr;
            slot.bytes = nullptr;
        }
    }

    Page rest_from_own()
    {
        drop_all();
        raw_ = nullptr;
        return own_page();
    }

    // The next page, by Arrow's own reader.
    Page own_page()
    {
        if (own_ == nullptr) {
            own_ = open_own_();
            if (header_size_ != 0)
                own_->set_max_page_header_size(header_size_);
        }
        for (; own_at_ < next_; own_at_++)
            if (own_->NextPage() == nullptr)
                return nullptr;
        own_at_++;
        next_ += raw_ == nullptr;
        return own_->NextPage();
    }

    Pages raw_, own_;
    const std::function<Pages()> open_own_;
    const parquet::Compression::type codec_;
    Ahead &ahead_;
    std::vector<Slot> slots_;
    std::size_t first_ = 0, n_ = 0;
    int64_t next_ = 0, own_at_ = 0; // pages handed out; behind which the own reader stands
    int64_t largest_ = 0;           // bytes of a page
    uint32_t header_size_ = 0;
    bool ended_ = false, failed_ = false; // the raw pages
};

// --- the file ---

struct Source {
    std::shared_ptr<arrow::io::RandomAccessFile> file;
    parquet::ReaderProperties properties;
    Ahead *ahead;
};

class GroupAhead : public parquet::RowGroupReader::Contents
{
  public:
    GroupAhead(const Source &source, std::shared_ptr<parquet::RowGroupReader> own,
               std::shared_ptr<parquet::FileMetaData> meta)
        : source_(source), own_(std::move(own)), meta_(std::move(meta))
    {
    }
    const parquet::RowGroupMetaData *metadata() const override
    {
        return own_->metadata();
    }
    const parquet::ReaderProperties *properties() const override
    {
        return &source_.properties;
    }
    Pages GetColumnPageReader(int i) override
    {
        const auto chunk = metadata()->ColumnChunk(i);
        if (!is_worth(*chunk))
            return own_->GetColumnPageReader(i);
        int64_t begin = chunk->data_page_offset();
        if (chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0)
            begin = std::min(begin, chunk->dictionary_page_offset());
        parquet::ReaderProperties properties = source_.properties;
        properties.set_memory_pool(pool_of(source_.ahead->pool));
        auto raw = parquet::PageReader::Open(
            properties.GetStream(source_.file, begin, chunk->total_compressed_size()),
            chunk->num_values(), parquet::Compression::UNCOMPRESSED, properties,
            *metadata()->schema()->Column(i));
        return std::make_unique<PagesAhead>(
            std::move(raw), [own = own_, i] { return own->GetColumnPageReader(i); },
            chunk->compression(), *source_.ahead);
    }

  private:
    // Writers of old have left lengths and flags to be guessed, as Arrow does.
    bool is_worth(const parquet::ColumnChunkMetaData &chunk) const
    {
        using parquet::ApplicationVersion;
        const auto &writer = meta_->writer_version();
        return chunk.compression() != parquet::Compression::UNCOMPRESSED &&
               chunk.total_uncompressed_size() >= kSmall && chunk.crypto_metadata() == nullptr &&
               !writer.VersionLt(ApplicationVersion::PARQUET_816_FIXED_VERSION()) &&
               !writer.VersionLt(ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION()) &&
               !source_.ahead->off;
    }

    const Source source_;
    const std::shared_ptr<parquet::RowGroupReader> own_;
    const std::shared_ptr<parquet::FileMetaData> meta_;
};

class FileAhead : public parquet::ParquetFileReader::Contents
{
  public:
    FileAhead(Source source, std::unique_ptr<Contents> own)
        : source_(std::move(source)), own_(std::move(own))
    {
    }
    ~FileAhead() override
    {
        FileAhead::Close();
    }
    void Close() override
    {
        own_->Close();
    }
    std::shared_ptr<parquet::RowGroupReader> GetRowGroup(int i) override
    {
        return std::make_shared<parquet::RowGroupReader>(
            std::make_unique<GroupAhead>(source_, own_->GetRowGroup(i), own_->metadata()));
    }
    std::shared_ptr<parquet::FileMetaData> metadata() const override
    {
        return own_->metadata();
    }
    std::shared_ptr<parquet::PageIndexReader> GetPageIndexReader() override
    {
        return own_->GetPageIndexReader();
    }
    parquet::BloomFilterReader &GetBloomFilterReader() override
    {
        return own_->GetBloomFilterReader();
    }

  private:
    const Source source_;
    const std::unique_ptr<Contents> own_;
};

} // namespace

std::unique_ptr<parquet::ParquetFileReader>
open_ahead(const std::shared_ptr<arrow::io::RandomAccessFile> &file,
           const parquet::ReaderProperties &properties, Ahead &ahead)
{
    auto own = parquet::ParquetFileReader::Contents::Open(file, properties);
    auto reader = std::make_unique<parquet::ParquetFileReader>();
    reader->Open(std::make_unique<FileAhead>(Source{file, properties, &ahead}, std::move(own)));
    return reader;
}

} // namespace bandmill_tables
