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

// Four bytes as one number, the first the lowest: one access where they lie on a multiple of four.
LF_DEVICE u32 lf_load4(const u8* from) {
    if (u64(from) % 4 == 0) return *(const u32*)from;
    return from[0] | from[1] << 8 | from[2] << 16 | u32(from[3]) << 24;
}

LF_DEVICE void lf_store4(u8* to, u32 value) {
    if (u64(to) % 4 == 0) {
        *(u32*)to = value;
        return;
    }
    for (int i = 0; i < 4; i++) to[i] = u8(value >> 8 * i);
}

// a * b rounded together with the sum, on every compiler.
LF_DEVICE float lf_fma(float a, float b, float c) {
#if LF_GPU
    return fmaf(a, b, c);
#else
    return std::fma(a, b, c);
#endif
}

// Set bits of a word that other lanes of the block set too; order changes nothing.
LF_DEVICE void lf_set_bits(u32* word, u32 bits) {
#if LF_GPU
    atomicOr(word, bits);
#else
    *word |= bits;
#endif
}

// Count one more where other lanes of the block count too; order changes nothing.
LF_DEVICE void lf_count(u32* counter) {
#if LF_GPU
    atomicAdd(counter, 1u);
#else
    *counter += 1;
#endif
}

// Bits below the lowest one that is set; `word` is not 0.
LF_DEVICE int lf_lowest_bit(u32 word) {
#if LF_GPU
    return __ffs(int(word)) - 1;
#else
    return __builtin_ctz(word);
#endif
}

// What a launch hands to a kernel; Python packs it (`livefusion.devices.kernel`).
template <class Args>
struct LfLaunch {
    int w, h, d, reserved;
    Args args;
};

// An `OWN` or `SHARED` (see LF_TEAM) of nothing.
struct LfNothing {};

// Threads of a block whose lanes work together.
#define LF_LANES 256

#if LF_GPU

// `...` is a block of statements, which may hold commas.
#define LF_BOTH(NAME, ARGS, BOUNDS, ...)                                                                \
    extern "C" __global__ void __launch_bounds__(BOUNDS) lf_##NAME(const LfLaunch<ARGS> launch) {       \
        const LfLaunch<ARGS>& l = launch;                                                               \
        __VA_ARGS__                                                                                     \
    }                                                                                                   \
    /* The same for a captured graph: what changes from frame to frame lies in device memory. */        \
    extern "C" __global__ void __launch_bounds__(BOUNDS) lf_##NAME##_at(const LfLaunch<ARGS>* launch) { \
        const LfLaunch<ARGS>& l = *launch;                                                              \
        __VA_ARGS__                                                                                     \
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

// A kernel of one block for each item: `NAME_phase(args, x, y, z, phase, lane, own, shared)` of all lanes for each
// phase in turn, from 0 to `NAME_phases(args)` less 1. Each lane has an `OWN` that lasts over the phases, all lanes
// of a block a `SHARED`.
#define LF_TEAM(NAME, ARGS, OWN, SHARED)                                              \
    LF_BOTH(NAME, ARGS, LF_LANES, {                                                   \
        const int x = blockIdx.x, y = blockIdx.y, z = blockIdx.z, lane = threadIdx.x; \
        if (x >= l.w || y >= l.h || z >= l.d) return;                                 \
        __shared__ SHARED shared;                                                     \
        OWN own;                                                                      \
        for (int phase = 0; phase < NAME##_phases(l.args); phase++) {                 \
            NAME##_phase(l.args, x, y, z, phase, lane, own, shared);                  \
            __syncthreads();                                                          \
        }                                                                             \
    })

#else

// The order of items and lanes is nobody's business: a twin that turns it round must find the same.
#ifdef LF_BACKWARDS
#define LF_EACH(INDEX, COUNT) int INDEX = (COUNT) - 1; INDEX >= 0; INDEX--
#else
#define LF_EACH(INDEX, COUNT) int INDEX = 0; INDEX < (COUNT); INDEX++
#endif

#define LF_HOST(NAME, ARGS, ...)                                              \
    extern "C" int lf_##NAME##_size() { return int(sizeof(LfLaunch<ARGS>)); } \
    extern "C" void lf_##NAME(const LfLaunch<ARGS>* launch) {                 \
        const LfLaunch<ARGS>& l = *launch;                                    \
        for (LF_EACH(z, l.d))                                                 \
            for (LF_EACH(y, l.h))                                             \
                for (LF_EACH(x, l.w)) __VA_ARGS__                             \
    }

#define LF_PIXELS(NAME, ARGS) LF_HOST(NAME, ARGS, { NAME##_px(l.args, x, y, z); })

#define LF_SUMS(NAME, ARGS, SUM)                                                     \
    LF_HOST(NAME, ARGS, {                                                            \
        SUM sum = NAME##_part(l.args, x, y, z, 0);                                   \
        for (int lane = 1; lane < LF_LANES; lane++) sum += NAME##_part(l.args, x, y, z, lane); \
        NAME##_done(l.args, x, y, z, sum);                                           \
    })

// What no lane has written holds noise, as on the GPU.
#define LF_TEAM(NAME, ARGS, OWN, SHARED)                                                 \
    LF_HOST(NAME, ARGS, {                                                                \
        SHARED shared;                                                                   \
        OWN own[LF_LANES];                                                               \
        memset((void*)&shared, 0xA5, sizeof shared);                                     \
        memset((void*)own, 0xA5, sizeof own);                                            \
        for (int phase = 0; phase < NAME##_phases(l.args); phase++)                      \
            for (LF_EACH(lane, LF_LANES))                                                \
                NAME##_phase(l.args, x, y, z, phase, lane, own[lane], shared);           \
    })

#endif
