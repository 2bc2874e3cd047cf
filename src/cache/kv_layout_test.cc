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
  EXPECT_EQ(layout->Bytes(), 2 * layout->LayerPages() * page);
}

TEST(KvLayout, TheMostPagesThatFitAreFound) {
  const KvModelShape shape = ThreeStages();
  for (const int64_t pages : {129, 130, 1000}) {
    const int64_t bytes = MakeKvLayout(shape, 32, pages)->Bytes();
    EXPECT_EQ(KvPagesWithin(shape, 32, bytes), pages);
    EXPECT_EQ(KvPagesWithin(shape, 32, bytes - 1), pages - 1);
  }
}

TEST(KvLayout, APoolTooSmallForOneUserIsRefused) {
  const Result<KvLayout> layout = MakeKvLayout(ThreeStages(), 32, 128);
  ASSERT_FALSE(layout.ok());
  EXPECT_THAT(layout.error().message, testing::HasSubstr("4096 tokens needs 129 pages"));
}

}  // namespace
}  // namespace hstu
