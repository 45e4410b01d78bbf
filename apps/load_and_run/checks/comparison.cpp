// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/checks/comparison.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "apps/cli/files/array_file.h"
#include "apps/cli/files/model_part.h"
#include "libmge/base/files/file.h"
#include "libmge/graph/origins.h"
#include "libmge/inspect/inside_values.h"
#include "libmge/inspect/value_names.h"
#include "libmge/model/crypt/crypto_error.h"
#include "libmge/model/crypt/encrypted_file.h"
#include "libmge/model/open.h"
#include "libmge/op/apply.h"
#include "libmge/passes/channel_order.h"

namespace mge::load_and_run {
namespace {

bool starts_like_zip(std::span<const std::byte> bytes) {
    return bytes.size() >= 4 && std::memcmp(bytes.data(), "PK\x03\x04", 4) == 0;
}

// The file of --compare, on disk or decrypted.
class ReferenceFile {
public:
    enum class Kind { arrays, dump, model };

    // Without --compare it is the subject's model.
    ReferenceFile(const CheckOptions& checks, const Subject& subject)
        : path_(checks.compare), how_(cli::open_options(checks.compare_keys, &subject.keys.key)) {
        if (path_.empty()) return;
        std::error_code unknown;  // opening it reports a better error
        bool is_folder = std::filesystem::is_directory(path_, unknown);
        if (!is_folder && is_encrypted_file(path_)) {
            decrypt();
            return;
        }
        kind_ = kind_on_disk();
        auto& keys = checks.compare_keys;
        if (kind_ != Kind::model && (keys.key.are_given() || !keys.cipher.empty()))
            throw CryptoError(text("'", path_, "' is not encrypted, although a key was given for it"));
    }

    Kind kind() const { return kind_; }
    Model model() const {
        if (!content_) return open_model(path_, how_);
        return open_model(ModelBytes{content_->span(), content_, path_});
    }
    std::vector<std::string> names() const {
        if (content_) return cli::npz_names(*content_, path_);
        if (kind_ == Kind::arrays) return cli::npz_names(path_);
        std::vector<std::string> names;
        for (auto& record : read_io_dump(path_, false).records) names.push_back(record.name);
        return names;
    }
    Tensor array(const std::string& name) const {
        return content_ ? cli::read_npz_array(*content_, path_, name) : cli::read_npz_array(path_, name);
    }
    // For a caller that identifies operators by their index in `operators`, which must outlive the result.
    std::unique_ptr<Reference> values(const std::vector<SourceNode>& operators) const {
        if (kind_ == Kind::dump) return dump_reference(path_, operators);
        return stored_reference(names(), [this](const std::string& name) { return array(name); });
    }

private:
    Kind kind_on_disk() const {
        if (path_.ends_with(".npz")) return Kind::arrays;
        if (is_io_dump(path_)) return Kind::dump;
        return starts_like_zip(MappedFile::open(path_)->bytes()) ? Kind::arrays : Kind::model;
    }
    void decrypt() {
        content_ =
            std::make_shared<SecretBytes>(decrypt_to_memory(path_, FileCipher{container_cipher, how_.key}));
        if (starts_like_zip(*content_))
            kind_ = Kind::arrays;
        else if (!recognise_model(*content_))
            throw ModelError(text("'", path_,
                                  "': its decrypted content is neither a model nor an .npz archive; "
                                  "decrypt other references first"));
    }

