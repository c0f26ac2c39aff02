#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace hearth {

// Writes the synthetic model of `shape` (a config.json with an object hearth_synthetic) into `directory` as a
// checkpoint like any other: config.json without that object, an index, and shards of about `shard_bytes`. The
// directory is made; one with a config.json is refused. Throws StartupError. `progress` gets bytes written and bytes to
// write.
void WriteCheckpoint(const std::string& shape, const std::string& directory, uint64_t shard_bytes,
                     const std::function<void(uint64_t, uint64_t)>& progress);

}  // namespace hearth
