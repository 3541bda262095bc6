/* SPDX-License-Identifier: Apache-2.0 */
// module_ranges.cpp -- cuts row groups of Parquet into ranges of rows that threads read in
// parallel.
//
//     texts    | dictionary | page | page | page | page |      ranges end where a page of the
//     ids      | page               | page              |      largest column does
//                           '------'------'
//                               a range
//
// Page headers state the length and the number of rows of each page. A range reads its pages of the
// largest column as if they were the whole column chunk. A page of another column is decoded once,
// to an array that ranges share.
//
// In some cases a row group is not cut, but read in order: a requested column is in a list or a
// struct, or is read as a dictionary; pages differ from what the metadata state; or a page, or the
// text of a dictionary, is larger than the limit of a range. If a file has errors, the code that
// reads in order reports them.

#include "module_common.h"

#include <arrow/c/bridge.h>
#include <parquet/column_reader.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

namespace bandmill_tables
{

namespace
{

// --- headers of pages: Thrift's compact protocol ---

// Reads from bytes. Beyond their end it returns zeros, and ok() is false.
class Compact
{
  public:
    Compact(const uint8_t *bytes, int64_t n) : begin_(bytes), at_(bytes), end_(bytes + n)
    {
    }
    bool ok() const
    {
        return ok_;
    }
    int64_t length() const // number of bytes read
    {
        return at_ - begin_;
    }
    int64_t number()
    {
        const uint64_t n = varint();
        return static_cast<int64_t>(n >> 1) ^ -static_cast<int64_t>(n & 1);
    }
    // Call `each` with the number and the type of each field. `each` either reads the field, or
    // returns false so that it is skipped.
    template <class Each> void fields(Each each)
    {
        int64_t id = 0;
        for (uint8_t head = byte(); ok_ && (head & 15) != 0; head = byte()) {
            id = head >> 4 != 0 ? id + (head >> 4) : number();
            if (!each(id, head & 15))
                skip(head & 15, 0);
        }
    }

  private:
    enum {
        kTrue = 1,
        kFalse,
        kByte,
        kI16,
        kI32,
        kI64,
        kDouble,
        kBinary,
        kList,
        kSet,
        kMap,
        kStruct
    };
    static constexpr int kDeepest = 8;

    uint8_t byte()
    {
        ok_ = ok_ && at_ < end_;
        return ok_ ? *at_++ : 0;
    }
    uint64_t varint()
    {
        uint64_t n = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const uint64_t b = byte();
            n |= (b & 127) << shift;
            if (b < 128)
                return n;
        }
        ok_ = false;
        return 0;
    }
    void pass(uint64_t n)
    {
        ok_ = ok_ && n <= static_cast<uint64_t>(end_ - at_);
        at_ += ok_ ? n : 0;
    }
    void skip(int type, int depth)
    {
        if (type == kByte)
            pass(1);
        else if (type == kI16 || type == kI32 || type == kI64)
            varint();
        else if (type == kDouble)
            pass(8);
        else if (type == kBinary)
            pass(varint());
        else if (type == kStruct && depth < kDeepest)
            fields([&](int64_t, int inner) {
                skip(inner, depth + 1);
                return true;
            });
        else if (type != kTrue && type != kFalse)
            ok_ = false; // page headers contain no list or map
    }

