// The engine against the golden cases: every ISA, every operator fused and plain.
#include "tests/golden.h"

#include <cmath>

#include "base/cpu.h"

namespace hstu {
namespace {

class Golden : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, Golden, testing::ValuesIn(GoldenNames()), GoldenTestName);

std::vector<Answer> Rank(const GoldenCase& golden, const EngineOptions& options) {
  Result<Engine> engine = Engine::Load(golden.model, options);
  if (!engine.ok()) {
    ADD_FAILURE() << engine.error().message;
    return {};
  }
  return engine->Rank(golden.requests);
}

void ExpectExpected(const GoldenCase& golden, const std::vector<Answer>& answers,
                    double tolerance = 2e-4) {
  ASSERT_EQ(answers.size(), golden.requests.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    ASSERT_FALSE(answers[i].error.has_value()) << answers[i].error->message;
    ASSERT_EQ(answers[i].evicted_tokens, golden.evicted_tokens[i]);
    ASSERT_EQ(answers[i].logits.size(), golden.logits[i].size());
    for (size_t j = 0; j < answers[i].logits.size(); ++j) {
      ASSERT_NEAR(answers[i].logits[j], golden.logits[i][j], tolerance) << "request " << i;
    }
  }
}

TEST_P(Golden, HoldsFusedOnEveryIsa) {
  const GoldenCase golden = LoadGolden(GetParam());
  for (const Isa isa : SupportedIsas()) {
    EngineOptions options;
    options.isa = IsaName(isa);
    ExpectExpected(golden, Rank(golden, options));
  }
}

TEST(GoldenTruncate, DropsTheOldestWholePagesAndKeepsPositions) {
  const GoldenCase golden = LoadGolden("truncate");
  for (const int64_t chunk : {0, 30}) {
    EngineOptions options;
    options.truncate = true;
    options.chunk_tokens = chunk;
    ExpectExpected(golden, Rank(golden, options));
  }
}

TEST_P(Golden, HoldsInEveryTypeOfActivationsKeysAndValues) {
  const GoldenCase golden = LoadGolden(GetParam());
  for (const DTypes& types : AllDTypes()) {
    for (const Isa isa : SupportedIsas()) {
      if ((isa == Isa::kScalar && IsSlowBuild()) || !types.WorkOn(isa)) continue;
      EngineOptions options;
      types.Set(&options);
      options.isa = IsaName(isa);
      SCOPED_TRACE(options.dtype + ", K and V " + options.kv_dtype + ", bf16 products " +
                   options.bf16_products);
      ExpectExpected(golden, Rank(golden, options), types.tolerance());
    }
    // The references sum in double, whatever the products.
    if (IsSlowBuild() && types.bf16_products != std::string("off")) continue;
    EngineOptions plain;
    plain.fused_ops = "none";
    types.Set(&plain);
    ExpectExpected(golden, Rank(golden, plain), types.tolerance());
  }
}

TEST_P(Golden, HoldsPlainWithinOneHundredThousandthOfFused) {
  const GoldenCase golden = LoadGolden(GetParam());
  EngineOptions plain;
  plain.fused_ops = "none";
  const std::vector<Answer> expected = Rank(golden, plain);
  ExpectExpected(golden, expected);
  const std::vector<Answer> actual = Rank(golden, {});
  for (size_t i = 0; i < expected.size(); ++i) {
    float largest = 0.0f;
    for (const float value : expected[i].logits) largest = std::max(largest, std::fabs(value));
    for (size_t j = 0; j < expected[i].logits.size(); ++j) {
      ASSERT_NEAR(actual[i].logits[j], expected[i].logits[j], 1e-5 * largest);
    }
  }
}

TEST_P(Golden, HoldsWithEachOperatorFusedAlone) {
  const GoldenCase golden = LoadGolden(GetParam());
  for (const char* name : {"embed_tokens", "layer_norm", "in_linear_silu", "hstu_attention",
                           "norm_mul", "linear_residual", "pool_windows", "l2_norm", "linear"}) {
    EngineOptions options;
    options.fused_ops = name;
    ExpectExpected(golden, Rank(golden, options));
  }
}

}  // namespace
}  // namespace hstu
