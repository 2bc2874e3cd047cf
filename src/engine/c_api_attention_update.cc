// The operator attention_update in the C API, in two phases: checks and sizes, then the work.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "base/aligned.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "engine/c_api_errors.h"
#include "kernels/attention_update.h"

// Checked arguments, ready to run.
struct hstuExecutor {
  hstu::AttentionUpdateArgs args;
  uint64_t workspace_bytes;
};

namespace hstu {
namespace {

constexpr int64_t kMostDimensions = 8;
// Fewer elements than this are merged faster than threads wake.
constexpr int64_t kElementsPerThread = 32768;
constexpr int64_t kTasksPerThread = 4;

// The threads of all calls in the process, made by the first that needs them.
class SharedThreads {
 public:
  // body(task, thread); on the caller's thread alone while another caller has them.
  template <typename Body>
  void Run(int64_t tasks, const Body& body) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
      for (int64_t task = 0; task < tasks; ++task) body(task, 0);
      return;
    }
    if (!pool_.has_value()) pool_.emplace(AvailableProcessors());
    pool_->Run(tasks, body);
  }

 private:
  std::mutex mutex_;
  std::optional<ThreadPool> pool_;
};

SharedThreads& Threads() {
  static SharedThreads threads;
  return threads;
}

Result<DType> DTypeOf(const char* name, int32_t dtype) {
  switch (dtype) {
    case HSTU_F32:
      return DType::kF32;
    case HSTU_F16:
      return DType::kF16;
    case HSTU_BF16:
      return DType::kBF16;
    default:
      return MakeError(ErrorCode::kBadArgument, "{}: dtype {}; 0 is f32, 1 f16, 2 bf16", name,
                       dtype);
  }
}

Result<TensorView> ViewOf(const char* name, const hstuTensor& tensor) {
  HSTU_ASSIGN_OR_RETURN(const DType dtype, DTypeOf(name, tensor.dtype));
  if (tensor.rank < 0 || tensor.rank > kMostDimensions) {
    return MakeError(ErrorCode::kBadArgument, "{}: rank {} is outside [0, {}]", name, tensor.rank,
                     kMostDimensions);
  }
  const auto rank = static_cast<size_t>(tensor.rank);
  return TensorView{
      static_cast<std::byte*>(tensor.data), dtype, {tensor.shape, rank}, {tensor.stride, rank}};
}

// Threads that share the rows, and the workspace that each needs.
int64_t ThreadsFor(const AttentionUpdateArgs& args) {
  const int64_t elements = args.sp * args.rows * std::max<int64_t>(1, args.dim);
  return std::clamp<int64_t>(elements / kElementsPerThread, 1, AvailableProcessors());
}

int64_t ThreadFloats(const AttentionUpdateArgs& args) {
  return RoundUp(AttentionUpdateScratch(args.sp, args.dim), 32);
}

uint64_t WorkspaceBytes(const AttentionUpdateArgs& args) {
  // The caller's memory has any alignment.
  return static_cast<uint64_t>(ThreadsFor(args) * ThreadFloats(args)) * sizeof(float) + kAlignment;
}

float* Align(void* workspace) {
  const auto address = reinterpret_cast<uintptr_t>(workspace);
  return reinterpret_cast<float*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

void RunAttentionUpdate(const AttentionUpdateArgs& checked, void* workspace) {
  AttentionUpdateFn* op = AttentionUpdateFor(SupportedIsas().back());
  float* scratch = Align(workspace);
  const int64_t threads = ThreadsFor(checked);
  if (threads == 1) {
    AttentionUpdateArgs args = checked;
    args.scratch = scratch;
    op(args);
    return;
  }
  const int64_t tile = AttentionUpdateTile(checked.sp, checked.dim);
  const int64_t rows = RoundUp(CeilDiv(checked.rows, threads * kTasksPerThread), tile);
  Threads().Run(CeilDiv(checked.rows, rows), [&](int64_t task, int thread) {
    AttentionUpdateArgs args = checked;
    args.row_begin = task * rows;
    args.row_end = std::min(args.rows, args.row_begin + rows);
    args.scratch = scratch + thread * ThreadFloats(args);
    op(args);
  });
}

}  // namespace
}  // namespace hstu

int hstuAttentionUpdateGetWorkspaceSize(const hstuTensor* lse, const hstuTensor* localOut,
                                        int64_t updateType, const hstuTensor* out,
                                        const hstuTensor* lseOut, uint64_t* workspaceSize,
                                        hstuExecutor** executor) {
  return hstu::Guarded([&]() -> hstu::Status {
    HSTU_RETURN_IF_ERROR(hstu::CheckPointer(workspaceSize, "workspaceSize"));
    HSTU_RETURN_IF_ERROR(hstu::CheckPointer(executor, "executor"));
    *executor = nullptr;
    *workspaceSize = 0;
    const hstuTensor* given[] = {lse, localOut, out, lseOut};
    const char* names[] = {"lse", "localOut", "out", "lseOut"};
    hstu::TensorView views[4];
    for (int i = 0; i < 4; ++i) {
      const bool unread = i == 3 && updateType != 1;
      if (given[i] == nullptr || unread) continue;
      HSTU_ASSIGN_OR_RETURN(views[i], hstu::ViewOf(names[i], *given[i]));
    }
    const auto view = [&](int i) { return given[i] == nullptr ? nullptr : &views[i]; };
    HSTU_ASSIGN_OR_RETURN(
        const hstu::AttentionUpdateArgs args,
        hstu::CheckAttentionUpdate(view(0), view(1), updateType, view(2), view(3)));
    *workspaceSize = hstu::WorkspaceBytes(args);
    *executor = new hstuExecutor{args, *workspaceSize};
    return {};
  });
}

int hstuAttentionUpdate(void* workspace, uint64_t workspaceSize, hstuExecutor* executor) {
  const std::unique_ptr<hstuExecutor> owned(executor);
  return hstu::Guarded([&]() -> hstu::Status {
    HSTU_RETURN_IF_ERROR(hstu::CheckPointer(executor, "executor"));
    HSTU_RETURN_IF_ERROR(hstu::CheckPointer(workspace, "workspace"));
    if (workspaceSize < executor->workspace_bytes) {
      return hstu::MakeError(hstu::ErrorCode::kBadArgument,
                             "workspaceSize {}: {} bytes are needed, as "
                             "hstuAttentionUpdateGetWorkspaceSize said",
                             workspaceSize, executor->workspace_bytes);
    }
    hstu::RunAttentionUpdate(executor->args, workspace);
    return {};
  });
}

void hstuDestroyExecutor(hstuExecutor* executor) { delete executor; }
