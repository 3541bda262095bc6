/* SPDX-License-Identifier: Apache-2.0 */
// module_ipc.cpp -- Arrow's IPC files and IPC streams, batch by batch: reads them as a stream of
// arrays, and copies the kept rows to a file. Before a batch is read, its memory is computed from
// its metadata and checked:
//
//     a batch        the buffers of the requested columns; in a stream the whole body, since Arrow
//                    reads all of it. For a compressed buffer also its uncompressed size, which is
//                    stated in its first 8 bytes
//     a dictionary   its buffers and its deltas' buffers, until it is replaced
//
// Two batches are in memory at a time: the batch that is in use, and the next batch or the kept
// rows. The metadata are flatbuffers. Their fields are read one by one, each with a bounds check:
//
//     stream    message, message, …
//     message   FFFFFFFF, length of the metadata, metadata, body
//     file      ARROW1 00 00, stream, footer, its length, ARROW1

#include "module_common.h"

#include <arrow/compute/api.h>
#include <arrow/ipc/api.h>
#include <arrow/util/compression.h>
#include <arrow/util/iterator.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

namespace bandmill_tables
{

namespace
{

// --- metadata ---

struct IpcFile {
    std::string path;
    bm_table_bytes elsewhere;
    File file;
    bool whole;                  // it is an IPC file, not an IPC stream
    int64_t bytes;               // size of the file
    std::vector<int64_t> blocks; // in a file: offsets of its dictionaries, then of its batches
};

// The memory that reading needs, in bytes, and the codec of the first batch (NULL: not compressed).
struct IpcNeeds {
    int64_t dictionaries = 0; // most bytes of all dictionaries at a time
    int64_t batch = 0;        // bytes of the largest batch
    std::shared_ptr<arrow::util::Codec> codec;

