// Whether a file is a shared object as a whole: the system's loader dies of one that is cut.
#ifndef HSTU_COMPILE_ELF_H_
#define HSTU_COMPILE_ELF_H_

#include <cstddef>
#include <span>

namespace hstu {

// A 64-bit little-endian ELF shared object whose segments and section table lie within the file.
bool IsWholeSharedObject(std::span<const std::byte> file);

}  // namespace hstu

#endif  // HSTU_COMPILE_ELF_H_
