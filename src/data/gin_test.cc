#include "data/gin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_files.h"

namespace hstu {
namespace {

using testing::HasSubstr;

// A value printed back, so that tests can compare text.
std::string Print(const GinValue& value) {
  struct Printer {
    std::string operator()(std::monostate) { return "None"; }
    std::string operator()(bool b) { return b ? "True" : "False"; }
    std::string operator()(std::int64_t i) { return std::to_string(i); }
    std::string operator()(double d) { return "float:" + std::to_string(d); }
    std::string operator()(const std::string& s) { return "<" + s + ">"; }
    std::string operator()(const GinReference& r) { return r.name; }
    std::string operator()(const GinList& list) {
      std::string text = "[";
      for (const GinValue& element : list) text += Print(element) + ";";
      return text + "]";
    }
    std::string operator()(const GinDict& dict) {
      std::string text = "{";
      for (std::size_t i = 0; i < dict.keys.size(); ++i) {
        text += Print(dict.keys[i]) + ":" + Print(dict.values[i]) + ";";
      }
      return text + "}";
    }
  };
  return std::visit(Printer(), value.value);
}

std::string ValueOf(const std::string& literal) {
  auto gin = ParseGin("A.b = " + literal, "x.gin");
  return gin.ok() ? Print(gin->Find("A.b")->value) : gin.error().message;
}

TEST(ParseGin, ReadsPythonLiterals) {
  EXPECT_EQ(ValueOf("3"), "3");
  EXPECT_EQ(ValueOf("-3"), "-3");
  EXPECT_EQ(ValueOf("+10_000"), "10000");
  EXPECT_EQ(ValueOf("1e-3"), "float:0.001000");
  EXPECT_EQ(ValueOf(".5"), "float:0.500000");
  EXPECT_EQ(ValueOf("True"), "True");
  EXPECT_EQ(ValueOf("None"), "None");
  EXPECT_EQ(ValueOf("'it''s' # not this"), "<its>");
  EXPECT_EQ(ValueOf("\"a#b\\n\\\"\""), "<a#b\n\">");
  EXPECT_EQ(ValueOf("'''two\nlines'''"), "<two\nlines>");
  EXPECT_EQ(ValueOf("[1, [2,],\n  # here too\n 'x']"), "[1;[2;];<x>;]");
  EXPECT_EQ(ValueOf("(\"AUC\",)"), "[<AUC>;]");
  EXPECT_EQ(ValueOf("(4)"), "4");
  EXPECT_EQ(ValueOf("()"), "[]");
  EXPECT_EQ(ValueOf("{'a': 1, 'b': [2]}"), "{<a>:1;<b>:[2;];}");
  EXPECT_EQ(ValueOf("\\\n 5"), "5");
  EXPECT_EQ(ValueOf("[@item/FeatureArgs(), @net]"), "[@item/FeatureArgs;@net;]");
}

TEST(ParseGin, TakesScopesMacrosImportsAndTheLastOfTwoBindings) {
  auto gin = ParseGin(
      "import my.module\nfrom my import module\r\n"
      "SIZE = 8\nSIZES = [4, %SIZE]\n"
      "scope/A.b = 1\nA.b = 2\nA.b = %SIZES   # again\n",
      "x.gin");
  ASSERT_TRUE(gin.ok()) << gin.error().message;
  EXPECT_EQ(Print(gin->Find("A.b")->value), "[4;8;]");
  EXPECT_EQ(gin->Find("A.b")->line, 7);
  EXPECT_EQ(Print(gin->Find("scope/A.b")->value), "1");
  EXPECT_EQ(gin->Find("A.c"), nullptr);
}

TEST(ParseGin, NamesTheLineOfAMistake) {
  auto error = [](const std::string& text) {
    auto gin = ParseGin(text, "x.gin");
    return gin.ok() ? "no error" : gin.error().message;
  };
  EXPECT_THAT(error("A.b = 1\nA.c 2\n"), HasSubstr("x.gin:2: an '=' is missing after A.c"));
  EXPECT_THAT(error("A.b = [1,\n2\n"), HasSubstr("x.gin:3: '[' of line 1 is never closed"));
  EXPECT_THAT(error("A.b = [1 2]"), HasSubstr("x.gin:1: a comma is missing"));
  EXPECT_THAT(error("\nA.b = 'x\n"), HasSubstr("x.gin:2: the string of line 2 is never closed"));
  EXPECT_THAT(error("A.b = \n"), HasSubstr("x.gin:1: a value is missing"));
  EXPECT_THAT(error("A.b = true"), HasSubstr("true is no value"));
  EXPECT_THAT(error("A.b = 1 2"), HasSubstr("the line goes on after its value: \"2\""));
  EXPECT_THAT(error("A.b = 1.2.3"), HasSubstr("\"1.2.3\" is no number"));
  EXPECT_THAT(error("A.b = %NO"), HasSubstr("x.gin:1: there is no macro %NO"));
  EXPECT_THAT(error("M = %M\nA.b = %M"), HasSubstr("does one use itself?"));
  EXPECT_THAT(error("M = [%M, %M]\nA.b = %M"), HasSubstr("x.gin:2: macros"));
  EXPECT_THAT(error("A.b = " + std::string(100, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(error("= 3"), HasSubstr("x.gin:1: a binding such as"));
  EXPECT_THAT(error("include 'y.gin'"), HasSubstr("a text can't include y.gin"));
}

TEST(ReadGin, IncludesFilesBesideIt) {
  TestFolder folder;
  folder.Write("base.gin", "A.b = 1\nA.c = 1\n");
  std::string path = folder.Write("top.gin", "include 'base.gin'\nA.c = 2\n");
  auto gin = ReadGin(path);
  ASSERT_TRUE(gin.ok()) << gin.error().message;
  EXPECT_EQ(Print(gin->Find("A.b")->value), "1");
  EXPECT_EQ(Print(gin->Find("A.c")->value), "2");

  gin = ReadGin(folder.Write("self.gin", "include 'self.gin'\n"));
  ASSERT_FALSE(gin.ok());
  EXPECT_THAT(gin.error().message, HasSubstr("does a file include itself?"));
  gin = ReadGin(folder.Write("none.gin", "\ninclude 'no.gin'\n"));
  ASSERT_FALSE(gin.ok());
  EXPECT_THAT(gin.error().message, HasSubstr("none.gin:2: the included no.gin is neither"));
}

}  // namespace
}  // namespace hstu
