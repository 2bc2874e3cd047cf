// The golden cases, as requests and expected logits, and what tests of the engine share.
#ifndef HSTU_TESTS_GOLDEN_H_
#define HSTU_TESTS_GOLDEN_H_

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "base/test_rounds.h"
#include "hstu/hstu.hpp"
#include "kernels/products.h"

namespace hstu {

struct GoldenCase {
  std::string name;
  std::string model;
  std::vector<Request> requests;
  std::vector<std::vector<float>> logits;  // a request's, [candidates, tasks]
  std::vector<int64_t> evicted_tokens;     // a request's
};

inline Request RequestOf(const nlohmann::json& json) {
  Request request;
  request.user_id = json.at("user_id").get<std::string>();
  for (const auto& [feature, id] : json.at("contextual").items()) {
    request.contextual.emplace_back(feature, id.get<int64_t>());
  }
  request.items = json.at("history").at("items").get<std::vector<int64_t>>();
  request.actions = json.at("history").value("actions", std::vector<int64_t>());
  if (json.contains("history_start")) {
    request.history_start = json.at("history_start").get<int64_t>();
  }
  request.candidates = json.at("candidates").get<std::vector<int64_t>>();
  return request;
}

inline void AddAnswer(const nlohmann::json& answer, GoldenCase* golden) {
  std::vector<float> logits;
  for (const auto& row : answer.at("logits")) {
    for (const auto& value : row) logits.push_back(value.get<float>());
  }
  golden->logits.push_back(logits);
  golden->evicted_tokens.push_back(answer.value("evicted_tokens", int64_t{0}));
}

inline GoldenCase LoadGolden(const std::string& name) {
  const std::string folder = std::string(HSTU_GOLDEN_DIR) + "/" + name;
  GoldenCase golden{name, folder + "/model", {}, {}, {}};
  std::ifstream requests(folder + "/requests.jsonl");
  std::ifstream expected(folder + "/expected.jsonl");
  std::string line;
  while (std::getline(requests, line)) {
    golden.requests.push_back(RequestOf(nlohmann::json::parse(line)));
  }
  while (std::getline(expected, line)) AddAnswer(nlohmann::json::parse(line), &golden);
  EXPECT_FALSE(golden.requests.empty()) << folder;
  EXPECT_EQ(golden.requests.size(), golden.logits.size()) << folder;
  return golden;
}

// A file whose lines are requests with their answers.
inline GoldenCase LoadLines(const std::string& model, const std::string& file) {
  GoldenCase golden{file, model, {}, {}, {}};
  std::ifstream lines(file);
  EXPECT_TRUE(lines.good()) << file;
  std::string text;
  while (std::getline(lines, text)) {
    const nlohmann::json line = nlohmann::json::parse(text);
    golden.requests.push_back(RequestOf(line));
    AddAnswer(line, &golden);
  }
  return golden;
}

inline const std::vector<std::string>& GoldenNames() {
  static const std::vector<std::string> names = {
      "contextual_mask", "groups", "hierarchical", "kuairand", "no_residual", "odd",
      "odd_softmax",     "plain",  "softmax",      "window"};
  return names;
}

// Types of activations and of K and V; the first is what everything is compared with.
struct DTypes {
  const char* dtype;
  const char* kv_dtype;
  // Emulated where the CPU lacks the instruction, on AVX2 if need be.
  const char* bf16_products = "off";

  double tolerance() const {  // of logits
    return std::string(dtype) == "f32" && std::string(kv_dtype) == "f32" ? 2e-4 : 3e-2;
  }
  void Set(EngineOptions* options) const {
    options->dtype = dtype;
    options->kv_dtype = kv_dtype;
    options->bf16_products = bf16_products;
    if (!WorkOn(SupportedIsas().back())) options->isa = IsaName(Isa::kAvx2);
  }
  bool WorkOn(Isa isa) const {
    const std::string name = bf16_products;
    if (name == "off") return true;
    return CanMultiply(name == "tiles" ? Products::kBF16Tiles : Products::kBF16Pairs, isa);
  }
};

inline constexpr DTypes kAllDTypes[] = {
    {"f32", "f32"},   {"bf16", "bf16", "tiles"}, {"f32", "int8"}, {"bf16", "bf16", "pairs"},
    {"f32", "f16"},   {"f32", "bf16"},           {"bf16", "f32"}, {"bf16", "bf16"},
    {"bf16", "int8"}, {"bf16", "int8", "tiles"}};

// Of a slow build the first, which have every type and kind of products between them.
inline std::span<const DTypes> AllDTypes() {
  return std::span(kAllDTypes).first(IsSlowBuild() ? 5 : std::size(kAllDTypes));
}

inline Engine Load(const std::string& model, const EngineOptions& options = {}) {
  Result<Engine> engine = Engine::Load(model, options);
  EXPECT_TRUE(engine.ok()) << engine.error().message;
  return std::move(engine).value();
}
inline Engine Load(const GoldenCase& golden, const EngineOptions& options = {}) {
  return Load(golden.model, options);
}

inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

inline std::string GoldenTestName(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

}  // namespace hstu

#endif  // HSTU_TESTS_GOLDEN_H_
