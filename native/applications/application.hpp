// A whole application: a program from the first byte of its input to the last byte of its output. Each application has one folder
// in applications/. Its application.cpp registers with DPUBENCH_APPLICATION and names its requirements (docs/applications.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/params.hpp"
#include "operators/operator.hpp"

namespace dpubench::applications {

inline constexpr std::uint32_t kApplicationAbi = 1;

/// A kind of input: one that operators read ("capture", "corpus", "routes4", "routes6", "rules"), or one of its own.
struct ApplicationInput {
  std::string name;
  std::string summary;
  bool optional = false;
  OnlyWith only_with{};
};

struct ApplicationInfo {
  std::string name;        ///< name of its folder
  std::string summary;     ///< one line
  std::string definition;  ///< the input, the data it keeps, the output, and how the output is verified
  std::vector<ApplicationInput> inputs;
  std::vector<std::string> operators;  ///< this suite's operators that the application uses
  std::vector<Parameter> parameters;
  std::vector<std::string> sources;  ///< RFC and section
};

/// The work that an application gets.
struct Task {
  Params params;  ///< complete: no default is missing
  std::map<std::string, std::vector<std::filesystem::path>, std::less<>> inputs;
  std::uint64_t limit_bytes = 0;  ///< most bytes of the capture, or of each file of the corpus; 0: all

  [[nodiscard]] bool has(std::string_view kind) const { return inputs.find(kind) != inputs.end(); }
  /// Return the files of a kind. @throws Error when there are none
  [[nodiscard]] const std::vector<std::filesystem::path>& files(std::string_view kind) const;
  /// Return the only file of a kind. @throws Error when there is none, or more than one
  [[nodiscard]] const std::filesystem::path& file(std::string_view kind) const;
};

/// One run of an application, with its results.
class Application {
 public:
  virtual ~Application() = default;
  /// Read the inputs whose form is this suite's and not the program's own, for example a router's routes. Traces exclude this.
  /// @throws Error as run() does
  virtual void load(const Task& /*task*/) {}
  /// Do the whole work of the program: read the inputs, build the tables, process the input and append to `output`. Begin a
  /// message for each record (measure::next_message()). @throws Error on unusable input
  virtual void run(const Task& task) = 0;
  /// Check the result of run() by another method. @throws Error that names the fault
  virtual void verify(const Task& task) const = 0;

  std::uint64_t input_bytes = 0;
  std::uint64_t records = 0;  ///< packets, files, chunks, requests
  std::vector<std::byte> output;
  std::map<std::string, std::uint64_t> facts;  ///< the application's own counts: "forwarded", "no_route"
};

/// Return the first `limit_bytes` bytes of a file, or all bytes if the limit is 0. @throws Error as inputs::read_file does
std::vector<std::byte> read_input(const std::filesystem::path& path, std::string_view kind, std::uint64_t limit_bytes);
void append(std::vector<std::byte>& to, std::string_view text);
void append(std::vector<std::byte>& to, std::span<const std::byte> bytes);

/// The functions that a module exports. They live as long as the module.
struct ApplicationModule {
  const ApplicationInfo& (*info)();
  std::unique_ptr<Application> (*make)();
};

}  // namespace dpubench::applications

/// Define the exports of a module. @param info_function  `const ApplicationInfo&()` @param Type  an Application without arguments
#define DPUBENCH_APPLICATION(info_function, Type)                                                                            \
  extern "C" [[gnu::visibility("default")]] std::uint32_t dpubench_application_abi();                                        \
  extern "C" [[gnu::visibility("default")]] const ::dpubench::applications::ApplicationModule* dpubench_application();       \
  std::uint32_t dpubench_application_abi() {                                                                                 \
    return ::dpubench::applications::kApplicationAbi;                                                                        \
  }                                                                                                                          \
  const ::dpubench::applications::ApplicationModule* dpubench_application() {                                                \
    static const ::dpubench::applications::ApplicationModule module{                                                         \
        info_function, []() -> std::unique_ptr<::dpubench::applications::Application> { return std::make_unique<Type>(); }}; \
    return &module;                                                                                                          \
  }
