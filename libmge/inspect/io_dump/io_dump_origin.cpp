// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/io_dump/io_dump_origin.h"

#include <charconv>
#include <cstdio>

#include "libmge/graph/origins.h"

namespace mge {
namespace {

constexpr std::string_view plain_signs = "_.-+#()[]";

bool is_plain(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           plain_signs.find(char(c)) != std::string_view::npos;
}

std::string with_hex_codes(std::string_view name) {
    std::string result;
    for (unsigned char c : name) {
        char code[5];
        std::snprintf(code, sizeof code, "\\x%02x", unsigned(c));
        result += is_plain(c) ? std::string(1, char(c)) : code;
    }
    return result;
}

template <class T>
bool read_number(std::string_view text, T& number, int base = 10) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::optional<std::string> unescaped(std::string_view text) {
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            result += text[i];
            continue;
        }
        unsigned char byte = 0;
        if (i + 4 > text.size() || text[i + 1] != 'x' || !read_number(text.substr(i + 2, 2), byte, 16))
            return std::nullopt;
        result += char(byte);
        i += 3;
    }
    return result;
}

// Removes and returns the text up to `sign`, which is removed, too; the whole text without a sign.
std::string_view take_until(std::string_view& text, char sign) {
    size_t end = text.find(sign);
    std::string_view part = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    return part;
}

std::optional<SourceNode> parse_operator(std::string_view text) {
    SourceNode node;
    if (!read_number(take_until(text, '/'), node.id) || node.id < 0) return std::nullopt;
    auto op = unescaped(take_until(text, '/'));
    if (!op || op->empty()) return std::nullopt;
    if (!read_number(take_until(text, '/'), node.outputs) || node.outputs < 1) return std::nullopt;
    auto kind = parse_kind(take_until(text, '/'));
    auto name = unescaped(text);
    if (!kind || !name) return std::nullopt;
    node.kind = *kind;
    node.op = std::move(*op);
    node.name = std::move(*name);
    return node;
}

}  // namespace

std::string origin_text(const DumpedOrigin& origin) {
    std::string result;
    for (auto& value : origin.values)
        result += text(result.empty() ? "" : ",", value.node, ':', value.output);
    for (auto& node : origin.operators)
        result += text(';', node.id, '/', with_hex_codes(node.op), '/', node.outputs, '/',
                       kind_text(node.kind), '/', with_hex_codes(node.name));
    return result;
}

std::optional<DumpedOrigin> parse_origin(std::string_view text, FileBudget& budget) {
    DumpedOrigin result;
    for (std::string_view values = take_until(text, ';'); !values.empty();) {
        std::string_view value = take_until(values, ',');
        ValueOrigin origin;
        if (!read_number(take_until(value, ':'), origin.node) || origin.node < 0 ||
            !read_number(value, origin.output) || origin.output < 0)
            return std::nullopt;
        budget.take(2 * sizeof origin);  // twice, because the list grows by doubling
        result.values.push_back(origin);
    }
    while (!text.empty()) {
        std::string_view part = take_until(text, ';');
        budget.take(2 * sizeof(SourceNode) + part.size());
        auto node = parse_operator(part);
        if (!node) return std::nullopt;
        result.operators.push_back(std::move(*node));
    }
    return result;
}

MatchedOperators::MatchedOperators(const std::vector<SourceNode>& here,
                                   const std::vector<SourceNode>& there) {
    auto matched = match_sources(there, here);
    for (size_t i = 0; i < matched.size(); ++i)
        if (matched[i] >= 0) numbers_[there[i].id] = here[size_t(matched[i])].id;
}

NodeId MatchedOperators::number(NodeId there) const {
    auto it = numbers_.find(there);
    return it == numbers_.end() ? -1 : it->second;
}

std::vector<SourceNode> operators_of(const IoDump& dump) {
    std::map<NodeId, const SourceNode*> all;
    for (auto& record : dump.records)
        for (auto& node : record.origin.operators) all.try_emplace(node.id, &node);
    std::vector<SourceNode> result;
    for (auto& [id, node] : all) result.push_back(*node);
    return result;
}

}  // namespace mge
