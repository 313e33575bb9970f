// SPDX-License-Identifier: Apache-2.0
// Rows are sorted bottom up. A chunk of some dozen elements is sorted by counting, for each
// element, those that go before it, all of them at once in vectors and without a branch; then
// chunks are merged two by two. Of each no more than the first `keep` elements are looked at, which
// is all that can be among the first `keep` of the row. Where those are few, they are kept in order
// while the row is read: most chunks are found at once to have none that goes before the last.
#include "schedule/topi/row_order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "ir/constant.h"
#include "ir/expr.h"

namespace tw::topi {
namespace {

constexpr int64_t kMostInChunk = 64, kLeastInChunk = 8;
constexpr int64_t kChunkOfFew = 32;  // asked at once whether any is among the first few
// Up to so many, of four times as many or more, are kept in order: a step for each of them at
// worst.
constexpr int64_t kFew = 64, kShareOfFew = 4;
constexpr int64_t kSideBySide = 4;  // parts of a merge

// Whether a goes before b whatever their places.
Expr before(const Expr& a, const Expr& b, bool ascending) { return ascending ? a < b : a > b; }

// Adds up the first `count` elements, a power of two, in vectors; the sum is element 0.
Stmt add_up(const Memory& numbers, int64_t count) {
  std::vector<Stmt> steps;
  for (int64_t half = count / 2; half > 0; half /= 2) {
    steps.push_back(loop(
        "l", number(half), [&](const Expr& l) { return numbers.add(l, numbers[l + number(half)]); },
        half > 1 ? ForKind::Vectorized : ForKind::Serial));
  }
  return block(steps);
}

// Sorts one row in memory of its own.
class RowSort {
 public:
  // Keys and places have twice `capacity` elements each: what is merged and what comes of it.
  RowSort(int64_t extent, int64_t keep, bool ascending)
      : extent_(extent), keep_(keep), ascending_(ascending) {
    chunk_ = std::clamp(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent))),
                        kLeastInChunk, are_few() ? kChunkOfFew : kMostInChunk);
    capacity_ = (extent + chunk_ - 1) / chunk_ * chunk_;
    for (int64_t width = chunk_; width < extent; width *= 2) ++merges_;
  }
  int64_t memory() const { return are_few() ? keep_ : 2 * capacity_; }
  int64_t chunk() const { return chunk_; }
  // Where the sorted elements are at the end.
  Expr result() const { return number(merges_ % 2 == 0 && !are_few() ? capacity_ : 0); }

  // Of the first `count` elements that `key_at` tells of; `ranks` has an element for each of a
  // chunk.
  Stmt run(const Memory& keys, const Memory& places, const Memory& ranks, const Expr& count,
           const KeyAt& key_at) const {
    if (are_few()) return select_few(keys, places, ranks, count, key_at);
    const Stmt fetch = loop("j", number(capacity_), [&](const Expr& j) {
      const Expr inside = is_const_int(count, capacity_) ? make_bool(true) : j < count;
      return keys.store(j, if_then_else(inside, key_at(j), make_zero(keys.dtype())));
    });
    const Memory sorted_keys = keys.from(number(capacity_)),
                 sorted_places = places.from(number(capacity_));
    std::vector<Stmt> steps = {
        fetch, loop("c", floor_div(count + number(chunk_ - 1), number(chunk_)), [&](const Expr& c) {
          return let("begin", c * number(chunk_), [&](const Expr& begin) {
            return rank(keys.from(begin), ranks, min(number(chunk_), count - begin),
                        sorted_keys.from(begin), sorted_places.from(begin), begin);
          });
        })};
    int64_t from = capacity_;
    for (int64_t width = chunk_; width < extent_; width *= 2, from = capacity_ - from) {
      const auto parts = [&](int64_t at) {
        return std::pair(keys.from(number(at)), places.from(number(at)));
      };
      steps.push_back(merge(parts(from), parts(capacity_ - from), width, count));
    }
    return block(steps);
  }

 private:
  using Parts = std::pair<Memory, Memory>;

  bool are_few() const { return keep_ <= kFew && keep_ * kShareOfFew <= extent_; }

  // The first `keep` in order; a row has as many. Of the others, most chunks are found in vectors
  // to have none that goes before the last of those.
  Stmt select_few(const Memory& keys, const Memory& places, const Memory& passing,
                  const Expr& count, const KeyAt& key_at) const {
    const Expr last = number(keep_ - 1), chunk = number(chunk_);
    const auto with_key = [&](const Expr& j, const StatementOf& body) {
      return let("key", key_at(j), body);
    };
    const Stmt begin = loop("j", number(keep_), [&](const Expr& j) {
      return with_key(j, [&](const Expr& key) { return insert(keys, places, key, j, j, j); });
    });
    const auto take = [&](const Expr& j) {
      return with_key(j, [&](const Expr& key) {
        return when(before(key, keys[last], ascending_),
                    insert(keys, places, key, j, number(keep_), last));
      });
    };
    const Stmt others = let("chunks", floor_div(count - number(keep_), chunk), [&](const Expr& n) {
      const Stmt whole = loop("c", n, [&](const Expr& c) {
        return let("first", number(keep_) + c * chunk, [&](const Expr& first) {
          const auto key = [&](const Expr& l) { return key_at(first + l); };
          return when_any_passes(passing, chunk_, key, keys[last],
                                 loop("l", chunk, [&](const Expr& l) { return take(first + l); }));
        });
      });
      return let("rest", number(keep_) + n * chunk, [&](const Expr& rest) {
        return block(
            {whole, loop("l", count - rest, [&](const Expr& l) { return take(rest + l); })});
      });
    });
    return block({begin, others});
  }

  // `body` where one of `count` elements goes before the edge.
  Stmt when_any_passes(const Memory& passing, int64_t count, const KeyAt& key_at, const Expr& edge,
                       const Stmt& body) const {
    return let("edge", edge, [&](const Expr& bound) {
      const Stmt test = loop(
          "l", number(count),
          [&](const Expr& l) {
            return passing.store(l, cast(int_type(32), before(key_at(l), bound, ascending_)));
          },
          ForKind::Vectorized);
      return block({test, add_up(passing, count), when(passing[number(0)] > number(0), body)});
    });
  }

  // Among `held` elements in order, behind those that are equal; those up to `last` move.
  Stmt insert(const Memory& keys, const Memory& places, const Expr& key, const Expr& place,
              const Expr& held, const Expr& last) const {
    return allocate(
        "before", int_type(32), number(1),
        [&](const Memory& stay) {
          const Stmt count = loop("p", held, [&](const Expr& p) {
            return stay.add(number(0), cast(int_type(32), !before(key, keys[p], ascending_)));
          });
          const Stmt put = let("at", stay[number(0)], [&](const Expr& at) {
            const Stmt shift = loop("s", last - at, [&](const Expr& s) {
              const Expr to = last - s, from = to - number(1);
              return block({keys.store(to, keys[from]), places.store(to, places[from])});
            });
            return block({shift, keys.store(at, key), places.store(at, place)});
          });
          return block({stay.store(number(0), number(0)), count, put});
        },
        "local");
  }

  // A chunk of `count` elements, the first of which is element `begin` of the row.
  Stmt rank(const Memory& keys, const Memory& ranks, const Expr& count, const Memory& sorted_keys,
            const Memory& sorted_places, const Expr& begin) const {
    const auto of_all = [&](const StatementOf& f) {
      return loop("l", number(chunk_), f, ForKind::Vectorized);
    };
    const Stmt none = of_all([&](const Expr& l) { return ranks.store(l, number(0)); });
    const Stmt counted = loop("j", count, [&](const Expr& j) {
      return let("key", keys[j], [&](const Expr& key) {
        return of_all([&](const Expr& l) {
          const Expr first =
              before(key, keys[l], ascending_) || (j < l && !before(keys[l], key, ascending_));
          return ranks.add(l, cast(int_type(32), first));
        });
      });
    });
    const Stmt placed = loop("l", count, [&](const Expr& l) {
      return let("rank", ranks[l], [&](const Expr& rank) {
        const Stmt put =
            block({sorted_keys.store(rank, keys[l]), sorted_places.store(rank, begin + l)});
        return keep_ < chunk_ ? when(rank < number(keep_), put) : put;
      });
    });
    return block({none, counted, placed});
  }

  // Sorted parts of `width` elements, two by two.
  Stmt merge(const Parts& from, const Parts& to, int64_t width, const Expr& count) const {
    const Expr pair = number(2 * width);
    const auto length = [&](const Expr& elements) {
      return min(elements, number(std::min(width, keep_)));
    };
    return loop("m", floor_div(count + pair - number(1), pair), [&](const Expr& m) {
      return let("begin", m * pair, [&](const Expr& begin) {
        return let("left", length(count - begin), [&](const Expr& left) {
          const Expr rest = max(count - begin - number(width), number(0));
          return let("right", length(rest), [&](const Expr& right) {
            const Parts a = {from.first.from(begin), from.second.from(begin)};
            const Parts b = {a.first.from(number(width)), a.second.from(number(width))};
            const Parts out = {to.first.from(begin), to.second.from(begin)};
            const Stmt alone = loop("t", left, [&](const Expr& t) {
              return block({out.first.store(t, a.first[t]), out.second.store(t, a.second[t])});
            });
            return when(right > number(0), zip(a, left, b, right, out, width), alone);
          });
        });
      });
    });
  }

  // Without branches: which of two elements goes first is not to be foreseen. Each step waits for
  // the one before it, so several parts of the result are made side by side.
  Stmt zip(const Parts& a, const Expr& left, const Parts& b, const Expr& right, const Parts& out,
           int64_t width) const {
    const auto parts = [&](const Expr& most, const Expr& part, const Memory& taken) {
      const auto step = [&](int64_t k, const Expr& t) {
        return let("i", taken[number(k)], [&](const Expr& i) {
          const Expr j = t - i;
          const Expr at_a = min(i, left - number(1)), at_b = min(j, right - number(1));
          return let("x", a.first[at_a], [&](const Expr& x) {
            return let("y", b.first[at_b], [&](const Expr& y) {
              const Expr first = j >= right || (i < left && !before(y, x, ascending_));
              return let("first", cast(int_type(32), first), [&](const Expr& one) {
                const Expr is_first = one != number(0);
                return block({out.first.store(t, select(is_first, x, y)),
                              out.second.store(t, select(is_first, a.second[at_a], b.second[at_b])),
                              taken.store(number(k), i + one)});
              });
            });
          });
        });
      };
      const Stmt together = loop("t", part, [&](const Expr& t) {
        std::vector<Stmt> steps;
        for (int64_t k = 0; k < kSideBySide; ++k) steps.push_back(step(k, part * number(k) + t));
        return block(steps);
      });
      const Expr whole = part * number(kSideBySide);
      const Stmt rest =
          loop("t", most - whole, [&](const Expr& t) { return step(kSideBySide - 1, whole + t); });
      return block({bisect(a.first, left, b.first, right, width, part, taken), together, rest});
    };
    return let("most", min(left + right, number(keep_)), [&](const Expr& most) {
      return let("part", floor_div(most, number(kSideBySide)), [&](const Expr& part) {
        return allocate(
            "taken", int_type(32), number(kSideBySide),
            [&](const Memory& taken) { return parts(most, part, taken); }, "local");
      });
    });
  }

  // How many of the first k * part elements of the merged are of `a`: so many that none of them
  // goes behind the rest of `b` (S. Odeh et al., Merge Path, 2012).
  Stmt bisect(const Memory& a, const Expr& left, const Memory& b, const Expr& right, int64_t width,
              const Expr& part, const Memory& least) const {
    return allocate(
        "most_taken", int_type(32), number(kSideBySide),
        [&](const Memory& most) {
          std::vector<Stmt> begin;
          for (int64_t k = 0; k < kSideBySide; ++k) {
            const Expr count = part * number(k);
            begin.push_back(least.store(number(k), max(count - right, number(0))));
            begin.push_back(most.store(number(k), min(count, left)));
          }
          const auto halve = [&](const Expr& k) {
            return let("low", least[k], [&](const Expr& low) {
              return let("high", most[k], [&](const Expr& high) {
                return let("middle", floor_div(low + high, number(2)), [&](const Expr& middle) {
                  const Expr other = max(part * k - number(1) - middle, number(0));
                  const Expr x = a[min(middle, left - number(1))],
                             y = b[min(other, right - number(1))];
                  return let(
                      "taken", cast(int_type(32), !before(y, x, ascending_)),
                      [&](const Expr& taken) {
                        const Expr open = low < high, is_taken = taken != number(0);
                        return block(
                            {least.store(k, select(open && is_taken, middle + number(1), low)),
                             most.store(k, select(open && !is_taken, middle, high))});
                      });
                });
              });
            });
          };
          const auto steps = std::bit_width(static_cast<uint64_t>(std::min(width, keep_)));
          const Stmt search = loop("s", number(steps), [&](const Expr&) {
            std::vector<Stmt> all;
            for (int64_t k = 1; k < kSideBySide; ++k) all.push_back(halve(number(k)));
            return block(all);
          });
          begin.push_back(search);
          return block(begin);
        },
        "local");
  }

  int64_t extent_, keep_;
  bool ascending_;
  int64_t chunk_ = 0, capacity_ = 0, merges_ = 0;
};