    const uint8_t *begin_, *at_, *end_;
    bool ok_ = true;
};

struct Header {
    enum { kData = 0, kDictionary = 2, kData2 = 3 };
    int64_t type = -1, bytes = -1, packed = -1, values = -1, encoding = -1;
    int64_t length = 0; // size of the header itself
};

// Parse a page header. Returns false if the bytes are not a complete header.
bool parse_header(const uint8_t *bytes, int64_t n, Header *out)
{
    Compact in(bytes, n);
    Header h;
    in.fields([&](int64_t field, int) {
        if (field >= 1 && field <= 3) {
            (field == 1 ? h.type : field == 2 ? h.bytes : h.packed) = in.number();
            return true;
        }
        const bool second = field == 8;
        if (field != 5 && !second)
            return false;
        in.fields([&](int64_t inner, int) {
            if (inner != 1 && inner != (second ? 4 : 2))
                return false;
            (inner == 1 ? h.values : h.encoding) = in.number();
            return true;
        });
        return true;
    });
    h.length = in.length();
    *out = h;
    return in.ok();
}

// --- the pages of a column chunk ---

// Consecutive pages that are read as one.
struct Run {
    int64_t begin, end; // offsets in the file
    int64_t row, rows;  // first row in the row group, and number of rows
    int64_t bytes;      // uncompressed size
    bool indexed;       // the values are indices into the dictionary
};

struct Side { // the decoded values of a run, which ranges share
    std::mutex lock;
    std::shared_ptr<arrow::Array> array;
};

struct Pages {
    int leaf;
    int64_t dictionary = 0, dictionary_end = 0; // offsets in the file
    int64_t dictionary_bytes = 0;
    std::vector<Run> runs;
    std::vector<std::unique_ptr<Side>> sides; // one for each run; empty for the largest column
    int64_t bytes = 0;

    std::size_t run_of(int64_t row) const
    {
        const auto behind = std::upper_bound(runs.begin(), runs.end(), row,
                                             [](int64_t r, const Run &run) { return r < run.row; });
        return static_cast<std::size_t>(behind - runs.begin()) - 1;
    }
};

constexpr std::size_t kMostRuns = 1 << 16;

bool is_dictionary(int64_t encoding)
{
    return encoding == parquet::Encoding::RLE_DICTIONARY ||
           encoding == parquet::Encoding::PLAIN_DICTIONARY;
}

// Does the size of a page limit the size of its decoded values? Not for texts in encodings such as
// DELTA_BYTE_ARRAY, which store a common prefix once.
bool is_bounded(int64_t encoding, parquet::Type::type type)
{
    return is_dictionary(encoding) || type != parquet::Type::BYTE_ARRAY ||
           encoding == parquet::Encoding::PLAIN ||
           encoding == parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY;
}

// Add a page. Returns false if the row group must not be cut. All pages of indices form one run.
bool add_page(const Header &h, int64_t at, parquet::Type::type type, Pages *pages)
{
    const int64_t end = at + h.length + h.packed;
    if (h.type == Header::kDictionary) {
        pages->dictionary = at;
        pages->dictionary_end = end;
        pages->dictionary_bytes = h.bytes;
        return pages->runs.empty();
    }
    const bool indexed = is_dictionary(h.encoding);
    std::vector<Run> &runs = pages->runs;
    if ((h.type != Header::kData && h.type != Header::kData2) || h.values <= 0 ||
        !is_bounded(h.encoding, type) || (indexed && pages->dictionary_end == 0) ||
        runs.size() == kMostRuns)
        return false;
    const int64_t row = runs.empty() ? 0 : runs.back().row + runs.back().rows;
    if (indexed && !runs.empty()) {
        Run &last = runs.back();
        last.end = end;
        last.rows += h.values;
        last.bytes += h.bytes;
        return last.indexed;
    }
    runs.push_back(
        {at, end, row, h.values, h.bytes + (indexed ? pages->dictionary_bytes : 0), indexed});
    return true;
}

// Find the pages of a chunk. Returns false if the row group must not be cut.
bool find_pages(const Parquet &p, const parquet::RowGroupMetaData &group, int64_t most,
                Pages *pages)
{
    const auto chunk = group.ColumnChunk(pages->leaf);
    const auto *column = p.meta->schema()->Column(pages->leaf);
    if (column->max_repetition_level() > 0 || column->path()->ToDotVector().size() != 1 ||
        chunk->num_values() != group.num_rows())
        return false;
    int64_t at = chunk->data_page_offset(), rows = 0;
    if (chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0)
        at = std::min(at, chunk->dictionary_page_offset());
    const int64_t end = at + chunk->total_compressed_size();
    std::vector<uint8_t> bytes(4 << 10);
    while (at < end && rows < group.num_rows()) {
        Header h;
        const auto got = p.file->ReadAt(at, static_cast<int64_t>(bytes.size()), bytes.data());
        if (!got.ok())
            return false;
        if (!parse_header(bytes.data(), *got, &h)) {
            if (bytes.size() > (64 << 10) || *got < static_cast<int64_t>(bytes.size()))
                return false;
            bytes.resize(bytes.size() * 4);
            continue;
        }
        if (h.packed < 0 || h.packed > end - at - h.length || h.bytes < 0 || h.bytes > most ||
            !add_page(h, at, column->physical_type(), pages) ||
            (!pages->runs.empty() && pages->runs.back().bytes > most))
            return false;
        pages->bytes += h.bytes;
        rows += h.type == Header::kDictionary ? 0 : h.values;
        at += h.length + h.packed;
    }
    return rows == group.num_rows();
}

// --- ranges of a row group ---

// Runs of one chunk, read as if they were the whole chunk.
struct Span {
    int64_t begin, end; // offsets in the file
    int64_t rows;
    bool indexed;
};

// A row group with its pages. Once made, only the arrays of its sides change.
struct Cuts {
    int number;
    uint64_t first;            // its first row in the file
    std::vector<Pages> leaves; // in the order of the request
    std::size_t largest = 0;