    std::string path_;
    OpenOptions how_;
    Kind kind_ = Kind::model;
    std::shared_ptr<const SecretBytes> content_;
};
using Kind = ReferenceFile::Kind;

// The input of a model that corresponds to input i of another: the one of the same name, else of the same
// index.
size_t position_of_input(const Graph& here, const Graph& other, size_t i) {
    auto& name = other.value(other.inputs()[i]).name;
    for (size_t at = 0; at < here.inputs().size(); ++at)
        if (here.value(here.inputs()[at]).name == name) return at;
    return i;
}

// The subject's inputs in the order of another model.
Tensors inputs_for(const Graph& graph, const Subject& subject) {
    Tensors result;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
        auto& wanted = graph.value(graph.inputs()[i]);
        size_t at = position_of_input(subject.model.graph, graph, i);
        if (at >= subject.inputs.size())
            throw_value_error("--compare", "the other model has an input '", wanted.name,
                              "', but this model does not");
        Tensor input = subject.inputs[at];
        if (input.dtype() != wanted.spec.dtype && is_float(input.dtype()) && is_float(wanted.spec.dtype))
            input = convert_dtype(input, wanted.spec.dtype);
        result.push_back(std::move(input));
    }
    return result;
}

// The model of --compare, or the subject's own; and how it is compiled.
struct OtherModel {
    OtherModel(const CheckOptions& checks, const Subject& subject, const ReferenceFile& file)
        : is_same(checks.compare.empty()),
          model(is_same ? subject.model : file.model()),
          options(compile_variant(checks.compare_with, subject.options)),
          inputs(inputs_for(model.graph, subject)) {
        // A plan of the subject is not one of the other.
        if (!is_same || !checks.compare_with.empty()) options.algorithms.clear();
    }

    bool is_same;
    Model model;
    CompileOptions options;
    Tensors inputs;
};

struct OtherOutput {
    std::string name;
    Tensor value;
    bool is_rounded_to_half;
};

std::vector<OtherOutput> outputs_of(const OtherModel& other) {
    auto program = Program::compile(other.model.graph, specs_of(other.inputs), other.options);
    auto context = Context::create(program);
    context->fill_inputs(other.inputs);
    context->run();
    context->wait();
    auto halves = behind_halves(*program);
    std::vector<OtherOutput> result;
    for (size_t i = 0; i < program->outputs().size(); ++i) {
        auto& port = program->outputs()[i];
        result.push_back({port.name, context->copy_output(i), halves[size_t(port.value)]});
    }
    return result;
}

Tolerance tolerance_of(Tolerance tolerance, bool is_rounded_to_half) {
    tolerance.is_rounded_to_half = is_rounded_to_half;
    return tolerance;
}

// Compares while a program runs: results of steps as soon as they exist, so that no result has to be kept.
class CompareObserver final : public StepObserver {
public:
    CompareObserver(std::shared_ptr<const Program> program, Reference& reference, ComparedRun& run)
        : program_(std::move(program)), reference_(reference), run_(run), labels_(value_labels(*program_)) {
        // The names of the ports are the names in files of outputs.
        for (auto& port : program_->outputs()) {
            labels_[size_t(port.value)] = port.name;
            ports_[port.name] = port.value;
        }
    }
    void after_step(size_t step, Context& context) override {
        for (ValueId id : program_->steps()[step].outputs) compare(id, context);
    }
    void finish(Context& context) {
        for (auto& port : program_->outputs()) compare(port.value, context);
    }
    StepObserver* inside(const InnerRun& run, Context& inner) override { return inside_.at(run, inner); }
    // The compared values, by their names in both models.
    const std::set<std::string>& seen() const { return seen_; }
    const std::set<std::string>& seen_here() const { return seen_here_; }

private:
    void compare(ValueId id, Context& context) {
        auto& value = program_->values()[size_t(id)];
        for (auto& origin : value.origins) compare(id, origin_key(origin), labels_[size_t(id)], context);
        compare_name(id, labels_[size_t(id)], context);
        for (auto& other : value.other_names) compare_name(id, other, context);
    }
    void compare_name(ValueId id, const std::string& name, Context& context) {
        // Several operators may originate from one operator of another engine's file, with its name: the
        // output has that name.
        if (auto port = ports_.find(name); port != ports_.end() && port->second != id) return;
        compare(id, name, name, context);
    }
    void compare(ValueId id, const std::string& key, const std::string& name, Context& context) {
        if (!reference_.has(key) || seen_.contains(reference_.name(key))) return;
        Tensor value = context.value(id);
        if (!value) return;
        seen_.insert(reference_.name(key));
        seen_here_.insert(name);
        // The context may be of a graph inside of an operator.
        auto& program = context.program();
        Tensor plain = in_source_order(program.graph(), id, plain_on_host(value));
        auto tolerance = tolerance_of(run_.tolerance, halves_of(program)[size_t(id)]);
        if (auto comparison = reference_.compare(key, plain, tolerance))
            run_.values.push_back({name, plain.spec(), *comparison});
    }

