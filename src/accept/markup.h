// Text in XML and HTML.
#ifndef HSTU_ACCEPT_MARKUP_H_
#define HSTU_ACCEPT_MARKUP_H_

#include <string>
#include <string_view>

namespace hstu {

// With the five characters that mean something replaced, and control characters, which XML can't
// hold, by spaces.
std::string EscapeMarkup(std::string_view text);

}  // namespace hstu

#endif  // HSTU_ACCEPT_MARKUP_H_