    Span span(std::size_t leaf, std::size_t from, std::size_t to) const
    {
        const auto &runs = leaves[leaf].runs;
        return {runs[from].begin, runs[to - 1].end,
                runs[to - 1].row + runs[to - 1].rows - runs[from].row, runs[from].indexed};
    }
};

// Make the cuts of a row group. NULL: the row group must not be cut.
std::shared_ptr<Cuts> cut_group(const Parquet &p, const Asked &asked, int number, uint64_t first,
                                int64_t most)
{
    const auto group = p.meta->RowGroup(number);
    auto cuts = std::make_shared<Cuts>(Cuts{number, first, {}});
    if (!asked.indexed.empty() || asked.leaves.size() != asked.children.size())
        return nullptr;
    for (const int leaf : asked.leaves) {
        cuts->leaves.emplace_back().leaf = leaf;
        if (!find_pages(p, *group, most, &cuts->leaves.back()))
            return nullptr;
        if (cuts->leaves.back().bytes > cuts->leaves[cuts->largest].bytes)
            cuts->largest = cuts->leaves.size() - 1;
    }
    for (std::size_t i = 0; i < cuts->leaves.size(); i++)
        for (std::size_t run = 0; i != cuts->largest && run < cuts->leaves[i].runs.size(); run++)
            cuts->leaves[i].sides.push_back(std::make_unique<Side>());
    return cuts;
}

// One column of a row group, reduced to the pages of a span.
class SpanGroup : public parquet::RowGroupReader::Contents
{
  public:
    SpanGroup(const Parquet &p, const Pages &pages, int number, const Span &span)
        : p_(p), pages_(pages), span_(span), meta_(p.meta->RowGroup(number)),
          properties_(p.pool.get())
    {
        properties_.set_page_checksum_verification(true); // for pages that have a checksum
    }
    std::unique_ptr<parquet::PageReader> GetColumnPageReader(int leaf) override
    {
        const auto chunk = meta_->ColumnChunk(leaf);
        const int64_t front = span_.indexed ? pages_.dictionary_end - pages_.dictionary : 0;
        const int64_t n = span_.end - span_.begin;
        std::shared_ptr<arrow::Buffer> bytes;
        PARQUET_ASSIGN_OR_THROW(bytes, arrow::AllocateBuffer(front + n, p_.pool.get()));
        read(pages_.dictionary, front, bytes->mutable_data());
        read(span_.begin, n, bytes->mutable_data() + front);
        const bool packed = p_.meta->writer_version().VersionLt(
            parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
        return parquet::PageReader::Open(
            std::make_shared<arrow::io::BufferReader>(std::move(bytes)), span_.rows,
            chunk->compression(), properties_, packed);
    }
    const parquet::RowGroupMetaData *metadata() const override
    {
        return meta_.get();
    }
    const parquet::ReaderProperties *properties() const override
    {
        return &properties_;
    }

  private:
    void read(int64_t at, int64_t n, uint8_t *out) const
    {
        int64_t got = 0;
        PARQUET_ASSIGN_OR_THROW(got, p_.file->ReadAt(at, n, out));
        if (got < n)
            throw parquet::ParquetException("the file is cut off");
    }

    const Parquet &p_;
    const Pages &pages_;
    const Span span_;
    std::unique_ptr<parquet::RowGroupMetaData> meta_;
    parquet::ReaderProperties properties_;
};

class SpanFile : public parquet::ParquetFileReader::Contents
{
  public:
    SpanFile(const Parquet &p, const Pages &pages, const Span &span)
        : p_(p), pages_(pages), span_(span)
    {
    }
    void Close() override
    {
    }
    std::shared_ptr<parquet::RowGroupReader> GetRowGroup(int number) override
    {
        return std::make_shared<parquet::RowGroupReader>(
            std::make_unique<SpanGroup>(p_, pages_, number, span_));
    }
    std::shared_ptr<parquet::FileMetaData> metadata() const override
    {
        return p_.meta;
    }
    std::shared_ptr<parquet::PageIndexReader> GetPageIndexReader() override
    {
        return nullptr;
    }
    parquet::BloomFilterReader &GetBloomFilterReader() override
    {
        throw parquet::ParquetException("there is none");
    }

