// A whole application: a program from the first byte of its input to the last of its output. One folder in applications/, whose
// application.cpp registers with DPUBENCH_APPLICATION and names what it needs (docs/applications.md).
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

/// A kind of input: those of operators ("capture", "corpus", "routes4", "routes6", "rules"), or one of the application's own.
struct ApplicationInput {
  std::string name;
  std::string summary;
  bool optional = false;
  OnlyWith only_with{};
};

struct ApplicationInfo {
  std::string name;        ///< its folder's
  std::string summary;     ///< one line
  std::string definition;  ///< what goes in, what is kept, what comes out, and how that is verified
  std::vector<ApplicationInput> inputs;
  std::vector<std::string> operators;  ///< those of ours that it is composed of
  std::vector<Parameter> parameters;
  std::vector<std::string> sources;  ///< RFC and section
};

/// What an application is given.
struct Task {
  Params params;  ///< complete
  std::map<std::string, std::vector<std::filesystem::path>, std::less<>> inputs;
  std::uint64_t limit_bytes = 0;  ///< of the capture, or of each file of the corpus; 0: all

  [[nodiscard]] bool has(std::string_view kind) const { return inputs.find(kind) != inputs.end(); }
  /// @throws Error when there is none
  [[nodiscard]] const std::vector<std::filesystem::path>& files(std::string_view kind) const;
  /// The one file of a kind. @throws Error when there is none, or several
  [[nodiscard]] const std::filesystem::path& file(std::string_view kind) const;
};

/// One run of an application, and what it leaves behind.
class Application {
 public:
  virtual ~Application() = default;
  /// What comes to the program in a form of this suite's and not in its own, as a router's routes: read, and not traced.
  /// @throws Error as run()
  virtual void load(const Task& /*task*/) {}
  /// All that the program does: reads its inputs, builds its tables, works, and appends to `output`. Begins a message for each
  /// record (measure::next_message()). @throws Error on input that it cannot be used on
  virtual void run(const Task& task) = 0;
  /// Whether what run() made is right, found in another way. @throws Error saying what is wrong
  virtual void verify(const Task& task) const = 0;

  std::uint64_t input_bytes = 0;
  std::uint64_t records = 0;  ///< packets, files, chunks, requests
  std::vector<std::byte> output;
  std::map<std::string, std::uint64_t> facts;  ///< counts of its own: "forwarded", "no_route"
};

/// The bytes of a file, `limit_bytes` at most. @throws Error as inputs::read_file
std::vector<std::byte> read_input(const std::filesystem::path& path, std::string_view kind, std::uint64_t limit_bytes);
void append(std::vector<std::byte>& to, std::string_view text);
void append(std::vector<std::byte>& to, std::span<const std::byte> bytes);

/// What a module gives. Its lifetime is that of the module.
struct ApplicationModule {
  const ApplicationInfo& (*info)();
  std::unique_ptr<Application> (*make)();
};

}  // namespace dpubench::applications

/// @param info_function  `const ApplicationInfo&()` @param Type  an Application without arguments
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
