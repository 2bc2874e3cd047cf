// The C API: hstu.h in terms of hstu.hpp. Checks what C callers can get wrong, and lets no
// exception out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/c_api_errors.h"
#include "hstu/hstu.h"
#include "hstu/hstu.hpp"

struct hstuModel {
  hstu::Engine engine;
};

namespace hstu {
namespace {

// More ids than any request can mean: a count beyond is a mistake, and isn't read.
constexpr int64_t kMostIds = int64_t{1} << 24;

Error WrongSize(const char* name, uint64_t size, uint64_t known) {
  return MakeError(ErrorCode::kBadArgument,
                   "{}.structSize is {}, this library knows {}; set it to the struct's sizeof",
                   name, size, known);
}

// The struct as this library knows it: what an older, shorter one lacks is zero.
Result<hstuOptions> Grown(const hstuOptions& given) {
  constexpr uint64_t kSizes[] = {offsetof(hstuOptions, dtype), offsetof(hstuOptions, kvBytes),
                                 offsetof(hstuOptions, bf16Products), sizeof(hstuOptions)};
  if (std::find(std::begin(kSizes), std::end(kSizes), given.structSize) == std::end(kSizes)) {
    return WrongSize("options", given.structSize, sizeof(given));
  }
  hstuOptions options = {};
  std::memcpy(&options, &given, given.structSize);
  return options;
}

// The other structs have one size so far.
template <typename Struct>
Status CheckStruct(const Struct& given, const char* name) {
  if (given.structSize == sizeof(Struct)) return {};
  return WrongSize(name, given.structSize, sizeof(Struct));
}

// The `count` ids at `ids`.
Result<std::span<const int64_t>> Ids(const int64_t* ids, int64_t count, const char* name) {
  if (count < 0 || count > kMostIds) {
    return MakeError(ErrorCode::kBadArgument, "{}: a count of {} is outside [0, {}]", name, count,
                     kMostIds);
  }
  if (count > 0) HSTU_RETURN_IF_ERROR(CheckPointer(ids, name));
  return std::span<const int64_t>(ids, static_cast<size_t>(count));
}

Status CopyIds(const int64_t* ids, int64_t count, const char* name, std::vector<int64_t>* out) {
  HSTU_ASSIGN_OR_RETURN(const auto span, Ids(ids, count, name));
  out->assign(span.begin(), span.end());
  return {};
}

Result<EngineOptions> ReadOptions(const hstuOptions* pointer) {
  EngineOptions options;
  if (pointer == nullptr) return options;
  HSTU_ASSIGN_OR_RETURN(const hstuOptions given, Grown(*pointer));
  if (given.isa != nullptr) options.isa = given.isa;
  if (given.fusedOps != nullptr) options.fused_ops = given.fusedOps;
  if (given.maxStepTokens != 0) options.max_step_tokens = given.maxStepTokens;
  if (given.pageSize != 0) options.page_size = given.pageSize;
  options.chunk_tokens = given.chunkTokens;
  options.threads = given.threads;
  options.truncate = given.truncate != 0;
  options.disable_context = given.disableContext != 0;
  if (given.dtype != nullptr) options.dtype = given.dtype;
  options.kv_cache = given.kvCache != 0;
  options.kv_pages = given.kvPages;
  options.kv_bytes = given.kvBytes;
  if (given.kvDtype != nullptr) options.kv_dtype = given.kvDtype;
  if (given.artifacts != nullptr) options.artifacts = given.artifacts;
  if (given.bf16Products != nullptr) options.bf16_products = given.bf16Products;
  if (given.operatorPath != nullptr) options.operator_path = given.operatorPath;
  return options;
}

Result<Request> ReadRequest(const hstuRequest& given) {
  HSTU_RETURN_IF_ERROR(CheckStruct(given, "request"));
  Request request;
  if (given.userId != nullptr) request.user_id = given.userId;
  HSTU_ASSIGN_OR_RETURN(const auto contextual,
                        Ids(given.contextualIds, given.numContextual, "contextualIds"));
  if (!contextual.empty()) {
    HSTU_RETURN_IF_ERROR(CheckPointer(given.contextualNames, "contextualNames"));
  }
  for (size_t i = 0; i < contextual.size(); ++i) {
    HSTU_RETURN_IF_ERROR(CheckPointer(given.contextualNames[i], "a name in contextualNames"));
    request.contextual.emplace_back(given.contextualNames[i], contextual[i]);
  }
  HSTU_RETURN_IF_ERROR(CopyIds(given.items, given.numItems, "items", &request.items));
  HSTU_RETURN_IF_ERROR(CopyIds(given.actions, given.numActions, "actions", &request.actions));
  HSTU_RETURN_IF_ERROR(
      CopyIds(given.candidates, given.numCandidates, "candidates", &request.candidates));
  if (given.hasHistoryStart != 0) request.history_start = given.historyStart;
  return request;
}

Status CheckRoom(const hstuAnswer& answer, const hstuRequest& request, int64_t num_tasks) {
  HSTU_RETURN_IF_ERROR(CheckStruct(answer, "answer"));
  if (request.numCandidates == 0) return {};
  HSTU_RETURN_IF_ERROR(CheckPointer(answer.logits, "answer.logits"));
  if (answer.logitsCapacity / num_tasks < request.numCandidates) {
    return MakeError(
        ErrorCode::kBadArgument, "answer.logitsCapacity is {}, {} candidates of {} tasks need {}",
        answer.logitsCapacity, request.numCandidates, num_tasks, request.numCandidates * num_tasks);
  }
  return {};
}

void WriteAnswer(const Answer& from, const std::string& message, hstuAnswer* to) {
  to->error = from.error ? CodeOf(from.error->code) : HSTU_OK;
  to->errorMessage = message.c_str();
  to->numTasks = from.num_tasks;
  to->historyItems = from.history_items;
  to->cachedTokens = from.cached_tokens;
  to->evictedTokens = from.evicted_tokens;
  if (!from.error) std::copy(from.logits.begin(), from.logits.end(), to->logits);
}

// "request 3: " in front of an error's text.
Error OfRequest(size_t index, const Error& error) {
  return MakeError(error.code, "request {}: {}", index, error.message);
}

Status Rank(Engine* engine, std::span<const hstuRequest> given, std::span<hstuAnswer> answers) {
  std::vector<Request> requests;
  requests.reserve(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    Result<Request> request = ReadRequest(given[i]);
    if (!request.ok()) return OfRequest(i, request.error());
    if (const Status room = CheckRoom(answers[i], given[i], engine->num_tasks()); !room.ok()) {
      return OfRequest(i, room.error());
    }
    requests.push_back(std::move(request).value());
  }
  const std::vector<Answer> results = engine->Rank(requests);
  Status status;
  std::vector<std::string> messages(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].error) continue;
    messages[i] = results[i].error->message;
    if (status.ok()) status = OfRequest(i, *results[i].error);
  }
  Errors().answers = std::move(messages);
  for (size_t i = 0; i < results.size(); ++i) {
    WriteAnswer(results[i], Errors().answers[i], &answers[i]);
  }
  return status;
}

}  // namespace
}  // namespace hstu

