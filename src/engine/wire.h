// Values as bytes, between ranks of one program on machines of one kind.
#ifndef HSTU_ENGINE_WIRE_H_
#define HSTU_ENGINE_WIRE_H_

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

class WireWriter {
 public:
  template <typename T>
  void Put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    PutBytes(&value, sizeof(T));
  }
  // The size, then the elements of a string or vector.
  template <typename List>
  void PutList(const List& list) {
    static_assert(std::is_trivially_copyable_v<typename List::value_type>);
    Put(list.size());
    PutBytes(list.data(), list.size() * sizeof(typename List::value_type));
  }

  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  void PutBytes(const void* data, size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }

  std::vector<std::byte> bytes_;
};

// Reads what a WireWriter of the same program put, in that order.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T Get() {
    T value;
    GetBytes(&value, sizeof(T));
    return value;
  }
  template <typename List>
  List GetList() {
    List list;
    list.resize(Get<size_t>());
    GetBytes(list.data(), list.size() * sizeof(typename List::value_type));
    return list;
  }

 private:
  void GetBytes(void* data, size_t size) {
    if (size > 0) std::memcpy(data, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }

  std::span<const std::byte> bytes_;
};

void PutRequests(std::span<const Request> requests, WireWriter* out);
std::vector<Request> GetRequests(WireReader* in);
void PutAnswer(const Answer& answer, WireWriter* out);
Answer GetAnswer(WireReader* in);

}  // namespace hstu

#endif  // HSTU_ENGINE_WIRE_H_
