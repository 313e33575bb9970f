// SPDX-License-Identifier: Apache-2.0
// Intrusive, atomic reference counting for immutable shared objects.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace tw {

// The count lives in the object but is not part of its value: copying an object that is counted
// gives a fresh object that nobody refers to yet. This keeps node types plain aggregates.
class RefCount {
 public:
  RefCount() = default;
  RefCount(const RefCount&) noexcept {}
  RefCount& operator=(const RefCount&) noexcept { return *this; }

  void add() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  // True when the last reference went away. Who holds the only one need not change the count, since
  // nobody is left who could: most nodes live and die so, and the change would cost more than the
  // rest.
  bool release() const noexcept {
    return unique() || count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  bool unique() const noexcept { return count_.load(std::memory_order_acquire) == 1; }

 private:
  mutable std::atomic<uint32_t> count_{0};
};

// A shared pointer to T. T has a member `RefCount refs` and a function `void destroy(const T*)`
// is found by argument-dependent look-up.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(const T* object) noexcept : object_(object) {
    if (object_) object_->refs.add();
  }
  Ref(const Ref& other) noexcept : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
    requires std::is_convertible_v<const U*, const T*>
  Ref(const Ref<U>& other) noexcept : Ref(static_cast<const T*>(other.get())) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ && object_->refs.release()) destroy(object_);
  }

  const T* get() const noexcept { return object_; }
  const T* operator->() const noexcept { return object_; }
  const T& operator*() const noexcept { return *object_; }
  bool defined() const noexcept { return object_ != nullptr; }
  explicit operator bool() const noexcept { return defined(); }
  // Identity, not structural equality.
  bool same_as(const Ref& other) const noexcept { return object_ == other.object_; }

 private:
  const T* object_ = nullptr;
};

// Base of shared objects that are not IR nodes (operations, producers, …).
struct Object {
  RefCount refs;
  Object() = default;
  Object(const Object&) = default;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
};
inline void destroy(const Object* object) { delete object; }

// Hash and equality by identity, for maps keyed by references. Iterate such maps never: their
// order follows addresses. Look-ups only.
struct IdentityHash {
  template <class R>
  std::size_t operator()(const R& r) const noexcept {
    return std::hash<const void*>()(r.get());
  }
};
struct IdentityEqual {
  template <class R>
  bool operator()(const R& a, const R& b) const noexcept {
    return a.get() == b.get();
  }
};

}  // namespace tw
