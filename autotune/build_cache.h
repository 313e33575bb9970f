// SPDX-License-Identifier: Apache-2.0
// What a process makes once: values by text keys.
#pragma once

#include <exception>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace tw::autotune {

// Keeps the `most` values that were asked for last. Threads may ask at once: the first to ask for a
// key makes its value, the others wait for it. Where that throws, all of them get the exception,
// nothing is kept, and whoever asks next tries again.
template <class Value>
class BuildCache {
 public:
  explicit BuildCache(size_t most) : most_(most) {}

  Value get(const std::string& key, const std::function<Value()>& make) {
    std::promise<Value> promise;
    size_t number = 0;
    {
      std::unique_lock lock(mutex_);
      if (const auto known = places_.find(key); known != places_.end()) {
        entries_.splice(entries_.begin(), entries_, known->second);
        const std::shared_future<Value> value = known->second->value;
        lock.unlock();
        return value.get();
      }
      number = ++made_;
      entries_.push_front({key, promise.get_future().share(), number});
      places_[key] = entries_.begin();
      if (entries_.size() > most_) {
        places_.erase(entries_.back().key);
        entries_.pop_back();
      }
    }
    try {
      Value value = make();
      promise.set_value(value);
      return value;
    } catch (...) {
      forget(key, number);
      promise.set_exception(std::current_exception());
      throw;
    }
  }

  // How many values were made, or tried to be, so far.
  size_t made() const {
    const std::lock_guard lock(mutex_);
    return made_;
  }

 private:
  // The entry of that number, unless it went and another of its key came.
  void forget(const std::string& key, size_t number) {
    const std::lock_guard lock(mutex_);
    const auto known = places_.find(key);
    if (known == places_.end() || known->second->number != number) return;
    entries_.erase(known->second);
    places_.erase(known);
  }

  struct Entry {
    std::string key;
    std::shared_future<Value> value;
    size_t number;
  };
  const size_t most_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the last used first
  std::unordered_map<std::string, typename std::list<Entry>::iterator> places_;
  size_t made_ = 0;
};

}  // namespace tw::autotune
