#include "link/protection.hpp"

#include <nlohmann/json.hpp>

#include "link/kernel_tls.hpp"
#include "link/tls.hpp"

namespace dpubench::link {

std::string_view name(Protection protection) {
  switch (protection) {
    case Protection::kTls:
      return "tls";
    case Protection::kKtls:
      return "ktls";
    case Protection::kKtlsNic:
      return "ktls-nic";
    case Protection::kPlain:
      break;
  }
  return "plain";
}

std::string lack(Protection protection) {
  if (protection == Protection::kPlain) return {};
  if (std::string reason = tls_lack(protection); !reason.empty() || protection == Protection::kTls) return reason;
  if (std::string reason = kernel_tls_lack(); !reason.empty() || protection == Protection::kKtls) return reason;
  return offload_lack();
}

nlohmann::json protection_catalog() {
  nlohmann::json all = nlohmann::json::array();
  for (const Protection protection : kProtections) {
    const std::string reason = lack(protection);
    all.push_back({{"name", name(protection)}, {"available", reason.empty()}, {"reason", reason}});
  }
  return all;
}

}  // namespace dpubench::link
