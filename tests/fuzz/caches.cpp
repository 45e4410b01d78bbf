// SPDX-License-Identifier: Apache-2.0
// Fast-run caches: the database, its rows, what compiling takes from them; and the caches of MegEngine.
#include <cmath>

#include "libmge/base/error.h"
#include "libmge/compile/program.h"
#include "libmge/kernel/explain_miss.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/model/import/megengine/fastrun_cache.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/models.h"
#include "tests/fuzz/mutate_bytes.h"
#include "tests/kernel/sample_problem.h"

namespace mge::fuzz {
namespace {

// Cached times, else the heuristic: nothing is measured.
CompileOptions options_with(FastrunCache* cache) {
    CompileOptions options;
    options.threads = 1;
    options.select.profile = true;
    options.select.heuristic = true;
    options.select.cache = cache;
    return options;
}

// Gives the bytes of a database that was changed.
class Keep final : public CacheStorage {
public:
    explicit Keep(std::string& file) : file_(file) {}
    void update(const std::function<std::vector<std::byte>(Bytes)>& change) override {
        std::vector<std::byte> changed = change(bytes_of(file_));
        file_ = text_of(changed);
    }

private:
    std::string& file_;
};

std::string database_of(const std::vector<CacheRow>& rows) {
    std::string file;
    FastrunCache::from_storage({}, "input", std::make_unique<Keep>(file))->merge(rows);
    return file;
}

std::vector<CacheRow> rows_of(const std::string& file) {
    return FastrunCache::from_bytes(bytes_of(file), "input")->rows();
}

// The data of fast-run about a problem besides its times.
void store_sample(FastrunCache& cache) {
    const std::string considered[] = {"reference", "packed", "family", "family*", "family:one"};
    cache.store(SampleProblem(3).problem, {{"packed", 0.5, 64, {}}}, considered);
}

const Program& uncached_program() {
    static const auto result = Program::compile(convolution_net(), options_with(nullptr));
    return *result;
}

// A row for each problem of the net.
const std::vector<CacheRow>& sample_rows() {
    static const std::vector<CacheRow> result = [] {
        std::vector<CacheRow> rows;
        for (auto& step : uncached_program().steps())
            rows.push_back(
                {FastrunCache::machine(), step.problem, {step.algorithm, 0.5, 64, {}}, 1'700'000'000});
        return rows;
    }();
    return result;
}

void mutate_row(CacheRow& row, Random& random) {
    constexpr double times[] = {0, -1, 1e-300, 1e300, 0.25, INFINITY};
    auto& known = sample_rows();
    auto& m = row.measured;
    switch (random.below(6)) {
        case 0:
            m.name = random.one_in(2) ? hostile_name(random) : random.pick(known).measured.name;
            return;
        case 1:
            m.milliseconds = random.pick(times);
            return;
        case 2:
            m.workspace = size_t(random.bits()) << random.below(31);
            return;
        case 3:
            row.measured_at = int64_t(random.bits()) << random.below(32);
            return;
        case 4:
            m.attributes = {random.one_in(2), random.one_in(2), random.one_in(2), random.one_in(2),
                            random.one_in(2)};
            return;
        default:
            row.problem = random.pick(known).problem;
            mutate_text(row.problem, random);
    }
}

bool is_database(Bytes input) { return text_of(input).starts_with("SQLite format 3"); }

void use_database(Bytes input) {
    auto cache = FastrunCache::from_bytes(input, "input");
    auto rows = cache->rows();
    cache->verify();
    cache->considered(SampleProblem(3).problem);
    store_sample(*cache);
    for (auto& step : uncached_program().steps())
        explain_miss(rows, FastrunCache::machine(), step.problem, {});
    FastrunCache::in_memory()->merge(rows);
    Context::create(Program::compile(convolution_net(), options_with(cache.get())))->run();
}

}  // namespace

void try_input(Bytes input) {
    if (is_database(input)) return use_database(input);
    FastrunCache::in_memory()->merge(megengine::parse_fastrun_cache(input, "input"));
}

std::vector<std::string> seeds() {
    std::vector<std::string> result = data_files("fuzz/caches");
    std::string file = database_of(sample_rows());
    store_sample(*FastrunCache::from_storage(bytes_of(file), "input", std::make_unique<Keep>(file)));
    result.push_back(file);
    return result;
}

void mutate(std::string& input, Random& random) {
    if (!is_database(bytes_of(input)) || random.one_in(3)) return mutate_bytes(input, random);
    try {
        auto rows = rows_of(input);
        if (rows.empty() || random.one_in(8)) rows.push_back(random.pick(sample_rows()));
        mutate_row(random.pick(rows), random);
        if (std::string again = database_of(rows); again.size() <= largest_input) input = again;
    } catch (const Error&) {
        mutate_bytes(input, random);
    }
}

}  // namespace mge::fuzz