    const std::vector<bool>& halves_of(const Program& program) {
        auto [it, is_new] = halves_.try_emplace(&program);
        if (is_new) it->second = behind_halves(program);
        return it->second;
    }

    std::shared_ptr<const Program> program_;
    Reference& reference_;
    ComparedRun& run_;
    std::vector<std::string> labels_;
    std::map<const Program*, std::vector<bool>> halves_;  // by value
    std::map<std::string, ValueId> ports_;
    std::set<std::string> seen_, seen_here_;
    // Values inside operators with inner graphs are identified by their paths.
    InsideValues inside_{
        [this](const InsideValue& value) { compare(value.id, value.name(), value.name(), value.context); }};
};

// numpy.savez without names calls its arrays arr_0, arr_1, …: as many as there are outputs are the outputs.
bool are_positional(const std::vector<std::string>& names, size_t outputs) {
    if (names.size() != outputs) return false;
    for (size_t i = 0; i < outputs; ++i)
        if (std::find(names.begin(), names.end(), text("arr_", i)) == names.end()) return false;
    return true;
}

void compare_with_values(const ReferenceFile& file, const std::shared_ptr<const Program>& program,
                         Context& context, ComparedRun& run) {
    auto names = file.names();
    if (file.kind() == Kind::arrays && are_positional(names, program->outputs().size())) {
        auto halves = behind_halves(*program);
        for (size_t i = 0; i < names.size(); ++i) {
            Tensor got = context.copy_output(i);
            auto& port = program->outputs()[i];
            auto tolerance = tolerance_of(run.tolerance, halves[size_t(port.value)]);
            run.values.push_back(
                {port.name, got.spec(), compare_tensors(got, file.array(text("arr_", i)), tolerance)});
        }
        run.comparable = names.size();
        return;
    }
    auto reference = file.values(program->sources());
    CompareObserver observer(program, *reference, run);
    context.observe(&observer);
    context.run();
    context.wait();
    context.observe(nullptr);
    observer.finish(context);
    for (auto& name : names)
        if (!observer.seen().contains(name)) run.only_in_reference.push_back(name);
    run.comparable = std::set(names.begin(), names.end()).size();
    for (auto& port : program->outputs())
        if (!observer.seen_here().contains(port.name)) run.only_here.push_back(port.name);
}

void compare_with_outputs(const OtherModel& other, const std::shared_ptr<const Program>& program,
                          Context& context, ComparedRun& run) {
    auto expected = outputs_of(other);
    std::vector<bool> is_used(expected.size()), halves = behind_halves(*program);
    for (size_t i = 0; i < program->outputs().size(); ++i) {
        auto& name = program->outputs()[i].name;
        auto it = std::find_if(expected.begin(), expected.end(), [&](auto& e) { return e.name == name; });
        // Names are often lost when a model is written again; the order of outputs is not.
        if (it == expected.end() && expected.size() == program->outputs().size())
            it = expected.begin() + ptrdiff_t(i);
        if (it == expected.end()) {
            run.only_here.push_back(name);
            continue;
        }
        is_used[size_t(it - expected.begin())] = true;
        Tensor got = context.copy_output(i);
        bool is_behind = it->is_rounded_to_half || halves[size_t(program->outputs()[i].value)];
        auto tolerance = tolerance_of(run.tolerance, is_behind);
        run.values.push_back({name, got.spec(), compare_tensors(got, it->value, tolerance)});
    }
    for (size_t i = 0; i < expected.size(); ++i)
        if (!is_used[i]) run.only_in_reference.push_back(expected[i].name);
    run.comparable = expected.size();
}

std::string first_quoted(const std::vector<std::string>& names) {
    constexpr size_t most = 8;
    std::string result;
    for (size_t i = 0; i < std::min(names.size(), most); ++i) result += (i ? ", '" : "'") + names[i] + "'";
    return names.size() > most ? result + ", ..." : result;
}

std::string description(const CheckOptions& checks) {
    if (checks.compare.empty()) return checks.compare_with;
    return checks.compare_with.empty() ? checks.compare : checks.compare + " (" + checks.compare_with + ")";
}

}  // namespace

