#include "base/error.h"

namespace hstu {

const char* ErrorName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadRequest:
      return "bad_request";
    case ErrorCode::kIdOutOfRange:
      return "id_out_of_range";
    case ErrorCode::kHistoryTooLong:
      return "history_too_long";
    case ErrorCode::kHistoryNotCached:
      return "history_not_cached";
    case ErrorCode::kTooManyCandidates:
      return "too_many_candidates";
    case ErrorCode::kBadModel:
      return "bad_model";
    case ErrorCode::kBadData:
      return "bad_data";
    case ErrorCode::kBadArgument:
      return "bad_argument";
    case ErrorCode::kIo:
      return "io";
  }
  return "unknown";
}

}  // namespace hstu
