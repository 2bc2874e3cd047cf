// Turns a gin file of recsys-examples or cann-recipes-infer into a model's config.json.
#ifndef HSTU_DATA_GIN_CONFIG_H_
#define HSTU_DATA_GIN_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/gin.h"
#include "hstu/hstu.hpp"

namespace hstu {

struct GinConversion {
  std::string json;                   // of config.json
  std::vector<std::string> warnings;  // each with file and line
};

// `scaling_seqlen` goes before what the file says. docs/data.md lists what is made of which key.
Result<GinConversion> ConfigFromGin(const GinFile& gin, const std::string& path,
                                    std::optional<std::int64_t> scaling_seqlen);

}  // namespace hstu

#endif  // HSTU_DATA_GIN_CONFIG_H_