const char* hstuLastError() { return hstu::Errors().last.c_str(); }

int hstuLoadModel(const char* folder, const hstuOptions* options, hstuModel** model) {
  return hstu::Guarded([&]() -> hstu::Status {
    HSTU_RETURN_IF_ERROR(hstu::CheckPointer(model, "model"));
    *model = nullptr;
    HSTU_RETURN_IF_ERROR(hstu::CheckPointer(folder, "folder"));
    HSTU_ASSIGN_OR_RETURN(const hstu::EngineOptions engine_options, hstu::ReadOptions(options));
    HSTU_ASSIGN_OR_RETURN(hstu::Engine engine, hstu::Engine::Load(folder, engine_options));
    *model = new hstuModel{std::move(engine)};
    return {};
  });
}

int hstuNumTasks(const hstuModel* model, int64_t* numTasks) {
  return hstu::Guarded([&]() -> hstu::Status {
    HSTU_RETURN_IF_ERROR(hstu::CheckPointer(model, "model"));
    HSTU_RETURN_IF_ERROR(hstu::CheckPointer(numTasks, "numTasks"));
    *numTasks = model->engine.num_tasks();
    return {};
  });
}

int hstuRank(hstuModel* model, const hstuRequest* requests, int64_t count, hstuAnswer* answers) {
  return hstu::Guarded([&]() -> hstu::Status {
    HSTU_RETURN_IF_ERROR(hstu::CheckPointer(model, "model"));
    if (count < 0 || count > hstu::kMostIds) {
      return hstu::MakeError(hstu::ErrorCode::kBadArgument, "count {} is outside [0, {}]", count,
                             hstu::kMostIds);
    }
    if (count == 0) return {};
    HSTU_RETURN_IF_ERROR(hstu::CheckPointer(requests, "requests"));
    HSTU_RETURN_IF_ERROR(hstu::CheckPointer(answers, "answers"));
    const auto size = static_cast<size_t>(count);
    return hstu::Rank(&model->engine, {requests, size}, {answers, size});
  });
}

void hstuDestroyModel(hstuModel* model) { delete model; }
