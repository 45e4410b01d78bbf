// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles of a product whose rows are the pixels of an image: neighbours in a line, or two short lines.

#include <algorithm>
#include <cstdint>

#include "libmge/base/numbers/ceil_div.h"

namespace mge::cpu {

class LineTiles {
public:
    LineTiles() = default;
    LineTiles(int64_t lines, int64_t pixels, int64_t most_rows)
        : lines_(lines),
          pixels_(pixels),
          pieces_(ceil_div(pixels, most_rows)),
          piece_pixels_(pixels / std::max<int64_t>(1, pieces_)),
          // Tiles of two lines fill more registers than those of one if lines are short.
          has_pairs_(pixels <= most_rows / 2 && lines > 1) {}
    int64_t line_pixels() const { return pixels_; }
    int64_t count() const { return has_pairs_ ? (lines_ + 1) / 2 : lines_ * pieces_; }

private:
    friend class TileWalk;
    int64_t lines_ = 0, pixels_ = 0;
    int64_t pieces_ = 0, piece_pixels_ = 0;  // a line has so many pieces, of so many pixels or one more
    bool has_pairs_ = false;
};

// `count` pixels from a place of a line on, and as many at the same place of the next line if there are two.
struct TilePixels {
    int64_t line, first, count;
    bool has_two_lines;

    int64_t rows() const { return has_two_lines ? 2 * count : count; }
    // The first of two parts of the rows: a line, or so many neighbours that are not divided, or a half.
    int64_t first_rows(int64_t undivided) const {
        return has_two_lines || count <= undivided ? count : (count + 1) / 2;
    }
};

// Walks over tiles without a division for each.
class TileWalk {
public:
    TileWalk(const LineTiles& tiles, int64_t tile)
        : tiles_(tiles),
          longer_(tiles.pixels_ - tiles.pieces_ * tiles.piece_pixels_),
          line_(tiles.has_pairs_ ? 2 * tile : tile / tiles.pieces_),
          piece_(tiles.has_pairs_ ? 0 : tile % tiles.pieces_) {}
    TilePixels pixels() const {
        if (tiles_.has_pairs_) return {line_, 0, tiles_.pixels_, line_ + 1 < tiles_.lines_};
        return {line_, piece_ * tiles_.piece_pixels_ + std::min(piece_, longer_),
                tiles_.piece_pixels_ + (piece_ < longer_ ? 1 : 0), false};
    }
    void advance() {
        if (tiles_.has_pairs_) {
            line_ += 2;
        } else if (++piece_ == tiles_.pieces_) {
            piece_ = 0;
            ++line_;
        }
    }

private:
    const LineTiles& tiles_;
    int64_t longer_;  // pieces with one pixel more, which come first
    int64_t line_, piece_;
};

}  // namespace mge::cpu
