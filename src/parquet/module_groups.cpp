/* SPDX-License-Identifier: Apache-2.0 */
// module_groups.cpp -- copies the kept rows of each row group of Parquet. Levels and values are
// copied as Arrow's column readers return them. No arrays are made from them, so that nothing of a
// column is lost.
//
// Byte values point into the page that was read, and are valid until the next batch. If another
// thread writes them, they are copied first. The output does not depend on threads or on the pool.

#include "module_common.h"

#include <arrow/ipc/api.h>
#include <arrow/util/base64.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>
#include <parquet/column_reader.h>
#include <parquet/column_writer.h>
#include <parquet/file_writer.h>
#include <parquet/properties.h>

#include <algorithm>
#include <deque>
#include <type_traits>

namespace bandmill_tables
{

namespace
{

constexpr int64_t kLevels = 16384;      // levels that are read at a time
constexpr int64_t kPartBytes = 1 << 20; // bytes of values that are written at a time
constexpr int64_t kSmall = 64 << 10;    // bytes; a smaller chunk is not worth a thread
constexpr uint64_t kLabels = 64 << 10;  // labels that are written at a time

// The column of strings that are cut.
struct TextLeaf {
    int column = -1;          // -1: none
    std::vector<bool> blanks; // at each definition level: does a null count as an empty string?
};

// A row group, and which of its rows are kept.
struct Group {
    const Parquet &p;
    const bm_table_kept &kept;
    int number;
    uint64_t first; // its first row in the file
    int64_t rows;
    std::shared_ptr<parquet::RowGroupReader> reader;
    const TextLeaf &text;