// The first `keep` of one row that is several times as long: elements that go before an edge are
// gathered until a buffer is full, of which the first `keep` stay, the last of them being the new
// edge. The first edge is guessed from a sample; where it keeps too few, all is done without.
class RowTop {
 public:
  RowTop(int64_t extent, int64_t keep, bool ascending)
      : extent_(extent),
        keep_(keep),
        ascending_(ascending),
        buffer_(keep * 5 / 2 + 2 * kBlock),
        sort_(std::max(buffer_, kSample), keep, ascending) {}
  static bool is_for(int64_t extent, int64_t keep) {
    return keep > kFew && keep * kShareOfFew <= extent;
  }
  int64_t memory() const { return sort_.memory() + buffer_; }
  int64_t chunk() const { return sort_.chunk(); }
  Expr result() const { return number(sort_.memory()); }

  Stmt run(const Memory& keys, const Memory& places, const Memory& ranks,
           const KeyAt& key_at) const {
    const Row row{key_at, keys, places, ranks, keys.from(result()), places.from(result())};
    return allocate(
        "edge", keys.dtype(), number(1),
        [&](const Memory& edge) {
          return allocate(
              "state", int_type(32), number(3),
              [&](const Memory& state) { return choose(row, {edge, state}); }, "local");
        },
        "local");
  }

