#include "cache/kv_layout.h"

#include <gmock/gmock.h>

namespace hstu {
namespace {

// 4096 tokens, 1024 windows of 4, 511 windows of 3 by 2; a layer each.
KvModelShape ThreeStages() {
  KvModelShape shape;
  shape.stages = {{1, {}}, {1, {4, 4}}, {1, {3, 2}}};
  shape.heads = 4;
  shape.dim = 128;
  shape.hidden_size = 512;
  shape.max_history_tokens = 4096;
  return shape;
}

TEST(KvLayout, LaterStagesTakeLess) {
  EXPECT_THAT(KvPagesPerUser(ThreeStages(), 32), testing::ElementsAre(129, 33, 17));
  constexpr int64_t kPage = 2 * 32 * 4 * 128 * 4;  // bytes
  const KvUserBytes bytes = CountUserBytes(ThreeStages(), 32);
  EXPECT_EQ(bytes.staged, (129 + 33 + 17) * kPage);
  EXPECT_EQ(bytes.uniform, 3 * 129 * kPage);
  EXPECT_EQ(bytes.separate, (128 + 32 + 16) * kPage);
}

TEST(KvLayout, LayersFollowOneAnotherWithoutGaps) {
  KvModelShape shape = ThreeStages();
  shape.stages[1].num_layers = 2;
  const Result<KvLayout> layout = MakeKvLayout(shape, 32, 258);
  ASSERT_TRUE(layout.ok()) << layout.error().message;
  const int64_t page = layout->page.KeyPageBytes();
  EXPECT_THAT(layout->key_offsets,
              testing::ElementsAre(0, 258 * page, (258 + 66) * page, (258 + 2 * 66) * page));
  EXPECT_EQ(layout->LayerPages(), 258 + 2 * 66 + 34);
  EXPECT_EQ(layout->KeyBytes() + layout->ValueBytes(), 2 * layout->LayerPages() * page);
}

TEST(KvLayout, TheMostPagesThatFitAreFound) {
  const KvModelShape shape = ThreeStages();
  for (const int64_t pages : {129, 130, 1000}) {
    const int64_t bytes = MakeKvLayout(shape, 32, pages)->Bytes();
    EXPECT_EQ(KvPagesWithin(shape, 32, bytes), pages);
    EXPECT_EQ(KvPagesWithin(shape, 32, bytes - 1), pages - 1);
  }
}

// What users keep beside pages counts, whatever they keep there.
TEST(KvLayout, NoLayoutExceedsItsBytes) {
  KvModelShape flat = ThreeStages();
  flat.stages = {{4, {}}};
  for (KvModelShape shape : {flat, ThreeStages()}) {
    for (const KvDType dtype : {KvDType::kF32, KvDType::kBF16, KvDType::kInt8}) {
      for (const int64_t page : {32, 64, 128}) {
        shape.dtype = dtype;
        const int64_t least = KvPagesPerUser(shape, page)[0];
        const int64_t least_bytes = MakeKvLayout(shape, page, least)->Bytes();
        for (const int64_t bytes : {least_bytes, 2 * least_bytes - 1, int64_t{1} << 30}) {
          const Result<KvLayout> layout =
              MakeKvLayout(shape, page, KvPagesWithin(shape, page, bytes));
          ASSERT_TRUE(layout.ok()) << layout.error().message;
          int64_t beside = 0;
          for (size_t i = 0; i < shape.stages.size(); ++i) beside += BesideBytes(layout.value(), i);
          const int64_t pages = layout->KeyBytes() + layout->ValueBytes();
          EXPECT_LE(pages + layout->users * beside, bytes);
          EXPECT_EQ(layout->Bytes(), pages + layout->users * beside);
          EXPECT_EQ(layout->users > 0, beside > 0);
          EXPECT_LE(layout->users * beside, std::max(beside, pages / 4));
        }
      }
    }
  }
}

TEST(KvLayout, APoolTooSmallForOneUserIsRefused) {
  const Result<KvLayout> layout = MakeKvLayout(ThreeStages(), 32, 128);
  ASSERT_FALSE(layout.ok());
  EXPECT_THAT(layout.error().message, testing::HasSubstr("4096 tokens needs 129 pages"));
}

}  // namespace
}  // namespace hstu