    bool stays(int64_t row) const
    {
        return stays_at(kept, first + static_cast<uint64_t>(row));
    }
};

// Levels and values written at a time. Levels that the column lacks are NULL.
template <class T> struct Slice {
    const int16_t *definitions, *repetitions;
    const T *values;
    int64_t n_levels, n_values;
    std::vector<std::shared_ptr<void>> own; // owns the copies
};

template <class Type> class Copier
{
  public:
    using T = typename Type::c_type;

    Copier(const Group &group, parquet::ColumnReader &reader, parquet::ColumnWriter &writer,
           int64_t batch, bool cuts)
        : group_(group), cuts_(cuts), text_(cuts ? TextCuts(group.kept, group.first) : TextCuts()),
          reader_(static_cast<parquet::TypedColumnReader<Type> &>(reader)),
          writer_(static_cast<parquet::TypedColumnWriter<Type> &>(writer)),
          most_definition_(reader.descr()->max_definition_level()),
          repeats_(reader.descr()->max_repetition_level() > 0),
          type_bytes_(reader.descr()->type_length()), batch_(batch),
          definitions_(static_cast<std::size_t>(batch)),
          repetitions_(static_cast<std::size_t>(batch)),
          values_(new T[static_cast<std::size_t>(batch)])
    {
    }

    arrow::Status run(bool beside)
    {
        return read_beside(beside, [&](const Push &push) -> arrow::Status {
            while (reader_.HasNext()) {
                int64_t n_values = 0;
                const int64_t n = reader_.ReadBatch(batch_, definitions_.data(),
                                                    repetitions_.data(), values_.get(), &n_values);
                ARROW_RETURN_NOT_OK(pick(n, n_values));
                ARROW_RETURN_NOT_OK(cut(beside, push));
            }
            return row_ == group_.rows ? arrow::Status::OK() : other_rows();
        });
    }

  private:
    static constexpr bool kPoints =
        std::is_same_v<T, parquet::ByteArray> || std::is_same_v<T, parquet::FixedLenByteArray>;

    static arrow::Status other_rows()
    {
        return arrow::Status::Invalid("it holds another number of rows than it says");
    }
    bool has_value(int64_t level) const
    {
        return most_definition_ == 0 ||
               definitions_[static_cast<std::size_t>(level)] == most_definition_;
    }
    int64_t bytes_of(const T &value) const
    {
        if constexpr (std::is_same_v<T, parquet::ByteArray>)
            return value.len;
        else
            return kPoints ? type_bytes_ : static_cast<int64_t>(sizeof(T));
    }

    // Move the values of the kept rows to the front.
    arrow::Status pick(int64_t n, int64_t n_values)
    {
        int64_t value = 0;
        n_levels_ = n_values_ = 0;
        made_.clear();
        for (int64_t level = 0; level < n; level++) {
            const auto i = static_cast<std::size_t>(level);
            if (!repeats_ || repetitions_[i] == 0) {
                if (row_ == group_.rows)
                    return other_rows();
                stays_ = group_.stays(row_++);
            }
            const bool has = has_value(level);
            if (has && value == n_values)
                return arrow::Status::Invalid("a page holds fewer values than it says");
            if (stays_)
                move_to_front(i, has ? value : -1);
            if (stays_ && !has && cuts_ &&
                group_.text.blanks[static_cast<std::size_t>(definitions_[i])])
                text_.pass(group_.first + static_cast<uint64_t>(row_ - 1));
            value += has;
        }
        return arrow::Status::OK();
    }

    void move_to_front(std::size_t level, int64_t value)
    {
        const auto to = static_cast<std::size_t>(n_levels_++);
        if (most_definition_ > 0)
            definitions_[to] = definitions_[level];
        if (repeats_)
            repetitions_[to] = repetitions_[level];
        if (value < 0)
            return;
        T &moved = values_[static_cast<std::size_t>(n_values_++)];
        moved = values_[static_cast<std::size_t>(value)];
        if constexpr (std::is_same_v<T, parquet::ByteArray>)
            if (cuts_)
                cut_value(&moved);
    }

    void cut_value(parquet::ByteArray *value)
    {
        const uint64_t row = group_.first + static_cast<uint64_t>(row_ - 1);
        if (!text_.has(row))
            return;
        std::string &left = made_.emplace_back();
        text_.cut(row, {reinterpret_cast<const char *>(value->ptr), value->len}, &left);
        *value = parquet::ByteArray(left);
    }

    // Write slices of about kPartBytes, because with a dictionary a short page may represent long
    // values.
    arrow::Status cut(bool beside, const Push &push)
    {
        int64_t value = 0;
        for (int64_t level = 0; level < n_levels_;) {
            const int64_t first = level, first_value = value;
            for (int64_t bytes = 0; level < n_levels_ && bytes < kPartBytes; level++)
                if (has_value(level))
                    bytes += bytes_of(values_[static_cast<std::size_t>(value++)]);
            Slice<T> slice{most_definition_ > 0 ? definitions_.data() + first : nullptr,
                           repeats_ ? repetitions_.data() + first : nullptr,
                           values_.get() + first_value,
                           level - first,
                           value - first_value,
                           {}};
            if (beside)
                ARROW_RETURN_NOT_OK(copy(&slice));
            ARROW_RETURN_NOT_OK(push([this, slice = std::move(slice)] {
                writer_.WriteBatch(slice.n_levels, slice.definitions, slice.repetitions,
                                   slice.values);
                return arrow::Status::OK();
            }));
        }
        return arrow::Status::OK();
    }

    // Copy everything that the slice points to.
    arrow::Status copy(Slice<T> *slice) const
    {
        const auto copied = [&]<class U>(const U **from, int64_t n) {
            std::shared_ptr<U[]> to(new U[static_cast<std::size_t>(n)]);
            *from = std::copy_n(*from, n, to.get()) - n;
            slice->own.emplace_back(to, to.get());
            return to.get();
        };
        if (slice->definitions != nullptr)
            copied(&slice->definitions, slice->n_levels);
        if (slice->repetitions != nullptr)
            copied(&slice->repetitions, slice->n_levels);
        T *values = copied(&slice->values, slice->n_values);
        if constexpr (kPoints) {
            int64_t n = 0;
            for (int64_t i = 0; i < slice->n_values; i++)
                n += bytes_of(values[i]);
            ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                                  arrow::AllocateBuffer(n, group_.p.pool.get()));
            uint8_t *to = bytes->mutable_data();
            for (int64_t i = 0; i < slice->n_values; i++) {
                const uint8_t *from = values[i].ptr;
                values[i].ptr = to;
                to = std::copy_n(from, bytes_of(values[i]), to);
            }
            slice->own.push_back(std::move(bytes));
        }
        return arrow::Status::OK();
    }

