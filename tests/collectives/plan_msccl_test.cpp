#include "collectives/plan_msccl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <pugixml.hpp>
#include <random>

#include "collectives/plan_of.hpp"
#include "collectives/run.hpp"

namespace tutti {
namespace {

using testing::HasSubstr;

// What a chunk holds: which chunk of the whole, and how often each rank's contribution is in it.
struct Value {
  int chunk = -1;
  std::map<int, int> contributions;

  bool operator==(const Value&) const = default;
};

struct Threadblock {
  int send = -1;
  int recv = -1;
  std::vector<pugi::xml_node> steps;
  std::size_t done = 0;
};

struct Gpu {
  std::map<char, std::vector<Value>> buffers;
  std::vector<Threadblock> threadblocks;
};

// Executes the XML as MSCCL does, step by step, threadblocks in random order.
class Interpreter {
 public:
  Interpreter(const std::string& text, Collective collective, int root, unsigned seed)
      : collective_(collective), root_(root), random_(seed) {
    EXPECT_TRUE(document_.load_string(text.c_str()));
    const pugi::xml_node algo = document_.child("algo");
    ranks_ = algo.attribute("ngpus").as_int();
    chunks_ = algo.attribute("nchunksperloop").as_int();
    main_ = collective == Collective::allgather ? 'o' : 'i';
    for (const pugi::xml_node node : algo.children("gpu")) add(node);
  }

  // False if nothing can go on before all is done.
  bool run() {
    while (!all_done()) {
      std::vector<std::pair<std::size_t, std::size_t>> ready;
      for (std::size_t g = 0; g < gpus_.size(); ++g) {
        for (std::size_t t = 0; t < gpus_[g].threadblocks.size(); ++t) {
          if (is_ready(g, t)) ready.push_back({g, t});
        }
      }
      if (ready.empty()) return false;
      const auto [g, t] = ready[random_() % ready.size()];
      execute(g, t);
    }
    return true;
  }

  void check_results() const {
    Value all;
    for (int rank = 0; rank < ranks_; ++rank) all.contributions[rank] = 1;
    for (int rank = 0; rank < ranks_; ++rank) {
      for (int chunk = 0; chunk < chunks_; ++chunk) {
        const int part = chunk / std::max(chunks_ / ranks_, 1);
        if (collective_ == Collective::reduce_scatter && part != rank) continue;
        Value expected{chunk, all.contributions};
        if (collective_ == Collective::broadcast) expected.contributions = {{root_, 1}};
        if (collective_ == Collective::allgather) expected.contributions = {{part, 1}};
        const Value& found = gpus_[static_cast<std::size_t>(rank)].buffers.at(
            main_)[static_cast<std::size_t>(chunk)];
        EXPECT_EQ(found, expected) << "rank " << rank << ", chunk " << chunk;
      }
    }
  }

 private:
  void add(pugi::xml_node node) {
    Gpu gpu;
    const int rank = static_cast<int>(gpus_.size());
    EXPECT_EQ(node.attribute("id").as_int(), rank);
    for (const char letter : {'i', 'o', 's'}) {
      const std::string key = std::string(1, letter) + "_chunks";
      gpu.buffers[letter].resize(node.attribute(key.c_str()).as_uint());
    }
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      const bool is_own = chunk / std::max(chunks_ / ranks_, 1) == rank;
      if (collective_ == Collective::broadcast && rank != root_) continue;
      if (collective_ == Collective::allgather && !is_own) continue;
      gpu.buffers[main_][static_cast<std::size_t>(chunk)] = {chunk, {{rank, 1}}};
    }
    for (const pugi::xml_node block : node.children("tb")) {
      Threadblock threadblock{
          block.attribute("send").as_int(), block.attribute("recv").as_int(), {}, 0};
      for (const pugi::xml_node step : block.children("step")) {
        EXPECT_EQ(step.attribute("s").as_uint(), threadblock.steps.size());
        threadblock.steps.push_back(step);
      }
      gpu.threadblocks.push_back(threadblock);
    }
    gpus_.push_back(std::move(gpu));
  }

  bool all_done() const {
    for (const Gpu& gpu : gpus_) {
      for (const Threadblock& block : gpu.threadblocks) {
        if (block.done < block.steps.size()) return false;
      }
    }
    return true;
  }

  bool is_ready(std::size_t g, std::size_t t) {
    const Threadblock& block = gpus_[g].threadblocks[t];
    if (block.done == block.steps.size()) return false;
    const pugi::xml_node step = block.steps[block.done];
    const int other = step.attribute("depid").as_int();
    if (other >= 0) {
      const Threadblock& dependency = gpus_[g].threadblocks.at(static_cast<std::size_t>(other));
      const std::size_t index = step.attribute("deps").as_uint();
      EXPECT_EQ(dependency.steps.at(index).attribute("hasdep").as_int(), 1);
      if (dependency.done <= index) return false;
    }
    const std::string type = step.attribute("type").value();
    return (type != "r" && type != "rrc") || !streams_[{block.recv, static_cast<int>(g)}].empty();
  }

  static Value fold(const Value& a, const Value& b) {
    EXPECT_EQ(a.chunk, b.chunk);
    Value sum = a;
    for (const auto& [rank, count] : b.contributions) sum.contributions[rank] += count;
    return sum;
  }

