// module_common.cpp -- see the header. Memory is counted and bounded, for a footer or a page may say any length.

#include "module_common.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <limits>

namespace bandmill_tables
{

// --- what went wrong ---

void say(bm_table_words *words, std::string_view text)
{
    text = text.substr(0, text.find(". Detail:"));
    const std::size_t n = std::min(text.size(), sizeof words->text - 1);
    for (std::size_t i = 0; i < n; i++)
        words->text[i] = text[i] == '\n' ? ' ' : text[i];
    words->text[n] = '\0';
}

bm_status fail(const arrow::Status &status, bm_table_words *words)
{
    say(words, status.message());
    if (status.IsOutOfMemory())
        return BM_ERR_NOMEM;
    return status.IsIOError() && status.detail() != nullptr ? BM_ERR_IO : BM_ERR_INPUT;
}

// --- memory ---

// What it gives is Arrow's own. Arrays of a stream outlive the stream, and they give their memory back
// here: so each block is a user, and the last one takes the pool with it.
class Pool : public arrow::ProxyMemoryPool
{
  public:
    explicit Pool(int64_t most) : ProxyMemoryPool(arrow::system_memory_pool()), most_(most)
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

void DropPool::operator()(Pool *pool) const
{
    pool->drop();
}

PoolHold make_pool(uint64_t bytes)
{
    constexpr int64_t any = std::numeric_limits<int64_t>::max() / 2;
    const bool bound = bytes != 0 && bytes < static_cast<uint64_t>(any);
    return PoolHold(new Pool(bound ? static_cast<int64_t>(bytes) : any));
}

arrow::MemoryPool *pool_of(const PoolHold &pool)
{
    return pool.get();
}

// --- reading beside writing ---

arrow::Status read_beside(bool beside, const std::function<arrow::Status(const Push &)> &read)
{
    std::future<arrow::Status> last; // step that was begun
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

} // namespace bandmill_tables
