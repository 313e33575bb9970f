// SPDX-License-Identifier: Apache-2.0
// What a worker does for its measurer: one request, one reply. All requests carry "do":
//
//   task       {te, target, threads, seed, caches}
//                                               what the following requests are about; no reply
//   compile    {id, trace}                   -> {ok, seconds, ir_hash}
//   reference  {path}                        -> {ok}; writes the reference result there
//   tolerance  {path}                        -> {ok}; writes how far each element may be from it
//   run        {id, budget, relative_interval, min_repeats, longest, bound, behind_error,
//               reference, tolerance}        -> {ok, seconds: […]}; the candidate is dropped
//   visit      {id, place, seconds}          -> {ok, seconds}: of one call; the candidate stays,
//                                               with the place-th copy of the arrays
//   drop       {}                               forgets all compiled candidates; no reply
//
// A failure is {ok: false, error: the code's text, message}. Before it begins with a request that
// has a reply, a worker says {started: true}, so that its death is blamed on the right candidate.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace tw::autotune {

class Session {
 public:
  Session();
  ~Session();
  static bool replies(const nlohmann::json& request);
  std::optional<nlohmann::json> handle(const nlohmann::json& request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tw::autotune
