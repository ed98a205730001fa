#include "operators/engines.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/layout.hpp"

namespace dpubench {
namespace {

namespace fs = std::filesystem;

/// Return the names under which a module that cannot be loaded is listed: `lpm__dpdk_fib.so` -> {"lpm", "dpdk-fib"}.
std::pair<std::string, std::string> names_of(const fs::path& file) {
  const std::string stem = file.stem().string();
  const auto split = stem.find("__");
  if (split == std::string::npos) return {"", stem};
  std::string engine = stem.substr(split + 2);
  std::replace(engine.begin(), engine.end(), '_', '-');
  return {stem.substr(0, split), engine};
}

class Collector final : public EngineSink {
 public:
  explicit Collector(EngineCatalog& catalog) : catalog_(catalog) {}
  void add(std::unique_ptr<const Engine> engine) override { catalog_.add(std::move(engine)); }

 private:
  EngineCatalog& catalog_;
};

}  // namespace

void EngineCatalog::load(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) files.push_back(it->path());
  if (error)
    throw Error("engine folder " + folder.string() + ": " + error.message() + ": build the programs, or name another folder");
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    if (file.extension() == ".so") load_module(file);
    if (file.extension() == ".missing") {
      std::ifstream in(file);
      std::string reason((std::istreambuf_iterator<char>(in)), {});
      while (!reason.empty() && reason.back() == '\n') reason.pop_back();
      const auto [op, name] = names_of(file);
      slots_.push_back(std::make_unique<EngineSlot>(EngineSlot{op, name, reason, nullptr}));
    }
  }
}

void EngineCatalog::load_module(const fs::path& file) {
  const auto [op, name] = names_of(file);
  const auto refuse = [&, op = op, name = name](const std::string& reason) {
    slots_.push_back(std::make_unique<EngineSlot>(EngineSlot{op, name, reason, nullptr}));
  };
  void* module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return refuse(dlerror());
  const auto abi = reinterpret_cast<std::uint32_t (*)()>(dlsym(module, "dpubench_engine_abi"));
  const auto engines = reinterpret_cast<void (*)(EngineSink&)>(dlsym(module, "dpubench_engines"));
  if (abi == nullptr || engines == nullptr)
    return refuse(file.string() + " is not an engine module: it does not use DPUBENCH_ENGINES");
  if (abi() != kEngineAbi) {
    return refuse(file.string() + " was built for engine interface " + std::to_string(abi()) + ", and this program has " +
                  std::to_string(kEngineAbi) + ": rebuild it");
  }
  Collector sink(*this);
  engines(sink);
}

void EngineCatalog::add(std::unique_ptr<const Engine> engine) {
  const EngineInfo& info = engine->info();
  slots_.push_back(std::make_unique<EngineSlot>(EngineSlot{info.op, info.name, engine->unavailable(), engine.get()}));
  owned_.push_back(std::move(engine));
}

std::vector<const EngineSlot*> EngineCatalog::of(const Operator& op) const {
  std::vector<const EngineSlot*> found;
  for (const auto& slot : slots_) {
    if (slot->op == op.info().name) found.push_back(slot.get());
  }
  const std::string& reference = op.info().reference_engine;
  std::sort(found.begin(), found.end(), [&](const EngineSlot* a, const EngineSlot* b) {
    return std::pair(a->name != reference, a->name) < std::pair(b->name != reference, b->name);
  });
  return found;
}

const EngineSlot* EngineCatalog::find(std::string_view op, std::string_view name) const {
  const auto it =
      std::find_if(slots_.begin(), slots_.end(), [&](const auto& slot) { return slot->op == op && slot->name == name; });
  return it == slots_.end() ? nullptr : it->get();
}

fs::path default_engine_folder() {
  return layout().folder / "engines";
}

}  // namespace dpubench
