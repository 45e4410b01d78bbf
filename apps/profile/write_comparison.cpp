// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/diff.h"
#include "apps/profile/page.h"
#include "apps/profile/text.h"
#include "libmge/base/json_writer.h"

namespace mge::profile {
namespace {

void write_side(JsonWriter& json, std::string_view key, const Profile& profile, double total) {
    json.object_member(key, [&] {
        json.member("model", profile.model);
        json.member("origin", origin_text(profile));
        write_recording(json, profile);
        json.member("total", total);
    });
}

}  // namespace

void write_comparison(std::ostream& stream, const Comparison& comparison, const Profile& before,
                      const Profile& after) {
    stream << compare_page.before_data;
    JsonWriter json(stream, true);
    json.object([&] {
        write_side(json, "before", before, comparison.total_before);
        write_side(json, "after", after, comparison.total_after);
        json.objects_member("recorded", comparison.recorded, [&](const Difference& difference) {
            json.member("name", difference.name);
            json.member("before", difference.before);
            json.member("after", difference.after);
        });
        json.list_member("changes", comparison.changes, [&](const Change& change) {
            json.object_on_line([&] {
                json.member("name", change.name);
                json.member("type", change.type);
                json.member("count_before", change.count_before);
                json.member("count_after", change.count_after);
                json.member("before", change.time_before);
                json.member("after", change.time_after);
                json.member("difference", change.difference());
                json.member("algorithm_before", change.algorithm_before);
                json.member("algorithm_after", change.algorithm_after);
            });
        });
    });
    stream << compare_page.after_data;
}

}  // namespace mge::profile
