// The sources of the kernels, which the build puts into the binary: compiling a model needs no
// checkout of this project.
#ifndef HSTU_COMPILE_KERNEL_SOURCES_H_
#define HSTU_COMPILE_KERNEL_SOURCES_H_

#include <span>
#include <string_view>

namespace hstu {

struct KernelSource {
  std::string_view path;  // as it is included, such as "kernels/gemm-inl.h"
  std::string_view text;
};
std::span<const KernelSource> KernelSources();

// Changes with any of these sources.
extern const std::string_view kKernelAbi;

}  // namespace hstu

#endif  // HSTU_COMPILE_KERNEL_SOURCES_H_
