// module_ipc.cpp -- what a file or stream of IPC says of itself and Arrow does not tell: where the batches of a file lie, and how the buffers
// of a batch are compressed. Both stand in flatbuffers, of which this reads single fields, each within its bytes:
//
//     stream   message, message, …        message   FFFFFFFF, length of the metadata, metadata, body
//     file     ARROW1 00 00, stream, footer, its length, ARROW1

#include "module_ipc.h"

#include "module_flat.h"

#include <arrow/io/api.h>

#include <cstring>
#include <optional>

namespace bandmill_tables
{

namespace
{

constexpr int64_t kFileHead = 8, kFileTail = 10; // the tail: a length and the magic
constexpr int64_t kBlock = 24; // int64 offset, int32 of the metadata, int64 of the body

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

arrow::Result<bool> is_ipc_file(arrow::io::RandomAccessFile &file)
{
    ARROW_ASSIGN_OR_RAISE(auto head, file.ReadAt(0, 6));
    return head->size() == 6 && std::memcmp(head->data(), "ARROW1", 6) == 0;
}

arrow::Result<std::vector<int64_t>> blocks_of(arrow::io::RandomAccessFile &file)
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
    std::vector<int64_t> places;
    for (const int kind : {kFooterDictionaries, kFooterBatches}) {
        const int64_t blocks = footer.child(footer.root(), kind);
        for (int64_t i = 0; i < footer.count(blocks, kBlock); i++) {
            const int64_t at = Flat::item(blocks, kBlock, i);
            const auto offset = footer.get<int64_t>(at), body = footer.get<int64_t>(at + 16);
            const auto head = footer.get<int32_t>(at + 8);
            if (offset < 0 || head < 0 || body < 0 || offset > end || head > end - offset ||
                body > end - offset - head)
                return arrow::Status::Invalid(kind == kFooterBatches ? "record" : "dictionary",
                                              " batch ", i, " does not lie in the file");
            places.push_back(offset);
        }
    }
    return places;
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
