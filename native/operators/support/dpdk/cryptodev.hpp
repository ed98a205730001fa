// Engines that use DPDK's cryptodev for symmetric operations: their sessions and base class, and the engine of the hash
// operators.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "operators/engine.hpp"
#include "operators/support/dpdk/cryptodev_device.hpp"
#include "operators/support/dpdk/cryptodev_queue.hpp"

namespace dpubench::cryptodev {

/// A session of symmetric operations of one kind.
template <Kind K>
class SymSession final : public Session {
 public:
  /// @param encrypt  direction of a cipher @param out_bytes  bytes of a digest @throws Error when the device does not do this
  SymSession(const Provider& provider, const Work& work, Transform transform, bool encrypt, std::uint32_t out_bytes)
      : provider_(provider), transform_(std::move(transform)), encrypt_(encrypt), out_bytes_(out_bytes) {
    Device* const device = provider_.device(0).first;
    if (const std::string reason = device->lacks(transform_); !reason.empty()) throw Error(reason);
    for (const Item& item : work.items) most_bytes_ = std::max(most_bytes_, static_cast<std::uint32_t>(item.in.size()));
    path_ = {device->is_hardware() ? "device" : "chosen by library",
             "rte_cryptodev_enqueue_burst",
             device->is_hardware(),
             device->driver,
             device->name,
             SymQueue<K>::most_jobs(provider_, most_bytes_)};
  }

  std::unique_ptr<Lane> open() override {
    return std::make_unique<dpdk::QueueLane<SymQueue<K>>>(
        std::make_unique<SymQueue<K>>(provider_, ordinals_, transform_, encrypt_, path_.max_in_flight, most_bytes_, out_bytes_));
  }
  [[nodiscard]] PathInfo path() const override { return path_; }

 private:
  Provider provider_;
  dpdk::Ordinals ordinals_;
  Transform transform_;
  bool encrypt_;
  std::uint32_t out_bytes_;
  std::uint32_t most_bytes_ = 0;
  PathInfo path_;
};

/// The base class of the engines of this device class. The engine of an operator derives from it.
class DeviceEngine : public Engine {
 public:
  DeviceEngine(std::string op, Provider provider) : provider_(std::move(provider)) {
    info_.op = std::move(op);
    info_.name = provider_.engine();
    info_.summary = provider_.summary();
    info_.library = dpdk::version();
    info_.in_flight = dpdk::kDefaultInFlight;
    info_.software_device = provider_.is_software();
  }
  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::string unavailable() const override { return provider_.unavailable(); }

 protected:
  [[nodiscard]] const Provider& provider() const { return provider_; }
  /// Return why the named device does not do this. For software drivers, whose capabilities are known without a device, return an
  /// empty string.
  [[nodiscard]] std::string lacks(const Transform& transform) const {
    return provider_.is_software() ? "" : dpdk::reason_of([&] { return provider_.device(0).first->lacks(transform); });
  }
  /// Return why messages of this size cannot be done, or an empty string. @param feature  RTE_CRYPTODEV_FF_*: input, or input and
  /// output, in several mbufs @param chained  whether software drivers have the feature
  [[nodiscard]] std::string too_long(std::uint64_t bytes, std::uint64_t feature, bool chained) const {
    if (bytes <= kMostSegment || provider_.is_flat()) return {};
    if (!provider_.is_software()) {
      std::string reason = dpdk::reason_of([&] {
        chained = provider_.device(0).first->has(feature);
        return std::string();
      });
      if (!reason.empty()) return reason;
    }
    return chained ? ""
                   : "the driver takes no chained buffers, and a buffer holds at most " + std::to_string(kMostSegment) + " bytes";
  }

 private:
  EngineInfo info_;
  Provider provider_;
};

inline Provider named_device() {
  return {};
}
inline Provider aesni_mb() {
  return Provider(dpdk::software_driver("cryptodev-aesni-mb", "crypto_aesni_mb", "librte_crypto_ipsec_mb"), true);
}
inline Provider aesni_gcm() {
  return Provider(dpdk::software_driver("cryptodev-aesni-gcm", "crypto_aesni_gcm", "librte_crypto_ipsec_mb"));
}
inline Provider openssl() {
  return Provider(dpdk::software_driver("cryptodev-openssl", "crypto_openssl", "librte_crypto_openssl"));
}

/// The engine of the hash operators.
class Hash final : public DeviceEngine {
 public:
  Hash(std::string op, Provider provider, rte_crypto_auth_algorithm algorithm, std::uint16_t digest_bytes)
      : DeviceEngine(std::move(op), std::move(provider)), algorithm_(algorithm), digest_bytes_(digest_bytes) {}

  [[nodiscard]] std::string unsupported(const Params& params) const override {
    if (std::string reason = lacks(transform()); !reason.empty()) return reason;
    // crypto_openssl takes chains of input.
    return too_long(params.number("size"), RTE_CRYPTODEV_FF_IN_PLACE_SGL, true);
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<SymSession<Kind::kHash>>(provider(), work, transform(), true, digest_bytes_);
  }

 private:
  [[nodiscard]] Transform transform() const { return Transform::hash(algorithm_, digest_bytes_); }
  rte_crypto_auth_algorithm algorithm_;
  std::uint16_t digest_bytes_;
};

}  // namespace dpubench::cryptodev