    // Do `batches` batches fit into `memory`? 0: no limit.
    bool has_room(uint64_t batches, uint64_t memory) const
    {
        return memory == 0 || bytes(batches) <= memory;
    }
    uint64_t bytes(uint64_t batches) const
    {
        return static_cast<uint64_t>(dictionaries) + batches * static_cast<uint64_t>(batch);
    }
};

// Numbers of fields and of types, from Arrow's Message.fbs and File.fbs.
constexpr int kMessageType = 1, kMessageHeader = 2, kMessageBodyLength = 3;
constexpr int kDictionaryId = 0, kDictionaryData = 1, kDictionaryIsDelta = 2;
constexpr int kBatchBuffers = 2, kBatchCompression = 3, kBatchVariadic = 4, kCompressionCodec = 0;
constexpr int kFooterDictionaries = 2, kFooterBatches = 3;
constexpr uint8_t kDictionaryBatch = 2, kRecordBatch = 3, kZstd = 1;

constexpr int64_t kFileHead = 8, kFileTail = 10; // the tail: a length and the magic
constexpr int64_t kBlock = 24; // int64 offset, int32 length of metadata, int64 length of body
constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 16, kMetaMost = 64 << 20;
constexpr uint64_t kBatches = 2; // batches in memory at a time

// Return the number at an offset, or 0 if the bytes end before it does.
template <class T> T number_at(const arrow::Buffer &bytes, int64_t at)
{
    T value = 0;
    if (at >= 0 && at <= bytes.size() - static_cast<int64_t>(sizeof value))
        std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

// A flatbuffer. Positions are offsets in it; 0: missing.
class Flat
{
  public:
    explicit Flat(std::shared_ptr<arrow::Buffer> bytes) : bytes_(std::move(bytes))
    {
    }
    template <class T> T get(int64_t at) const
    {
        return at > 0 ? number_at<T>(*bytes_, at) : T{0};
    }
    int64_t root() const
    {
        return number_at<uint32_t>(*bytes_, 0);
    }
    int64_t field(int64_t table, int number) const
    {
        const int64_t layout = table - get<int32_t>(table), slot = 4 + 2 * number;
        if (table == 0 || slot + 2 > get<uint16_t>(layout))
            return 0;
        const uint16_t ahead = get<uint16_t>(layout + slot);
        return ahead != 0 ? table + ahead : 0;
    }
    // Return the table or list that a field points to.
    int64_t child(int64_t table, int number) const
    {
        const int64_t at = field(table, number);
        return at != 0 ? at + get<uint32_t>(at) : 0;
    }
    // Return how many items of a list are within the bytes. `each`: size of an item. item() returns
    // the offset of an item.
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

int64_t plus(int64_t a, int64_t b)
{
    return b < 0 ? a : std::min(a, kMost) + std::min(b, kMost - std::min(a, kMost));
}

// Which buffers of a batch are chosen, in order.
struct Order {
    std::size_t n;             // number of buffers; counting stops at n + 1
    std::vector<int64_t> more; // numbers of buffers of the view columns, the next column last
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

struct Scan {
    const IpcFile &ipc;
    const arrow::Schema &schema;
    const std::vector<int> &fields;
    IpcNeeds found = {};
    bool has_codec = false;                       // found.codec is known, even if it is NULL
    std::map<int64_t, int64_t> dictionaries = {}; // sizes by id
    int64_t now = 0;                              // size of all current dictionaries

    struct Body {
        int64_t at, length;
    };

    // Read a message. *behind becomes the offset after it. False: there is no message, or it cannot
    // be read.
    arrow::Result<bool> message(int64_t at, int64_t *behind)
    {
        ARROW_ASSIGN_OR_RAISE(const auto head, ipc.file->ReadAt(at, 8));
        const auto mark = number_at<uint32_t>(*head, 0);
        const bool marked = mark == UINT32_MAX; // older versions write only the length
        const int64_t length = marked ? number_at<uint32_t>(*head, 4) : mark;
        if (head->size() < 8 || length == 0 || length > kMetaMost)
            return false;
        const int64_t begin = at + (marked ? 8 : 4);
        ARROW_ASSIGN_OR_RAISE(auto bytes, ipc.file->ReadAt(begin, length));
        const Flat flat(std::move(bytes));
        const Body body{begin + length,
                        flat.get<int64_t>(flat.field(flat.root(), kMessageBodyLength))};
        if (body.length < 0 || body.length > ipc.bytes - body.at) {
            if (ipc.whole) // Arrow would allocate all of this, and read what exists
                return arrow::Status::Invalid("the body of a batch does not lie in the file");
            return false; // in a stream, Arrow itself reports the error
        }
        *behind = body.at + body.length;
        ARROW_RETURN_NOT_OK(add(flat, body));
        return true;
    }
    arrow::Status add(const Flat &flat, const Body &body)
    {
        const auto type = flat.get<uint8_t>(flat.field(flat.root(), kMessageType));
        const int64_t header = flat.child(flat.root(), kMessageHeader);
        if (type == kRecordBatch) {
            ARROW_ASSIGN_OR_RAISE(const int64_t n, needs(flat, header, body, false));
            found.batch = std::max(found.batch, n);
            has_codec = true;
        } else if (type == kDictionaryBatch) {
            const int64_t batch = flat.child(header, kDictionaryData);
            ARROW_ASSIGN_OR_RAISE(const int64_t n, needs(flat, batch, body, true));
            const auto delta = flat.get<uint8_t>(flat.field(header, kDictionaryIsDelta));
            auto &own = dictionaries[flat.get<int64_t>(flat.field(header, kDictionaryId))];
            now -= delta != 0 ? 0 : own;
            own = delta != 0 ? plus(own, n) : n;
            now = plus(now, n);
            found.dictionaries = std::max(found.dictionaries, now);
        }
        return arrow::Status::OK();
    }
    // Return the bytes of a batch's buffers: the compressed bytes plus the uncompressed ones.
    arrow::Result<int64_t> needs(const Flat &flat, int64_t batch, const Body &body, bool all)
    {
        const int64_t list = flat.child(batch, kBatchBuffers), n = flat.count(list, 16);
        const int64_t packed = flat.child(batch, kBatchCompression);
        if (packed != 0 && !has_codec) { // this batch decides the codec
            const auto codec = flat.get<uint8_t>(flat.field(packed, kCompressionCodec));
            ARROW_ASSIGN_OR_RAISE(found.codec, arrow::util::Codec::Create(
                                                   codec == kZstd ? arrow::Compression::ZSTD
                                                                  : arrow::Compression::LZ4_FRAME));
            has_codec = true;
        }
        const std::vector<bool> chosen = choose(flat, batch, n, all);
        int64_t sum = ipc.whole ? 0 : body.length;
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = Flat::item(list, 16, i);
            const auto offset = flat.get<int64_t>(at), length = flat.get<int64_t>(at + 8);
            if (!chosen[static_cast<std::size_t>(i)] || length <= 0 || offset < 0 ||
                offset > body.length || length > body.length - offset)
                continue;
            sum = ipc.whole ? plus(sum, length) : sum;
            if (packed == 0 || length < 8)
                continue;
            ARROW_ASSIGN_OR_RAISE(const auto bytes, ipc.file->ReadAt(body.at + offset, 8));
            sum = plus(sum, number_at<int64_t>(*bytes, 0)); // -1: this buffer is not compressed
        }
        return sum;
    }
    // Choose the buffers of the requested columns among `n` buffers. If the schema has another
    // number of buffers, choose all.
    std::vector<bool> choose(const Flat &flat, int64_t batch, int64_t n, bool all) const
    {
        Order order{static_cast<std::size_t>(n), {}, {}};
        if (!all && !fields.empty()) {
            const int64_t views = flat.child(batch, kBatchVariadic);
            for (int64_t i = flat.count(views, 8); i-- > 0;)
                order.more.push_back(flat.get<int64_t>(Flat::item(views, 8, i)));
            for (int i = 0; i < schema.num_fields(); i++)
                order.add(*schema.field(i)->type(),
                          std::find(fields.begin(), fields.end(), i) != fields.end());
        }
        if (order.chosen.size() != order.n)
            order.chosen.assign(order.n, true);
        return order.chosen;
    }
};

arrow::Status find_blocks(IpcFile &ipc)
{
    if (ipc.bytes < kFileHead + kFileTail)
        return arrow::Status::Invalid("the file is too short");
    ARROW_ASSIGN_OR_RAISE(const auto tail, ipc.file->ReadAt(ipc.bytes - kFileTail, 4));
    const auto length = number_at<int32_t>(*tail, 0);
    if (length <= 0 || length > ipc.bytes - kFileHead - kFileTail)
        return arrow::Status::Invalid("its footer does not lie in the file");
    const int64_t end = ipc.bytes - kFileTail - length;
    ARROW_ASSIGN_OR_RAISE(auto bytes, ipc.file->ReadAt(end, length));
    const Flat footer(std::move(bytes));
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
            ipc.blocks.push_back(offset);
        }
    }
    return arrow::Status::OK();
}

// Open a file, and check that all blocks in its footer are within the file.
arrow::Result<IpcFile> ipc_find(const char *path, const bm_table_bytes &bytes)
{
    IpcFile ipc{path, bytes, nullptr, false, 0, {}};
    ARROW_ASSIGN_OR_RAISE(ipc.file, open_file(path, bytes, arrow::default_memory_pool()));
    ARROW_ASSIGN_OR_RAISE(ipc.bytes, ipc.file->GetSize());
    ARROW_ASSIGN_OR_RAISE(const auto head, ipc.file->ReadAt(0, 6));
    ipc.whole = head->size() == 6 && std::memcmp(head->data(), "ARROW1", 6) == 0;
    if (ipc.whole)
        ARROW_RETURN_NOT_OK(find_blocks(ipc));
    return ipc;
}

// Return the memory needed for reading these columns (empty: all columns). If two batches do not
// fit, the status is OutOfMemory, with the least memory that is needed.
arrow::Result<IpcNeeds> ipc_needs(const IpcFile &ipc, const arrow::Schema &schema,
                                  const std::vector<int> &fields, uint64_t memory)
{
    Scan scan{ipc, schema, fields};
    int64_t behind = 0;
    for (const int64_t at : ipc.blocks)
        ARROW_RETURN_NOT_OK(scan.message(at, &behind));
    for (bool more = !ipc.whole; more && behind < ipc.bytes;) {
        ARROW_ASSIGN_OR_RAISE(more, scan.message(behind, &behind));
    }
    const IpcNeeds &found = scan.found;
    if (found.has_room(kBatches, memory))
        return found;
    return arrow::Status::OutOfMemory("two batches of up to ", found.batch, " bytes",
                                      found.dictionaries > 0 ? " and their dictionaries" : "",
                                      " do not fit into `memory` of ", memory >> 20, "M (at least ",
                                      (found.bytes(kBatches) >> 20) + 1, "M)");
}

// --- the batches of a file ---

constexpr uint64_t kAheadMost = 4; // batches in memory when reading runs beside writing

// Open the batches of these columns; empty: all columns.
arrow::Result<Reader> open_batches(const IpcFile &ipc, const Pool &pool,
                                   const std::vector<int> &fields)
{
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    options.memory_pool = pool.get();
    options.use_threads = false;
    options.included_fields = fields;
    ARROW_ASSIGN_OR_RAISE(auto input,
                          open_file(ipc.path.c_str(), ipc.elsewhere, options.memory_pool));
    if (!ipc.whole)
        return arrow::ipc::RecordBatchStreamReader::Open(std::move(input), options);
    ARROW_ASSIGN_OR_RAISE(auto file, arrow::ipc::RecordBatchFileReader::Open(input, options));
    auto batches = arrow::MakeFunctionIterator([file, next = 0]() mutable -> arrow::Result<Batch> {
        return next < file->num_record_batches() ? file->ReadRecordBatch(next++) : nullptr;
    });
    return arrow::RecordBatchReader::MakeFromIterator(std::move(batches), file->schema());
}

// Make a pool for Arrow with the limit `memory` (0: no limit). The pool allows more than the bytes
// that were checked, because some needs are not known in advance.
Pool ipc_pool(uint64_t memory)
{
    return make_pool(memory > UINT64_MAX / 2 ? 0 : memory * 2);
}

// Filter a column by appending run after run of kept rows.
arrow::Result<std::shared_ptr<arrow::Array>>
appended(const arrow::BooleanArray &stays, const arrow::Array &column, arrow::MemoryPool *pool)
{
    if (column.type_id() == arrow::Type::EXTENSION) {
        const auto &own = static_cast<const arrow::ExtensionArray &>(column);
        ARROW_ASSIGN_OR_RAISE(auto storage, appended(stays, *own.storage(), pool));
        return arrow::ExtensionType::WrapArray(column.type(), storage);
    }
    std::unique_ptr<arrow::ArrayBuilder> builder;
    ARROW_RETURN_NOT_OK(arrow::MakeBuilder(pool, column.type(), &builder));
    const arrow::ArraySpan span(*column.data());
    for (int64_t end, begin = 0; begin < stays.length(); begin = end + 1) {
        for (end = begin; end < stays.length() && stays.Value(end);)
            end++;
        ARROW_RETURN_NOT_OK(builder->AppendArraySlice(span, begin, end - begin));
    }
    return builder->Finish();
}

// Pick the kept rows of a batch. The first row of the batch is row `first` of the file.
arrow::Result<Batch> pick_rows(const bm_table_kept &kept, uint64_t first, const Batch &batch,
                               arrow::MemoryPool *pool)
{
    arrow::BooleanBuilder builder(pool);
    for (int64_t i = 0; i < batch->num_rows(); i++)
        ARROW_RETURN_NOT_OK(builder.Append(stays_at(kept, first + static_cast<uint64_t>(i))));
    std::shared_ptr<arrow::BooleanArray> stays;
    ARROW_RETURN_NOT_OK(builder.Finish(&stays));
    const int64_t n = stays->true_count();
    if (n == batch->num_rows() || n == 0)
        return n == 0 ? batch->Slice(0, 0) : batch;
    arrow::compute::ExecContext context(pool);
    arrow::ArrayVector columns;
    for (const auto &column : batch->columns()) {
        const auto rest = arrow::compute::Filter(
            column, stays, arrow::compute::FilterOptions::Defaults(), &context);
        if (rest.status().IsNotImplemented()) { // for example, for string views
            ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), appended(*stays, *column, pool));
            continue;
        }
        ARROW_RETURN_NOT_OK(rest);
        columns.push_back(rest->make_array());
    }
    return arrow::RecordBatch::Make(batch->schema(), n, std::move(columns));
}

