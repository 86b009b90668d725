#include "topologies/max_flow.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

namespace tutti {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;

struct Arc {
  long long capacity = 0;
  long long residual = 0;
  Traits::edge_descriptor reverse = {};
};

using Graph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Arc>;

void add_arc(Graph& graph, int from, int to, long long capacity) {
  const auto begin = static_cast<std::size_t>(from), end = static_cast<std::size_t>(to);
  const auto forth = boost::add_edge(begin, end, graph).first;
  const auto back = boost::add_edge(end, begin, graph).first;
  graph[forth].capacity = capacity;
  graph[forth].reverse = back;
  graph[back].reverse = forth;
}

}  // namespace

FlowNetwork::FlowNetwork(const Shape& shape, const Capacity& capacity)
    : nodes_(static_cast<int>(shape.nodes.size())),
      outgoing_(shape.nodes.size(), 0),
      incoming_(shape.nodes.size(), 0) {
  for (std::size_t index = 0; index < shape.links.size(); ++index) {
    const Link& link = shape.links[index];
    if (link.failed || link.from < 0 || link.from == link.to) continue;
    const int self = static_cast<int>(index);
    const auto add = [&](int from, int to) {
      edges_.push_back({from, to, capacity(self)});
      outgoing_[static_cast<std::size_t>(from)] += edges_.back().capacity;
      incoming_[static_cast<std::size_t>(to)] += edges_.back().capacity;
    };
    add(link.from, link.to);
    if (link.is_shared(self)) add(link.to, link.from);
  }
}

long long FlowNetwork::maximum_flow(const std::vector<int>& sources,
                                    const std::vector<int>& targets) const {
  const int source = nodes_, target = nodes_ + 1;
  Graph graph(static_cast<std::size_t>(nodes_) + 2);
  for (const Edge& edge : edges_) add_arc(graph, edge.from, edge.to, edge.capacity);
  for (const int host : sources) {
    add_arc(graph, source, host, outgoing_[static_cast<std::size_t>(host)]);
  }
  for (const int host : targets) {
    add_arc(graph, host, target, incoming_[static_cast<std::size_t>(host)]);
  }
  return boost::push_relabel_max_flow(
      graph, static_cast<std::size_t>(source), static_cast<std::size_t>(target),
      boost::get(&Arc::capacity, graph), boost::get(&Arc::residual, graph),
      boost::get(&Arc::reverse, graph), boost::get(boost::vertex_index, graph));
}

}  // namespace tutti
