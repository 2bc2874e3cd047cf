// The two attentions of HSTU models.
#ifndef HSTU_KERNELS_ATTENTION_KIND_H_
#define HSTU_KERNELS_ATTENTION_KIND_H_

namespace hstu {

enum class AttentionKind { kSilu, kSoftmax };

}  // namespace hstu

#endif  // HSTU_KERNELS_ATTENTION_KIND_H_
