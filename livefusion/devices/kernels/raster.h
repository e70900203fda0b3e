// Draw a textured mesh.
//
// A block draws a tile of pixels. In turns of LF_LANES triangles, each lane puts one of them up for drawing if it may
// touch the tile, then each lane looks in its own pixel which of those is the nearest. So a texel is looked
// up and a pixel is written once, by the lane it belongs to, and the first triangle wins on a tie.
#pragma once
#include "lf.h"

#define LF_TILE 16  // pixels a side: one for each lane
#define LF_FARTHEST 3.402823466e38f  // no triangle is drawn there

struct LfDraw {
    LfView<u8> texture, patch;
    const float *vertices, *depth, *uv, *weight;
    const int* triangles;
    int vertex_count, triangle_count;
    float tolerance, smallest_area;
};

// A triangle seen from the top-left pixel of a tile: the shares of two of its corners, and the depth by these shares.
struct alignas(16) LfFacet {
    float first, first_x, first_y, second;
    float second_x, second_y, depth, first_depth;
    float second_depth;
    u32 within;  // a bit for each column of the tile that the triangle's box holds, above them one for each row
};

struct LfTileShared {
    LfFacet facets[LF_LANES];
    u32 drawn[2][LF_LANES / 32];  // a bit for each facet that is up for drawing, in this turn and in the next
};

struct LfTilePixel {
    float depth, first, second;
    int triangle;
};

// a * b - c * d without the error of a product, which would give area to a triangle that has none.
LF_DEVICE float lf_cross(float a, float b, float c, float d) {
    const float product = c * d;
    return lf_fma(a, b, -product) + lf_fma(-c, d, product);
}

// The pixels from `low` to `high` as bits of a tile, of which `size` pixels are in the patch; 0 if there are none.
LF_DEVICE u32 lf_span(float low, float high, int size) {
    const float first = fmax(floor(low), 0.0f), last = fmin(ceil(high), float(size - 1));
    if (!(first <= last)) return 0;
    return (2u << int(last)) - (1u << int(first));
}

LF_DEVICE bool lf_facet(const LfDraw& a, int triangle, int left, int top, LfFacet& facet) {
    const int* corners = a.triangles + 3 * i64(triangle);
    const u32 count = u32(a.vertex_count), c0 = corners[0], c1 = corners[1], c2 = corners[2];
    if (c0 >= count || c1 >= count || c2 >= count) return false;
    const float x0 = a.vertices[2 * c0] - left, y0 = a.vertices[2 * c0 + 1] - top;
    const float x1 = a.vertices[2 * c1] - left, y1 = a.vertices[2 * c1 + 1] - top;
    const float x2 = a.vertices[2 * c2] - left, y2 = a.vertices[2 * c2 + 1] - top;
    const int across = lf_clamp(a.patch.width - left, 0, LF_TILE);
    const int down = lf_clamp(a.patch.height - top, 0, LF_TILE);
    const u32 columns = lf_span(fmin(x0, fmin(x1, x2)), fmax(x0, fmax(x1, x2)), across);
    const u32 rows = lf_span(fmin(y0, fmin(y1, y2)), fmax(y0, fmax(y1, y2)), down);
    if (columns == 0 || rows == 0) return false;
    const float area = lf_cross(y1 - y2, x0 - x2, x1 - x2, y0 - y2);
    if (!(area >= a.smallest_area || -area >= a.smallest_area)) return false;
    facet.within = columns | rows << LF_TILE;
    const float scale = 1 / area;
    facet.first_x = (y1 - y2) * scale, facet.first_y = (x2 - x1) * scale;
    facet.second_x = (y2 - y0) * scale, facet.second_y = (x0 - x2) * scale;
    facet.first = -(facet.first_x * x2 + facet.first_y * y2);
    facet.second = -(facet.second_x * x2 + facet.second_y * y2);
    facet.depth = a.depth[c2];
    facet.first_depth = a.depth[c0] - a.depth[c2], facet.second_depth = a.depth[c1] - a.depth[c2];
    return true;
}

// Take the triangle if it covers a pixel of the tile, nearer than what does so far.
LF_DEVICE void lf_cover(const LfFacet& facet, int x, int y, int triangle, float tolerance, LfTilePixel& nearest) {
    if (!(facet.within >> x & facet.within >> (LF_TILE + y) & 1)) return;
    const float first = facet.first + facet.first_x * x + facet.first_y * y;
    const float second = facet.second + facet.second_x * x + facet.second_y * y;
    if (!(first >= -tolerance && second >= -tolerance && 1 - first - second >= -tolerance)) return;
    const float depth = facet.depth + first * facet.first_depth + second * facet.second_depth;
    if (depth < nearest.depth) nearest = {depth, first, second, triangle};
}

