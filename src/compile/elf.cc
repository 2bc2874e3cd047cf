#include "compile/elf.h"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace hstu {
namespace {

bool Within(std::uint64_t offset, std::uint64_t size, std::size_t file_size) {
  return offset <= file_size && size <= file_size - offset;
}

}  // namespace

bool IsWholeSharedObject(std::span<const std::byte> file) {
  Elf64_Ehdr header;
  if (file.size() < sizeof(header)) return false;
  std::memcpy(&header, file.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN) return false;
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return false;
  const std::uint64_t segments = std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  const std::uint64_t sections = std::uint64_t{header.e_shnum} * header.e_shentsize;
  if (!Within(header.e_phoff, segments, file.size())) return false;
  if (!Within(header.e_shoff, sections, file.size())) return false;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, file.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (!Within(segment.p_offset, segment.p_filesz, file.size())) return false;
  }
  return true;
}

}  // namespace hstu
