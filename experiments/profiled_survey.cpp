#include "experiments/profiled_survey.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "experiments/measure.hpp"
#include "experiments/output.hpp"
#include "profiles/predict.hpp"
#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

Survey predicted_once(const Question& question, const Profile& profile) {
  return survey_question(question, [&](std::size_t count) {
    std::vector<double> seconds;
    for (const Job& job : question.jobs(count)) {
      seconds.push_back(predicted_seconds(profile, question.ranks, job.bytes(), 1,
                                          [&](Channel& channel) { run_on_ghosts(job, channel); }));
    }
    return seconds;
  });
}

// The nearest of the same kind; null without one.
const Change* nearest(const Survey& survey, const Change& change) {
  const Change* best = nullptr;
  const auto distance = [&](const Change& each) {
    return std::abs(std::log(each.count / change.count));
  };
  for (const Change& each : survey.changes) {
    if (each.from != change.from || each.to != change.to) continue;
    if (best == nullptr || distance(each) < distance(*best)) best = &each;
  }
  return best;
}

}  // namespace

Survey survey_question(const Question& question, const Evaluate& evaluate, double tolerance) {
  std::vector<std::size_t> units;
  for (const std::size_t count : question.counts) units.push_back(count / question.unit);
  Survey result = survey(
      units, [&](std::size_t count) { return evaluate(count * question.unit); }, tolerance);
  for (Sample& sample : result.samples) sample.count *= question.unit;
  for (Change& change : result.changes) change.count *= static_cast<double>(question.unit);
  return result;
}

ProfiledSurvey survey_predicted(const Question& question, const Profile& profile) {
  ProfiledSurvey result;
  StatusLine status;
  status.show("predicting");
  result.survey = predicted_once(question, profile);
  constexpr int draws = 40;
  std::vector<std::vector<double>> counts(result.survey.changes.size());
  for (int draw = 0; draw < draws && !counts.empty(); ++draw) {
    status.show(fmt::format("predicting, draw {} of {}", draw + 1, draws));
    const Survey drawn =
        predicted_once(question, profile.resampled(static_cast<std::uint64_t>(draw)));
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const Change* const change = nearest(drawn, result.survey.changes[i]);
      if (change != nullptr) counts[i].push_back(change->count);
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::vector<double>& found = counts[i];
    const double share = static_cast<double>(found.size()) / draws;
    found.push_back(result.survey.changes[i].count);
    std::sort(found.begin(), found.end());
    const std::size_t tail = found.size() / 20;
    result.intervals.push_back({found[tail], found[found.size() - 1 - tail], share});
  }
  return result;
}

Cluster cluster_of(const Profile& profile, int ranks) {
  Cluster cluster;
  cluster.ranks = ranks == 0 ? profile.ranks.back().ranks : ranks;
  const RankProfile& measured = profile.of(cluster.ranks);
  const std::size_t largest = measured.points.back().buffer_bytes;
  cluster.shape =
      star_shape(cluster.ranks,
                 static_cast<double>(largest) / measured.seconds(Curve::loaded, largest, largest),
                 measured.seconds(Curve::loaded, 1, 1));
  cluster.shape.name = fmt::format("{} ranks of the machine of the profile", cluster.ranks);
  return cluster;
}

std::string describe(const Profile& profile, const std::string& file) {
  std::string text = fmt::format("{}: {} of {}", file, profile.transport, name_of(profile.dtype));
  for (const ProvenanceEntry& entry : profile.provenance) {
    text += fmt::format(", {} {}", entry.key, entry.value);
  }
  return text;
}

}  // namespace tutti
