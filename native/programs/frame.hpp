// What the programs that read a job and write events have in common: options, streams, signals, exit status.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "operators/engines.hpp"
#include "protocol/events.hpp"

namespace CLI {
class App;
}

namespace dpubench::programs {

/// Exit status, docs/architecture.md.
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kNothingRan = 4;

class Program {
 public:
  /// @param name as it is started @param summary what it does, for --help @param listed what --list prints, for --help
  Program(std::string name, std::string summary, std::string listed)
      : name_(std::move(name)), summary_(std::move(summary)), listed_(std::move(listed)) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;

  /// Runs it. Its first event is `hello`, with a catalog where --list asks for it. @return its exit status
  int main(int argc, char** argv) noexcept;

 protected:
  /// Options of its own, beside --list, --engine-dir, --version and --device.
  virtual void add_options(CLI::App& /*app*/) {}
  /// Called before any thread is started: signals that all of them leave alone are blocked here. @throws Error
  virtual void begin() {}
  /// Whether it runs engines: then it loads their modules, and has --engine-dir and --device.
  [[nodiscard]] virtual bool has_engines() const { return true; }
  /// Adds to what `hello` says of the build.
  virtual void describe(nlohmann::json& /*build*/) const {}
  [[nodiscard]] virtual nlohmann::json catalog(const EngineCatalog& engines) const = 0;
  /// What one of its own options asks for in place of a job. @return whether one did
  virtual bool answer(const EngineCatalog& /*engines*/, protocol::EventWriter& /*events*/) { return false; }
  /// Reads the job and carries it out. @param out_fd where events go @return exit status @throws on what is a failure of the job
  virtual int run(const EngineCatalog& engines, protocol::EventWriter& events, int out_fd) = 0;

  /// Tells of a job that cannot be read. @return the exit status
  int refuse(protocol::EventWriter& events, const char* why) const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  int start(int argc, char** argv);
  int carry_out(bool list, const std::vector<std::string>& folders);
  [[nodiscard]] nlohmann::json hello() const;

  std::string name_;
  std::string summary_;
  std::string listed_;
};

}  // namespace dpubench::programs
