// A working folder for an outside program, removed with all that the program leaves in it.
#pragma once

#include <filesystem>

namespace dpubench::tools {

/// A new folder below the one for temporary files, for this user alone. It is locked while it lives: the next process that makes
/// one removes the folders of processes that were killed.
class WorkingFolder {
 public:
  /// @throws Error with the folder and the kernel's reason
  WorkingFolder();
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;
  ~WorkingFolder();
  /// Let the user nobody work in it too. @throws Error with the kernel's reason
  void open_to_nobody();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace dpubench::tools
