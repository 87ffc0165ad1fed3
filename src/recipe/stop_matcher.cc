#include "recipe/stop_matcher.h"

#include <deque>
#include <utility>

namespace deepinfer::recipe {

StopMatcher::StopMatcher(std::vector<std::string> patterns)
    : patterns_(std::move(patterns)), nodes_(1) {
  start_children_.fill(kStart);
  for (size_t i = 0; i < patterns_.size(); ++i) {
    if (!patterns_[i].empty()) {
      insert(patterns_[i], static_cast<int32_t>(i));
    }
  }
  link();
}

int32_t StopMatcher::child(int32_t node, uint8_t byte) const {
  int32_t at = nodes_[static_cast<size_t>(node)].first_child;
  while (at >= 0 && nodes_[static_cast<size_t>(at)].byte != byte) {
    at = nodes_[static_cast<size_t>(at)].next_sibling;
  }
  return at;
}

void StopMatcher::insert(const std::string& pattern, int32_t index) {
  int32_t node = kStart;
  for (const char c : pattern) {
    const auto byte = static_cast<uint8_t>(c);
    int32_t next = child(node, byte);
    if (next < 0) {
      next = static_cast<int32_t>(nodes_.size());
      const Node& parent = nodes_[static_cast<size_t>(node)];
      nodes_.push_back(
          {.next_sibling = parent.first_child, .depth = parent.depth + 1, .byte = byte});
      nodes_[static_cast<size_t>(node)].first_child = next;
    }
    node = next;
  }
  Node& last = nodes_[static_cast<size_t>(node)];
  if (last.match == kNoMatch) {
    last.match = index;
  }
}

void StopMatcher::link() {
  std::deque<int32_t> queue;
  for (int32_t at = nodes_[0].first_child; at >= 0;
       at = nodes_[static_cast<size_t>(at)].next_sibling) {
    start_children_[nodes_[static_cast<size_t>(at)].byte] = at;
    queue.push_back(at);
  }
  while (!queue.empty()) {
    const int32_t parent = queue.front();
    queue.pop_front();
    for (int32_t at = nodes_[static_cast<size_t>(parent)].first_child; at >= 0;
         at = nodes_[static_cast<size_t>(at)].next_sibling) {
      Node& node = nodes_[static_cast<size_t>(at)];
      int32_t fail = nodes_[static_cast<size_t>(parent)].fail;
      int32_t next = child(fail, node.byte);
      while (next < 0 && fail != kStart) {
        fail = nodes_[static_cast<size_t>(fail)].fail;
        next = child(fail, node.byte);
      }
      node.fail = next < 0 ? kStart : next;
      // A pattern that ends here may have a shorter one as its end; the one listed first wins.
      const int32_t inherited = nodes_[static_cast<size_t>(node.fail)].match;
      if (inherited != kNoMatch && (node.match == kNoMatch || inherited < node.match)) {
        node.match = inherited;
      }
      queue.push_back(at);
    }
  }
}

int32_t StopMatcher::step(int32_t& node, uint8_t byte) const {
  while (node != kStart) {
    const int32_t next = child(node, byte);
    if (next >= 0) {
      node = next;
      return nodes_[static_cast<size_t>(node)].match;
    }
    node = nodes_[static_cast<size_t>(node)].fail;
  }
  node = start_children_[byte];
  return nodes_[static_cast<size_t>(node)].match;
}

}  // namespace deepinfer::recipe
