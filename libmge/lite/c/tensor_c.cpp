// SPDX-License-Identifier: Apache-2.0
#include "lite-c/tensor_c.h"

#include "libmge/base/text.h"
#include "libmge/lite/c/call.h"
#include "libmge/lite/c/structs.h"

using namespace lite;
using namespace lite::c;

namespace {

LiteTensor handle_of_new(std::shared_ptr<Tensor> tensor) {
    return tensors().add(std::make_shared<TensorObject>(TensorObject{std::move(tensor), false}));
}

std::vector<size_t> vector_of(std::span<const size_t> numbers) { return {numbers.begin(), numbers.end()}; }

}  // namespace

int LITE_make_tensor(const LiteTensorDesc tensor_describe, LiteTensor* tensor) {
    return run(__func__, [&](const Call& call) {
        auto& result = call.given(tensor, "tensor");
        auto& describe = tensor_describe;
        result =
            handle_of_new(std::make_shared<Tensor>(describe.device_id, describe.device_type,
                                                   layout_of(describe.layout), describe.is_pinned_host != 0));
    });
}

int LITE_destroy_tensor(LiteTensor tensor) {
    return run(__func__, [&](const Call& call) {
        call.pointer(tensor, "tensor");
        auto held = tensors().hold(tensor);
        if (held.get() && !held.get()->is_networks) tensors().remove(tensor);
    });
}

int LITE_set_tensor_layout(LiteTensor tensor, const LiteLayout layout) {
    return run(__func__, [&](const Call& call) { call.tensor(tensor).set_layout(layout_of(layout)); });
}

int LITE_reset_tensor_memory(LiteTensor tensor, void* prepared_data, size_t data_length_in_byte) {
    return run(__func__, [&](const Call& call) {
        auto& target = call.tensor(tensor);
        call.pointer(prepared_data, "prepared_data");
        target.reset(prepared_data, data_length_in_byte);
    });
}

int LITE_reset_tensor(LiteTensor tensor, const LiteLayout layout, void* prepared_data) {
    return run(__func__, [&](const Call& call) {
        auto& target = call.tensor(tensor);
        call.pointer(prepared_data, "prepared_data");
        target.reset(prepared_data, layout_of(layout));
    });
}

int LITE_tensor_reshape(LiteTensor tensor, const int* shape, int size) {
    return run(__func__, [&](const Call& call) {
        auto& target = call.tensor(tensor);
        if (size < 0) throw Error(mge::text("LITE_tensor_reshape: the argument 'size' is ", size));
        auto numbers = call.per_dimension(shape, static_cast<size_t>(size), "shape");
        target.reshape({numbers.begin(), numbers.end()});
    });
}

int LITE_tensor_slice(const LiteTensor tensor, const size_t* start, const size_t* end, const size_t* step,
                      size_t size, LiteTensor* slice_tensor) {
    return run(__func__, [&](const Call& call) {
        auto& source = call.tensor(tensor);
        auto& result = call.given(slice_tensor, "slice_tensor");
        auto from = call.per_dimension(start, size, "start"), to = call.per_dimension(end, size, "end");
        auto by = step ? std::span(step, size) : std::span<const size_t>();
        result = handle_of_new(source.slice(vector_of(from), vector_of(to), vector_of(by)));
    });
}

int LITE_tensor_fill_zero(LiteTensor tensor) {
    return run(__func__, [&](const Call& call) { call.tensor(tensor).fill_zero(); });
}

int LITE_tensor_copy(LiteTensor dst_tensor, const LiteTensor src_tensor) {
    return run(__func__, [&](const Call& call) {
        auto& target = call.tensor(dst_tensor, "dst_tensor");
        target.copy_from(call.tensor(src_tensor, "src_tensor"));
    });
}

int LITE_tensor_share_memory_with(LiteTensor dst_tensor, const LiteTensor src_tensor) {
    return run(__func__, [&](const Call& call) {
        auto& target = call.tensor(dst_tensor, "dst_tensor");
        target.share_memory_with(call.tensor(src_tensor, "src_tensor"));
    });
}

int LITE_tensor_concat(LiteTensor* tensors, int nr_tensor, int dim, LiteDeviceType dst_device, int device_id,
                       LiteTensor* result_tensor) {
    return run(__func__, [&](const Call& call) {
        auto& result = call.given(result_tensor, "result_tensor");
        if (nr_tensor < 0)
            throw Error(mge::text("LITE_tensor_concat: the argument 'nr_tensor' is ", nr_tensor));
        std::vector<Tensor> list;
        for (LiteTensor handle : call.list(tensors, static_cast<size_t>(nr_tensor), "tensors"))
            list.push_back(call.tensor(handle, mge::text("tensors[", list.size(), ']').c_str()));
        result = handle_of_new(TensorUtils::concat(list, dim, dst_device, device_id));
    });
}

int LITE_get_tensor_memory(const LiteTensor tensor, void** data) {
    return tensor_fact(__func__, tensor, data, "data", [](auto& from) { return from.get_memory_ptr(); });
}

int LITE_get_tensor_memory_with_index(const LiteTensor tensor, const size_t* index, size_t size,
                                      void** data) {
    return run(__func__, [&](const Call& call) {
        auto& source = call.tensor(tensor);
        auto& result = call.given(data, "data");
        result = source.get_memory_ptr(vector_of(call.per_dimension(index, size, "index")));
    });
}

int LITE_get_tensor_total_size_in_byte(const LiteTensor tensor, size_t* size) {
    return tensor_fact(__func__, tensor, size, "size",
                       [](auto& from) { return from.get_tensor_total_size_in_byte(); });
}

int LITE_get_tensor_layout(const LiteTensor tensor, LiteLayout* layout) {
    return tensor_fact(__func__, tensor, layout, "layout",
                       [](auto& from) { return layout_of(from.get_layout()); });
}

int LITE_get_tensor_device_type(const LiteTensor tensor, LiteDeviceType* device_type) {
    return tensor_fact(__func__, tensor, device_type, "device_type",
                       [](auto& from) { return from.get_device_type(); });
}

int LITE_get_tensor_device_id(const LiteTensor tensor, int* device_id) {
    return tensor_fact(__func__, tensor, device_id, "device_id",
                       [](auto& from) { return from.get_device_id(); });
}

int LITE_is_pinned_host(const LiteTensor tensor, int* is_pinned_host) {
    return tensor_fact(__func__, tensor, is_pinned_host, "is_pinned_host",
                       [](auto& from) { return from.is_pinned_host(); });
}

int LITE_is_memory_continue(const LiteTensor tensor, int* is_continue) {
    return tensor_fact(__func__, tensor, is_continue, "is_continue",
                       [](auto& from) { return from.is_continue_memory(); });
}
