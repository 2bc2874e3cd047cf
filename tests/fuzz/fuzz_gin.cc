// gin files, and the configs that are made of them.
#include <cstdint>
#include <string_view>

#include "data/gin.h"
#include "data/gin_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto gin = hstu::ParseGin({reinterpret_cast<const char*>(data), size}, "fuzz.gin");
  if (!gin.ok()) return 0;
  (void)hstu::ConfigFromGin(gin.value(), "fuzz.gin", std::nullopt);
  return 0;
}