// --- cuts of texts ---

using Column = std::shared_ptr<arrow::Array>;
constexpr uint64_t kNoRow = UINT64_MAX;       // marks a value that belongs to no row's text
constexpr uint64_t kNull = uint64_t{1} << 63; // flag with a row: its parent is null, so the value
                                              // is not cut

arrow::Status cannot_cut(const arrow::DataType &type)
{
    return arrow::Status::Invalid("the text is ", type.ToString(), ", which cannot be cut");
}

// Copy strings without the cut bytes; `rows` has the row of each string.
template <class Builder, class Array>
arrow::Result<Column> cut_strings(const Array &array, const std::vector<uint64_t> &rows,
                                  TextCuts *cuts, arrow::MemoryPool *pool)
{
    Builder builder(array.type(), pool);
    std::string left;
    for (int64_t i = 0; i < array.length(); i++) {
        const uint64_t row = rows[static_cast<std::size_t>(i)];
        if (row != kNoRow && (array.IsNull(i) || (row & kNull) != 0))
            cuts->pass(row & ~kNull);
        if (array.IsNull(i)) {
            ARROW_RETURN_NOT_OK(builder.AppendNull());
        } else if ((row & kNull) != 0 || !cuts->has(row)) {
            ARROW_RETURN_NOT_OK(builder.Append(array.GetView(i)));
        } else {
            cuts->cut(row, array.GetView(i), &left);
            ARROW_RETURN_NOT_OK(builder.Append(left));
        }
    }
    return builder.Finish();
}