 private:
  static constexpr int64_t kBlock = 128;  // elements that are compared without a branch
  static constexpr int64_t kSample = 256, kLeastSampled = 8 * kSample;

  struct Row {
    KeyAt key_at;
    Memory keys, places, ranks;  // to sort in
    Memory held_keys, held_places;
  };
  // The edge, and three numbers: how many elements are held, whether there is an edge, and whether
  // any of a block is to be held.
  struct State {
    Memory edge, numbers;
    Expr held() const { return numbers[number(0)]; }
    Expr has_edge() const { return numbers[number(1)] != number(0); }
    Stmt hold(const Expr& count) const { return numbers.store(number(0), count); }
    Stmt set_edge(const Expr& key) const {
      return block({edge.store(number(0), key), numbers.store(number(1), number(1))});
    }
    Stmt forget_edge() const {
      return block(
          {edge.store(number(0), make_zero(edge.dtype())), numbers.store(number(1), number(0))});
    }
  };

  bool is_sampled() const { return extent_ >= kLeastSampled && rank_in_sample() < kSample; }
  // The edge's place among the sample: with three standard deviations to spare.
  int64_t rank_in_sample() const {
    const double expected = static_cast<double>(keep_ * kSample) / static_cast<double>(extent_);
    return static_cast<int64_t>(std::ceil(expected + 3 * std::sqrt(expected))) + 1;
  }

