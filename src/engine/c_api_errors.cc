#include "engine/c_api_errors.h"

#include "base/error.h"

namespace hstu {

ThreadErrors& Errors() {
  thread_local ThreadErrors errors;
  return errors;
}

hstuError CodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadRequest:
      return HSTU_BAD_REQUEST;
    case ErrorCode::kIdOutOfRange:
      return HSTU_ID_OUT_OF_RANGE;
    case ErrorCode::kHistoryTooLong:
      return HSTU_HISTORY_TOO_LONG;
    case ErrorCode::kHistoryNotCached:
      return HSTU_HISTORY_NOT_CACHED;
    case ErrorCode::kTooManyCandidates:
      return HSTU_TOO_MANY_CANDIDATES;
    case ErrorCode::kBadModel:
      return HSTU_BAD_MODEL;
    case ErrorCode::kBadData:
      return HSTU_BAD_DATA;
    case ErrorCode::kBadArgument:
      return HSTU_BAD_ARGUMENT;
    case ErrorCode::kIo:
      return HSTU_IO;
  }
  return HSTU_INTERNAL;
}

int Fail(hstuError code, const char* message) noexcept {
  try {
    Errors().last = message;
  } catch (...) {
    Errors().last.clear();  // the code alone has to do
  }
  return code;
}

Status CheckPointer(const void* pointer, const char* name) {
  if (pointer != nullptr) return {};
  return MakeError(ErrorCode::kBadArgument, "{} is NULL", name);
}

}  // namespace hstu
