#pragma once

#include <functional>

namespace hearth::bench {

// Instructions that this thread retires in user mode during work(); 0 where the system does not let programs count.
double CountInstructions(const std::function<void()>& work);

// The clock at which the calling thread runs, from a chain of additions: one per clock on every x86 of this century.
double ClockGhz();

}  // namespace hearth::bench