CompileOptions compile_variant(const std::string& how, CompileOptions options) {
    size_t start = 0;
    auto value_of = [](const std::string& word, std::string_view key) -> std::optional<std::string> {
        if (!word.starts_with(key)) return std::nullopt;
        return word.substr(key.size());
    };
    auto number = [](const std::string& digits, const std::string& word) {
        if (digits.empty() || digits.size() > 4 ||
            digits.find_first_not_of("0123456789") != std::string::npos)
            throw_value_error("--compare-with", "'", word, "' has no number");
        return std::stoi(digits);
    };
    while (start < how.size()) {
        size_t comma = std::min(how.find(',', start), how.size());
        std::string word = how.substr(start, comma - start);
        start = comma + 1;
        SelectOptions& select = options.select;
        if (word == "reference") {
            select = {.reference = true};
            options.level = 0;
            options.layout = "nchw";
        } else if (word == "heuristic") {
            select = {};
        } else if (word == "fast-run") {
            select.profile = select.optimized = true;
            select.heuristic = select.reference = false;
        } else if (word == "reproducible") {
            select.reproducible = true;
        } else if (auto level = value_of(word, "level=")) {
            options.level = number(*level, word);
        } else if (auto layout = value_of(word, "layout=")) {
            options.layout = *layout;
            if (*layout != "auto" && *layout != "nchw") Layout::named(*layout);  // or an error
        } else if (auto threads = value_of(word, "threads=")) {
            options.threads = std::max(1, number(*threads, word));
        } else if (auto precision = value_of(word, "precision=")) {
            constexpr std::string_view names[] = {"strict", "relaxed", "fast"};
            auto it = std::find(std::begin(names), std::end(names), *precision);
            if (it == std::end(names))
                throw_value_error("--compare-with", "'", word,
                                  "' is not one of precision=strict, relaxed, fast");
            options.precision = Precision(it - std::begin(names));
        } else {
            throw_value_error("--compare-with", "'", word,
                              "' is not one of reference, heuristic, fast-run, reproducible, level=N, "
                              "layout=NAME, precision=NAME, threads=N");
        }
    }
    return options;
}

ComparedRun compare_run(const CheckOptions& checks, const Subject& subject,
                        const std::shared_ptr<const Program>& program, Context& context) {
    ComparedRun run{description(checks), checks.tolerance(), 0, {}, {}, {}};
    ReferenceFile file(checks, subject);
    if (file.kind() == Kind::model)
        compare_with_outputs(OtherModel(checks, subject, file), program, context, run);
    else if (!checks.compare_with.empty())
        throw_value_error("--compare-with", "'", checks.compare,
                          "' holds values, not a model that can be compiled");
    else
        compare_with_values(file, program, context, run);
    if (run.values.empty())
        throw_value_error("--compare", "'", run.reference, "' and the model have no value in common: it has ",
                          first_quoted(run.only_in_reference), ", the model's outputs are ",
                          first_quoted(run.only_here));
    return run;
}

const ComparedValue* ComparedRun::first_failed() const {
    auto it = std::find_if(values.begin(), values.end(), [](auto& v) { return !v.comparison.passed(); });
    return it == values.end() ? nullptr : &*it;
}

