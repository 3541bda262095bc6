// module_needs.cpp -- what the batches of IPC take in memory, as their metadata say before any of them is read:
//
//     a batch        the buffers of the columns that are asked for; of a stream all of its body, which Arrow reads whole. Of
//                    buffers that are compressed also as many bytes as each says, in its first 8, to be without that
//     a dictionary   its buffers, and those that were added to it, until another one of its number comes
//
// Two batches are there at a time: one whose rows are in use, and the next one, or those of its rows that stay.

#include "module_flat.h"
#include "module_ipc.h"

#include <arrow/io/api.h>

#include <algorithm>
#include <limits>
#include <map>

namespace bandmill_tables
{

namespace
{

constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 16, kMetaMost = 64 << 20;

int64_t plus(int64_t a, int64_t b)
{
    return b < 0 ? a : std::min(a, kMost) + std::min(b, kMost - std::min(a, kMost));
}

// The buffers of a batch, in their order.
struct Order {
    std::size_t n;             // so many there are; one more at most is counted
    std::vector<int64_t> more; // buffers of each column of views, the next one last
    std::vector<bool> chosen;

    void push(bool is_chosen, int64_t times)
    {
        const auto room = static_cast<int64_t>(n + 1 - chosen.size());
        chosen.insert(chosen.end(), static_cast<std::size_t>(std::clamp<int64_t>(times, 0, room)),
                      is_chosen);
    }
    void add(const arrow::DataType &type, bool is_chosen)
    {
        if (type.id() == arrow::Type::EXTENSION)
            return add(*static_cast<const arrow::ExtensionType &>(type).storage_type(), is_chosen);
        const auto layout = type.layout();
        for (const auto &buffer : layout.buffers)
            push(is_chosen, buffer.kind != arrow::DataTypeLayout::ALWAYS_NULL);
        if (layout.variadic_spec.has_value() && !more.empty()) {
            push(is_chosen, more.back());
            more.pop_back();
        }
        for (const auto &field : type.fields())
            add(*field->type(), is_chosen);
    }
};

class Scan
{
  public:
    Scan(arrow::io::RandomAccessFile &file, bool whole, const arrow::Schema &schema,
         const std::vector<int> &fields, int64_t size)
        : file_(file), whole_(whole), schema_(schema), fields_(fields), size_(size)
    {
    }

    // A message, and what is behind it. False: there is no other one, or none that can be read.
    arrow::Result<bool> message(int64_t at, int64_t *behind)
    {
        uint32_t head[2] = {0, 0};
        ARROW_ASSIGN_OR_RAISE(auto start, file_.ReadAt(at, sizeof head));
        if (start->size() != sizeof head)
            return false;
        std::memcpy(head, start->data(), sizeof head);
        const bool marked = head[0] == UINT32_MAX; // older versions have the length alone
        const int64_t length = marked ? head[1] : head[0], begin = at + (marked ? 8 : 4);
        if (length == 0 || length > kMetaMost)
            return false;
        ARROW_ASSIGN_OR_RAISE(auto bytes, file_.ReadAt(begin, length));
        const Flat flat(std::move(bytes));
        const Body body{begin + length,
                        flat.get<int64_t>(flat.field(flat.root(), kMessageBodyLength))};
        if (body.length < 0 || body.length > size_ - body.at) {
            if (whole_) // Arrow takes memory for all of it, and reads what there is
                return arrow::Status::Invalid("the body of a batch does not lie in the file");
            return false; // and says so itself of a stream
        }
        *behind = body.at + body.length;
        ARROW_RETURN_NOT_OK(add(flat, body));
        return true;
    }
    IpcNeeds found() const
    {
        return {held_, most_};
    }

  private:
    struct Body {
        int64_t at, length;
    };

