// module_groups.cpp -- a row group of Parquet after another, of each the rows that stay: levels and values as Arrow's
// readers of columns give them, no arrays between, so that nothing of a column is lost on the way.
//
// Values that are bytes point into the page that was read, until the next batch. Where another thread writes
// them they are copied. What is written depends on neither thread nor pool.

#include "module_parquet.h"

#include <parquet/arrow/writer.h>
#include <parquet/column_reader.h>
#include <parquet/column_writer.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace bandmill_tables
{

namespace
{

constexpr int64_t kLevels = 16384;      // that are read at a time
constexpr int64_t kPartBytes = 1 << 20; // of values that are written at a time
constexpr int64_t kSmall = 64 << 10;    // bytes of a chunk that is not worth a thread
constexpr uint64_t kLabels = 64 << 10;  // at a time

// A row group, and which of its rows stay.
struct Group {
    const Parquet &p;
    const bm_table_kept &kept;
    int number;
    uint64_t first; // row of the file
    int64_t rows;
    std::shared_ptr<parquet::RowGroupReader> reader;

    bool stays(int64_t row) const
    {
        return stays_at(kept, first + static_cast<uint64_t>(row));
    }
    int64_t count() const
    {
        int64_t n = 0;
        for (int64_t row = 0; row < rows; row++)
            n += stays(row);
        return n;
    }
};

// Levels and values that are written at a time. Of levels that a column has not: NULL.
template <class T> struct Slice {
    const int16_t *definitions, *repetitions;
    const T *values;
    int64_t n_levels, n_values;
};

// What a slice points to, where it is written later.
template <class T> struct Part {
    std::vector<int16_t> definitions, repetitions;
    std::unique_ptr<T[]> values;
    std::unique_ptr<arrow::Buffer> bytes; // that the values point to
};

template <class Type> class Copier
{
  public:
    using T = typename Type::c_type;

    Copier(const Group &group, parquet::ColumnReader &reader, parquet::ColumnWriter &writer,
           int64_t batch)
        : group_(group), reader_(static_cast<parquet::TypedColumnReader<Type> &>(reader)),
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

    // Those of rows that stay move to the front.
    arrow::Status pick(int64_t n, int64_t n_values)
    {
        int64_t value = 0;
        n_levels_ = n_values_ = 0;
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
        if (value >= 0)
            values_[static_cast<std::size_t>(n_values_++)] =
                values_[static_cast<std::size_t>(value)];
    }

    // Slices of about kPartBytes: a short page may stand for long values, by a dictionary.
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
                           values_.get() + first_value, level - first, value - first_value};
            std::shared_ptr<Part<T>> part;
            if (beside) {
                ARROW_ASSIGN_OR_RAISE(part, copied(&slice));
            }
            ARROW_RETURN_NOT_OK(push([this, slice, part] {
                writer_.WriteBatch(slice.n_levels, slice.definitions, slice.repetitions,
                                   slice.values);
                return arrow::Status::OK();
            }));
        }
        return arrow::Status::OK();
    }

    // The slice points to what is returned.
    arrow::Result<std::shared_ptr<Part<T>>> copied(Slice<T> *slice)
    {
        auto part = std::make_shared<Part<T>>();
        const auto copy_levels = [&](std::vector<int16_t> &own, const int16_t **levels) {
            if (*levels != nullptr)
                own.assign(*levels, *levels + slice->n_levels);
            *levels = *levels != nullptr ? own.data() : nullptr;
        };
        copy_levels(part->definitions, &slice->definitions);
        copy_levels(part->repetitions, &slice->repetitions);
        part->values.reset(new T[static_cast<std::size_t>(slice->n_values)]);
        std::copy_n(slice->values, slice->n_values, part->values.get());
        slice->values = part->values.get();
        if constexpr (kPoints) {
            int64_t n = 0;
            for (int64_t i = 0; i < slice->n_values; i++)
                n += bytes_of(part->values[static_cast<std::size_t>(i)]);
            ARROW_ASSIGN_OR_RAISE(part->bytes, arrow::AllocateBuffer(n, pool_of(group_.p.pool)));
            uint8_t *to = part->bytes->mutable_data();
            for (int64_t i = 0; i < slice->n_values; i++) {
                T &value = part->values[static_cast<std::size_t>(i)];
                const auto len = static_cast<std::size_t>(bytes_of(value));
                if (len > 0)
                    std::memcpy(to, value.ptr, len);
                value.ptr = to;
                to += len;
            }
        }
        return part;
    }

    const Group &group_;
    parquet::TypedColumnReader<Type> &reader_;
    parquet::TypedColumnWriter<Type> &writer_;
    const int16_t most_definition_;
    const bool repeats_;
    const int type_bytes_; // of a value, where all have as many
    const int64_t batch_;
    std::vector<int16_t> definitions_, repetitions_;
    std::unique_ptr<T[]> values_;
    int64_t n_levels_ = 0, n_values_ = 0; // that stay, of the batch
    int64_t row_ = 0;                     // the next
    bool stays_ = false;                  // the row before
};

