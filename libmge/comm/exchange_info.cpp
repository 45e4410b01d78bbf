// SPDX-License-Identifier: Apache-2.0
#include "libmge/comm/exchange_info.h"

#include <algorithm>
#include <cstring>

#include "libmge/base/error.h"
#include "libmge/base/hash.h"

namespace mge {
namespace {

constexpr size_t most_listed = 16;

std::string numbers_text(std::span<const int64_t> numbers) {
    std::string list;
    for (int64_t number : numbers.first(std::min(numbers.size(), most_listed)))
        list += text(list.empty() ? "" : ", ", number);
    return numbers.size() > most_listed ? text("(", list, ", ...), ", numbers.size(), " in all")
                                        : text("(", list, ")");
}

std::string label_of(const ExchangeInfo::Parts& parts) {
    std::string label = parts.operation;
    if (!parts.dtype.empty()) label += text(" of ", parts.dtype, " ", numbers_text(parts.shape));
    return label + text(" in processes ", numbers_text(parts.group));
}

uint64_t hash_of(const ExchangeInfo::Parts& parts, const std::string& label) {
    return hash_mix(checksum(label), checksum(parts.group.data(), parts.group.size() * sizeof(int64_t)));
}

}  // namespace

ExchangeInfo::ExchangeInfo(Parts parts)
    : parts_(std::move(parts)), label_(label_of(parts_)), hash_(hash_of(parts_, label_)) {}

ExchangeHeader::ExchangeHeader(const ExchangeInfo& info, uint64_t number)
    : hash(info.hash()), sequence(number) {
    std::memcpy(label, info.label().data(), std::min(info.label().size(), sizeof label - 1));
}

void ExchangeHeader::require_same(const ExchangeHeader& theirs, int rank) const {
    if (theirs.hash == hash && theirs.sequence == sequence) return;
    std::string_view their_label(theirs.label, ::strnlen(theirs.label, sizeof theirs.label));
    throw UserError(text("process ", rank, " is at another exchange: '", their_label, "', number ",
                         theirs.sequence, ", here it is '", label, "', number ", sequence,
                         "; all processes of a group have to exchange the same, in the same order, with ",
                         "tensors of one shape and dtype"));
}

}  // namespace mge
