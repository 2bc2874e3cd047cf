// The system's C++ compiler, as artifacts need it.
#ifndef HSTU_COMPILE_COMPILER_H_
#define HSTU_COMPILE_COMPILER_H_

#include <string>
#include <vector>

#include "compile/target.h"
#include "hstu/hstu.hpp"

namespace hstu {

class Compiler {
 public:
  // The program that the environment's CXX names, or g++. `folder` is for a test file. Errors say
  // what to install.
  static Result<Compiler> Find(const std::string& folder);

  // Such as "g++ (Debian 12.2.0-14) 12.2.0".
  const std::string& version() const { return version_; }

  // All that decides the code of an object beside its source.
  std::vector<std::string> ObjectFlags(const Target& target) const;

  // Errors (kIo) carry the compiler's own first words.
  Status CompileObject(const std::string& source, const std::string& includes, const Target& target,
                       const std::string& object) const;
  Status Link(const std::vector<std::string>& objects, const std::string& library) const;

 private:
  Compiler(std::string program, std::string version)
      : program_(std::move(program)), version_(std::move(version)) {}
  Status Run(const std::vector<std::string>& command, const std::string& what) const;

  std::string program_;
  std::string version_;
};

}  // namespace hstu

#endif  // HSTU_COMPILE_COMPILER_H_