// Return the row of each value of a list, or kNoRow if no list uses the value.
template <class Array>
std::vector<uint64_t> rows_of_values(const Array &list, const std::vector<uint64_t> &rows)
{
    std::vector<uint64_t> out(static_cast<std::size_t>(list.values()->length()), kNoRow);
    for (int64_t i = 0; i < list.length(); i++)
        for (int64_t k = 0; list.IsValid(i) && k < list.value_length(i); k++)
            out[static_cast<std::size_t>(list.value_offset(i) + k)] =
                rows[static_cast<std::size_t>(i)];
    return out;
}

// Cut the strings of a column or, with `list`, the strings of its values. `name`: the path below
// the column.
arrow::Result<Column> cut_column(const Column &column, bool list, std::string_view name,
                                 const std::vector<uint64_t> &rows, TextCuts *cuts,
                                 arrow::MemoryPool *pool)
{
    const auto with_child = [&](int number, const Column &child) {
        auto data = column->data()->Copy();
        data->child_data[static_cast<std::size_t>(number)] = child->data();
        return arrow::MakeArray(data);
    };
    const auto cut_list = [&](const auto &array) -> arrow::Result<Column> {
        ARROW_ASSIGN_OR_RAISE(
            const Column values,
            cut_column(array.values(), false, name, rows_of_values(array, rows), cuts, pool));
        return with_child(0, values);
    };
    const auto cut_struct = [&](const arrow::StructArray &array) -> arrow::Result<Column> {
        const NameStep step = next_step(&name);
        const int number = array.struct_type()->GetFieldIndex(std::string(step.first));
        if (number < 0)
            return cannot_cut(*column->type());
        const Column child =
            arrow::MakeArray(array.data()->child_data[static_cast<std::size_t>(number)]);
        std::vector<uint64_t> below(static_cast<std::size_t>(child->length()), kNoRow);
        for (int64_t i = 0; i < array.length(); i++)
            below[static_cast<std::size_t>(array.offset() + i)] =
                rows[static_cast<std::size_t>(i)] | (array.IsValid(i) ? 0 : kNull);
        ARROW_ASSIGN_OR_RAISE(const Column made,
                              cut_column(child, step.list, name, below, cuts, pool));
        return with_child(number, made);
    };
    const auto id = column->type_id();
    if (list && id == arrow::Type::LIST)
        return cut_list(static_cast<const arrow::ListArray &>(*column));
    if (list && id == arrow::Type::LARGE_LIST)
        return cut_list(static_cast<const arrow::LargeListArray &>(*column));
    if (!list && !name.empty() && id == arrow::Type::STRUCT)
        return cut_struct(static_cast<const arrow::StructArray &>(*column));
    if (list || !name.empty())
        return cannot_cut(*column->type());
    const auto cut_as = [&]<class Builder, class Array>(Builder *, Array *) {
        return cut_strings<Builder>(static_cast<const Array &>(*column), rows, cuts, pool);
    };
    using namespace arrow;
    switch (id) {
    case Type::STRING:
        return cut_as((StringBuilder *)nullptr, (StringArray *)nullptr);
    case Type::LARGE_STRING:
        return cut_as((LargeStringBuilder *)nullptr, (LargeStringArray *)nullptr);
    case Type::STRING_VIEW:
        return cut_as((StringViewBuilder *)nullptr, (StringViewArray *)nullptr);
    case Type::BINARY:
        return cut_as((BinaryBuilder *)nullptr, (BinaryArray *)nullptr);
    case Type::LARGE_BINARY:
        return cut_as((LargeBinaryBuilder *)nullptr, (LargeBinaryArray *)nullptr);
    case Type::BINARY_VIEW:
        return cut_as((BinaryViewBuilder *)nullptr, (BinaryViewArray *)nullptr);
    default:
        return cannot_cut(*column->type());
    }
}

