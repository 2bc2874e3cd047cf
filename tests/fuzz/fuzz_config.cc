// config.json: any bytes give a config or an error; a config survives its own JSON, and its
// tensors' sizes don't overflow.
#include <cstdint>
#include <string>

#include "model/config.h"
#include "model/tensor_list.h"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const hstu::Result<hstu::ModelConfig> config = hstu::ParseConfig(text, "config.json");
  if (!config.ok()) {
    const std::string& message = config.error().message;
    CheckMessage(message, "config.json");
    Check(message.find('\n') == message.npos);
    return 0;
  }
  const std::string json = hstu::ToJson(config.value()).dump();
  const hstu::Result<hstu::ModelConfig> again = hstu::ParseConfig(json, "again");
  Check(again.ok() && hstu::ToJson(again.value()).dump() == json);
  for (const hstu::TensorSpec& spec : hstu::ListTensors(config.value())) {
    Check(spec.num_elements() > 0 && spec.num_elements() < std::int64_t{1} << 60);
  }
  return 0;
}
