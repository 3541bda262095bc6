/* SPDX-License-Identifier: Apache-2.0 */
// module_common.cpp -- see the header. Memory is counted and limited, because a footer or a page
// may state any length.

#include "module_common.h"

#include <arrow/util/io_util.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <future>
#include <limits>

namespace bandmill_tables
{

// --- errors ---

bm_status fail(const arrow::Status &status, bm_table_words *words)
{
    std::string_view text = status.message();
    text = text.substr(0, text.find(". Detail:")); // drop the position in Arrow's sources
    const std::size_t n = std::min(text.size(), sizeof words->text - 1);
    std::replace_copy(text.begin(), text.begin() + n, words->text, '\n', ' ');
    words->text[n] = '\0';
    if (status.IsOutOfMemory())
        return BM_ERR_NOMEM;
    return status.IsIOError() && status.detail() != nullptr ? BM_ERR_IO : BM_ERR_INPUT;
}

// --- files ---

namespace
{

class Elsewhere : public arrow::io::RandomAccessFile
{
  public:
    explicit Elsewhere(const bm_table_bytes &bytes) : bytes_(bytes)
    {
    }
    arrow::Result<int64_t> GetSize() override
    {
        return static_cast<int64_t>(bytes_.size);
    }
    arrow::Result<int64_t> ReadAt(int64_t position, int64_t n, void *out) override
    {
        bm_error error = {};
        std::size_t got = 0;
        const bm_status status = bytes_.read(bytes_.file, out, static_cast<std::size_t>(n),
                                             static_cast<uint64_t>(position), &got, &error);
        if (status == BM_ERR_IO)
            return arrow::internal::IOErrorFromErrno(EIO, error.message);
        if (status == BM_ERR_NOMEM)
            return arrow::Status::OutOfMemory(error.message);
        return status == BM_OK ? arrow::Result<int64_t>(static_cast<int64_t>(got))
                               : arrow::Status::IOError(error.message);
    }
    arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t n) override
    {
        ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(n));
        ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(position, n, buffer->mutable_data()));
        ARROW_RETURN_NOT_OK(buffer->Resize(got));
        return std::shared_ptr<arrow::Buffer>(std::move(buffer));
    }
    arrow::Result<int64_t> Read(int64_t n, void *out) override
    {
        ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(at_, n, out));
        at_ += got;
        return got;
    }
    arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t n) override
    {
        ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(at_, n));
        at_ += buffer->size();
        return buffer;
    }
    arrow::Status Seek(int64_t position) override
    {
        at_ = position;
        return arrow::Status::OK();
    }
    arrow::Result<int64_t> Tell() const override
    {
        return at_;
    }
    arrow::Status Close() override
    {
        closed_ = true;
        return arrow::Status::OK();
    }
    bool closed() const override
    {
        return closed_;
    }

  private:
    const bm_table_bytes bytes_;
    int64_t at_ = 0; // offset of Read; only one thread at a time calls Read
    bool closed_ = false;
};

} // namespace

arrow::Result<File> open_file(const char *path, const bm_table_bytes &bytes,
                              arrow::MemoryPool *pool)
{
    if (bytes.file != nullptr)
        return std::make_shared<Elsewhere>(bytes);
    return arrow::io::ReadableFile::Open(path, pool);
}

// --- memory ---

// Uses Arrow's own pool. Arrays of a stream outlive the stream and free their memory here. So each
// block counts as a user of the pool, and the last user deletes the pool.
class Bounded : public arrow::ProxyMemoryPool
{
  public:
    explicit Bounded(int64_t most) : ProxyMemoryPool(arrow::system_memory_pool()), most_(most)
    {
    }
    using ProxyMemoryPool::Allocate;
    using ProxyMemoryPool::Free;
    using ProxyMemoryPool::Reallocate;
    arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t **out) override
    {
        ARROW_RETURN_NOT_OK(check(size));
        ARROW_RETURN_NOT_OK(ProxyMemoryPool::Allocate(size, alignment, out));
        users_++;
        return arrow::Status::OK();
    }
    arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                             uint8_t **ptr) override
    {
        ARROW_RETURN_NOT_OK(check(new_size - old_size));
        return ProxyMemoryPool::Reallocate(old_size, new_size, alignment, ptr);
    }
    void Free(uint8_t *buffer, int64_t size, int64_t alignment) override
    {
        ProxyMemoryPool::Free(buffer, size, alignment);
        drop();
    }
    void drop()
    {
        if (--users_ == 0)
            delete this;
    }

  private:
    arrow::Status check(int64_t more) const
    {
        return more <= most_ - bytes_allocated()
                   ? arrow::Status::OK()
                   : arrow::Status::OutOfMemory("to decode it takes more than ", most_ >> 20,
                                                " MiB of memory");
    }

    const int64_t most_;
    std::atomic<int64_t> users_ = 1;
};

Pool make_pool(uint64_t bytes)
{
    constexpr uint64_t any = std::numeric_limits<int64_t>::max() / 2;
    return {new Bounded(static_cast<int64_t>(bytes != 0 && bytes < any ? bytes : any)),
            [](Bounded *pool) { pool->drop(); }};
}