// Return the rows of a batch without the cut bytes. The first row of the batch is row `first` of
// the file.
arrow::Result<Batch> cut_rows(const bm_table_kept &kept, uint64_t first, const Batch &batch,
                              arrow::MemoryPool *pool)
{
    if (kept.n_cuts == 0)
        return batch;
    TextCuts cuts(kept, first);
    std::vector<uint64_t> rows(static_cast<std::size_t>(batch->num_rows()));
    std::iota(rows.begin(), rows.end(), first);
    std::string_view name = kept.text;
    int number = batch->schema()->GetFieldIndex(kept.text);
    NameStep step{name, false};
    if (number < 0) {
        step = next_step(&name);
        number = batch->schema()->GetFieldIndex(std::string(step.first));
    } else {
        name = {};
    }
    if (number < 0 || is_nested(kept.text))
        return arrow::Status::Invalid("column '", kept.text, "' has no strings that can be cut");
    ARROW_ASSIGN_OR_RAISE(const Column made,
                          cut_column(batch->column(number), step.list, name, rows, &cuts, pool));
    return batch->SetColumn(number, batch->schema()->field(number), made);
}

} // namespace

arrow::Result<Reader> ipc_stream(const bm_table_wish &wish)
{
    Pool pool = ipc_pool(wish.memory);
    ARROW_ASSIGN_OR_RAISE(const IpcFile ipc, ipc_find(wish.path, wish.bytes));
    ARROW_ASSIGN_OR_RAISE(auto reader, open_batches(ipc, pool, {}));
    const auto fields = children_of(*reader->schema(), wish);
    ARROW_RETURN_NOT_OK(ipc_needs(ipc, *reader->schema(), fields, wish.memory).status());
    if (!fields.empty()) { // an empty list would mean all fields
        ARROW_ASSIGN_OR_RAISE(reader, open_batches(ipc, pool, fields));
    }
    // Buffers are validated, because later code trusts their stated lengths. An error names the row
    // before the batch.
    auto next = [pool = std::move(pool), reader,
                 row = int64_t{0}]() mutable -> arrow::Result<Batch> {
        Batch batch;
        const arrow::Status status = caught([&] {
            ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
            return batch != nullptr ? batch->ValidateFull() : arrow::Status::OK();
        });
        if (!status.ok())
            return status.WithMessage("after row ", row, ": ", status.message());
        row += batch != nullptr ? batch->num_rows() : 0;
        return batch;
    };
    return arrow::RecordBatchReader::MakeFromIterator(arrow::MakeFunctionIterator(std::move(next)),
                                                      reader->schema());
}

