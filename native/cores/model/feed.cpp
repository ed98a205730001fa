#include "cores/model/feed.hpp"

#include <algorithm>

namespace dpubench::cores {

bool Feed::refill() {
  if (over_) return false;
  position_ = 0;
  batch_ = source_->next();
  if (batch_.empty() && extent_.repeat) {
    source_->rewind();
    batch_ = source_->next();
    wrapped_ = true;
  }
  over_ = batch_.empty();  // an empty source ends even if it is to be repeated
  if ((extent_.skip_messages == 0 || messages_ > extent_.skip_messages) && extent_.every == extent_.measured) plain_ = true;
  return !over_;
}

const Executed* Feed::peek_in_samples() {
  while (position_ < batch_.size() || refill()) {
    const Executed& next = batch_[position_];
    if (!counted_) messages_ += next.messages;
    counted_ = true;
    const bool is_skipped = extent_.skip_messages > 0 && messages_ <= extent_.skip_messages;
    const std::uint64_t message = messages_ - std::min(messages_, extent_.skip_messages + 1);
    if (!is_skipped && message % extent_.every < extent_.measured) return &next;
    if (!is_skipped) warm_(next);
    counted_ = false;
    ++position_;
  }
  return nullptr;
}

}  // namespace dpubench::cores
