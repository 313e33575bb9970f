// SPDX-License-Identifier: Apache-2.0
#include "runtime/ref.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <unordered_map>
#include <vector>

namespace tw {
namespace {

struct Counted : Object {
  static inline std::atomic<int> alive{0};
  int value = 0;
  explicit Counted(int v) : value(v) { ++alive; }
  Counted(const Counted& other) : Object(other), value(other.value) { ++alive; }
  ~Counted() override { --alive; }
};

TEST(Ref, LivesAsLongAsItsReferences) {
  {
    Ref<Counted> a(new Counted(1));
    Ref<Counted> b = a;
    EXPECT_TRUE(a.same_as(b));
    EXPECT_FALSE(a->refs.unique());
    a = nullptr;
    EXPECT_FALSE(a.defined());
    EXPECT_TRUE(b->refs.unique());
    const Ref<Object> base = b;
    EXPECT_EQ(static_cast<const Counted*>(base.get())->value, 1);
    EXPECT_EQ(Counted::alive, 1);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(Ref, ACopiedObjectIsItsOwn) {
  Ref<Counted> a(new Counted(2));
  Ref<Counted> b(new Counted(*a));
  EXPECT_TRUE(a->refs.unique());
  EXPECT_TRUE(b->refs.unique());
  EXPECT_FALSE(a.same_as(b));
}

TEST(Ref, KeysOfMapsAreIdentities) {
  std::unordered_map<Ref<Counted>, int, IdentityHash, IdentityEqual> map;
  Ref<Counted> a(new Counted(3)), b(new Counted(3));
  map[a] = 1;
  map[b] = 2;
  EXPECT_EQ(map[a], 1);
  EXPECT_EQ(map.size(), 2u);
}

TEST(ThreadSanitizerRef, CountsAreAtomic) {
  Ref<Counted> shared(new Counted(4));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([copy = shared] {
      for (int k = 0; k < 1000; ++k) {
        Ref<Counted> another = copy;
        ASSERT_EQ(another->value, 4);
      }
    });
  }
  shared = nullptr;
  for (std::thread& t : threads) t.join();
  threads.clear();
  EXPECT_EQ(Counted::alive, 0);
}

}  // namespace
}  // namespace tw
