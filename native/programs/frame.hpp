// The common frame of programs that read a job and write events: options, streams, signals, exit status.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "operators/engines.hpp"
#include "protocol/events.hpp"

namespace CLI {
class App;
}

namespace dpubench::programs {

/// Exit statuses (docs/architecture.md).
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kNothingRan = 4;

class Program {
 public:
  /// @param name of the executable @param summary its purpose, for --help @param listed the output of --list, for --help
  Program(std::string name, std::string summary, std::string listed)
      : name_(std::move(name)), summary_(std::move(summary)), listed_(std::move(listed)) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;

  /// Run the program. Its first event is `hello`, with a catalog if --list asks for it. @return its exit status
  int main(int argc, char** argv) noexcept;

 protected:
  /// Add the program's own options to --list, --engine-dir, --version and --device.
  virtual void add_options(CLI::App& /*app*/) {}
  /// Prepare before any thread starts, for example block signals that no thread may take. @throws Error
  virtual void begin() {}
  /// Return whether the program runs engines. Then it loads their modules, and has --engine-dir and --device.
  [[nodiscard]] virtual bool has_engines() const { return true; }
  /// Add facts to the build description in `hello`.
  virtual void describe(nlohmann::json& /*build*/) const {}
  [[nodiscard]] virtual nlohmann::json catalog(const EngineCatalog& engines) const = 0;
  /// Answer one of the program's own options instead of running a job. @return whether an option asked for it
  virtual bool answer(const EngineCatalog& /*engines*/, protocol::EventWriter& /*events*/) { return false; }
  /// Read the job and run it. @param out_fd target of the events @return exit status @throws on a failure of the job
  virtual int run(const EngineCatalog& engines, protocol::EventWriter& events, int out_fd) = 0;

  /// Report a job that cannot be read. @return the exit status
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
