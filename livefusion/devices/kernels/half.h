// Numbers as they are stored for a network: float32 or float16.
#pragma once
#include "lf.h"

// The bits of an IEEE 754 binary16.
struct LfHalf {
    u16 bits;
};

#if LF_GPU

LF_DEVICE LfHalf lf_half(float value) {
    LfHalf half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(value));
    return half;
}

LF_DEVICE float lf_float(LfHalf half) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half.bits));
    return value;
}

#else

// Round to nearest, ties to even, as the GPU does.
LF_DEVICE LfHalf lf_half(float value) {
    u32 bits;
    std::memcpy(&bits, &value, sizeof bits);
    const u32 sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return {0x7fff};  // not a number
    if (size >= 0x47800000) return {u16(sign | 0x7c00)};  // 65536 and beyond
    // What is kept has the unit 2^-24 below the smallest normal number, and eleven digits from there on.
    const u32 exponent = size >> 23, fraction = (size & 0x7fffff) | 0x800000;
    const u32 dropped = exponent >= 113 ? 13 : 126 - exponent;
    if (dropped > 24) return {u16(sign)};  // below half a unit
    const u32 kept = fraction >> dropped, rest = fraction & ((1u << dropped) - 1), middle = 1u << (dropped - 1);
    const u32 up = rest > middle || (rest == middle && (kept & 1));
    // A carry out of the fraction lands in the exponent, where it belongs.
    return {u16(sign | ((exponent >= 113 ? (exponent - 113) << 10 : 0) + kept + up))};
}

LF_DEVICE float lf_float(LfHalf half) {
    const int exponent = half.bits >> 10 & 31;
    const float sign = half.bits & 0x8000 ? -1.0f : 1.0f, fraction = float(half.bits & 1023);
    if (exponent == 31) return half.bits & 1023 ? NAN : sign * INFINITY;
    return sign * (exponent ? std::ldexp(fraction + 1024.0f, exponent - 25) : std::ldexp(fraction, -24));
}

#endif

LF_DEVICE float lf_load(const float* source) { return *source; }
LF_DEVICE float lf_load(const LfHalf* source) { return lf_float(*source); }
LF_DEVICE void lf_store(float* target, float value) { *target = value; }
LF_DEVICE void lf_store(LfHalf* target, float value) { *target = lf_half(value); }