    const Group &group_;
    const bool cuts_; // strings are cut, by text_
    TextCuts text_;
    std::deque<std::string> made_; // the batch's strings after cutting
    parquet::TypedColumnReader<Type> &reader_;
    parquet::TypedColumnWriter<Type> &writer_;
    const int16_t most_definition_;
    const bool repeats_;
    const int type_bytes_; // size of a value, for types of fixed size
    const int64_t batch_;
    std::vector<int16_t> definitions_, repetitions_;
    std::unique_ptr<T[]> values_;
    int64_t n_levels_ = 0, n_values_ = 0; // kept levels and values of the batch
    int64_t row_ = 0;                     // the next row
    bool stays_ = false;                  // the current row, row_ - 1, is kept
};

arrow::Status copy_chunk(const Group &group, int column, parquet::ColumnWriter *writer)
{
    const auto chunk = group.reader->metadata()->ColumnChunk(column);
    const bool beside = group.kept.threads != 1 && chunk->total_uncompressed_size() >= kSmall;
    const int64_t batch = std::clamp<int64_t>(chunk->num_values(), 1, kLevels);
    const arrow::Status status = caught([&] {
        const auto reader = group.reader->Column(column);
        const auto copy = [&]<class Type>(Type) {
            return Copier<Type>(group, *reader, *writer, batch, column == group.text.column)
                .run(beside);
        };
        switch (reader->type()) {
        case parquet::Type::BOOLEAN:
            return copy(parquet::BooleanType());
        case parquet::Type::INT32:
            return copy(parquet::Int32Type());
        case parquet::Type::INT64:
            return copy(parquet::Int64Type());
        case parquet::Type::INT96:
            return copy(parquet::Int96Type());
        case parquet::Type::FLOAT:
            return copy(parquet::FloatType());
        case parquet::Type::DOUBLE:
            return copy(parquet::DoubleType());
        case parquet::Type::BYTE_ARRAY:
            return copy(parquet::ByteArrayType());
        case parquet::Type::FIXED_LEN_BYTE_ARRAY:
            return copy(parquet::FLBAType());
        default:
            return arrow::Status::Invalid("a column of an unknown type");
        }
    });
    return status.ok() ? status
                       : status.WithMessage("row group ", group.number, ", column '",
                                            chunk->path_in_schema()->ToDotString(),
                                            "': ", status.message());
}

// Write the columns of group labels: the leaves of label_field.
arrow::Status write_labels(const Group &group, parquet::RowGroupWriter &out,
                           const bm_table_label *labels, uint64_t n)
{
    parquet::ArrowWriteContext context(group.p.pool.get(),
                                       parquet::default_arrow_writer_properties().get());
    for (std::size_t leaf = 0; leaf < 4; leaf++) {
        parquet::ColumnWriter *writer = out.NextColumn();
        const bool optional = writer->descr()->max_definition_level() > 0;
        std::vector<int16_t> definitions(kLabels);
        for (uint64_t end, begin = 0; begin < n; begin = end) {
            end = std::min(n, begin + kLabels);
            ARROW_ASSIGN_OR_RAISE(const auto columns, label_columns(labels + begin, end - begin));
            for (int64_t i = 0; i < columns[leaf]->length(); i++)
                definitions[static_cast<std::size_t>(i)] = columns[leaf]->IsValid(i);
            ARROW_RETURN_NOT_OK(writer->WriteArrow(optional ? definitions.data() : nullptr, nullptr,
                                                   columns[leaf]->length(), *columns[leaf],
                                                   &context, optional));
        }
    }
    return arrow::Status::OK();
}

// --- a new file like another file: schema, metadata, codecs, encodings and versions ---

constexpr const char *kSchemaKey = "ARROW:schema";

// Does the encoding replace the plain encoding?
bool is_special(parquet::Encoding::type e)
{
    return e == parquet::Encoding::DELTA_BINARY_PACKED ||
           e == parquet::Encoding::DELTA_BYTE_ARRAY ||
           e == parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY ||
           e == parquet::Encoding::BYTE_STREAM_SPLIT;
}

// Set the codec and the encodings of a column to those of the chunk.
void column_like(const parquet::ColumnChunkMetaData &chunk, const std::string &path,
                 parquet::WriterProperties::Builder *builder)
{
    for (const auto &pages : chunk.encoding_stats())
        if (pages.page_type == parquet::PageType::DATA_PAGE_V2)
            builder->data_page_version(parquet::ParquetDataPageVersion::V2);
    builder->compression(path, chunk.compression());
    if (!chunk.is_stats_set())
        builder->disable_statistics(path);
    if (chunk.GetColumnIndexLocation().has_value())
        builder->enable_write_page_index(path);
    if (is_indexed(chunk, true))
        return; // otherwise the writer gave up its dictionary, as happens if words rarely repeat
    builder->disable_dictionary(path);
    for (const auto encoding : chunk.encodings())
        if (is_special(encoding))
            builder->encoding(path, encoding);
}

// Return the settings with which the file was written, as far as it records them.
std::shared_ptr<parquet::WriterProperties> properties_like(const Parquet &p)
{
    const parquet::FileMetaData &meta = *p.meta;
    parquet::WriterProperties::Builder builder;
    builder.memory_pool(p.pool.get())
        ->version(meta.version())
        ->created_by("bandmill")
        ->max_row_group_length(INT64_MAX)
        ->disable_write_page_index();
    if (meta.num_row_groups() == 0)
        return builder.build();
    const auto group = meta.RowGroup(0);
    for (int column = 0; column < meta.num_columns(); column++)
        column_like(*group->ColumnChunk(column),
                    meta.schema()->Column(column)->path()->ToDotString(), &builder);
    builder.set_sorting_columns(group->sorting_columns());
    return builder.build();
}

// --- the metadata of the new file ---

using Metadata = std::shared_ptr<const arrow::KeyValueMetadata>;

// Spark reads only the columns that its own entry in the metadata lists. So the label column is
// added to that entry. If the entry does not have the usual form, it is dropped, and Spark then
// uses the file's schema.
constexpr const char *kSparkKey = "org.apache.spark.sql.parquet.row.metadata";
constexpr std::string_view kSparkHead = R"({"type":"struct","fields":[)", kSparkTail = "]}";
constexpr std::string_view kSparkLabel =
    R"({"name":"bandmill","type":{"type":"struct","fields":[)"
    R"({"name":"group","type":"long","nullable":true,"metadata":{}},)"
    R"({"name":"size","type":"long","nullable":true,"metadata":{}},)"
    R"({"name":"kept","type":"boolean","nullable":false,"metadata":{}},)"
    R"({"name":"jaccard","type":"double","nullable":true,"metadata":{}}]},"nullable":false,"metadata":{}})";

// Is the text one JSON object with a type and a list of fields, and with nothing after this list?
// Only brackets and strings of the JSON are examined.
bool is_struct(std::string_view text)
{
    if (text.size() < kSparkHead.size() + kSparkTail.size() ||
        text.substr(0, kSparkHead.size()) != kSparkHead)
        return false;
    std::string open = "{[";
    bool quoted = false;
    for (std::size_t i = kSparkHead.size(); i < text.size(); i++) {
        const char c = text[i];
        if (c == '\\' && quoted)
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{'))
            open += c;
        else if (!quoted && (c == ']' || c == '}')) {
            if (open.empty() || open.back() != (c == ']' ? '[' : '{'))
                return false;
            open.pop_back();
            if (open.size() == 1 && text.substr(i) != kSparkTail)
                return false;
        }
    }
    return open.empty() && !quoted;
}

arrow::Result<Metadata> with_spark_label(const Metadata &own)
{
    if (own == nullptr || !own->Contains(kSparkKey))
        return own;
    auto changed = own->Copy();
    ARROW_ASSIGN_OR_RAISE(std::string word, own->Get(kSparkKey));
    if (!is_struct(word)) {
        ARROW_RETURN_NOT_OK(changed->Delete(kSparkKey));
        return changed;
    }
    word.resize(word.size() - kSparkTail.size());
    word.append(word.size() > kSparkHead.size() ? "," : "").append(kSparkLabel).append(kSparkTail);
    ARROW_RETURN_NOT_OK(changed->Set(kSparkKey, word));
    return changed;
}

// Return the metadata of the file. Entries of Arrow and Spark that list the columns are adapted to
// the new column.
arrow::Result<Metadata> metadata_like(const Parquet &p, const std::shared_ptr<arrow::Field> &label)
{
    const Metadata own = p.meta->key_value_metadata();
    if (own == nullptr || label == nullptr)
        return own;
    ARROW_ASSIGN_OR_RAISE(const Metadata told, with_spark_label(own));
    if (!told->Contains(kSchemaKey))
        return told;
    ARROW_ASSIGN_OR_RAISE(const Metadata within, with_spark_label(p.schema->metadata()));
    ARROW_ASSIGN_OR_RAISE(const auto schema, p.schema->AddField(p.schema->num_fields(), label));
    ARROW_ASSIGN_OR_RAISE(const auto bytes,
                          arrow::ipc::SerializeSchema(*schema->WithMetadata(within)));
    auto changed = told->Copy();
    ARROW_RETURN_NOT_OK(changed->Set(kSchemaKey, arrow::util::base64_encode(bytes->ToString())));
    return changed;
}

// Return the columns of the file, unchanged, and the new column.
arrow::Result<std::shared_ptr<parquet::schema::GroupNode>>
columns_like(const Parquet &p, const std::shared_ptr<arrow::Field> &label,
             const parquet::WriterProperties &properties)
{
    using parquet::schema::GroupNode;
    const auto own = std::static_pointer_cast<GroupNode>(p.meta->schema()->schema_root());
    if (label == nullptr)
        return own;
    parquet::schema::NodeVector nodes;
    for (int i = 0; i < own->field_count(); i++)
        nodes.push_back(own->field(i));
    std::shared_ptr<parquet::SchemaDescriptor> made;
    const arrow::Schema more({label});
    ARROW_RETURN_NOT_OK(parquet::arrow::ToParquetSchema(&more, properties, &made));
    nodes.push_back(made->group_node()->field(0));
    return std::static_pointer_cast<GroupNode>(
        GroupNode::Make(own->name(), own->repetition(), nodes, nullptr, own->field_id()));
}

arrow::Result<std::unique_ptr<parquet::ParquetFileWriter>>
open_like(const Parquet &p, const std::shared_ptr<arrow::Field> &label, const Output &sink)
{
    const auto properties = properties_like(p);
    ARROW_ASSIGN_OR_RAISE(auto metadata, metadata_like(p, label));
    ARROW_ASSIGN_OR_RAISE(auto columns, columns_like(p, label, *properties));
    return parquet::ParquetFileWriter::Open(sink, columns, properties, metadata);
}

// Find the leaf of the text column by its name.
arrow::Result<TextLeaf> text_leaf(const Parquet &p, const bm_table_kept &kept)
{
    if (kept.n_cuts == 0)
        return TextLeaf();
    const auto broken = [&] {
        return arrow::Status::Invalid("column '", kept.text, "' has no strings that can be cut");
    };
    if (is_nested(kept.text))
        return broken();
    parquet::arrow::SchemaManifest manifest;
    ARROW_RETURN_NOT_OK(parquet::arrow::SchemaManifest::Make(
        p.meta->schema(), p.meta->key_value_metadata(), parquet::default_arrow_reader_properties(),
        &manifest));
    const auto find = [](const std::vector<parquet::arrow::SchemaField> &fields,
                         std::string_view name) -> const parquet::arrow::SchemaField * {
        for (const auto &field : fields)
            if (field.field->name() == name)
                return &field;
        return nullptr;
    };
    std::string_view rest = kept.text;
    const parquet::arrow::SchemaField *at = find(manifest.schema_fields, rest);
    const auto *fields = &manifest.schema_fields;
    for (bool all = at != nullptr; !all; all = rest.empty()) {
        const NameStep step = next_step(&rest);
        at = find(*fields, step.first);
        if (at != nullptr && step.list)
            at = at->children.size() == 1 ? &at->children[0] : nullptr;
        if (at == nullptr)
            return broken();
        fields = &at->children;
    }
    if (at->column_index < 0 ||
        p.meta->schema()->Column(at->column_index)->physical_type() != parquet::Type::BYTE_ARRAY)
        return broken();
    TextLeaf leaf{at->column_index, {}};
    std::vector<const parquet::schema::Node *> path;
    const auto *node = p.meta->schema()->Column(at->column_index)->schema_node().get();
    for (; node->parent() != nullptr; node = node->parent())
        path.insert(path.begin(), node);
    for (const auto *step : path) {
        if (step->is_required())
            continue;
        const auto &type = step->logical_type();
        leaf.blanks.push_back(!step->is_repeated() && (type == nullptr || !type->is_list()) &&
                              step->converted_type() != parquet::ConvertedType::LIST);
    }
    return leaf;
}

// Copy the row groups of one table.
arrow::Status keep_groups(const Parquet &p, const bm_table_kept &kept,
                          parquet::ParquetFileWriter *file)
{
    const auto reader = p.reader();
    uint64_t row = 0, label = 0;
    ARROW_ASSIGN_OR_RAISE(const TextLeaf text, text_leaf(p, kept));
    for (int number = 0; number < p.meta->num_row_groups(); number++) {
        const Group group{
            p,   kept, number, row, p.meta->RowGroup(number)->num_rows(), reader->RowGroup(number),
            text};
        uint64_t n = 0;
        for (int64_t i = 0; i < group.rows; i++)
            n += group.stays(i);
        row += static_cast<uint64_t>(group.rows);
        if (n == 0)
            continue;
        if (kept.labels != nullptr && n > kept.n_labels - label)
            return arrow::Status::Invalid("fewer labels than rows");
        parquet::RowGroupWriter *out = file->AppendRowGroup();
        for (int column = 0; column < p.meta->num_columns(); column++)
            ARROW_RETURN_NOT_OK(copy_chunk(group, column, out->NextColumn()));
        if (kept.labels != nullptr)
            ARROW_RETURN_NOT_OK(write_labels(group, *out, kept.labels + label, n));
        out->Close();
        label += n;
    }
    return arrow::Status::OK();
}

// Compare the Parquet schemas of two files. They must be equal, because levels and values are
// copied unchanged.
arrow::Status check_columns(const Parquet &first, const Parquet &other, bm_table_words *words)
{
    ARROW_RETURN_NOT_OK(check_schema(*first.schema, *other.schema, words));
    words->other_schema = !first.meta->schema()->Equals(*other.meta->schema());
    return words->other_schema ? arrow::Status::Invalid("a column is stored in another way")
                               : arrow::Status::OK();
}

} // namespace

arrow::Status keep_parquet(const bm_table_kept &kept, const Output &sink, bm_table_words *words)
{
    const Pool pool = make_pool(kept.memory);
    ARROW_ASSIGN_OR_RAISE(const auto first, open_parquet(kept.path, kept.bytes, pool));
    std::shared_ptr<arrow::Field> field;
    if (kept.labels != nullptr) {
        ARROW_ASSIGN_OR_RAISE(field, label_field(*first->schema));
    }
    ARROW_ASSIGN_OR_RAISE(const auto file, open_like(*first, field, sink));
    ARROW_RETURN_NOT_OK(keep_groups(*first, kept, file.get()));
    for (const bm_table_kept *next = kept.more; next != nullptr; next = next->more) {
        words->table++;
        ARROW_ASSIGN_OR_RAISE(const auto p, open_parquet(next->path, next->bytes, pool));
        ARROW_RETURN_NOT_OK(check_columns(*first, *p, words));
        ARROW_RETURN_NOT_OK(keep_groups(*p, *next, file.get()));
    }
    file->Close();
    return arrow::Status::OK();
}

} // namespace bandmill_tables
