// module_columns.cpp -- batch after batch of a column chunk: read, the rows that stay moved together, written.
//
// Values that are bytes point into the page that was read, until the next batch. Where another thread writes
// them they are copied.

#include "module_columns.h"

#include "module_beside.h"

#include <cstring>
#include <type_traits>

namespace bandmill_tables
{

namespace
{

constexpr int64_t kPartBytes = 1 << 20; // of values that are written at a time

// Levels and values that are written at a time. Of levels that a column has not: NULL.
template <class T> struct Slice {
    const int16_t *definitions, *repetitions;
    const T *values;
    int64_t n_levels, n_values;
};

// A slice that holds its own.
template <class T> struct Part {
    std::vector<int16_t> definitions, repetitions;
    std::unique_ptr<T[]> values;
    int64_t n_levels = 0, n_values = 0;
    std::shared_ptr<arrow::Buffer> bytes; // that the values point to
};

int64_t value_bytes(const parquet::ByteArray &value, int)
{
    return value.len;
}

int64_t value_bytes(const parquet::FixedLenByteArray &, int type_bytes)
{
    return type_bytes;
}

template <class T>
constexpr bool kPoints =
    std::is_same_v<T, parquet::ByteArray> || std::is_same_v<T, parquet::FixedLenByteArray>;

template <class Type> class Copier
{
  public:
    using T = typename Type::c_type;
    using Take = std::function<arrow::Status(const Slice<T> &)>;

    explicit Copier(const ColumnCopy &copy)
        : copy_(copy), reader_(static_cast<parquet::TypedColumnReader<Type> &>(*copy.reader)),
          writer_(static_cast<parquet::TypedColumnWriter<Type> &>(*copy.writer)),
          most_definition_(reader_.descr()->max_definition_level()),
          repeats_(reader_.descr()->max_repetition_level() > 0),
          value_bytes_(reader_.descr()->type_length()),
          definitions_(new int16_t[static_cast<std::size_t>(copy.batch)]),
          repetitions_(new int16_t[static_cast<std::size_t>(copy.batch)]),
          values_(new T[static_cast<std::size_t>(copy.batch)])
    {
    }

    arrow::Status run()
    {
        if (!copy_.beside)
            return read([&](const Slice<T> &slice) { return write(slice); });
        return read_beside<Part<T>>(
            [&](const Push<Part<T>> &push) {
                return read([&](const Slice<T> &slice) -> arrow::Status {
                    ARROW_ASSIGN_OR_RAISE(auto part, part_of(slice));
                    return push(std::move(part));
                });
            },
            [&](const Part<T> &part) {
                return write({part.definitions.data(), part.repetitions.data(), part.values.get(),
                              part.n_levels, part.n_values});
            });
    }

  private:
    arrow::Status read(const Take &take)
    {
        while (reader_.HasNext()) {
            int64_t n_values = 0;
            const int64_t n = reader_.ReadBatch(copy_.batch, definitions_.get(), repetitions_.get(),
                                                values_.get(), &n_values);
            ARROW_RETURN_NOT_OK(pick(n, n_values));
            ARROW_RETURN_NOT_OK(cut(take));
        }
        return row_ == copy_.stays.rows ? arrow::Status::OK() : other_rows();
    }

    static arrow::Status other_rows()
    {
        return arrow::Status::Invalid("it holds another number of rows than it says");
    }

    bool has_value(int64_t level) const
    {
        return most_definition_ == 0 ||
               definitions_[static_cast<std::size_t>(level)] == most_definition_;
    }

    // Those of rows that stay move to the front.
    arrow::Status pick(int64_t n, int64_t n_values)
    {
        int64_t value = 0;
        n_levels_ = n_values_ = 0;
        for (int64_t level = 0; level < n; level++) {
            const auto i = static_cast<std::size_t>(level);
            if (!repeats_ || repetitions_[i] == 0) {
                if (row_ == copy_.stays.rows)
                    return other_rows();
                stays_ = copy_.stays.at(row_++);
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

    int64_t bytes_of(int64_t value) const
    {
        if constexpr (kPoints<T>)
            return value_bytes(values_[static_cast<std::size_t>(value)], value_bytes_);
        return static_cast<int64_t>(sizeof(T));
    }

    // Slices of about kPartBytes: a short page may stand for long values, by a dictionary.
    arrow::Status cut(const Take &take)
    {
        int64_t value = 0;
        for (int64_t level = 0; level < n_levels_;) {
            const int64_t first_level = level, first_value = value;
            for (int64_t bytes = 0; level < n_levels_ && bytes < kPartBytes; level++)
                if (has_value(level))
                    bytes += bytes_of(value++);
            ARROW_RETURN_NOT_OK(
                take({definitions_.get() + first_level, repetitions_.get() + first_level,
                      values_.get() + first_value, level - first_level, value - first_value}));
        }
        return arrow::Status::OK();
    }

    arrow::Result<Part<T>> part_of(const Slice<T> &slice)
    {
        Part<T> part;
        part.n_levels = slice.n_levels;
        part.n_values = slice.n_values;
        if (most_definition_ > 0)
            part.definitions.assign(slice.definitions, slice.definitions + slice.n_levels);
        if (repeats_)
            part.repetitions.assign(slice.repetitions, slice.repetitions + slice.n_levels);
        part.values.reset(new T[static_cast<std::size_t>(slice.n_values)]);
        std::copy_n(slice.values, slice.n_values, part.values.get());
        if constexpr (kPoints<T>)
            ARROW_RETURN_NOT_OK(copy_bytes(&part));
        return part;
    }

    arrow::Status copy_bytes(Part<T> *part)
    {
        int64_t n = 0;
        for (int64_t i = 0; i < part->n_values; i++)
            n += value_bytes(part->values[static_cast<std::size_t>(i)], value_bytes_);
        ARROW_ASSIGN_OR_RAISE(auto bytes, arrow::AllocateBuffer(n, copy_.pool));
        uint8_t *to = bytes->mutable_data();
        for (int64_t i = 0; i < part->n_values; i++) {
            auto &value = part->values[static_cast<std::size_t>(i)];
            const int64_t len = value_bytes(value, value_bytes_);
            if (len > 0)
                std::memcpy(to, value.ptr, static_cast<std::size_t>(len));
            value.ptr = to;
            to += len;
        }
        part->bytes = std::move(bytes);
        return arrow::Status::OK();
    }

    arrow::Status write(const Slice<T> &slice)
    {
        writer_.WriteBatch(slice.n_levels, most_definition_ > 0 ? slice.definitions : nullptr,
                           repeats_ ? slice.repetitions : nullptr, slice.values);
        return arrow::Status::OK();
    }

    const ColumnCopy &copy_;
    parquet::TypedColumnReader<Type> &reader_;
    parquet::TypedColumnWriter<Type> &writer_;
    const int16_t most_definition_;
    const bool repeats_;
    const int value_bytes_; // where all have as many
    std::unique_ptr<int16_t[]> definitions_, repetitions_;
    std::unique_ptr<T[]> values_;
    int64_t n_levels_ = 0, n_values_ = 0; // that stay, of the batch
    int64_t row_ = 0;                     // the next
    bool stays_ = false;                  // the row before
};

template <class Type> arrow::Status copied(const ColumnCopy &copy)
{
    return Copier<Type>(copy).run();
}

} // namespace

arrow::Status copy_column(const ColumnCopy &copy)
{
    switch (copy.reader->type()) {
    case parquet::Type::BOOLEAN:
        return copied<parquet::BooleanType>(copy);
    case parquet::Type::INT32:
        return copied<parquet::Int32Type>(copy);
    case parquet::Type::INT64:
        return copied<parquet::Int64Type>(copy);
    case parquet::Type::INT96:
        return copied<parquet::Int96Type>(copy);
    case parquet::Type::FLOAT:
        return copied<parquet::FloatType>(copy);
    case parquet::Type::DOUBLE:
        return copied<parquet::DoubleType>(copy);
    case parquet::Type::BYTE_ARRAY:
        return copied<parquet::ByteArrayType>(copy);
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
        return copied<parquet::FLBAType>(copy);
    default:
        return arrow::Status::Invalid("a column of an unknown type");
    }
}

} // namespace bandmill_tables
