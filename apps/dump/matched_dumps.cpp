// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/matched_dumps.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "apps/cli/tool.h"
#include "libmge/inspect/io_dump/io_dump_origin.h"
#include "libmge/inspect/value_names.h"

namespace mge::dump {
namespace {

using Keys = std::vector<std::string>;
using KeysOf = std::function<Keys(const DumpRecord&)>;  // best first; empty if the record cannot match

struct Keyed {
    const DumpRecord* record;
    Keys keys;
    std::string label;  // for messages
};

// Values may occur once per run: n-th occurrences match each other.
std::vector<Keyed> keyed(const IoDump& dump, const KeysOf& keys, bool by_file) {
    std::vector<Keyed> result;
    std::map<std::string, int> seen, seen_labels;
    auto count = [](std::map<std::string, int>& counts, std::string& key) {
        if (int n = counts[key]++; n > 0) key += text(" (", n + 1, ")");
    };
    for (auto& record : dump.records) {
        Keyed each{&record, keys(record), by_file ? record.file : record.name};
        for (auto& key : each.keys) count(seen, key);
        count(seen_labels, each.label);
        result.push_back(std::move(each));
    }
    return result;
}

MatchedDumps match(const std::vector<Keyed>& a, const std::vector<Keyed>& b) {
    MatchedDumps result;
    std::map<std::string, size_t> in_b;
    for (size_t i = 0; i < b.size(); ++i)
        for (auto& key : b[i].keys) in_b.try_emplace(key, i);
    std::vector<bool> is_matched(b.size());
    for (auto& each : a) {
        // Several values of the other dump may correspond to this one: they are equal.
        std::set<size_t> partners;
        for (auto& key : each.keys)
            if (auto it = in_b.find(key); it != in_b.end()) partners.insert(it->second);
        for (size_t partner : partners) {
            result.pairs.push_back({each.record, b[partner].record});
            is_matched[partner] = true;
        }
        if (partners.empty()) result.only_in_a.push_back(each.label);
    }
    for (size_t i = 0; i < b.size(); ++i)
        if (!is_matched[i]) result.only_in_b.push_back(b[i].label);
    return result;
}

MatchedDumps match_labels(const IoDump& a, const IoDump& b, bool by_file) {
    auto keys = [by_file](const DumpRecord& record) { return Keys{by_file ? record.file : record.name}; };
    return match(keyed(a, keys, by_file), keyed(b, keys, by_file));
}

bool has_origins(const IoDump& dump) {
    return std::ranges::any_of(dump.records, [](auto& record) { return !record.origin.values.empty(); });
}

bool is_nameless(const DumpRecord& record) {
    return record.owner_type == "ImmutableTensor" && record.name.starts_with("constant#");
}

// Other values than results of operators have user-defined names. Values that a pass created do not match.
Keys own_name(const DumpRecord& record) {
    bool is_given = record.owner_type == "Host2DeviceCopy" || record.owner_type == "ImmutableTensor";
    return is_given ? Keys{record.name} : Keys{};
}

MatchedDumps match_origins(const IoDump& a, const IoDump& b) {
    MatchedOperators operators(operators_of(a), operators_of(b));
    auto keys = [](const DumpRecord& record, auto number_of) {
        if (record.origin.values.empty()) return own_name(record);
        Keys result;
        for (auto& origin : record.origin.values)
            if (NodeId number = number_of(origin.node); number >= 0)
                result.push_back(origin_key({number, origin.output}));
        return result;
    };
    auto in_a = [&](const DumpRecord& record) { return keys(record, std::identity()); };
    auto in_b = [&](const DumpRecord& record) {
        return keys(record, [&](NodeId there) { return operators.number(there); });
    };
    auto of_a = keyed(a, in_a, false), of_b = keyed(b, in_b, false);
    // Weights without a name are not compared; --match name compares them.
    for (auto* all : {&of_a, &of_b})
        std::erase_if(*all, [](auto& each) { return is_nameless(*each.record); });
    return match(of_a, of_b);
}

bool has_same_files(const IoDump& a, const IoDump& b) {
    return !a.is_text && !b.is_text &&
           std::ranges::equal(a.records, b.records, {}, &DumpRecord::file, &DumpRecord::file);
}

// True if the dumps look like two runs of one program.
bool is_same_program(const IoDump& a, const IoDump& b) {
    return std::ranges::equal(a.records, b.records, [](const DumpRecord& x, const DumpRecord& y) {
        return x.id == y.id && x.name == y.name && x.inputs == y.inputs &&
               x.origin.values == y.origin.values && x.origin.operators == y.origin.operators;
    });
}

}  // namespace

MatchedDumps match_dumps(const IoDump& a, const IoDump& b, const std::string& how) {
    if (how == "file" && (a.is_text || b.is_text))
        throw cli::UsageError("--match file needs two binary dumps", "omit it, or give two folders");
    bool have_origins = has_origins(a) && has_origins(b);
    if (how == "origin" && !have_origins)
        throw cli::UsageError("--match origin needs dumps that record the origins of values",
                              "load_and_run writes such dumps; MegEngine's are matched by name");
    // Two single files are compared whatever their names.
    if (!a.is_text && !b.is_text && a.records.size() == 1 && b.records.size() == 1)
        return {{{&a.records[0], &b.records[0]}}, {}, {}};
    if (how == "origin" || (how == "auto" && have_origins && !is_same_program(a, b)))
        return match_origins(a, b);
    return match_labels(a, b, how == "file" || (how == "auto" && has_same_files(a, b)));
}

}  // namespace mge::dump
