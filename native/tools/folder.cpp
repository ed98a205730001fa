#include "tools/folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "tools/supervised.hpp"

namespace dpubench::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "dpubench-tool-";

/// Remove folders that this user made and that no process holds any more.
void remove_abandoned(const fs::path& place) {
  std::error_code error;
  for (fs::directory_iterator it(place, error), end; !error && it != end; it.increment(error)) {
    const fs::path& left = it->path();
    if (!left.filename().string().starts_with(kPrefix)) continue;
    const int fd = open(left.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) continue;
    struct stat told {};
    std::error_code ignored;
    if (fstat(fd, &told) == 0 && told.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0) fs::remove_all(left, ignored);
    close(fd);
  }
}

}  // namespace

WorkingFolder::WorkingFolder() {
  std::error_code error;
  const fs::path place = fs::temp_directory_path(error);
  if (error) throw Error("TMPDIR: " + error.message() + ": set it to a folder for temporary files");
  remove_abandoned(place);
  std::string name = (place / (std::string(kPrefix) + "XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr)
    throw Error(place.string() + ": cannot make a folder: " + std::strerror(errno) + ": set TMPDIR to a folder with room");
  path_ = name;
  lock_ = open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0 || flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const std::string reason = std::strerror(errno);
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    if (lock_ >= 0) close(lock_);
    throw Error(name + ": cannot be locked: " + reason);
  }
}

void WorkingFolder::open_to_nobody() {
  if (geteuid() != 0) return;
  if (chown(path_.c_str(), static_cast<uid_t>(-1), kNobody) != 0 || chmod(path_.c_str(), 0770) != 0)
    throw Error(path_.string() + ": cannot be opened to the user nobody: " + std::strerror(errno));
}

WorkingFolder::~WorkingFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  close(lock_);
}

}  // namespace dpubench::tools
