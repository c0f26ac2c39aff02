#pragma once

namespace hearth {

// Limits that both ends of our gRPC connections share.
constexpr int kMaxMessageBytes = 64 << 20;
constexpr int kKeepaliveMs = 10'000;
constexpr int kKeepaliveTimeoutMs = 5'000;
constexpr int kLeastPingGapMs = 5'000;  // a server ends connections that ping more often

}  // namespace hearth