  private:
    const Parquet &p_;
    const Pages &pages_;
    const Span span_;
};

struct Range {
    std::shared_ptr<Cuts> cuts;
    std::size_t from, to; // runs of the largest column
    int64_t row, rows;    // first row in the row group, and number of rows
};

// The ranges of one file.
class Cut
{
  public:
    Cut(std::shared_ptr<Parquet> p, Asked asked, std::shared_ptr<arrow::Schema> schema,
        std::shared_ptr<InOrder> in_order, const bm_table_wish &wish)
        : p_(std::move(p)), asked_(std::move(asked)), schema_(std::move(schema)),
          in_order_(std::move(in_order)), most_(static_cast<int64_t>(wish.range_bytes)),
          end_(wish.n_rows > 0 ? wish.first_row + wish.n_rows : UINT64_MAX)
    {
        uint64_t row = 0;
        for (int g = 0; g < p_->meta->num_row_groups() && row < end_; g++) {
            row += static_cast<uint64_t>(p_->meta->RowGroup(g)->num_rows());
            ends_.push_back(row);
        }
    }

    bm_table_range next(uint64_t row)
    {
        const auto end = std::upper_bound(ends_.begin(), ends_.end(), row);
        if (end == ends_.end())
            return {row, 0, 0, nullptr};
        bm_table_range range = {row, *end - row, 0, nullptr};
        (void)caught([&] {
            cut(static_cast<int>(end - ends_.begin()), end == ends_.begin() ? 0 : end[-1], &range);
            return arrow::Status::OK();
        });
        return range;
    }

    arrow::Status read(const Range &range, struct ArrowArray *out) const
    {
        arrow::ArrayVector columns;
        for (std::size_t i = 0; i < range.cuts->leaves.size(); i++) {
            if (i == range.cuts->largest) {
                ARROW_ASSIGN_OR_RAISE(columns.emplace_back(),
                                      decode(*range.cuts, i, range.from, range.to));
            } else {
                ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), side(range, i));
            }
        }
        return arrow::ExportRecordBatch(
            *arrow::RecordBatch::Make(schema_, range.rows, std::move(columns)), out);
    }

    void seek(uint64_t row, uint64_t end)
    {
        bandmill_tables::seek(*in_order_, row, std::min(end, end_));
    }

  private:
    // Cut a range from row group `number`, which begins at row `first` of the file. If `out` is
    // left unchanged, the row group is not cut.
    void cut(int number, uint64_t first, bm_table_range *out)
    {
        if (number != number_)
            cuts_ = cut_group(*p_, asked_, number, first, most_);
        number_ = number;
        if (cuts_ == nullptr)
            return;
        const Pages &largest = cuts_->leaves[cuts_->largest];
        const auto &runs = largest.runs;
        const std::size_t from = largest.run_of(static_cast<int64_t>(out->row - first));
        std::size_t to = from;
        int64_t bytes = 0;
        while (to < runs.size() && (to == from || (bytes < asked_.bytes && !runs[from].indexed &&
                                                   bytes + runs[to].bytes <= most_)))
            bytes += runs[to++].bytes;
        const Span span = cuts_->span(cuts_->largest, from, to);
        out->own = new Range{cuts_, from, to, runs[from].row, span.rows};
        out->n_rows = static_cast<uint64_t>(span.rows);
        out->bytes = static_cast<uint64_t>(bytes);
    }

