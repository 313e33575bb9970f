// SPDX-License-Identifier: Apache-2.0
#include "lower/llvm/object_cache.h"

#include <list>
#include <mutex>
#include <optional>
#include <string>

#include "ir/equal.h"
#include "ir/expr.h"

namespace tw::codegen {
namespace {

constexpr size_t kKept = 64;

// A kernel without its arrays, and what tells it from others. Free variables stand in `identity` in
// front of the body, so that those of equal kernels correspond.
struct Key {
  std::string target, name;
  std::vector<KernelConstant> constants;
  Stmt identity;
  uint64_t hash = 0;
};

Key key_of(const Kernel& kernel, const Target& target) {
  Key key{.target = target.text(), .name = kernel.name, .constants = kernel.constants};
  std::vector<Stmt> parts;
  for (KernelConstant& c : key.constants) {
    c.value = NDArray();
    parts.push_back(make(Evaluate{.value = c.var}));
  }
  parts.push_back(kernel.body);
  key.identity = block(parts);
  key.hash = structural_hash(key.identity);
  return key;
}

bool same_array(const KernelConstant& a, const KernelConstant& b) {
  return a.dtype == b.dtype &&
         std::ranges::equal(a.shape, b.shape, [](const Expr& x, const Expr& y) {
           return as_const_int(x) == as_const_int(y);
         });
}

bool equal_keys(const Key& a, const Key& b) {
  return a.hash == b.hash && a.target == b.target && a.name == b.name &&
         std::ranges::equal(a.constants, b.constants, same_array) &&
         equal(a.identity, b.identity, {.map_free_vars = true});
}

class Cache {
 public:
  std::optional<Object> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (!equal_keys(it->key, key)) continue;
      entries_.splice(entries_.begin(), entries_, it);
      return it->object;
    }
    return std::nullopt;
  }
  void insert(Key key, const Object& object) {
    const std::lock_guard lock(mutex_);
    entries_.push_front({std::move(key), object});
    if (entries_.size() > kKept) entries_.pop_back();
  }

 private:
  struct Entry {
    Key key;
    Object object;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;  // the last used first
};

}  // namespace

Object cached_object(const Kernel& kernel, const Target& target,
                     const std::function<Object()>& generate) {
  static auto* const cache = new Cache;  // kernels may outlive static objects
  // Arguments' shapes need not be constants; what has some is compiled.
  if (!kernel.arguments.empty()) return generate();
  Key key = key_of(kernel, target);
  if (auto known = cache->find(key)) return *std::move(known);
  Object object = generate();
  cache->insert(std::move(key), object);
  return object;
}

}  // namespace tw::codegen