    arrow::Status add(const Flat &flat, const Body &body)
    {
        const auto type = flat.get<uint8_t>(flat.field(flat.root(), kMessageType));
        const int64_t header = flat.child(flat.root(), kMessageHeader);
        if (type == kRecordBatch) {
            ARROW_ASSIGN_OR_RAISE(const int64_t n, needs(flat, header, body, false));
            most_ = std::max(most_, n);
        } else if (type == kDictionaryBatch) {
            const int64_t batch = flat.child(header, kDictionaryData);
            ARROW_ASSIGN_OR_RAISE(const int64_t n, needs(flat, batch, body, true));
            const auto delta = flat.get<uint8_t>(flat.field(header, kDictionaryIsDelta));
            auto &own = dictionaries_[flat.get<int64_t>(flat.field(header, kDictionaryId))];
            now_ -= delta != 0 ? 0 : own;
            own = delta != 0 ? plus(own, n) : n;
            now_ = plus(now_, n);
            held_ = std::max(held_, now_);
        }
        return arrow::Status::OK();
    }
    // Of the buffers of a batch, compressed and not.
    arrow::Result<int64_t> needs(const Flat &flat, int64_t batch, const Body &body, bool all)
    {
        const int64_t list = flat.child(batch, kBatchBuffers), n = flat.count(list, 16);
        const bool packed = flat.child(batch, kBatchCompression) != 0;
        const std::vector<bool> chosen = choose(flat, batch, n, all);
        int64_t sum = whole_ ? 0 : body.length;
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = Flat::item(list, 16, i);
            const auto offset = flat.get<int64_t>(at), length = flat.get<int64_t>(at + 8);
            if (!chosen[static_cast<std::size_t>(i)] || length <= 0 || offset < 0 ||
                offset > body.length || length > body.length - offset)
                continue;
            sum = whole_ ? plus(sum, length) : sum;
            if (!packed || length < 8)
                continue;
            int64_t plain = 0; // -1: it is not
            ARROW_ASSIGN_OR_RAISE(auto bytes, file_.ReadAt(body.at + offset, sizeof plain));
            if (bytes->size() == sizeof plain)
                std::memcpy(&plain, bytes->data(), sizeof plain);
            sum = plus(sum, plain);
        }
        return sum;
    }
    // Which of its `n` buffers are of columns that are asked for; all where it has other ones than the schema says.
    std::vector<bool> choose(const Flat &flat, int64_t batch, int64_t n, bool all) const
    {
        Order order{static_cast<std::size_t>(n), {}, {}};
        if (!all && !fields_.empty()) {
            const int64_t views = flat.child(batch, kBatchVariadic);
            for (int64_t i = flat.count(views, 8); i-- > 0;)
                order.more.push_back(flat.get<int64_t>(Flat::item(views, 8, i)));
            for (int i = 0; i < schema_.num_fields(); i++)
                order.add(*schema_.field(i)->type(),
                          std::find(fields_.begin(), fields_.end(), i) != fields_.end());
        }
        if (order.chosen.size() != order.n)
            order.chosen.assign(order.n, true);
        return order.chosen;
    }

    arrow::io::RandomAccessFile &file_;
    const bool whole_;
    const arrow::Schema &schema_;
    const std::vector<int> &fields_;
    const int64_t size_;
    std::map<int64_t, int64_t> dictionaries_; // by their numbers
    int64_t now_ = 0, held_ = 0, most_ = 0;   // of dictionaries, and the most of them; of batches
};

} // namespace

arrow::Result<IpcNeeds> ipc_needs(const char *path, const arrow::Schema &schema,
                                  const std::vector<int> &fields)
{
    ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
    ARROW_ASSIGN_OR_RAISE(const bool whole, is_ipc_file(*file));
    ARROW_ASSIGN_OR_RAISE(const int64_t size, file->GetSize());
    Scan scan(*file, whole, schema, fields, size);
    int64_t behind = 0;
    if (whole) {
        ARROW_ASSIGN_OR_RAISE(const auto blocks, blocks_of(*file));
        for (const int64_t at : blocks)
            ARROW_RETURN_NOT_OK(scan.message(at, &behind));
        return scan.found();
    }
    for (bool more = true; more && behind < size;) {
        ARROW_ASSIGN_OR_RAISE(more, scan.message(behind, &behind));
    }
    return scan.found();
}

namespace
{

constexpr uint64_t kBatches = 2; // that are there at a time

uint64_t bytes_of(const IpcNeeds &needs, uint64_t batches)
{
    return static_cast<uint64_t>(needs.dictionaries) + batches * static_cast<uint64_t>(needs.batch);
}

} // namespace

bool has_room(const IpcNeeds &needs, uint64_t batches, uint64_t memory)
{
    return memory == 0 || bytes_of(needs, batches) <= memory;
}

arrow::Status check_room(const IpcNeeds &needs, uint64_t memory)
{
    if (has_room(needs, kBatches, memory))
        return arrow::Status::OK();
    return arrow::Status::OutOfMemory("two batches of up to ", needs.batch, " bytes",
                                      needs.dictionaries > 0 ? " and their dictionaries" : "",
                                      " do not fit into `memory` of ", memory >> 20, "M (at least ",
                                      (bytes_of(needs, kBatches) >> 20) + 1, "M)");
}

} // namespace bandmill_tables