namespace {

// The numbers of the other network's operators in this one's, and of its inputs.
struct Correspondence {
    std::vector<NodeId> numbers;
    std::vector<size_t> inputs;
    bool is_same;  // operator by operator
};

Correspondence correspond(const Graph& here, const Graph& other) {
    auto &ours = *here.source_nodes(), &theirs = *other.source_nodes();
    Correspondence result;
    result.numbers = match_sources(theirs, ours);
    result.is_same = ours.size() == theirs.size() &&
                     std::ranges::none_of(result.numbers, [](NodeId id) { return id < 0; });
    for (size_t i = 0; i < other.inputs().size(); ++i)
        result.inputs.push_back(position_of_input(here, other, i));
    return result;
}

FirstDifference walk_with_model(const CheckOptions& checks, const Subject& subject, const ReferenceFile& file,
                                const Graph& graph) {
    OtherModel other(checks, subject, file);
    Graph other_graph = name_values(other.model.graph);
    auto how = correspond(graph, other_graph);
    LayerWalk walk(graph, subject.options, subject.inputs);
    auto other_walk = std::make_unique<LayerWalk>(other_graph, other.options, other.inputs);
    auto keys = keys_by_origin(walk.graph());
    auto other_keys = keys_by_origin(other_walk->graph(), how.numbers, how.inputs);
    auto reference = walk_reference(std::move(other_walk), std::move(other_keys), last_uses(walk, keys));
    return find_first_difference(walk, *reference, keys, checks.tolerance(), !how.is_same);
}

}  // namespace

WalkedDifference walk_to_first_difference(const CheckOptions& checks, const Subject& subject) {
    WalkedDifference walked{description(checks), checks.tolerance(), {}};
    Graph graph = name_values(subject.model.graph);
    ReferenceFile file(checks, subject);
    if (file.kind() == Kind::model) {
        walked.result = walk_with_model(checks, subject, file, graph);
    } else {
        LayerWalk walk(graph, subject.options, subject.inputs);
        auto reference = file.values(*walk.graph().source_nodes());
        walked.result =
            find_first_difference(walk, *reference, keys_for_files(walk.graph()), walked.tolerance);
    }
    if (walked.result.compared == 0)
        throw_value_error("--first-diff", "'", walked.reference,
                          "' and the model have no value in common to compare");
    return walked;
}

namespace {

Tensors values_of_file(const ReferenceFile& file, const Graph& graph, const std::vector<ValueId>& wanted) {
    auto reference = file.values(*graph.source_nodes());
    auto keys = keys_for_files(graph);
    Tensors result;
    for (ValueId id : wanted) {
        auto known = [&](auto& key) { return reference->has(key); };
        auto key = std::ranges::find_if(keys[size_t(id)], known);
        result.push_back(key == keys[size_t(id)].end() ? Tensor{} : reference->load(*key));
    }
    return result;
}

}  // namespace

Tensors reference_values(const CheckOptions& checks, const Subject& subject, const Graph& graph,
                         const std::vector<ValueId>& wanted) {
    ReferenceFile file(checks, subject);
    if (file.kind() != Kind::model) return values_of_file(file, graph, wanted);
    OtherModel other(checks, subject, file);
    Graph other_graph = name_values(other.model.graph);
    auto how = correspond(graph, other_graph);
    auto keys = keys_by_origin(graph), other_keys = keys_by_origin(other_graph, how.numbers, how.inputs);
    std::map<std::string, ValueId> by_key;
    for (size_t id = 0; id < other_keys.size(); ++id)
        for (auto& key : other_keys[id]) by_key.emplace(key, ValueId(id));
    std::vector<ValueId> found;
    std::vector<size_t> positions;
    for (size_t i = 0; i < wanted.size(); ++i)
        for (auto& key : keys[size_t(wanted[i])])
            if (auto at = by_key.find(key); at != by_key.end()) {
                found.push_back(at->second);
                positions.push_back(i);
                break;
            }
    Tensors values = cli::values_of(other_graph, other.options, other.inputs, found), result(wanted.size());
    for (size_t i = 0; i < found.size(); ++i) result[positions[i]] = values[i];
    return result;
}

void check_reference(const CheckOptions& checks, const Subject& subject) {
    if (checks.compare.empty()) return;
    ReferenceFile file(checks, subject);
    if (file.kind() != Kind::model) return;
    OtherModel other(checks, subject, file);
    try {
        infer_shapes(other.model.graph, specs_of(other.inputs));
    } catch (const UserError& e) {
        throw_user("--compare", text("'", checks.compare, "' does not accept these inputs: ", e.what()),
                   e.error_class());
    }
}

}  // namespace mge::load_and_run
