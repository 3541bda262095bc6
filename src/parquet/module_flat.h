/* module_flat.h -- single fields of flatbuffers, in which IPC says what its messages hold: each is read within its bytes. */
#ifndef BANDMILL_PARQUET_MODULE_FLAT_H
#define BANDMILL_PARQUET_MODULE_FLAT_H

#include <arrow/buffer.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace bandmill_tables
{

// Numbers of fields and of kinds: Message.fbs and File.fbs of Arrow.
constexpr int kMessageType = 1, kMessageHeader = 2, kMessageBodyLength = 3;
constexpr int kDictionaryId = 0, kDictionaryData = 1, kDictionaryIsDelta = 2;
constexpr int kBatchBuffers = 2, kBatchCompression = 3, kBatchVariadic = 4, kCompressionCodec = 0;
constexpr int kFooterDictionaries = 2, kFooterBatches = 3;
constexpr uint8_t kDictionaryBatch = 2, kRecordBatch = 3, kZstd = 1;

// A flatbuffer. Places are offsets in it; 0: there is no such thing.
class Flat
{
  public:
    explicit Flat(std::shared_ptr<arrow::Buffer> bytes) : bytes_(std::move(bytes))
    {
    }
    template <class T> T get(int64_t at) const
    {
        T value = 0;
        if (at > 0 && at <= bytes_->size() - static_cast<int64_t>(sizeof value))
            std::memcpy(&value, bytes_->data() + at, sizeof value);
        return value;
    }
    int64_t root() const
    {
        uint32_t ahead = 0;
        if (bytes_->size() >= 4)
            std::memcpy(&ahead, bytes_->data(), sizeof ahead);
        return ahead;
    }
    int64_t field(int64_t table, int number) const
    {
        const int64_t layout = table - get<int32_t>(table), slot = 4 + 2 * number;
        if (table == 0 || slot + 2 > get<uint16_t>(layout))
            return 0;
        const uint16_t ahead = get<uint16_t>(layout + slot);
        return ahead != 0 ? table + ahead : 0;
    }
    // What the field points to.
    int64_t child(int64_t table, int number) const
    {
        const int64_t at = field(table, number);
        return at != 0 ? at + get<uint32_t>(at) : 0;
    }
    // A list of items of `each` bytes: how many of them lie in the bytes; the place of one.
    int64_t count(int64_t list, int64_t each) const
    {
        const int64_t room = (bytes_->size() - list - 4) / each;
        return list == 0 || room < 0 ? 0 : std::min<int64_t>(get<uint32_t>(list), room);
    }
    static int64_t item(int64_t list, int64_t each, int64_t i)
    {
        return list + 4 + i * each;
    }

  private:
    std::shared_ptr<arrow::Buffer> bytes_;
};

} // namespace bandmill_tables

#endif
