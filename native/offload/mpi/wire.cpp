#include "offload/mpi/wire.hpp"

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/error.hpp"
#include "offload/data.hpp"

namespace dpubench::offload {
namespace {

constexpr useconds_t kSleepUs = 100;
constexpr unsigned kPollsBeforeSleep = 200;
constexpr unsigned kPollsBeforeYield = 64;
constexpr unsigned kMostSleepsAtEnd = 30'000;  // about 3 s

void need_mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int size = 0;
  MPI_Error_string(code, text.data(), &size);
  throw Error(std::string("MPI: ") + what + ": " + text.data());
}

/// The sum of the patterns, as an operation of MPI. MPI_SUM adds bytes with saturation on some processors and wraps around on
/// others (Open MPI issue 8045, "wontfix").
void add(void* from, void* to, int* count, MPI_Datatype* /*type*/) {
  add_bytes(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), static_cast<std::size_t>(*count));
}

class Mpi final : public MpiWire {
 public:
  Mpi(int* argc, char*** argv) {
    int given = MPI_THREAD_SINGLE;
    if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS || given < MPI_THREAD_FUNNELED) {
      throw Error("MPI cannot start in a program with threads: use another MPI library");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Op_create(&add, 1, &sum_);
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::string version() const override { return mpi_version(); }
  [[nodiscard]] std::string node() const override {
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int size = 0;
    need_mpi(MPI_Get_processor_name(name.data(), &size), "the node has no name");
    return name.data();
  }
  [[nodiscard]] std::optional<int> block() const override {
    int* number = nullptr;
    int is_set = 0;
    need_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &is_set), "cannot read MPI_APPNUM");
    return is_set != 0 ? std::optional(*number) : std::nullopt;
  }

  std::optional<std::string> share(std::optional<std::string> line) override {
    std::int64_t size = line ? static_cast<std::int64_t>(line->size()) : -1;
    MPI_Request request = MPI_REQUEST_NULL;
    need_mpi(MPI_Ibcast(&size, 1, MPI_INT64_T, 0, MPI_COMM_WORLD, &request), "cannot share a line");
    wait(request, true, {});
    if (size < 0) return std::nullopt;
    std::string text = line.value_or(std::string());
    text.resize(static_cast<std::size_t>(size));
    need_mpi(MPI_Bcast(text.data(), static_cast<int>(size), MPI_CHAR, 0, MPI_COMM_WORLD), "cannot share a line");
    return text;
  }

  std::vector<std::string> gather_all(const std::string& text) override {
    const auto ranks = static_cast<std::size_t>(size_);
    const int size = static_cast<int>(text.size());
    std::vector<int> sizes(ranks);
    need_mpi(MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD), "cannot gather texts");
    std::vector<int> places(ranks);
    std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), 0);
    std::string all(static_cast<std::size_t>(places.back() + sizes.back()), '\0');
    need_mpi(MPI_Allgatherv(text.data(), size, MPI_CHAR, all.data(), sizes.data(), places.data(), MPI_CHAR, MPI_COMM_WORLD),
             "cannot gather texts");
    std::vector<std::string> texts(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      texts[r] = all.substr(static_cast<std::size_t>(places[r]), static_cast<std::size_t>(sizes[r]));
    }
    return texts;
  }

  void split(bool is_host) override {
    need_mpi(MPI_Comm_split(MPI_COMM_WORLD, is_host ? 0 : 1, rank_, &role_), "cannot make the group of hosts");
    MPI_Comm_set_errhandler(role_, MPI_ERRORS_RETURN);
  }

  void barrier(Group group, bool sleepy, const Idle& idle) override {
    MPI_Request request = MPI_REQUEST_NULL;
    need_mpi(MPI_Ibarrier(group == Group::kAll ? MPI_COMM_WORLD : role_, &request), "a barrier failed");
    wait(request, sleepy, idle);
  }

  void combine(std::vector<double>& values, bool sum) override {
    need_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, sum ? MPI_SUM : MPI_MAX,
                           MPI_COMM_WORLD),
             "cannot combine values");
  }

  void collective(Pattern pattern, const std::byte* input, std::byte* output, std::size_t bytes,
                  const std::function<void()>& between) override {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = start(pattern, input, output, static_cast<int>(bytes), between ? &request : nullptr);
    need_mpi(code, "a collective failed");
    if (!between) return;
    between();
    need_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "a collective failed");
  }

  void close(int status) override {
    MPI_Request request = MPI_REQUEST_NULL;
    int done = MPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS ? 0 : -1;
    for (unsigned i = 0; done == 0 && i < kMostSleepsAtEnd; ++i) {
      if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) done = -1;
      if (done == 0) usleep(kSleepUs);
    }
    if (done != 1) MPI_Abort(MPI_COMM_WORLD, status == 0 ? 1 : status);
    if (role_ != MPI_COMM_NULL) MPI_Comm_free(&role_);
    MPI_Op_free(&sum_);
    MPI_Finalize();
  }

 private:
  static void wait(MPI_Request& request, bool sleepy, const Idle& idle) {
    int done = 0;
    for (unsigned polls = 1;; ++polls) {
      need_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "a wait failed");
      if (done != 0) return;
      if (idle) idle();
      if (sleepy && polls > kPollsBeforeSleep) {
        usleep(kSleepUs);
      } else if (polls % kPollsBeforeYield == 0) {
        sched_yield();
      }
    }
  }

  /// Call the collective. @param request of a non-blocking one; null: a blocking one
  int start(Pattern pattern, const std::byte* in, std::byte* out, int n, MPI_Request* request) const {
    switch (pattern) {
      case Pattern::kBroadcast:
        if (rank_ == 0) std::memcpy(out, in, static_cast<std::size_t>(n));  // MPI broadcasts in place
        return request != nullptr ? MPI_Ibcast(out, n, MPI_BYTE, 0, role_, request) : MPI_Bcast(out, n, MPI_BYTE, 0, role_);
      case Pattern::kScatter:
        return request != nullptr ? MPI_Iscatter(in, n, MPI_BYTE, out, n, MPI_BYTE, 0, role_, request)
                                  : MPI_Scatter(in, n, MPI_BYTE, out, n, MPI_BYTE, 0, role_);
      case Pattern::kGather:
        return request != nullptr ? MPI_Igather(in, n, MPI_BYTE, out, n, MPI_BYTE, 0, role_, request)
                                  : MPI_Gather(in, n, MPI_BYTE, out, n, MPI_BYTE, 0, role_);
      case Pattern::kAllgather:
      case Pattern::kAllgatherShared:
        return request != nullptr ? MPI_Iallgather(in, n, MPI_BYTE, out, n, MPI_BYTE, role_, request)
                                  : MPI_Allgather(in, n, MPI_BYTE, out, n, MPI_BYTE, role_);
      case Pattern::kAllToAll:
        return request != nullptr ? MPI_Ialltoall(in, n, MPI_BYTE, out, n, MPI_BYTE, role_, request)
                                  : MPI_Alltoall(in, n, MPI_BYTE, out, n, MPI_BYTE, role_);
      case Pattern::kReduce:
        return request != nullptr ? MPI_Ireduce(in, out, n, MPI_BYTE, sum_, 0, role_, request)
                                  : MPI_Reduce(in, out, n, MPI_BYTE, sum_, 0, role_);
      case Pattern::kAllreduce:
        return request != nullptr ? MPI_Iallreduce(in, out, n, MPI_BYTE, sum_, role_, request)
                                  : MPI_Allreduce(in, out, n, MPI_BYTE, sum_, role_);
    }
    return MPI_ERR_ARG;
  }

  int rank_ = 0;
  int size_ = 1;
  MPI_Op sum_ = MPI_OP_NULL;
  MPI_Comm role_ = MPI_COMM_NULL;  ///< of the ranks of this rank's role: on a host the group of hosts
};

}  // namespace

std::unique_ptr<MpiWire> open_mpi(int* argc, char*** argv) {
  // MPI's own traffic must not take UCX's time: with Open MPI its own transports carry it, unless the user chose others.
  setenv("OMPI_MCA_pml", "ob1", 0);
  setenv("OMPI_MCA_btl", "^uct", 0);
  setenv("OMPI_MCA_osc", "^ucx", 0);
  return std::make_unique<Mpi>(argc, argv);
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int size = 0;
  MPI_Get_library_version(text.data(), &size);
  std::string first(text.data());
  first.resize(std::min(first.size(), first.find('\n')));
  std::replace(first.begin(), first.end(), '\t', ' ');  // MPICH's
  return first;
}

}  // namespace dpubench::offload
