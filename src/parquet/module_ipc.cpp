// module_ipc.cpp -- what a file or stream of IPC says of itself and Arrow does not tell: where the batches of a file lie, and how the buffers
// of a batch are compressed. Both stand in flatbuffers, of which this reads single fields, each within its bytes:
//
//     stream   message, message, …        message   FFFFFFFF, length of the metadata, metadata, body
//     file     ARROW1 00 00, stream, footer, its length, ARROW1

#include "module_common.h"

#include <arrow/io/api.h>

#include <cstring>
#include <optional>

namespace bandmill_tables
{

namespace
{

// Numbers of fields and of kinds: Message.fbs and File.fbs of Arrow.
constexpr int kMessageType = 1, kMessageHeader = 2, kMessageBodyLength = 3;
constexpr int kDictionaryData = 1, kBatchCompression = 3, kCompressionCodec = 0, kFooterBatches = 3;
constexpr uint8_t kDictionaryBatch = 2, kRecordBatch = 3, kZstd = 1;
constexpr int64_t kFileHead = 8, kFileTail = 10; // the tail: a length and the magic

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

  private:
    std::shared_ptr<arrow::Buffer> bytes_;
};

// Of a message: the codec of its batch; none: it has no batch, or one that is not compressed.
struct Told {
    bool has_batch;
    std::optional<arrow::Compression::type> codec;
};

Told codec_of(const Flat &message)
{
    const int64_t root = message.root();
    const auto type = message.get<uint8_t>(message.field(root, kMessageType));
    int64_t batch = message.child(root, kMessageHeader);
    if (type != kRecordBatch && type != kDictionaryBatch)
        return {false, std::nullopt};
    if (type == kDictionaryBatch)
        batch = message.child(batch, kDictionaryData);
    const int64_t compression = message.child(batch, kBatchCompression);
    if (compression == 0)
        return {type == kRecordBatch, std::nullopt};
    const auto codec = message.get<uint8_t>(message.field(compression, kCompressionCodec));
    return {true, codec == kZstd ? arrow::Compression::ZSTD : arrow::Compression::LZ4_FRAME};
}

} // namespace

arrow::Status check_blocks(arrow::io::RandomAccessFile &file)
{
    ARROW_ASSIGN_OR_RAISE(const int64_t size, file.GetSize());
    int32_t length = 0;
    if (size < kFileHead + kFileTail)
        return arrow::Status::Invalid("the file is too short");
    ARROW_ASSIGN_OR_RAISE(auto tail, file.ReadAt(size - kFileTail, sizeof length));
    if (tail->size() == sizeof length)
        std::memcpy(&length, tail->data(), sizeof length);
    if (length <= 0 || length > size - kFileHead - kFileTail)
        return arrow::Status::Invalid("its footer does not lie in the file");
    const int64_t end = size - kFileTail - length;
    ARROW_ASSIGN_OR_RAISE(auto bytes, file.ReadAt(end, length));
    const Flat footer(std::move(bytes));
    const int64_t blocks = footer.child(footer.root(), kFooterBatches);
    const auto n = footer.get<uint32_t>(blocks);
    for (int64_t i = 0; blocks != 0 && i < n && blocks + 4 + i * 24 < length; i++) {
        const int64_t at =
            blocks + 4 + i * 24; // int64 offset, int32 of the metadata, int64 of the body
        const auto offset = footer.get<int64_t>(at), body = footer.get<int64_t>(at + 16);
        const auto head = footer.get<int32_t>(at + 8);
        if (offset < 0 || head < 0 || body < 0 || offset > end || head > end - offset ||
            body > end - offset - head)
            return arrow::Status::Invalid("record batch ", i, " does not lie in the file");
    }
    return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::util::Codec>> codec_like(arrow::io::RandomAccessFile &file,
                                                              bool whole)
{
    ARROW_ASSIGN_OR_RAISE(const int64_t size, file.GetSize());
    for (int64_t at = whole ? kFileHead : 0; at < size - 8;) {
        uint32_t head[2] = {0, 0};
        ARROW_ASSIGN_OR_RAISE(auto start, file.ReadAt(at, sizeof head));
        if (start->size() == sizeof head)
            std::memcpy(head, start->data(), sizeof head);
        at += static_cast<int64_t>(sizeof head);
        if (head[0] != UINT32_MAX || head[1] == 0 || head[1] > size - at)
            break; // the end, or a version that compressed nothing
        ARROW_ASSIGN_OR_RAISE(auto bytes, file.ReadAt(at, head[1]));
        const Flat message(std::move(bytes));
        const Told told = codec_of(message);
        if (told.codec.has_value())
            return arrow::util::Codec::Create(*told.codec);
        const auto body = message.get<int64_t>(message.field(message.root(), kMessageBodyLength));
        if (told.has_batch || body < 0 || body > size - at)
            break;
        at += head[1] + body;
    }
    return nullptr;
}

} // namespace bandmill_tables