  Stmt choose(const Row& row, const State& state) const {
    const auto gather = [&] { return block({state.hold(number(0)), gather_all(row, state)}); };
    if (!is_sampled()) return block({state.forget_edge(), gather()});
    // Twice in a loop and not one after the other, so that the code is there once.
    return loop("attempt", number(2), [&](const Expr& attempt) {
      const Stmt start = when(attempt == number(0), guess(row, state), state.forget_edge());
      return when(attempt == number(0) || state.held() < number(keep_), block({start, gather()}));
    });
  }

  Stmt guess(const Row& row, const State& state) const {
    const Expr stride = number(extent_ / kSample);
    return block({sort_.run(row.keys, row.places, row.ranks, number(kSample),
                            [&](const Expr& j) { return row.key_at(j * stride); }),
                  state.set_edge(row.keys[sort_.result() + number(rank_in_sample())])});
  }

  Stmt gather_all(const Row& row, const State& state) const {
    const int64_t blocks = (extent_ + kBlock - 1) / kBlock;
    return loop("b", number(blocks), [&](const Expr& b) {
      return let("first", b * number(kBlock), [&](const Expr& first) {
        const Expr is_full = state.held() > number(buffer_ - kBlock);
        const Expr is_last = b == number(blocks - 1);
        return block({gather_block(row, state, first, is_last),
                      when(is_full || is_last, shrink(row, state))});
      });
    });
  }

