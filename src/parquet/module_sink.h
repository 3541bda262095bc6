// module_sink.h -- a new file of Arrow's writers, which goes to the caller piece by piece.
#ifndef BM_PARQUET_MODULE_SINK_H
#define BM_PARQUET_MODULE_SINK_H

#include <bandmill/types.h>

#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include <cstddef>
#include <cstdint>

namespace bandmill_tables
{

class Sink : public arrow::io::OutputStream
{
  public:
    Sink(bm_write_fn write, void *ctx) : write_(write), ctx_(ctx)
    {
    }
    arrow::Status Write(const void *data, int64_t n) override
    {
        broken_ = broken_ ||
                  write_(ctx_, static_cast<const char *>(data), static_cast<std::size_t>(n)) != 0;
        at_ += n;
        return broken_ ? arrow::Status::IOError("cannot write") : arrow::Status::OK();
    }
    using OutputStream::Write;
    arrow::Status Close() override
    {
        closed_ = true;
        return arrow::Status::OK();
    }
    arrow::Result<int64_t> Tell() const override
    {
        return at_;
    }
    bool closed() const override
    {
        return closed_;
    }
    bool broken() const // the caller took no more: it knows why
    {
        return broken_;
    }

  private:
    bm_write_fn write_;
    void *ctx_;
    int64_t at_ = 0;
    bool closed_ = false, broken_ = false;
};

} // namespace bandmill_tables

#endif
