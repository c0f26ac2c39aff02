#pragma once

// Marks a function that is compiled for the host and for the device alike.
#ifdef __CUDACC__
#define HEARTH_HD __host__ __device__
#else
#define HEARTH_HD
#endif