arrow::Status copy_chunk(const Group &group, int column, parquet::ColumnWriter *writer)
{
    const auto chunk = group.reader->metadata()->ColumnChunk(column);
    const bool beside = group.kept.threads != 1 && chunk->total_uncompressed_size() >= kSmall;
    const int64_t batch = std::clamp<int64_t>(chunk->num_values(), 1, kLevels);
    const arrow::Status status = caught([&] {
        const auto reader = group.reader->Column(column);
        const auto copy = [&]<class Type>(Type) {
            return Copier<Type>(group, *reader, *writer, batch).run(beside);
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

// The columns with the groups of rows: leaves of label_field.
arrow::Status write_labels(const Group &group, parquet::RowGroupWriter &out,
                           const bm_table_label *labels, uint64_t n)
{
    parquet::ArrowWriteContext context(pool_of(group.p.pool),
                                       parquet::default_arrow_writer_properties().get());
    for (std::size_t leaf = 0; leaf < 3; leaf++) {
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

} // namespace

arrow::Status keep_parquet(const bm_table_kept &kept,
                           const std::shared_ptr<arrow::io::OutputStream> &sink)
{
    ARROW_ASSIGN_OR_RAISE(const auto p, open_parquet(kept.path, kept.memory));
    std::shared_ptr<arrow::Schema> schema = p->schema;
    if (kept.labels != nullptr) {
        ARROW_ASSIGN_OR_RAISE(const auto label, label_field(*schema));
        ARROW_ASSIGN_OR_RAISE(schema, schema->AddField(schema->num_fields(), label));
    }
    const auto reader = p->reader();
    ARROW_ASSIGN_OR_RAISE(const auto file, open_like(*p, *schema, sink));
    uint64_t row = 0, label = 0;
    for (int number = 0; number < p->meta->num_row_groups(); number++) {
        const Group group{
            *p, kept, number, row, p->meta->RowGroup(number)->num_rows(), reader->RowGroup(number)};
        const auto n = static_cast<uint64_t>(group.count());
        row += static_cast<uint64_t>(group.rows);
        if (n == 0)
            continue;
        if (kept.labels != nullptr && n > kept.n_labels - label)
            return arrow::Status::Invalid("fewer labels than rows");
        parquet::RowGroupWriter *out = file->AppendRowGroup();
        for (int column = 0; column < p->meta->num_columns(); column++)
            ARROW_RETURN_NOT_OK(copy_chunk(group, column, out->NextColumn()));
        if (kept.labels != nullptr)
            ARROW_RETURN_NOT_OK(write_labels(group, *out, kept.labels + label, n));
        out->Close();
        label += n;
    }
    file->Close();
    return arrow::Status::OK();
}

} // namespace bandmill_tables