arrow::Status check_schema(const arrow::Schema &first, const arrow::Schema &other,
                           bm_table_words *words)
{
    words->other_schema = !first.Equals(other, false);
    if (!words->other_schema)
        return arrow::Status::OK();
    int i = 0;
    while (i < first.num_fields() && i < other.num_fields() &&
           first.field(i)->Equals(other.field(i)))
        i++;
    const auto shown = [i](const arrow::Schema &schema) {
        return i < schema.num_fields() ? schema.field(i)->ToString() : "no column";
    };
    return arrow::Status::Invalid("'", shown(other), "' in place of '", shown(first), "'");
}

// --- the column with the groups of rows ---

constexpr const char *kLabel = "bandmill";

arrow::Result<std::shared_ptr<arrow::Field>> label_field(const arrow::Schema &schema)
{
    if (schema.GetFieldIndex(kLabel) >= 0 || !schema.GetAllFieldIndices(kLabel).empty())
        return arrow::Status::Invalid("the table has a column '", kLabel, "' already");
    return arrow::field(
        kLabel,
        arrow::struct_({arrow::field("group", arrow::int64()), arrow::field("size", arrow::int64()),
                        arrow::field("kept", arrow::boolean(), false),
                        arrow::field("jaccard", arrow::float64())}),
        false);
}

arrow::Result<arrow::ArrayVector> label_columns(const bm_table_label *labels, uint64_t n)
{
    arrow::Int64Builder groups, sizes;
    arrow::BooleanBuilder kept;
    arrow::DoubleBuilder jaccards;
    for (uint64_t i = 0; i < n; i++) {
        const bm_table_label &label = labels[i];
        ARROW_RETURN_NOT_OK(label.group != 0 ? groups.Append(static_cast<int64_t>(label.group))
                                             : groups.AppendNull());
        ARROW_RETURN_NOT_OK(label.size != 0 ? sizes.Append(static_cast<int64_t>(label.size))
                                            : sizes.AppendNull());
        ARROW_RETURN_NOT_OK(kept.Append(label.kept != 0));
        ARROW_RETURN_NOT_OK(label.millionths != BM_TABLE_JACCARD_UNKNOWN
                                ? jaccards.Append(label.millionths / 1e6)
                                : jaccards.AppendNull());
    }
    ARROW_ASSIGN_OR_RAISE(auto g, groups.Finish());
    ARROW_ASSIGN_OR_RAISE(auto s, sizes.Finish());
    ARROW_ASSIGN_OR_RAISE(auto k, kept.Finish());
    ARROW_ASSIGN_OR_RAISE(auto j, jaccards.Finish());
    return arrow::ArrayVector{g, s, k, j};
}

// --- reading beside writing ---

arrow::Status read_beside(bool beside, const std::function<arrow::Status(const Push &)> &read)
{
    std::future<arrow::Status> last; // the last step that was begun
    const auto end_last = [&] { return last.valid() ? last.get() : arrow::Status::OK(); };
    const arrow::Status was_read = caught([&] {
        return read([&](Step step) -> arrow::Status {
            if (!beside)
                return step();
            ARROW_RETURN_NOT_OK(end_last());
            last =
                std::async(std::launch::async, [step = std::move(step)] { return caught(step); });
            return arrow::Status::OK();
        });
    });
    const arrow::Status written = end_last();
    return written.ok() ? was_read : written;
}

// --- cuts of texts ---

TextCuts::TextCuts(const bm_table_kept &kept, uint64_t first)
    : next_(kept.cuts), end_(kept.cuts + kept.n_cuts)
{
    next_ = std::lower_bound(next_, end_, first, [](const bm_table_text_cut &cut, uint64_t row) {
        return cut.row < row;
    });
}

bool TextCuts::has(uint64_t row)
{
    while (next_ != end_ && next_->row < row)
        next_++;
    return next_ != end_ && next_->row == row;
}

void TextCuts::cut(uint64_t row, std::string_view value, std::string *out)
{
    const uint64_t begin = row == row_ ? at_ + 1 : 0, end = begin + value.size();
    uint64_t from = begin;
    row_ = row;
    at_ = end;
    out->clear();
    for (; has(row) && next_->from < end; next_++) {
        const uint64_t to = std::min(next_->to, end);
        if (next_->from > from)
            out->append(value.substr(from - begin, next_->from - from));
        from = std::max(from, to);
    }
    out->append(value.substr(from - begin));
}

bool is_nested(std::string_view name)
{
    return name.find("[]") != name.rfind("[]");
}

NameStep next_step(std::string_view *name)
{
    const std::size_t dot = name->find('.'), list = name->find("[]");
    const std::size_t end = std::min(dot, list);
    const NameStep step{name->substr(0, end), list < dot};
    *name = end == std::string_view::npos ? std::string_view() : name->substr(end + 1 + step.list);
    if (step.list && !name->empty() && name->front() == '.')
        name->remove_prefix(1);
    return step;
}

} // namespace bandmill_tables
