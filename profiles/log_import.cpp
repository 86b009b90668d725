#include "profiles/log_import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "profiles/log_reader.hpp"

namespace tutti {

const std::vector<LogFormat>& log_formats() {
  static const std::vector<LogFormat> all = {nccl_json_log(), json_lines_log(), nccl_tests_log(),
                                             osu_log(),       imb_log(),        gloo_log(),
                                             csv_log()};
  return all;
}

SampleSet import_log(std::string_view text, const std::string& file, const LogOptions& options) {
  if (text.size() > maximum_import_bytes) {
    refuse_log(file, {},
               fmt::format("has {} bytes, expected at most {}", text.size(), maximum_import_bytes));
  }
  const std::vector<LogFormat>& all = log_formats();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const LogFormat& format) { return format.recognises(text); });
  if (found != all.end()) return found->import(text, file, options);
  std::string known;
  for (const LogFormat& format : all) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", format.description);
  }
  refuse_log(file, {}, fmt::format("looks like none of the logs that can be read: {}", known));
}

}  // namespace tutti
