// module_memory.cpp -- memory that is counted and bounded: a footer or a page may say any length.

#include "module_common.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

namespace bandmill_tables
{

namespace
{

// Blocks of so many bytes and more are given out again as they come back: memory that is new costs a
// page fault and zeros each time. So many of them wait for that at most. Before each stands how large
// it is, so that it may grow and shrink where it lies.
constexpr int64_t kLarge = 64 << 10, kWaiting = 16 << 20, kHead = arrow::kDefaultBufferAlignment;

int64_t *head_of(uint8_t *block)
{
    return reinterpret_cast<int64_t *>(block - kHead);
}

// Sizes of large blocks: four to each power of two.
int64_t rounded(int64_t size)
{
    int64_t step = kLarge / 4;
    while (step * 8 < size)
        step *= 2;
    return (size + step - 1) / step * step;
}

} // namespace

// What it gives is Arrow's own. Arrays of a stream outlive the stream, and they give their memory back
// here: so each block is a user, and the last one takes the pool with it.
class Pool : public arrow::MemoryPool
{
  public:
    explicit Pool(int64_t most) : most_(most)
    {
    }
    ~Pool() override
    {
        for (const auto &[size, block] : waiting_)
            below_->Free(block - kHead, kHead + size, kHead);
    }
    using MemoryPool::Allocate;
    using MemoryPool::Free;
    using MemoryPool::Reallocate;
    arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t **out) override
    {
        ARROW_RETURN_NOT_OK(take(size));
        const arrow::Status status = is_large(size, alignment)
                                         ? make_large(size, out)
                                         : below_->Allocate(size, alignment, out);
        if (!status.ok())
            now_ -= size;
        else
            users_++;
        return status;
    }
    arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                             uint8_t **ptr) override
    {
        const bool was = is_large(old_size, alignment), is = is_large(new_size, alignment);
        if (was && is && *head_of(*ptr) >= new_size && *head_of(*ptr) / 4 <= new_size) {
            ARROW_RETURN_NOT_OK(take(new_size - old_size));
            return arrow::Status::OK();
        }
        uint8_t *moved = nullptr;
        ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
        std::memcpy(moved, *ptr, static_cast<std::size_t>(std::min(old_size, new_size)));
        Free(*ptr, old_size, alignment);
        *ptr = moved;
        return arrow::Status::OK();
    }
    void Free(uint8_t *buffer, int64_t size, int64_t alignment) override
    {
        if (!is_large(size, alignment))
            below_->Free(buffer, size, alignment);
        else if (!wait(buffer))
            below_->Free(buffer - kHead, kHead + *head_of(buffer), kHead);
        now_ -= size;
        drop();
    }
    int64_t bytes_allocated() const override
    {
        return now_;
    }
    int64_t total_bytes_allocated() const override
    {
        return below_->total_bytes_allocated();
    }
    int64_t num_allocations() const override
    {
        return below_->num_allocations();
    }
    std::string backend_name() const override
    {
        return below_->backend_name();
    }
    void drop()
    {
        if (--users_ == 0)
            delete this;
    }

  private:
    static bool is_large(int64_t size, int64_t alignment)
    {
        return size >= kLarge && alignment <= kHead;
    }
    arrow::Status take(int64_t more)
    {
        const int64_t now = now_ += more;
        if (more <= 0 || now <= most_)
            return arrow::Status::OK();
        now_ -= more;
        return arrow::Status::OutOfMemory("to decode it takes more than ", most_ >> 20,
                                          " MiB of memory");
    }
    // One that waits, where there is one not much larger, or a new one.
    arrow::Status make_large(int64_t size, uint8_t **out)
    {
        {
            const std::lock_guard lock(mutex_);
            const auto found = waiting_.lower_bound(size);
            if (found != waiting_.end() && found->first / 4 <= size) {
                *out = found->second;
                bytes_waiting_ -= found->first;
                waiting_.erase(found);
                return arrow::Status::OK();
            }
        }
        ARROW_RETURN_NOT_OK(below_->Allocate(kHead + rounded(size), kHead, out));
        *out += kHead;
        *head_of(*out) = rounded(size);
        return arrow::Status::OK();
    }
    bool wait(uint8_t *block)
    {
        const int64_t size = *head_of(block);
        const std::lock_guard lock(mutex_);
        if (size > kWaiting - bytes_waiting_)
            return false;
        waiting_.emplace(size, block);
        bytes_waiting_ += size;
        return true;
    }

    arrow::MemoryPool *below_ = arrow::system_memory_pool();
    const int64_t most_;
    std::atomic<int64_t> now_ = 0;
    std::atomic<int64_t> users_ = 1;
    std::mutex mutex_;
    std::multimap<int64_t, uint8_t *> waiting_;
    int64_t bytes_waiting_ = 0;
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

} // namespace bandmill_tables
