// Simulates collectives that workers on devices move, message by message, with SimGrid's S4U. It shares no code with the
// closed-form model of study offload (python/dpubench/studies/offload/prediction.py), which tests compare with it.
//
//   collectives KEY=VALUE...   prints the seconds of phase `communication` (workers) or `reference` (hosts)
//
// Keys: phase, pattern, path, assignment, workers, bytes, stages, and the parameters of a described cluster by their names.
// stages=free: each worker goes on as soon as it can, as programs do. stages=together: all end a stage before one begins the
// next.
#include <xbt/log.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <simgrid/s4u.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

namespace {

class Arguments {
 public:
  Arguments(int count, char** words) {
    for (int i = 1; i < count; ++i) {
      const std::string word = words[i];
      const auto equals = word.find('=');
      if (equals == std::string::npos) throw std::invalid_argument(word + ": write KEY=VALUE");
      given_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  [[nodiscard]] const std::string& text(const std::string& key) const {
    const auto found = given_.find(key);
    if (found == given_.end()) throw std::invalid_argument(key + " is missing");
    return found->second;
  }
  [[nodiscard]] double number(const std::string& key) const { return std::stod(text(key)); }
  [[nodiscard]] int count(const std::string& key) const { return std::stoi(text(key)); }

 private:
  std::map<std::string, std::string> given_;
};

/// The cluster: a place in SimGrid for the memory of each node's hosts and for that of its device.
class Cluster {
 public:
  Cluster(const Arguments& given, bool by_workers)
      : nodes(given.count("nodes")), ranks(given.count("ranks_per_node")), workers(given.count("workers")) {
    const double devices = given.number("devices_per_node");
    const double link = devices * given.number("link_gbps") * 1e9 / 8;
    const double pcie = devices * given.number("pcie_gbytes_per_s") * 1e9;
    const double device_memory = devices * given.number("device_memory_gbytes_per_s") * 1e9;
    const double host_memory = given.number("host_memory_gbytes_per_s") * 1e9;
    auto* zone = s4u::create_full_zone("cluster");
    std::vector<int> on(static_cast<std::size_t>(nodes), 0);
    for (int worker = 0; worker < workers; ++worker) ++on[at(node_of_worker(worker))];
    // Latencies are links of their own that never limit a rate.
    const auto latency = [&](const char* name, const char* key) {
      return zone->create_link(name, 1e13)
          ->set_latency(given.number(key) * 1e-6)
          ->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE)
          ->seal();
    };
    auto* far = latency("far", "link_latency_us");
    auto* near = latency("near", "pcie_latency_us");
    std::vector<s4u::Link*> out, in, up, down, of_device, of_host;
    for (int n = 0; n < nodes; ++n) {
      const double others = on[at(n)] / devices - 1;
      const double share = by_workers && others > 0 ? 1 / (1 + given.number("contention") * others) : 1;
      const auto made = [&](const char* what, double rate) {
        return zone->create_link(std::string(what) + std::to_string(n), rate)->set_latency(0)->seal();
      };
      out.push_back(made("out", link * share));
      in.push_back(made("in", link * share));
      up.push_back(made("up", pcie * share));
      down.push_back(made("down", pcie * share));
      of_device.push_back(made("device-memory", device_memory * share));
      of_host.push_back(made("host-memory", host_memory));
      host_.push_back(zone->create_host("host" + std::to_string(n), 1e9)->seal());
      // SimGrid has no way from a place to itself: transfers within a node end at places of their own.
      copied_.push_back(zone->create_host("copied" + std::to_string(n), 1e9)->seal());
      turned_.push_back(zone->create_host("turned" + std::to_string(n), 1e9)->seal());
      passed_.push_back(zone->create_host("passed" + std::to_string(n), 1e9)->seal());
      device_.push_back(zone->create_host("device" + std::to_string(n), 1e9)->seal());
    }
    const auto route = [&](s4u::Host* from, s4u::Host* to, const std::vector<s4u::Link*>& links) {
      std::vector<s4u::LinkInRoute> way;
      for (auto* one : links) way.emplace_back(one);
      zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, way, false);
    };
    for (int a = 0; a < nodes; ++a) {
      const auto from = at(a);
      route(host_[from], copied_[from], {near, of_host[from], of_host[from]});
      route(host_[from], turned_[from], {near, of_host[from], up[from], down[from], of_host[from]});
      route(host_[from], device_[from], {near, of_host[from], up[from], of_device[from]});
      route(device_[from], host_[from], {near, of_device[from], down[from], of_host[from]});
      route(device_[from], passed_[from], {near, of_device[from], of_device[from]});
      for (int b = 0; b < nodes; ++b) {
        if (a == b) continue;
        const auto to = at(b);
        route(host_[from], host_[to], {far, of_host[from], up[from], out[from], in[to], down[to], of_host[to]});
        route(host_[from], device_[to], {far, of_host[from], up[from], out[from], in[to], of_device[to]});
        route(device_[from], host_[to], {far, of_device[from], out[from], in[to], down[to], of_host[to]});
        route(device_[from], device_[to], {far, of_device[from], out[from], in[to], of_device[to]});
      }
    }
    zone->seal();
  }