  void execute(std::size_t g, std::size_t t) {
    Threadblock& block = gpus_[g].threadblocks[t];
    const pugi::xml_node step = block.steps[block.done++];
    const std::string type = step.attribute("type").value();
    if (type == "nop") return;
    const auto at = [&](const char* buffer, const char* offset, std::size_t i) -> Value& {
      return gpus_[g]
          .buffers.at(step.attribute(buffer).value()[0])
          .at(step.attribute(offset).as_uint() + i);
    };
    const std::size_t count = step.attribute("cnt").as_uint();
    std::vector<Value> message;
    if (type == "s" || type == "cpy" || type == "re") {
      for (std::size_t i = 0; i < count; ++i) message.push_back(at("srcbuf", "srcoff", i));
    }
    if (type == "s") return streams_[{static_cast<int>(g), block.send}].push_back(message);
    if (type == "r" || type == "rrc") {
      auto& stream = streams_[{block.recv, static_cast<int>(g)}];
      message = stream.front();
      stream.pop_front();
    }
    ASSERT_EQ(message.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      Value& target = at("dstbuf", "dstoff", i);
      target = type == "rrc" || type == "re" ? fold(target, message[i]) : message[i];
    }
  }

  Collective collective_;
  int root_;
  std::mt19937 random_;
  pugi::xml_document document_;
  int ranks_ = 0;
  int chunks_ = 0;
  char main_ = 'i';
  std::vector<Gpu> gpus_;
  std::map<std::pair<int, int>, std::deque<std::vector<Value>>> streams_;
};

std::string msccl_of(const Algorithm& algorithm, const Problem& problem) {
  return to_msccl(plan_of(algorithm, problem), algorithm.collective, problem.bytes(),
                  algorithm.full_name);
}

std::string refusal(const Algorithm& algorithm, const Problem& problem) {
  try {
    msccl_of(algorithm, problem);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

class Msccl : public testing::TestWithParam<const Algorithm*> {};

TEST_P(Msccl, ExecutesToWhatTheCollectivePromisesInAnyOrder) {
  for (const int ranks : {2, 3, 4, 6, 8}) {
    const Problem problem{
        .ranks = ranks, .count = static_cast<std::size_t>(4 * ranks), .root = ranks - 1};
    if (!GetParam()->supports(problem)) continue;
    const std::string text = msccl_of(*GetParam(), problem);
    for (unsigned seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(fmt::format("{} ranks, seed {}", ranks, seed));
      Interpreter interpreter(text, GetParam()->collective, problem.root, seed);
      ASSERT_TRUE(interpreter.run()) << text;
      interpreter.check_results();
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Msccl, testing::ValuesIn([] {
                           std::vector<const Algorithm*> all;
                           for (const Collective collective :
                                {Collective::allreduce, Collective::broadcast,
                                 Collective::allgather, Collective::reduce_scatter}) {
                             for (const Algorithm* one : algorithms_of(collective)) {
                               all.push_back(one);
                             }
                           }
                           return all;
                         }()),
                         [](const auto& entry) { return std::string(entry.param->full_name); });

// A step of one chunk that goes to the same place; `dependency` is that of depid and deps.
std::string step_line(int step, std::string_view type, int chunk, std::pair<int, int> dependency,
                      bool is_awaited) {
  return fmt::format(
      "      <step s=\"{0}\" type=\"{1}\" srcbuf=\"i\" srcoff=\"{2}\" dstbuf=\"i\" dstoff=\"{2}\" "
      "cnt=\"1\" depid=\"{3}\" deps=\"{4}\" hasdep=\"{5}\" />\n",
      step, type, chunk, dependency.first, dependency.second, is_awaited ? 1 : 0);
}

TEST(MscclText, TheRingIsTheOneOfTheFormatsExample) {
  const auto gpu = [](int id, int other) {
    return fmt::format("  <gpu id=\"{}\" i_chunks=\"2\" o_chunks=\"0\" s_chunks=\"0\">\n", id) +
           fmt::format("    <tb id=\"0\" send=\"{}\" recv=\"-1\" chan=\"0\">\n", other) +
           step_line(0, "s", other, {-1, -1}, true) + step_line(1, "s", id, {1, 0}, false) +
           "    </tb>\n" +
           fmt::format("    <tb id=\"1\" send=\"-1\" recv=\"{}\" chan=\"0\">\n", other) +
           step_line(0, "rrc", id, {-1, -1}, true) + step_line(1, "r", other, {0, 0}, false) +
           "    </tb>\n  </gpu>\n";
  };
  const std::string head =
      "<algo name=\"allreduce_ring\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"2\" "
      "ngpus=\"2\" coll=\"allreduce\" inplace=\"1\">\n";
  EXPECT_EQ(msccl_of(find_algorithm(Collective::allreduce, "ring"), {.ranks = 2, .count = 6}),
            head + gpu(0, 1) + gpu(1, 0) + "</algo>\n");
}

TEST(MscclText, WhatTheFormatCannotSayIsRefused) {
  const auto find = [](Collective collective, std::string_view name) -> const Algorithm& {
    return find_algorithm(collective, name);
  };
  EXPECT_THAT(refusal(find(Collective::alltoall, "pairwise"), {.ranks = 2, .count = 4}),
              HasSubstr("found alltoall, expected allreduce, broadcast"));
  EXPECT_THAT(refusal(find(Collective::allgather, "ring"), {.ranks = 3, .count = 7}),
              HasSubstr("found 7 chunks among 3 ranks, expected equal parts"));
  EXPECT_THAT(refusal(find(Collective::allreduce, "ring"), {.ranks = 3, .count = 100'000}),
              HasSubstr("found 100000 chunks of 4 bytes"));
  const Plan ghosts = record(2, [](Channel& channel) {
    run(find_algorithm(Collective::allreduce, "ring"), channel, {nullptr, 4, DType::float32});
  });
  try {
    to_msccl(ghosts, Collective::allreduce, 16, "ghosts");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("found at step 1 of rank 0 a ghost"));
  }
}

}  // namespace
}  // namespace tutti