  // Appends, without a branch for each, those of a block that go before the edge, or all where
  // there is none. Blocks but the last are of one length, so that keys and the question are
  // vectors'. Until the buffer is full, the memory to sort in holds the block's keys and which of
  // them go in.
  Stmt gather_block(const Row& row, const State& state, const Expr& first,
                    const Expr& is_last) const {
    return let("edge", state.edge[number(0)], [&](const Expr& edge) {
      const Memory &keys = row.keys, &taken = row.places, &sums = row.ranks, &any = state.numbers;
      const auto fetch = [&](const Expr& j) { return keys.store(j, row.key_at(first + j)); };
      const auto ask = [&](const Expr& j) {
        const Expr goes = !state.has_edge() || before(keys[j], edge, ascending_);
        return taken.store(j, cast(int_type(32), goes));
      };
      const auto of_all = [&](const StatementOf& f) {
        return loop("l", number(chunk()), f, ForKind::Vectorized);
      };
      const Stmt vectors = loop("v", number(kBlock / chunk()), [&](const Expr& v) {
        const Expr begin = v * number(chunk());
        return block({of_all([&](const Expr& l) { return fetch(begin + l); }),
                      of_all([&](const Expr& l) { return ask(begin + l); }),
                      of_all([&](const Expr& l) { return sums.add(l, taken[begin + l]); })});
      });
      const Stmt of_whole =
          block({of_all([&](const Expr& l) { return sums.store(l, number(0)); }), vectors,
                 add_up(sums, chunk()), any.store(number(2), sums[number(0)])});
      const Expr count = min(number(kBlock), number(extent_) - first);
      const Stmt of_last =
          block({loop("j", count, [&](const Expr& j) { return block({fetch(j), ask(j)}); }),
                 any.store(number(2), number(1))});
      const Stmt append = loop("l", count, [&](const Expr& l) {
        return let("at", state.held(), [&](const Expr& at) {
          return block({row.held_keys.store(at, keys[l]), row.held_places.store(at, first + l),
                        state.hold(at + taken[l])});
        });
      });
      return block({when(is_last, of_last, of_whole), when(any[number(2)] > number(0), append)});
    });
  }

  // Of what is held the first `keep` stay, in order. With fewer there is no edge to tell.
  Stmt shrink(const Row& row, const State& state) const {
    const Expr result = sort_.result();
    return let("count", state.held(), [&](const Expr& count) {
      const auto stays = [&](const StatementOf& f) {
        return loop("t", min(count, number(keep_)), f);
      };
      const Stmt sorted = sort_.run(row.keys, row.places, row.ranks, count,
                                    [&](const Expr& j) { return row.held_keys[j]; });
      // Places in the row in the place of those in the buffer, all before any is overwritten.
      const Stmt named = stays([&](const Expr& t) {
        return row.places.store(result + t, row.held_places[row.places[result + t]]);
      });
      const Stmt kept = stays([&](const Expr& t) {
        return block({row.held_keys.store(t, row.keys[result + t]),
                      row.held_places.store(t, row.places[result + t])});
      });
      return block({sorted, named, kept,
                    when(count >= number(keep_),
                         block({state.hold(number(keep_)),
                                state.set_edge(row.held_keys[number(keep_ - 1)])}))});
    });
  }

  int64_t extent_, keep_;
  bool ascending_;
  int64_t buffer_;
  RowSort sort_;
};

}  // namespace

DType key_type(DType type) {
  if (type.is_float()) return int_type(std::max<int>(type.bits, 32));
  return type == bool_type() ? int_type(32) : type;
}

Expr key_of(const Expr& element) {
  const DType key = key_type(element.dtype());
  if (!element.dtype().is_float()) return cast(key, element);
  const Expr value = cast(float_type(key.bits), element);
  const Expr bits = call(key, "reinterpret", {value}, CallKind::PureIntrinsic);
  const Expr signed_bits = select(bits < make_zero(key), min_value(key) - bits, bits);
  return select(call("isnan", {value}), max_value(key), signed_bits);
}

RowOrder row_order(int64_t extent, int64_t keep, bool ascending) {
  const auto made = [](const auto& way, auto run) {
    return RowOrder{way.memory(), way.chunk(), way.result(), std::move(run)};
  };
  if (RowTop::is_for(extent, keep)) {
    const RowTop top(extent, keep, ascending);
    return made(top,
                [top](const Memory& keys, const Memory& places, const Memory& ranks, const Expr&,
                      const KeyAt& key_at) { return top.run(keys, places, ranks, key_at); });
  }
  const RowSort sort(extent, keep, ascending);
  return made(sort, [sort](const auto&... row) { return sort.run(row...); });
}

}  // namespace tw::topi