LF_DEVICE float lf_within(const float* values, int stride, const int* corners, const LfTilePixel& at) {
    const float c = values[i64(corners[2]) * stride];
    const float a = values[i64(corners[0]) * stride] - c, b = values[i64(corners[1]) * stride] - c;
    return c + at.first * a + at.second * b;
}

LF_DEVICE float lf_channel(u32 pixel, int channel) { return float(pixel >> 8 * channel & 255); }

// The texel at u, v, its alpha times `share`.
LF_DEVICE u32 lf_texel(const LfView<u8>& texture, float u, float v, float share) {
    u = fmin(fmax(u, 0.0f), float(texture.width - 1));
    v = fmin(fmax(v, 0.0f), float(texture.height - 1));
    const int left = u < texture.width - 2 ? int(u) : texture.width - 2;
    const int top = v < texture.height - 2 ? int(v) : texture.height - 2;
    const u8 *upper = texture.at(left, top), *lower = texture.at(left, top + 1);
    const u32 texels[4] = {lf_load4(upper), lf_load4(upper + 4), lf_load4(lower), lf_load4(lower + 4)};
    u32 value = 0;
    for (int channel = 0; channel < 4; channel++) {
        const float a00 = lf_channel(texels[0], channel), a01 = lf_channel(texels[1], channel);
        const float a10 = lf_channel(texels[2], channel), a11 = lf_channel(texels[3], channel);
        const float above = a00 + (a01 - a00) * (u - left), below = a10 + (a11 - a10) * (u - left);
        const float mixed = above + (below - above) * (v - top);
        value |= u32(lf_byte(channel == 3 ? mixed * share : mixed)) << 8 * channel;
    }
    return value >> 24 == 0 ? 0 : value;
}

LF_DEVICE void lf_write_pixel(const LfDraw& a, int x, int y, const LfTilePixel& nearest) {
    if (x >= a.patch.width || y >= a.patch.height) return;
    u32 value = 0;
    if (nearest.triangle >= 0) {
        const int* corners = a.triangles + 3 * i64(nearest.triangle);
        const float share = lf_clamp(lf_within(a.weight, 1, corners, nearest), 0.0f, 1.0f);
        const float u = lf_within(a.uv, 2, corners, nearest), v = lf_within(a.uv + 1, 2, corners, nearest);
        if (share > 0) value = lf_texel(a.texture, u, v, share);
    }
    lf_store4(a.patch.at(x, y), value);
}

LF_DEVICE int lf_turns(const LfDraw& a) { return (a.triangle_count + LF_LANES - 1) / LF_LANES; }

// To begin with, and then twice for each turn: put up, draw.
LF_DEVICE int draw_mesh_phases(const LfDraw& a) { return 1 + 2 * lf_turns(a); }

LF_DEVICE void draw_mesh_phase(const LfDraw& a, int tile_x, int tile_y, int, int phase, int lane, LfTilePixel& own,
                               LfTileShared& shared) {
    const int turn = (phase - 1) / 2, begin = turn * LF_LANES;
    const int left = tile_x * LF_TILE, top = tile_y * LF_TILE;
    u32* drawn = shared.drawn[turn % 2];
    if (phase == 0) {
        own = {LF_FARTHEST, 0, 0, -1};
        if (lane < LF_LANES / 32) drawn[lane] = 0;
    } else if (phase % 2 == 1) {
        const int triangle = begin + lane;
        if (triangle < a.triangle_count && lf_facet(a, triangle, left, top, shared.facets[lane]))
            lf_set_bits(&drawn[lane / 32], 1u << lane % 32);
    } else {
        const int x = lane % LF_TILE, y = lane / LF_TILE;
        for (int word = 0; word < LF_LANES / 32; word++)
            for (u32 bits = drawn[word]; bits != 0; bits &= bits - 1) {
                const int facet = word * 32 + lf_lowest_bit(bits);
                lf_cover(shared.facets[facet], x, y, begin + facet, a.tolerance, own);
            }
        if (lane < LF_LANES / 32) shared.drawn[(turn + 1) % 2][lane] = 0;
    }
    if (phase == 2 * lf_turns(a)) lf_write_pixel(a, left + lane % LF_TILE, top + lane / LF_TILE, own);
}
