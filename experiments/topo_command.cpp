#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "experiments/command.hpp"
#include "experiments/topo.hpp"
#include "topologies/import.hpp"
#include "topologies/kinds.hpp"

namespace tutti {
namespace {

using Flags = std::shared_ptr<TopoFlags>;

void add_file(CLI::App& app, const Flags& flags) {
  app.add_option("FILE", flags->file, "A topology: our YAML, or any format that import reads")
      ->required();
}

void add_json(CLI::App& app, const Flags& flags) {
  app.add_flag("--json", flags->json, "Print JSON");
}

void add_output_file(CLI::App& app, const Flags& flags) {
  app.add_option("-o,--output", flags->output_file, "The file to write, instead of stdout");
}

Command add_show(CLI::App& app) {
  const auto flags = std::make_shared<TopoFlags>();
  add_file(app, flags);
  add_changes(app, flags->changes);
  app.add_option("--svg", flags->svg, "Also draw it to this file (by Graphviz)");
  app.add_option("--dot", flags->dot, "Also write it to this file as Graphviz text");
  add_json(app, flags);
  app.footer(R"(
Prints what the cluster is like. Bisection: what half of the hosts can send to the other half at
once, the smallest of several halvings. Oversubscription: what half of the machines could send if
only their cables to switches limited them, over the bisection.

Examples:
  tutti topo show topologies/hgx_8.yaml
  tutti topo show topologies/fat_tree.yaml --svg fat_tree.svg
  tutti topo show topologies/leaf_spine_100g.yaml --set links.spine.bandwidth=50% --json)");
  return [flags](Output& output) {
    show_topology(*flags, output);
    return true;
  };
}

Command add_route(CLI::App& app) {
  const auto flags = std::make_shared<TopoFlags>();
  add_file(app, flags);
  app.add_option("FROM", flags->from, "A host, by name or by number from 0")->required();
  app.add_option("TO", flags->to, "Another")->required();
  add_changes(app, flags->changes);
  add_json(app, flags);
  app.footer(R"(
Prints the links that a message crosses, in order, with their latencies and bandwidths, and below
the sum of the latencies and the smallest bandwidth.

Examples:
  tutti topo route topologies/torus_3d.yaml 0 21
  tutti topo route topologies/leaf_spine_100g.yaml 0 63 --fail node:spine0)");
  return [flags](Output& output) {
    show_route(*flags, output);
    return true;
  };
}

Command add_check(CLI::App& app) {
  const auto flags = std::make_shared<TopoFlags>();
  app.add_option("FILE", flags->files, "Topologies")->required();
  add_changes(app, flags->changes);
  app.footer(R"(
One line a file: what it holds, or FILE:LINE:COLUMN, what is wrong, what is expected. Exits with 1
if a file is wrong.

)" + describe_shape_keys() +
             R"(
Example:
  tutti topo check topologies/*.yaml)");
  return [flags](Output& output) { return check_topologies(*flags, output); };
}

std::string known_formats() {
  std::string text;
  for (const Importer& importer : importers()) {
    text += "  " + std::string(importer.name) + std::string(12 - importer.name.size(), ' ') +
            std::string(importer.description) + "\n";
  }
  return text;
}

Command add_import(CLI::App& app) {
  const auto flags = std::make_shared<TopoFlags>();
  app.add_option("FILE", flags->file, "What to import")->required();
  app.add_option("--from", flags->format, "The format; by default what the content looks like");
  add_output_file(app, flags);
  app.footer(
      "\nWrites a topology in our own format, and to stderr what was ignored, assumed or "
      "suspicious.\nFormats:\n" +
      known_formats() + R"(
Examples:
  tutti topo import platform.xml -o platform.yaml
  nvidia-smi topo -m > node.txt; tutti topo import node.txt)");
  return [flags](Output& output) {
    import_file(*flags, output);
    return true;
  };
}

Command add_export(CLI::App& app) {
  const auto flags = std::make_shared<TopoFlags>();
  add_file(app, flags);
  app.add_option("--to", flags->format, "simgrid (platform XML 4.1), astra (network YAML) or dot")
      ->required()
      ->check(CLI::IsMember({"simgrid", "astra", "dot"}));
  add_changes(app, flags->changes);
  add_output_file(app, flags);
  app.footer(R"(
Examples:
  tutti topo export topologies/torus_3d.yaml --to simgrid -o torus.xml
  tutti topo export topologies/star.yaml --to astra)");
  return [flags](Output& output) {
    export_topology(*flags, output);
    return true;
  };
}

}  // namespace

Command add_topo(CLI::App& app) {
  const auto chosen = std::make_shared<Command>();
  const auto add = [&](const char* name, const char* description, Command (*add_flags)(CLI::App&)) {
    CLI::App& command = *app.add_subcommand(name, description);
    command.callback([chosen, run = add_flags(command)] { *chosen = run; });
  };
  add("show", "What a cluster is like, in figures and as a picture", add_show);
  add("route", "The links between two hosts", add_route);
  add("check", "Whether files are right, and where not", add_check);
  add("import", "Read a description that you already have", add_import);
  add("export", "Write a description for other tools", add_export);
  app.require_subcommand(1);
  app.footer(R"(
Examples:
  tutti topo show topologies/hgx_8.yaml
  tutti topo import platform.xml -o platform.yaml
  tutti topo show --help)" +
             std::string("\n") + exit_codes);
  return [chosen](Output& output) { return (*chosen)(output); };
}

}  // namespace tutti
