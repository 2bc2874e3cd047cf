// How the C API reports errors: a code, and a text that belongs to the calling thread.
#ifndef HSTU_ENGINE_C_API_ERRORS_H_
#define HSTU_ENGINE_C_API_ERRORS_H_

#include <exception>
#include <new>
#include <string>
#include <vector>

#include "hstu/hstu.h"
#include "hstu/hstu.hpp"

namespace hstu {

struct ThreadErrors {
  std::string last;
  std::vector<std::string> answers;  // what hstuAnswer::errorMessage points at
};

ThreadErrors& Errors();
hstuError CodeOf(ErrorCode code);
// Keeps the text and returns the code.
int Fail(hstuError code, const char* message) noexcept;
Status CheckPointer(const void* pointer, const char* name);

// Runs the body of an API function: its errors and exceptions become a code and a text.
template <typename Body>
int Guarded(const Body& body) noexcept {
  try {
    const Status status = body();
    if (status.ok()) return HSTU_OK;
    return Fail(CodeOf(status.error().code), status.error().message.c_str());
  } catch (const std::bad_alloc&) {
    return Fail(HSTU_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return Fail(HSTU_INTERNAL, error.what());
  } catch (...) {
    return Fail(HSTU_INTERNAL, "an unknown exception");
  }
}

}  // namespace hstu

#endif  // HSTU_ENGINE_C_API_ERRORS_H_
