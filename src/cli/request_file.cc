#include "cli/request_file.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "data/line_reader.h"
#include "data/requests.h"

namespace hstu {

Result<std::vector<Request>> ReadRequests(const std::string& path) {
  HSTU_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path, kMaxRequestBytes));
  std::vector<Request> requests;
  while (true) {
    HSTU_ASSIGN_OR_RETURN(const std::optional<LineReader::Line> line, reader.Next());
    if (!line) break;
    ParsedRequest parsed = ParseRequest(line->text, line->number);
    if (!parsed.request.ok()) {
      return MakeError(ErrorCode::kBadData, "{}: {}", path, parsed.request.error().message);
    }
    requests.push_back(std::move(parsed.request).value());
  }
  if (requests.empty()) return MakeError(ErrorCode::kBadData, "{}: no requests", path);
  return requests;
}

}  // namespace hstu
