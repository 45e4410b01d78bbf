// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/options.h"

#include "libmge/base/error.h"
#include "libmge/tensor/layout.h"

namespace mge {
namespace {

constexpr int max_level = 3, max_record_level = 2, max_log_level = 2, max_async_level = 7;
constexpr std::string_view own_choice = "auto";

[[noreturn]] void contradiction(const char* option, const std::string& what) {
    throw_user(option, what, ErrorClass::value);
}
[[noreturn]] void missing(const char* option, const std::string& reason) {
    throw Error(ErrorCode::device, ErrorClass::not_implemented, text('[', option, "] ", reason));
}

// A recorded list of kernels has fixed addresses and nobody beside it.
void check_recorded(const CompileOptions& o) {
    if (o.fake_next_exec) require_fake_runs(o);
    if (o.force_dynamic_alloc)
        contradiction("comp_node_seq_record_level", "2 contradicts force_dynamic_alloc: addresses are fixed");
    if (o.var_sanity_check_first_run)
        contradiction("comp_node_seq_record_level",
                      "2 contradicts var_sanity_check_first_run, which looks into a run; turn it off");
}

void check_sublinear(const SublinearMemConfig& o) {
    if (o.thresh_nr_try < 0 || o.genetic_nr_iter < 0 || o.num_worker < 0)
        contradiction("sublinear_mem_config", "counts cannot be negative");
    if (o.genetic_nr_iter > 0 && o.genetic_pool_size < 2)
        contradiction("sublinear_mem_config.genetic_pool_size",
                      text(o.genetic_pool_size, " is too small for genetic_nr_iter ", o.genetic_nr_iter,
                           "; at least 2 survive a round"));
}

void check_graph_opt(const GraphOptimization& o) {
    if (o.f16_io_f32_comp && o.f16_io_comp)
        contradiction("graph_opt.f16_io_comp", "contradicts graph_opt.f16_io_f32_comp; set one of them");
    if (o.tensorrt) missing("graph_opt.tensorrt", "there is no TensorRT backend in this build");
    if (o.jit && (*o.jit < 0 || *o.jit > 2))
        contradiction("graph_opt.jit", text(*o.jit, " is not 0, 1 or 2"));
}

}  // namespace

void require_fake_runs(const CompileOptions& o) {
    if (o.comp_node_seq_record_level == max_record_level)
        contradiction("comp_node_seq_record_level",
                      "2 contradicts fake_next_exec: recording takes a run that computes");
}

void check(const CompileOptions& o) {
    check_graph_opt(o.graph_opt);
    check_sublinear(o.sublinear_mem_config);
    if (o.layout != own_choice) Layout::named(o.layout);  // UserError for a name that does not exist
    if (o.level < -max_level || o.level > max_level)
        contradiction("graph_opt_level", text(o.level, " is not between ", -max_level, " and ", max_level));
    if (o.enable_dtr_memory_opt && o.enable_sublinear_memory_opt)
        contradiction("enable_dtr_memory_opt",
                      "contradicts enable_sublinear_memory_opt: both give values up and compute them again");
    if (o.level < 0 && o.enable_dtr_memory_opt)
        contradiction("graph_opt_level",
                      "a level below zero compares every value once, so none may be computed again: it "
                      "contradicts enable_dtr_memory_opt");
    if (o.level < 0 && o.enable_sublinear_memory_opt)
        contradiction("graph_opt_level",
                      "a level below zero compares every value once, so none may be computed again: it "
                      "contradicts enable_sublinear_memory_opt");
    if (o.comp_node_seq_record_level < 0 || o.comp_node_seq_record_level > max_record_level)
        contradiction("comp_node_seq_record_level", text(o.comp_node_seq_record_level, " is not 0, 1 or 2"));
    if (o.comp_node_seq_record_level == max_record_level) check_recorded(o);
    if (o.force_output_use_user_specified_memory && o.force_output_dynamic_alloc)
        contradiction("force_output_use_user_specified_memory",
                      "contradicts force_output_dynamic_alloc: outputs lie in one memory or the other");
    if (o.async_exec_level < 0 || o.async_exec_level > max_async_level)
        contradiction("async_exec_level",
                      text(o.async_exec_level, " is not between 0 and ", max_async_level));
    if (o.log_level < 0 || o.log_level > max_log_level)
        contradiction("log_level", text(o.log_level, " is not 0, 1 or 2"));
}

}  // namespace mge
