// Runs an outside program with an end: it and everything that it started are gone when the supervisor lets go of it.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dpubench::tools {

/// User and group nobody, which every Linux has by this number.
inline constexpr unsigned kNobody = 65534;

/// What to run.
struct Spec {
  std::vector<std::string> words;  ///< the first word is a path
  std::filesystem::path folder;    ///< working folder; empty: this process's
  double limit_s = 0;              ///< seconds after which it is ended
  bool unprivileged = false;       ///< whether root gives up its rights for it; for other users it makes no difference
};

/// Text that a program wrote, cut where it is too long.
struct Text {
  std::string text;
  bool cut = false;  ///< whether the middle is missing
};

/// How a program ended, and what it wrote.
struct Ended {
  int status = -1;         ///< exit status, or -1 when a signal ended it
  int signal = 0;          ///< number of that signal, or 0
  bool over_time = false;  ///< whether it was ended because it took longer than it may
  double elapsed_s = 0;
  double user_s = 0;    ///< processor time of it and of its descendants that it waited for
  double system_s = 0;  ///< likewise
  Text out;
  Text err;
};

/// Collects what a program writes: the beginning and the end of it, so that a program that writes without end takes no memory.
class Collected {
 public:
  explicit Collected(std::size_t most_bytes) : most_(most_bytes) {}
  void add(std::string_view bytes);
  /// Return whether `text` was written, within the first part that is kept.
  [[nodiscard]] bool contains(std::string_view text) const { return begin_.find(text) != std::string::npos; }
  [[nodiscard]] Text take();

 private:
  std::size_t most_;
  std::string begin_;  ///< first half of what is kept
  std::string end_;    ///< the last bytes
  bool cut_ = false;
};

/// A running program. The destructor kills it and all its descendants, whatever their group or session. A process has at most one
/// at a time, and no other children: orphans become children of this process (PR_SET_CHILD_SUBREAPER).
class Supervised {
 public:
  /// Start the program. @throws Error with the kernel's reason
  explicit Supervised(const Spec& spec);
  Supervised(const Supervised&) = delete;
  Supervised& operator=(const Supervised&) = delete;
  ~Supervised();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Descriptors of its output and its error output, for poll(); -1 once it closed them.
  [[nodiscard]] int out_fd() const { return out_; }
  [[nodiscard]] int err_fd() const { return err_; }
  /// Read what it wrote, see whether it ended, and kill it if it is over its time. It never blocks; call it at least every
  /// kAttendMs, because no descriptor tells of the end of a program whose descendants hold its output open.
  void attend();
  static constexpr int kAttendMs = 100;
  /// Ask it to end (SIGTERM). attend() kills it if it has not ended after `patience`.
  void ask_to_end(std::chrono::milliseconds patience);
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] const Collected& output() const { return collected_out_; }
  /// Return how it ended, once it did. It leaves no process behind.
  [[nodiscard]] Ended finish();

 private:
  using Clock = std::chrono::steady_clock;
  void read_from(int& fd, Collected& into);

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  bool ended_ = false;
  bool over_time_ = false;
  int wait_status_ = 0;
  rusage usage_{};
  Clock::time_point started_;
  Clock::time_point stopped_;
  Clock::time_point limit_;
  std::optional<Clock::time_point> patience_over_;
  Collected collected_out_;
  Collected collected_err_;
};

/// Run a program until it ends or its time is over. @throws Error when it cannot be started
Ended run_to_end(const Spec& spec);

}  // namespace dpubench::tools
