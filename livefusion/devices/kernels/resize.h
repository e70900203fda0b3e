// Resize planes: area average to shrink, bilinear to enlarge, each axis by itself, the areas coinciding.
//
// Weights are whole numbers, so no error adds up along a row. Sizes are at most 16384.
#pragma once
#include "lf.h"

// What of an axis of `source` pixels makes pixel `i` of `target`: the pixels from `first` to `last`, and their
// weights, of which those in the middle are alike.
struct LfSpan {
    int first, last;
    int head, middle, tail;
    int total;
};

LF_DEVICE LfSpan lf_span(int source, int target, int i) {
    if (source >= target) {
        const int start = i * source, end = start + source;  // in units of 1 / target
        const int first = start / target, last = (end - 1) / target;
        const int head = lf_clamp((first + 1) * target, start, end) - start;
        return {first, last, head, target, end - last * target, source};
    }
    const int unit = 2 * target;
    const int centre = lf_clamp((2 * i + 1) * source - target, 0, (source - 1) * unit);
    const int first = centre / unit, part = centre - first * unit;
    return {first, part ? first + 1 : first, unit - part, 0, part, unit};
}

// The weight of pixel `j` of a span.
LF_DEVICE int lf_weight(const LfSpan& span, int j) {
    return j == span.first ? span.head : (j == span.last ? span.tail : span.middle);
}

// The mean of a channel over a pair of spans of an image with that many CHANNELS.
template <int CHANNELS>
LF_DEVICE float lf_mean(const LfView<u8>& image, const LfSpan& across, const LfSpan& down, int channel) {
    const int between = across.last - across.first - 1;  // -1 where one pixel makes the span
    float sum = 0.0f;
    for (int y = down.first; y <= down.last; y++) {
        const u8* pixel = image.at(across.first, y) + channel;
        int values = across.head * *pixel;
        if (between >= 0) {
            int middle = 0;
            for (int i = 0; i < between; i++) middle += *(pixel += CHANNELS);
            values += across.middle * middle + across.tail * pixel[CHANNELS];
        }
        sum += float(lf_weight(down, y)) * float(values);
    }
    return sum / (float(across.total) * float(down.total));
}
