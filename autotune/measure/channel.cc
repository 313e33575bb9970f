// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

namespace tw::autotune {
namespace {

constexpr size_t kLengthBytes = sizeof(uint32_t);
constexpr uint32_t kMostBytes = 256u << 20;

}  // namespace

Channel::~Channel() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Channel::send(const nlohmann::json& message) {
  // Text of te programs and errors may hold anything; what is not UTF-8 is replaced.
  const std::string body = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const auto length = static_cast<uint32_t>(body.size());
  std::string bytes(kLengthBytes, '\0');
  std::memcpy(bytes.data(), &length, kLengthBytes);
  bytes += body;
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::send(descriptor_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

bool Channel::fill() {
  std::array<char, 1 << 16> chunk;
  while (!ended_) {
    const ssize_t n = recv(descriptor_, chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n <= 0) {
      ended_ = true;
      break;
    }
    buffer_.append(chunk.data(), static_cast<size_t>(n));
  }
  return !ended_;
}

std::optional<nlohmann::json> Channel::take() {
  uint32_t length = 0;
  if (buffer_.size() < kLengthBytes) return {};
  std::memcpy(&length, buffer_.data(), kLengthBytes);
  if (length > kMostBytes) {
    ended_ = true;
    return {};
  }
  if (buffer_.size() < kLengthBytes + length) return {};
  auto message = nlohmann::json::parse(buffer_.begin() + kLengthBytes,
                                       buffer_.begin() + kLengthBytes + length, nullptr, false);
  buffer_.erase(0, kLengthBytes + length);
  if (!message.is_object()) {
    ended_ = true;
    return {};
  }
  return message;
}

std::optional<nlohmann::json> Channel::receive() {
  for (;;) {
    if (auto message = take()) return message;
    if (ended_) return {};
    pollfd waiting = {.fd = descriptor_, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, -1) < 0 && errno != EINTR) return {};
    fill();
  }
}

}  // namespace tw::autotune
