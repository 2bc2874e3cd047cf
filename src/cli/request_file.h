// A whole file of requests, for commands that keep it in memory.
#ifndef HSTU_CLI_REQUEST_FILE_H_
#define HSTU_CLI_REQUEST_FILE_H_

#include <string>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

// Errors (kBadData, kIo) name the file and the line; a file without requests is one.
Result<std::vector<Request>> ReadRequests(const std::string& path);

}  // namespace hstu

#endif  // HSTU_CLI_REQUEST_FILE_H_
