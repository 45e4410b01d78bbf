// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <typeindex>
#include <utility>

namespace mge {

// A container with at most one object of each type.
class UserData {
public:
    // The one of this type, made at the first call.
    template <class T>
    T& get() {
        std::lock_guard lock(mutex_);
        auto& object = objects_[typeid(T)];
        if (!object) object = std::make_shared<T>();
        return *static_cast<T*>(object.get());
    }
    // Takes the place of the one of this type.
    template <class T>
    T& put(T object) {
        auto made = std::make_shared<T>(std::move(object));
        std::lock_guard lock(mutex_);
        objects_[typeid(T)] = made;
        return *made;
    }
    // Null if there is no such object.
    template <class T>
    T* find() {
        std::lock_guard lock(mutex_);
        auto it = objects_.find(typeid(T));
        return it == objects_.end() ? nullptr : static_cast<T*>(it->second.get());
    }

private:
    std::mutex mutex_;
    std::map<std::type_index, std::shared_ptr<void>> objects_;
};

}  // namespace mge
