// module_groups.cpp -- a row group after another, of each the rows that stay: column by column straight into
// the new file; where there are threads for several columns at once they wait in memory, compressed.

#include "module_groups.h"

#include "module_columns.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace bandmill_tables
{

namespace
{

constexpr int64_t kLevels = 16384; // at a time

struct Group {
    Parquet &p;
    NewFile &file; // its like
    int number;
    Stays stays;
    unsigned threads;
    std::shared_ptr<parquet::RowGroupReader> reader;
};

// --- its columns ---

arrow::Status copy_chunk(const Group &group, int column, parquet::ColumnWriter *writer)
{
    const bool ahead = group.file.is_ahead(column);
    const auto chunk = group.reader->metadata()->ColumnChunk(column);
    const arrow::Status status = caught([&] {
        const auto reader = group.reader->Column(column);
        return copy_column(
            {.reader = reader.get(),
             .writer = writer,
             .stays = group.stays,
             .batch = std::clamp<int64_t>(chunk->num_values(), 1, kLevels),
             .beside = group.threads > 1 && !ahead && chunk->total_uncompressed_size() >= kSmall,
             .pool = pool_of(group.p.pool)});
    });
    return status.ok() ? status
                       : status.WithMessage("row group ", group.number, ", column '",
                                            chunk->path_in_schema()->ToDotString(),
                                            "': ", status.message());
}

// Several at once: each in memory until all of the group are there.
arrow::Status copy_side_by_side(const Group &group, unsigned lanes)
{
    const int n = group.p.meta->num_columns();
    std::atomic<int> next = 0;
    std::mutex mutex;
    arrow::Status wrong;
    int wrong_column = n;
    {
        std::vector<std::jthread> threads;
        for (unsigned lane = 0; lane < lanes; lane++)
            threads.emplace_back([&] {
                for (int column; (column = next++) < n;) {
                    arrow::Status status = copy_chunk(group, column, group.file.column(column));
                    if (status.ok())
                        continue;
                    const std::lock_guard lock(mutex);
                    next = n;
                    if (column < wrong_column)
                        wrong = std::move(status);
                    wrong_column = std::min(column, wrong_column);
                }
            });
    }
    return wrong;
}

// --- the column with the groups of rows ---

constexpr uint64_t kLabels = 4096; // at a time

template <class Type, class Get>
void write_leaf(parquet::ColumnWriter *column, const bm_table_label *labels, uint64_t n, Get get)
{
    auto &writer = static_cast<parquet::TypedColumnWriter<Type> &>(*column);
    const bool optional = writer.descr()->max_definition_level() > 0;
    std::vector<int16_t> definitions(kLabels);
    const std::unique_ptr<typename Type::c_type[]> values(new typename Type::c_type[kLabels]);
    for (uint64_t end, begin = 0; begin < n; begin = end) {
        end = std::min(n, begin + kLabels);
        std::size_t n_values = 0;
        for (uint64_t i = begin; i < end; i++) {
            const bool has = get(labels[i], &values[n_values]);
            definitions[i - begin] = has;
            n_values += has;
        }
        writer.WriteBatch(static_cast<int64_t>(end - begin),
                          optional ? definitions.data() : nullptr, nullptr, values.get());
    }
}

// Its leaves, one after another: label_field.
template <class Next> void write_labels(const bm_table_label *labels, uint64_t n, Next next)
{
    write_leaf<parquet::Int64Type>(next(), labels, n, [](const bm_table_label &l, int64_t *value) {
        *value = static_cast<int64_t>(l.group);
        return l.group != 0;
    });
    write_leaf<parquet::BooleanType>(next(), labels, n, [](const bm_table_label &l, bool *value) {
        *value = l.kept != 0;
        return true;
    });
    write_leaf<parquet::DoubleType>(next(), labels, n, [](const bm_table_label &l, double *value) {
        *value = l.millionths / 1e6;
        return l.millionths != BM_TABLE_JACCARD_UNKNOWN;
    });
}

// --- a row group ---

// Columns that are read and written at once: no more than there is work for beside the largest, whose pages the
// team compresses. They wait in memory.
unsigned lanes_of(const Group &group)
{
    const auto *meta = group.reader->metadata();
    int64_t all = 0, most = 1;
    for (int column = 0; column < meta->num_columns(); column++) {
        const int64_t bytes = meta->ColumnChunk(column)->total_uncompressed_size();
        all += std::clamp<int64_t>(bytes, 0, INT64_MAX / 4 - all);
        most = std::max(most, bytes);
    }
    return all < kSmall ? 1
                        : static_cast<unsigned>(
                              std::clamp<int64_t>(all / most, 1, std::max(1U, group.threads / 2)));
}

arrow::Status copy_group(const Group &group, const bm_table_label *labels, int64_t rows)
{
    const int n = group.p.meta->num_columns();
    const unsigned lanes = lanes_of(group);
    NewFile &file = group.file;
    file.begin_group(lanes > 1, group.p.ahead.get());
    int column = 0;
    const auto next = [&] { return lanes > 1 ? file.column(column++) : file.next(); };
    if (lanes > 1) {
        ARROW_RETURN_NOT_OK(copy_side_by_side(group, lanes));
        column = n;
    } else {
        for (int i = 0; i < n; i++)
            ARROW_RETURN_NOT_OK(copy_chunk(group, i, next()));
    }
    if (labels != nullptr)
        write_labels(labels, static_cast<uint64_t>(rows), next);
    file.end_group(rows);
    return arrow::Status::OK();
}

} // namespace

arrow::Status keep_parquet(const bm_table_kept &kept, const std::shared_ptr<Sink> &sink)
{
    ARROW_ASSIGN_OR_RAISE(auto p, open_parquet(kept.path, kept.threads, kept.memory));
    std::shared_ptr<arrow::Schema> schema = p->schema;
    if (kept.labels != nullptr) {
        ARROW_ASSIGN_OR_RAISE(auto label, label_field(*schema));
        ARROW_ASSIGN_OR_RAISE(schema, schema->AddField(schema->num_fields(), label));
    }
    ARROW_ASSIGN_OR_RAISE(auto file, open_like(*p, *schema, sink));
    uint64_t row = 0, label = 0;
    for (int number = 0; number < p->meta->num_row_groups(); number++) {
        const Stays stays{&kept, row, p->meta->RowGroup(number)->num_rows()};
        const auto n = static_cast<uint64_t>(stays.count());
        row += static_cast<uint64_t>(stays.rows);
        if (n == 0)
            continue;
        if (kept.labels != nullptr && n > kept.n_labels - label)
            return arrow::Status::Invalid("fewer labels than rows");
        const Group group{*p,
                          *file,
                          number,
                          stays,
                          threads_of(kept.threads),
                          p->reader->parquet_reader()->RowGroup(number)};
        ARROW_RETURN_NOT_OK(copy_group(group,
                                       kept.labels != nullptr ? kept.labels + label : nullptr,
                                       static_cast<int64_t>(n)));
        label += n;
    }
    file->close();
    return arrow::Status::OK();
}

} // namespace bandmill_tables
