// One source for three compilers: nvcc and NVRTC make the GPU's kernels of it, g++ the host twin that tests run.
//
// A body works on one pixel (or lane) that it is told by number; it never sees threads or blocks. The macros at the
// end wrap bodies into kernels. No header of the system is needed on the GPU, so NVRTC finds everything here.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define LF_GPU 1
#else
#define LF_GPU 0
#endif

#if LF_GPU
#define LF_DEVICE __device__ __forceinline__
#else
#include <cmath>
#include <cstring>
#define LF_DEVICE inline
using std::ceil;
using std::floor;
using std::fmax;
using std::fmin;
using std::sqrt;
#endif

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

// Rows of an image of T: `channels` values side by side for each pixel, `pitch` bytes from one row to the next.
template <class T>
struct LfView {
    T* data;
    int pitch, width, height, channels;

    // The first of the values of a pixel.
    LF_DEVICE T* at(int x, int y) const { return (T*)((char*)data + i64(y) * pitch) + i64(x) * channels; }
};

template <class T>
LF_DEVICE T lf_clamp(T value, T low, T high) {
    return value < low ? low : (value > high ? high : value);
}

// Round half up and saturate, as all bodies of the product do.
LF_DEVICE u8 lf_byte(float value) { return u8(lf_clamp(value + 0.5f, 0.0f, 255.0f)); }

// What a launch hands to a kernel; Python packs it (`livefusion.devices.kernel`).
template <class Args>
struct LfLaunch {
    int w, h, d, reserved;
    Args args;
};

// Threads of a block whose lanes work together.
#define LF_LANES 256

#if LF_GPU

#define LF_BOTH(NAME, ARGS, BOUNDS, RUN)                                                                \
    extern "C" __global__ void __launch_bounds__(BOUNDS) lf_##NAME(const LfLaunch<ARGS> launch) {       \
        const LfLaunch<ARGS>& l = launch;                                                               \
        RUN                                                                                             \
    }                                                                                                   \
    /* The same for a captured graph: what changes from frame to frame lies in device memory. */        \
    extern "C" __global__ void __launch_bounds__(BOUNDS) lf_##NAME##_at(const LfLaunch<ARGS>* launch) { \
        const LfLaunch<ARGS>& l = *launch;                                                              \
        RUN                                                                                             \
    }

// A kernel of `NAME_px(args, x, y, z)` for each item of the extent.
#define LF_PIXELS(NAME, ARGS)                                      \
    LF_BOTH(NAME, ARGS, 256, {                                     \
        const int x = blockIdx.x * blockDim.x + threadIdx.x;       \
        const int y = blockIdx.y * blockDim.y + threadIdx.y;       \
        const int z = blockIdx.z * blockDim.z + threadIdx.z;       \
        if (x < l.w && y < l.h && z < l.d) NAME##_px(l.args, x, y, z); \
    })

// A kernel of one block for each item: `NAME_part(args, x, y, z, lane)` of all LF_LANES lanes, summed, go to
// `NAME_done(args, x, y, z, sum)`.
#define LF_SUMS(NAME, ARGS, SUM)                                                              \
    LF_BOTH(NAME, ARGS, LF_LANES, {                                                           \
        const int x = blockIdx.x, y = blockIdx.y, z = blockIdx.z, lane = threadIdx.x;         \
        if (x >= l.w || y >= l.h || z >= l.d) return;                                         \
        __shared__ SUM sums[LF_LANES];                                                        \
        sums[lane] = NAME##_part(l.args, x, y, z, lane);                                      \
        for (int half = LF_LANES / 2; half > 0; half /= 2) {                                  \
            __syncthreads();                                                                  \
            if (lane < half) sums[lane] += sums[lane + half];                                 \
        }                                                                                     \
        if (lane == 0) NAME##_done(l.args, x, y, z, sums[0]);                                 \
    })

// A kernel of one block for each item: `NAME_phase(args, x, y, z, phase, lane)` of all lanes for each phase in turn,
// from 0 to `NAME_phases(args)` less 1.
#define LF_PHASES(NAME, ARGS)                                                         \
    LF_BOTH(NAME, ARGS, LF_LANES, {                                                   \
        const int x = blockIdx.x, y = blockIdx.y, z = blockIdx.z, lane = threadIdx.x; \
        if (x >= l.w || y >= l.h || z >= l.d) return;                                 \
        for (int phase = 0; phase < NAME##_phases(l.args); phase++) {                 \
            NAME##_phase(l.args, x, y, z, phase, lane);                               \
            __syncthreads();                                                          \
        }                                                                             \
    })

#else

#define LF_HOST(NAME, ARGS, RUN)                                              \
    extern "C" int lf_##NAME##_size() { return int(sizeof(LfLaunch<ARGS>)); } \
    extern "C" void lf_##NAME(const LfLaunch<ARGS>* launch) {                 \
        const LfLaunch<ARGS>& l = *launch;                                    \
        for (int z = 0; z < l.d; z++)                                         \
            for (int y = 0; y < l.h; y++)                                     \
                for (int x = 0; x < l.w; x++) RUN                             \
    }

#define LF_PIXELS(NAME, ARGS) LF_HOST(NAME, ARGS, { NAME##_px(l.args, x, y, z); })

#define LF_SUMS(NAME, ARGS, SUM)                                                     \
    LF_HOST(NAME, ARGS, {                                                            \
        SUM sum = NAME##_part(l.args, x, y, z, 0);                                   \
        for (int lane = 1; lane < LF_LANES; lane++) sum += NAME##_part(l.args, x, y, z, lane); \
        NAME##_done(l.args, x, y, z, sum);                                           \
    })

#define LF_PHASES(NAME, ARGS)                                                                              \
    LF_HOST(NAME, ARGS, {                                                                                  \
        for (int phase = 0; phase < NAME##_phases(l.args); phase++)                                        \
            for (int lane = 0; lane < LF_LANES; lane++) NAME##_phase(l.args, x, y, z, phase, lane);        \
    })

#endif