  [[nodiscard]] int hosts() const { return nodes * ranks; }
  [[nodiscard]] int node_of_host(int host) const { return host / ranks; }
  [[nodiscard]] int node_of_worker(int worker) const { return static_cast<int>(static_cast<long>(worker) * nodes / workers); }
  [[nodiscard]] s4u::Host* host(int host) const { return host_[at(node_of_host(host))]; }
  [[nodiscard]] s4u::Host* device(int worker) const { return device_[at(node_of_worker(worker))]; }
  /// Where a copy by a host ends.
  [[nodiscard]] s4u::Host* copy(int from, int to) const {
    return node_of_host(from) == node_of_host(to) ? copied_[at(node_of_host(to))] : host(to);
  }
  /// Where a transfer between two hosts' memory ends that a device makes: within a node it goes over PCIe and back.
  [[nodiscard]] s4u::Host* turn(int from, int to) const {
    return node_of_host(from) == node_of_host(to) ? turned_[at(node_of_host(to))] : host(to);
  }
  /// Where a transfer between two workers' memory ends.
  [[nodiscard]] s4u::Host* pass(int from, int to) const {
    return node_of_worker(from) == node_of_worker(to) ? passed_[at(node_of_worker(to))] : device(to);
  }

  const int nodes, ranks, workers;

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  std::vector<s4u::Host*> host_, copied_, turned_, device_, passed_;
};

struct Message {
  s4u::Host* from;
  s4u::Host* to;
  double blocks;
};

/// What one rank does: messages one after another without waiting, then it waits for all of them.
class Rank {
 public:
  Rank(double cost_s, double bytes, double sum_rate) : cost_s_(cost_s), bytes_(bytes), sum_rate_(sum_rate) {}
  void post(const Message& message) {
    s4u::this_actor::sleep_for(cost_s_);
    under_way_.push_back(s4u::Comm::sendto_async(message.from, message.to, static_cast<std::uint64_t>(message.blocks * bytes_)));
  }
  void wait() {
    for (const auto& one : under_way_) one->wait();
    under_way_.clear();
  }
  void add(double blocks) const { s4u::this_actor::sleep_for(blocks * bytes_ / sum_rate_); }

