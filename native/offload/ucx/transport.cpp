#include "offload/ucx/transport.hpp"

#include <ucp/api/ucp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/error.hpp"

namespace dpubench::offload {
namespace {

void need_ucx(ucs_status_t status, const char* what, const char* remedy = "") {
  if (status != UCS_OK) throw Error(std::string("UCX: ") + what + ": " + ucs_status_string(status) + remedy);
}

/// What one rank tells the others, as a row of parts with their lengths before them.
void append(std::string& to, std::string_view part) {
  const std::uint64_t size = part.size();
  to.append(reinterpret_cast<const char*>(&size), sizeof size).append(part);
}
std::string_view take(std::string_view& from) {
  std::uint64_t size = 0;
  if (from.size() < sizeof size) throw Error("UCX: a rank sent an address that is cut short");
  std::memcpy(&size, from.data(), sizeof size);
  from.remove_prefix(sizeof size);
  if (from.size() < size) throw Error("UCX: a rank sent an address that is cut short");
  const std::string_view part = from.substr(0, size);
  from.remove_prefix(size);
  return part;
}

class Ucx final : public Transport {
 public:
  Ucx() {
    ucp_config_t* config = nullptr;
    need_ucx(ucp_config_read(nullptr, nullptr, &config), "cannot read its settings (UCX_... in the environment)");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_RMA;
    const ucs_status_t status = ucp_init(&params, config, &context_);
    ucp_config_release(config);
    need_ucx(status, "cannot start", ": look at UCX_TLS and UCX_NET_DEVICES");
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SINGLE;
    if (const ucs_status_t made = ucp_worker_create(context_, &worker, &worker_); made != UCS_OK) {
      ucp_cleanup(context_);
      need_ucx(made, "cannot make a worker", ": look at UCX_TLS and UCX_NET_DEVICES");
    }
  }
  Ucx(const Ucx&) = delete;
  Ucx& operator=(const Ucx&) = delete;
  ~Ucx() override {
    for (const Peer& peer : peers_) {
      if (peer.key != nullptr) ucp_rkey_destroy(peer.key);
    }
    std::vector<void*> closing;
    for (const Peer& peer : peers_) {
      if (peer.endpoint == nullptr) continue;
      void* const request = ucp_ep_close_nb(peer.endpoint, UCP_EP_CLOSE_MODE_FORCE);
      if (UCS_PTR_IS_PTR(request)) closing.push_back(request);
    }
    for (void* const request : closing) {
      while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker_);
      ucp_request_free(request);
    }
    if (memory_ != nullptr) (void)ucp_mem_unmap(context_, memory_);
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  }

  [[nodiscard]] std::string version() const override { return ucx_version(); }

  std::byte* map(std::size_t bytes) override {
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
    params.length = bytes;
    params.flags = UCP_MEM_MAP_ALLOCATE;
    const std::string what = "cannot allocate and register " + std::to_string(bytes) + " bytes";
    need_ucx(
        ucp_mem_map(context_, &params, &memory_), what.c_str(),
        ": lower largest_bytes, or raise the limits of shared and locked memory (kernel.shmmax, size of /dev/shm, ulimit -l)");
    ucp_mem_attr_t attributes{};
    attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH;
    need_ucx(ucp_mem_query(memory_, &attributes), "cannot look at registered memory");
    window_ = static_cast<std::byte*>(attributes.address);
    return window_;
  }

  [[nodiscard]] std::string address() const override {
    ucp_address_t* worker = nullptr;
    std::size_t worker_size = 0;
    need_ucx(ucp_worker_get_address(worker_, &worker, &worker_size), "has no address");
    std::string text;
    append(text, {reinterpret_cast<const char*>(worker), worker_size});
    ucp_worker_release_address(worker_, worker);
    void* key = nullptr;
    std::size_t key_size = 0;
    need_ucx(ucp_rkey_pack(context_, memory_, &key, &key_size), "cannot pack the key of registered memory");
    append(text, {static_cast<const char*>(key), key_size});
    ucp_rkey_buffer_release(key);
    const auto begin = reinterpret_cast<std::uint64_t>(window_);
    append(text, {reinterpret_cast<const char*>(&begin), sizeof begin});
    return text;
  }

