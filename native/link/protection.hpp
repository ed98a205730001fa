// How a transfer is protected, and which protections this machine has.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace dpubench::link {

enum class Protection : std::uint8_t {
  kPlain,    ///< none; sendfile(2)
  kTls,      ///< OpenSSL in user space
  kKtls,     ///< the kernel encrypts what sendfile(2) sends
  kKtlsNic,  ///< the network interface does
};

inline constexpr std::array kProtections = {Protection::kPlain, Protection::kTls, Protection::kKtls, Protection::kKtlsNic};

/// Return the name that jobs have for it.
std::string_view name(Protection protection);

/// Return why files cannot be sent in this way from here, with a remedy; empty if they can.
std::string lack(Protection protection);

/// Return all protections, with their lacks, for --list.
nlohmann::json protection_catalog();

}  // namespace dpubench::link