 private:
  double cost_s_, bytes_, sum_rate_;
  std::vector<s4u::CommPtr> under_way_;
};

std::vector<int> assigned(const Cluster& cluster, const std::string& how) {
  std::vector<int> worker_of;
  std::vector<int> served(static_cast<std::size_t>(cluster.workers), 0);
  for (int host = 0; host < cluster.hosts(); ++host) {
    int chosen = -1;
    if (how == "block") {
      chosen = static_cast<int>(static_cast<long>(host) * cluster.workers / cluster.hosts());
    } else if (how == "cyclic") {
      chosen = host % cluster.workers;
    } else {
      for (int worker = 0; worker < cluster.workers; ++worker) {
        if (cluster.node_of_worker(worker) != cluster.node_of_host(host)) continue;
        if (chosen < 0 || served[static_cast<std::size_t>(worker)] < served[static_cast<std::size_t>(chosen)]) chosen = worker;
      }
    }
    worker_of.push_back(chosen);
    if (chosen >= 0) ++served[static_cast<std::size_t>(chosen)];
  }
  for (auto& chosen : worker_of) {
    if (chosen >= 0) continue;
    chosen = 0;
    for (int worker = 1; worker < cluster.workers; ++worker) {
      if (served[static_cast<std::size_t>(worker)] < served[static_cast<std::size_t>(chosen)]) chosen = worker;
    }
    ++served[static_cast<std::size_t>(chosen)];
  }
  return worker_of;
}

void work(const Cluster& c, const std::string& pattern, bool staged, bool together, int me, const std::vector<int>& mine,
          Rank rank, const s4u::BarrierPtr& all) {
  auto* own = c.device(me);
  const double whole = c.hosts();
  const auto each = [&](const std::function<Message(int)>& message) {
    for (const int host : mine) rank.post(message(host));
    rank.wait();
  };
  const auto next_stage = [&] {
    if (together) all->wait();
  };
  const auto move = [&](int from, int to) { rank.post({c.host(from), c.turn(from, to), 1}); };
  const auto get = [&](double blocks) { each([&](int host) { return Message{c.host(host), own, blocks}; }); };
  const auto put = [&](double blocks) { each([&](int host) { return Message{own, c.host(host), blocks}; }); };
  if (!staged) {
    for (const int host : mine) {
      if (pattern == "broadcast" || pattern == "scatter") move(0, host);
      if (pattern == "gather") move(host, 0);
      if (pattern == "all-to-all" || pattern == "allgather-shared") {
        for (int to = 0; to < c.hosts(); ++to) move(host, to);
      }
    }
    rank.wait();
  } else if (pattern == "broadcast") {
    rank.post({c.host(0), own, 1});
    rank.wait();
    next_stage();
    put(1);
  } else if (pattern == "scatter") {
    each([&](int) { return Message{c.host(0), own, 1}; });
    next_stage();
    put(1);
  } else if (pattern == "gather") {
    get(1);
    next_stage();
    each([&](int) { return Message{own, c.host(0), 1}; });
  } else if (pattern == "allgather") {
    get(1);
    next_stage();
    if (me != 0) each([&](int) { return Message{own, c.pass(me, 0), 1}; });
    all->wait();
    if (me != 0) rank.post({c.device(0), c.pass(0, me), whole});
    rank.wait();
    next_stage();
    put(whole);
  } else if (pattern == "allgather-shared") {
    get(1);
    next_stage();
    for (int other = 0; other < c.workers; ++other) {
      if (other == me) continue;
      for (std::size_t i = 0; i < mine.size(); ++i) rank.post({own, c.pass(me, other), 1});
    }
    rank.wait();
    all->wait();
    put(whole);
  } else if (pattern == "all-to-all") {
    get(whole);
    next_stage();
    for (std::size_t i = 0; i < mine.size(); ++i) {
      for (int to = 0; to < c.hosts(); ++to) rank.post({own, c.host(to), 1});
    }
    rank.wait();
  } else if (pattern == "reduce" || pattern == "allreduce") {
    get(1);
    rank.add(static_cast<double>(mine.size()));
    next_stage();
    if (me != 0) rank.post({own, c.pass(me, 0), 1});
    rank.wait();
    all->wait();
    if (me == 0) rank.add(c.workers);
    if (pattern == "reduce") {
      if (me == 0) rank.post({own, c.host(0), 1});
      rank.wait();
    } else {
      all->wait();
      if (me != 0) rank.post({c.device(0), c.pass(0, me), 1});
      rank.wait();
      next_stage();
      put(1);
    }
  } else {
    throw std::invalid_argument("pattern=" + pattern);
  }
}

void alone(const Cluster& c, const std::string& pattern, int me, Rank rank, const s4u::BarrierPtr& all) {
  const auto put = [&](int to) { rank.post({c.host(me), c.copy(me, to), 1}); };
  const bool from_root = pattern == "broadcast" || pattern == "scatter";
  const bool sums = pattern == "reduce" || pattern == "allreduce";
  if (pattern == "gather" || sums) put(0);
  if (pattern == "allgather" || pattern == "allgather-shared" || pattern == "all-to-all") {
    for (int to = 0; to < c.hosts(); ++to) put(to);
  }
  rank.wait();
  if (sums) {
    all->wait();
    if (me == 0) rank.add(c.hosts());
  }
  if (me == 0 && (from_root || pattern == "allreduce")) {
    for (int to = 0; to < c.hosts(); ++to) put(to);
    rank.wait();
  }
}

void simulate(const Arguments& given) {
  const bool by_workers = given.text("phase") == "communication";
  const Cluster cluster(given, by_workers);
  const double bytes = given.number("bytes");
  const std::string mover = by_workers ? "worker" : "host";
  const Rank rank(given.number(mover + "_message_us") * 1e-6, bytes, given.number(mover + "_sum_gbytes_per_s") * 1e9);
  const std::string pattern = given.text("pattern");
  if (by_workers) {
    const auto worker_of = assigned(cluster, given.text("assignment"));
    std::vector<std::vector<int>> mine(static_cast<std::size_t>(cluster.workers));
    for (int host = 0; host < cluster.hosts(); ++host) {
      mine[static_cast<std::size_t>(worker_of[static_cast<std::size_t>(host)])].push_back(host);
    }
    const auto all = s4u::Barrier::create(static_cast<unsigned>(cluster.workers));
    const bool staged = given.text("path") == "staged";
    const bool together = given.text("stages") == "together";
    for (int me = 0; me < cluster.workers; ++me) {
      s4u::Actor::create("worker", cluster.device(me),
                         [&cluster, pattern, staged, together, me, own = mine[static_cast<std::size_t>(me)], rank, all] {
                           work(cluster, pattern, staged, together, me, own, rank, all);
                         });
    }
    s4u::Engine::get_instance()->run();
    return;
  }
  const auto all = s4u::Barrier::create(static_cast<unsigned>(cluster.hosts()));
  for (int me = 0; me < cluster.hosts(); ++me) {
    s4u::Actor::create("host", cluster.host(me), [&cluster, pattern, me, rank, all] { alone(cluster, pattern, me, rank, all); });
  }
  s4u::Engine::get_instance()->run();
}

}  // namespace

int main(int argc, char** argv) {
  int words = 1;
  s4u::Engine engine(&words, argv);
  xbt_log_control_set("root.threshold:error");
  // A fluid model without the corrections for TCP: bytes over bandwidth, and the latency.
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/TCP-gamma:0");
  s4u::Engine::set_config("network/crosstraffic:0");
  // The default, Lazy, ends some transfers at their beginning.
  s4u::Engine::set_config("network/optim:Full");
  s4u::Engine::set_config("surf/precision:1e-12");  // seconds
  try {
    simulate(Arguments(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "collectives: " << error.what() << '\n';
    return 2;
  }
  std::printf("%.12g\n", s4u::Engine::get_clock());
  return 0;
}
