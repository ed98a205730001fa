#include "agent/serve.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "agent/describe.hpp"
#include "agent/programs.hpp"
#include "agent/store.hpp"
#include "base/error.hpp"

namespace dpubench::agent {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Return whether an environment variable could make the loader run files from outside the bundle.
bool is_loader_variable(const std::string& name) {
  return name.starts_with("LD_") || name == "GCONV_PATH" || name == "GLIBC_TUNABLES";
}

const fs::path& home_of(const Place& place) {
  if (place.home.empty()) throw Error("dpubench did not install this agent: there is no folder for inputs");
  return place.home;
}

fs::path cache_of(const Place& place) {
  return home_of(place) / "cache";
}

/// Return the folder where programs keep prepared data. It is made, for some put a socket there before they prepare anything.
fs::path prepared_of(const Place& place) {
  fs::path folder = cache_of(place) / "prepared";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(folder.string() + ": cannot be made: " + error.message());
  return folder;
}

Input read_input(const json& given) {
  return {given.at("sha256").get<std::string>(), given.at("name").get<std::string>(), given.at("bytes").get<std::uint64_t>()};
}

/// Return `layouts/K/` if the program's name begins with it, else nothing. It selects a code layout (native/layout.py).
std::string layout_in(std::string_view program) {
  constexpr std::string_view kLayouts = "layouts/";
  if (!program.starts_with(kLayouts)) return {};
  const std::size_t end = program.find_first_not_of("0123456789", kLayouts.size());
  if (end == kLayouts.size() || end == std::string_view::npos || program[end] != '/') return {};
  return std::string(program.substr(0, end + 1));
}

Command read_command(const json& request, const Place& place) {
  if (const auto what = request.at("do").get<std::string>(); what != "run")
    throw Error("request '" + what.substr(0, 40) + "' came with the number of a program");
  const auto program = request.at("program").get<std::string>();
  const std::string layout = layout_in(program);
  if (!is_file_name(program.substr(layout.size()))) throw Error("'" + program + "' is not the name of a program in this bundle");
  const fs::path path = place.lib / program;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) throw Error(path.string() + ": there is no such program in this bundle");
  Command command;
  if (!place.loader.empty()) {
    const std::string own = layout.empty() ? "" : (place.lib / layout).parent_path().string() + ':';
    command.words = {place.loader.string(), "--library-path", own + place.lib.string()};
  }
  command.words.push_back(path.string());
  for (const json& argument : request.at("arguments")) command.words.push_back(argument.get<std::string>());
  for (const auto& [name, value] : request.at("environment").items()) {
    if (name.empty() || name.find('=') != std::string::npos || is_loader_variable(name))
      throw Error("the environment variable '" + name + "' cannot be set");
    command.environment.emplace_back(name, value.get<std::string>());
  }
  for (const std::string& word : command.words) {
    if (word.find('\0') != std::string::npos) throw Error("an argument contains a zero byte");
  }
  return command;
}

json have(const json& request, const Place& place) {
  json paths = json::array();
  for (const json& given : request.at("files")) {
    const Input input = read_input(given);
    paths.push_back(has_input(cache_of(place), input) ? json(input_path(cache_of(place), input).string()) : json(nullptr));
  }
  return {{"paths", std::move(paths)}};
}

json put(Connection& connection, const json& request, const Place& place) {
  Incoming file(cache_of(place), read_input(request));
  for (;;) {
    const Frame frame = connection.receive();
    if (frame.kind == Frame::kEnd) return {{"path", file.finish().string()}};
    if (frame.kind != Frame::kData) throw Error("a request came in the middle of a file");
    file.add(frame.payload);
  }
}

}  // namespace

Place find_place() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) throw Error("/proc/self/exe: " + error.message() + ": mount /proc");
  Place place;
  place.lib = self.parent_path();
  // If the agent was started through the bundle's loader, the kernel runs the loader.
  if (self.filename().string().starts_with("ld-")) place.loader = self;
  const fs::path home = place.lib.parent_path().parent_path().parent_path();  // HOME/bundles/DIGEST/lib
  if (fs::is_regular_file(home / kMarker, error)) place.home = home;
  return place;
}

void serve(Connection& connection, const Place& place) {
  connection.queue_raw(kGreeting);
  for (;;) {
    connection.write_some();
    const Frame frame = connection.receive();
    if (frame.kind != Frame::kRequest) throw Error("a frame came before any request");
    if (frame.program != 0) {
      return run_programs(connection, frame, [&place](const std::string& request) {
        try {
          return read_command(json::parse(request), place);
        } catch (const json::exception& error) {
          throw Error(std::string("cannot read a request: ") + error.what());
        }
      });
    }
    json answer;
    try {
      const json request = json::parse(frame.payload);
      const auto what = request.at("do").get<std::string>();
      if (what == "describe")
        answer = describe("/", place.home.empty() ? place.lib : place.home);
      else if (what == "verify")
        answer = {{"files", verify_bundle(place.lib.parent_path(), request.at("manifest").get<std::string>())}};
      else if (what == "cache")
        answer = {{"path", prepared_of(place).string()}};
      else if (what == "tidy")
        answer = {{"removed", remove_other_bundles(home_of(place) / "bundles", place.lib.parent_path().filename().string())}};
      else if (what == "have")
        answer = have(request, place);
      else if (what == "put")
        answer = put(connection, request, place);
      else
        throw Error("unknown request '" + what.substr(0, 40) + "': agent and dpubench have different versions");
    } catch (const json::exception& error) {
      throw Error(std::string("cannot read a request: ") + error.what());
    }
    connection.send(Frame::kAnswer, answer.dump(-1, ' ', false, json::error_handler_t::replace));
  }
}

}  // namespace dpubench::agent
