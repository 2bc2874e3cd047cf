#include "data/pandas_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hstu {
namespace {

using testing::ElementsAre;

// Expected values are what pandas 3 and Python 3.11 print.
TEST(PythonFloat, PrintsAsPythonDoes) {
  EXPECT_EQ(PythonFloat(12), "12.0");
  EXPECT_EQ(PythonFloat(0), "0.0");
  EXPECT_EQ(PythonFloat(-0.0), "-0.0");
  EXPECT_EQ(PythonFloat(0.1), "0.1");
  EXPECT_EQ(PythonFloat(123.456), "123.456");
  EXPECT_EQ(PythonFloat(0.0001), "0.0001");
  EXPECT_EQ(PythonFloat(0.00001), "1e-05");
  EXPECT_EQ(PythonFloat(0.000012345), "1.2345e-05");
  EXPECT_EQ(PythonFloat(1234567890123456.0), "1234567890123456.0");
  EXPECT_EQ(PythonFloat(1e16), "1e+16");
  EXPECT_EQ(PythonFloat(1.5e300), "1.5e+300");
}

TEST(AsPandasWrites, KeepsIntegersUnlessThereAreGaps) {
  EXPECT_THAT(AsPandasWrites({"12", "007", "-3"}), ElementsAre("12", "7", "-3"));
  EXPECT_THAT(AsPandasWrites({"12", "", "3"}), ElementsAre("12.0", "", "3.0"));
  EXPECT_THAT(AsPandasWrites({"NULL", "3"}), ElementsAre("", "3.0"));
}

TEST(AsPandasWrites, PassesTextThrough) {
  EXPECT_THAT(AsPandasWrites({"500+", "(0,10]", "0", "NA"}),
              ElementsAre("500+", "\"(0,10]\"", "0", ""));
  EXPECT_THAT(AsPandasWrites({"True", "False"}), ElementsAre("True", "False"));
}

TEST(AsPandasWrites, KnowsFloatsAndLargeIntegers) {
  EXPECT_THAT(AsPandasWrites({"1", "2.5"}), ElementsAre("1.0", "2.5"));
  EXPECT_THAT(AsPandasWrites({"18446744073709551615", "1"}),
              ElementsAre("18446744073709551615", "1"));
  EXPECT_THAT(AsPandasWrites({"99999999999999999999999", "x"}),
              ElementsAre("99999999999999999999999", "x"));
}

TEST(NumberedByAppearance, CountsFromOneAndJoinsEqualNumbers) {
  EXPECT_THAT(NumberedByAppearance({"b", "a", "c"}), ElementsAre(1, 2, 3));
  EXPECT_THAT(NumberedByAppearance({"1", "01", "2"}), ElementsAre(1, 1, 2));
  EXPECT_THAT(NumberedByAppearance({"a", "1", "01"}), ElementsAre(1, 2, 3));
  EXPECT_THAT(NumberedByAppearance({"a", "", "b", "NA"}), ElementsAre(1, 2, 3, 2));
}

}  // namespace
}  // namespace hstu
