#include "base/sha256.h"

#include <gtest/gtest.h>

namespace hstu {
namespace {

// FIPS 180-2, appendix B.
TEST(Sha256, GivesTheDigitsOfTheStandard) {
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace hstu