    // Decode runs of a column to one array.
    arrow::Result<std::shared_ptr<arrow::Array>> decode(const Cuts &cuts, std::size_t leaf,
                                                        std::size_t from, std::size_t to) const
    {
        const Span span = cuts.span(leaf, from, to);
        auto raw = std::make_unique<parquet::ParquetFileReader>();
        raw->Open(std::make_unique<SpanFile>(*p_, cuts.leaves[leaf], span));
        ARROW_ASSIGN_OR_RAISE(const auto reader, arrow_reader(*p_, asked_, std::move(raw)));
        reader->set_batch_size(span.rows);
        ARROW_ASSIGN_OR_RAISE(const Reader batches, reader->GetRecordBatchReader(
                                                        {cuts.number}, {cuts.leaves[leaf].leaf}));
        ARROW_ASSIGN_OR_RAISE(const Batch batch, batches->Next());
        if (batch == nullptr || batch->num_rows() != span.rows || batch->num_columns() != 1)
            return arrow::Status::Invalid("it holds another number of rows than it says");
        return batch->column(0);
    }

    // Return the rows of a range, from a column that is not the largest.
    arrow::Result<std::shared_ptr<arrow::Array>> side(const Range &range, std::size_t leaf) const
    {
        const Pages &pages = range.cuts->leaves[leaf];
        const int64_t end = range.row + range.rows;
        arrow::ArrayVector parts;
        for (std::size_t i = pages.run_of(range.row); i < pages.runs.size(); i++) {
            const Run &run = pages.runs[i];
            if (run.row >= end)
                break;
            Side &side = *pages.sides[i];
            const std::lock_guard<std::mutex> locked(side.lock);
            if (side.array == nullptr) {
                ARROW_ASSIGN_OR_RAISE(side.array, decode(*range.cuts, leaf, i, i + 1));
            }
            const int64_t first = std::max(range.row, run.row),
                          last = std::min(end, run.row + run.rows);
            parts.push_back(side.array->Slice(first - run.row, last - first));
            if (last == run.row + run.rows)
                side.array = nullptr; // if a later range needs it, it is decoded again
        }
        return parts.size() == 1 ? parts[0] : arrow::Concatenate(parts, p_->pool.get());
    }

    const std::shared_ptr<Parquet> p_;
    const Asked asked_;
    const std::shared_ptr<arrow::Schema> schema_;
    const std::shared_ptr<InOrder> in_order_;
    const int64_t most_;
    const uint64_t end_;         // rows from this one on are not read
    std::vector<uint64_t> ends_; // ends of the row groups, as rows of the file
    int number_ = -1;            // the last row group requested
    std::shared_ptr<Cuts> cuts_; // the cuts of row group number_
};

bm_table_range cut_next(void *own, uint64_t row)
{
    return static_cast<Cut *>(own)->next(row);
}

bm_status cut_read(void *own, const bm_table_range *range, struct ArrowArray *out)
{
    bm_table_words words;
    return guarded(&words, [&] {
        return static_cast<Cut *>(own)->read(*static_cast<const Range *>(range->own), out);
    });
}

void cut_drop(bm_table_range *range)
{
    delete static_cast<Range *>(range->own);
    range->own = nullptr;
}

void cut_seek(void *own, uint64_t row, uint64_t end)
{
    static_cast<Cut *>(own)->seek(row, end);
}

void cut_release(void *own)
{
    delete static_cast<Cut *>(own);
}

} // namespace

void cut_parquet(std::shared_ptr<Parquet> p, Asked asked, std::shared_ptr<arrow::Schema> schema,
                 std::shared_ptr<InOrder> in_order, const bm_table_wish &wish)
{
    *wish.cut = {
        new Cut(std::move(p), std::move(asked), std::move(schema), std::move(in_order), wish),
        cut_next,
        cut_read,
        cut_drop,
        cut_seek,
        cut_release};
}

} // namespace bandmill_tables
