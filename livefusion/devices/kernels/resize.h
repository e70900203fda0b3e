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

// The mean of channel `channel` over a pair of spans.
LF_DEVICE float lf_mean(const LfView<u8>& image, const LfSpan& across, const LfSpan& down, int channel) {
    float sum = 0.0f;
    for (int y = down.first; y <= down.last; y++) {
        const u8* row = image.at(0, y) + channel;
        int values = across.head * row[i64(across.first) * image.channels];
        if (across.last > across.first) {
            int between = 0;
            for (int x = across.first + 1; x < across.last; x++) between += row[i64(x) * image.channels];
            values += across.middle * between + across.tail * row[i64(across.last) * image.channels];
        }
        sum += float(lf_weight(down, y)) * float(values);
    }
    return sum / (float(across.total) * float(down.total));
}