arrow::Status keep_ipc(const bm_table_kept &kept, const Output &sink, bm_table_words *words)
{
    const Pool pool = ipc_pool(kept.memory);
    auto writing = arrow::ipc::IpcWriteOptions::Defaults();
    writing.memory_pool = pool.get();
    writing.use_threads = false;
    writing.unify_dictionaries = false;
    writing.emit_dictionary_deltas = false;
    ARROW_ASSIGN_OR_RAISE(IpcFile ipc, ipc_find(kept.path, kept.bytes));
    ARROW_ASSIGN_OR_RAISE(auto reader, open_batches(ipc, pool, {}));
    const std::shared_ptr<arrow::Schema> first = reader->schema();
    std::shared_ptr<arrow::Schema> schema = first;
    ARROW_ASSIGN_OR_RAISE(IpcNeeds needs, ipc_needs(ipc, *schema, {}, kept.memory));
    writing.codec = needs.codec;
    std::shared_ptr<arrow::Field> label;
    if (kept.labels != nullptr) {
        ARROW_ASSIGN_OR_RAISE(label, label_field(*schema));
        ARROW_ASSIGN_OR_RAISE(schema, schema->AddField(schema->num_fields(), label));
    }
    ARROW_ASSIGN_OR_RAISE(const auto writer,
                          arrow::ipc::MakeFileWriter(sink, schema, writing, schema->metadata()));
    uint64_t n_labels = 0; // labels that were written so far
    const auto write = [&](Batch rows) -> arrow::Status {
        if (label != nullptr) {
            const auto n = static_cast<uint64_t>(rows->num_rows());
            if (n > kept.n_labels - n_labels)
                return arrow::Status::Invalid("fewer labels than rows");
            ARROW_ASSIGN_OR_RAISE(const auto leaves, label_columns(kept.labels + n_labels, n));
            ARROW_ASSIGN_OR_RAISE(const auto column,
                                  arrow::StructArray::Make(leaves, label->type()->fields()));
            ARROW_ASSIGN_OR_RAISE(rows, rows->AddColumn(rows->num_columns(), label, column));
            n_labels += n;
        }
        return writer->WriteRecordBatch(*rows);
    };
    const bm_table_kept *table = &kept;
    const auto read = [&](const Push &push) -> arrow::Status {
        Batch batch;
        for (uint64_t row = 0;;) {
            ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
            if (batch == nullptr)
                return arrow::Status::OK();
            ARROW_RETURN_NOT_OK(batch->ValidateFull());
            ARROW_ASSIGN_OR_RAISE(batch, cut_rows(*table, row, batch, pool.get()));
            ARROW_ASSIGN_OR_RAISE(auto rows, pick_rows(*table, row, batch, pool.get()));
            row += static_cast<uint64_t>(batch->num_rows());
            if (rows->num_rows() > 0)
                ARROW_RETURN_NOT_OK(push([&write, rows] { return write(rows); }));
        }
    };
    for (;;) {
        if (table->n_rows > 0)
            ARROW_RETURN_NOT_OK(
                read_beside(kept.threads != 1 && needs.has_room(kAheadMost, kept.memory), read));
        table = table->more;
        if (table == nullptr)
            return writer->Close();
        words->table++;
        ARROW_ASSIGN_OR_RAISE(ipc, ipc_find(table->path, table->bytes));
        ARROW_ASSIGN_OR_RAISE(reader, open_batches(ipc, pool, {}));
        ARROW_RETURN_NOT_OK(check_schema(*first, *reader->schema(), words));
        ARROW_ASSIGN_OR_RAISE(needs, ipc_needs(ipc, *first, {}, kept.memory));
    }
}

} // namespace bandmill_tables