  void connect(const std::vector<std::string>& addresses, int own_rank) override {
    peers_.resize(addresses.size());
    for (std::size_t rank = 0; rank < addresses.size(); ++rank) {
      if (static_cast<int>(rank) == own_rank) continue;
      Peer& peer = peers_[rank];
      std::string_view rest = addresses[rank];
      const std::string_view worker = take(rest);
      const std::string_view key = take(rest);
      const std::string_view begin = take(rest);
      ucp_ep_params_t params{};
      params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
      params.address = reinterpret_cast<const ucp_address_t*>(worker.data());
      const std::string what = "cannot reach rank " + std::to_string(rank);
      need_ucx(ucp_ep_create(worker_, &params, &peer.endpoint), what.c_str(), ": look at UCX_TLS and UCX_NET_DEVICES");
      need_ucx(ucp_ep_rkey_unpack(peer.endpoint, key.data(), &peer.key), (what + "'s memory").c_str());
      std::memcpy(&peer.begin, begin.data(), sizeof peer.begin);
      void* here = nullptr;
      // Only over shared memory; elsewhere the answer is UCS_ERR_UNREACHABLE.
      if (ucp_rkey_ptr(peer.key, peer.begin, &here) == UCS_OK) peer.here = static_cast<const std::byte*>(here);
    }
  }

  [[nodiscard]] std::string lanes() const override {
    // UCX 1.13 tells lanes only in words: "#  lane[0]:  4:sysv/memory.0 md[4] -> md[4]/sysv/sysdev[255] rma_bw#0 am ..."
    std::string found;
    for (const Peer& peer : peers_) {
      if (peer.endpoint == nullptr) continue;
      char* text = nullptr;
      std::size_t size = 0;
      std::FILE* const stream = open_memstream(&text, &size);
      if (stream == nullptr) throw Error("no memory is left");
      ucp_ep_print_info(peer.endpoint, stream);
      std::fclose(stream);
      add_lanes({text, size}, found);
      std::free(text);
    }
    return found.empty() ? "unknown lanes" : found;
  }

  void put(int rank, std::uint64_t there, const std::byte* from, std::size_t bytes) override {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    ucp_request_param_t param{};
    void* const request = ucp_put_nbx(peer.endpoint, from, bytes, peer.begin + there, peer.key, &param);
    if (UCS_PTR_IS_ERR(request)) need_ucx(UCS_PTR_STATUS(request), "a put failed");
    if (request != nullptr) ucp_request_free(request);  // it goes once it is complete; flush() waits for that
  }

  Ticket get(int rank, std::uint64_t there, std::byte* into, std::size_t bytes) override {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    ucp_request_param_t param{};
    void* const request = ucp_get_nbx(peer.endpoint, into, bytes, peer.begin + there, peer.key, &param);
    if (UCS_PTR_IS_ERR(request)) need_ucx(UCS_PTR_STATUS(request), "a get failed");
    return request;
  }

  bool done(Ticket ticket) override {
    const ucs_status_t status = ucp_request_check_status(ticket);
    if (status == UCS_INPROGRESS) return false;
    ucp_request_free(ticket);
    need_ucx(status, "a transfer failed");
    return true;
  }

  void fence() override { need_ucx(ucp_worker_fence(worker_), "cannot put transfers in order"); }

  Ticket flush() override {
    ucp_request_param_t param{};
    void* const request = ucp_worker_flush_nbx(worker_, &param);
    if (UCS_PTR_IS_ERR(request)) need_ucx(UCS_PTR_STATUS(request), "cannot complete transfers");
    return request;
  }

  void progress() override { (void)ucp_worker_progress(worker_); }

  [[nodiscard]] const std::byte* reach(int rank) override { return peers_[static_cast<std::size_t>(rank)].here; }

 private:
  struct Peer {
    ucp_ep_h endpoint = nullptr;
    ucp_rkey_h key = nullptr;
    std::uint64_t begin = 0;
    const std::byte* here = nullptr;
  };

  /// Add the names of the lanes in an endpoint's description, each once.
  static void add_lanes(std::string_view text, std::string& found) {
    for (std::size_t at = text.find("lane["); at != std::string_view::npos; at = text.find("lane[", at + 1)) {
      const std::string_view line = text.substr(at, text.find('\n', at) - at);
      const std::size_t slash = line.find('/');
      if (slash == std::string_view::npos) continue;
      const std::size_t begin = line.rfind(':', slash) + 1;
      const std::string name(line.substr(begin, line.find_first_of(". ", slash) - begin));
      if ((", " + found + ",").find(", " + name + ",") == std::string::npos) found += (found.empty() ? "" : ", ") + name;
    }
  }

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_mem_h memory_ = nullptr;
  std::byte* window_ = nullptr;
  std::vector<Peer> peers_;
};

}  // namespace

std::unique_ptr<Transport> open_ucx() {
  return std::make_unique<Ucx>();
}

std::string ucx_version() {
  return ucp_get_version_string();
}

}  // namespace dpubench::offload
