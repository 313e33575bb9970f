// SPDX-License-Identifier: Apache-2.0
// Messages between a measurer and a worker: JSON behind a length of four bytes, over one stream
// socket on a descriptor of its own, so that what a candidate prints cannot corrupt them. A socket
// rather than two pipes: a write to a dead worker is an error there and not a SIGPIPE.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace tw::autotune {

class Channel {
 public:
  // The descriptor that a worker finds its end on.
  static constexpr int kWorkerDescriptor = 3;

  // Owns the descriptor.
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int descriptor() const { return descriptor_; }
  // False when the other side is gone.
  bool send(const nlohmann::json& message);
  // Reads what has arrived without waiting; false at the end of the stream, or when what arrives is
  // not our protocol.
  bool fill();
  // The next whole message that was read.
  std::optional<nlohmann::json> take();
  // Waits for a message; nothing when the other side is gone.
  std::optional<nlohmann::json> receive();

 private:
  int descriptor_;
  bool ended_ = false;
  std::string buffer_;
};

}  // namespace tw::autotune
