#include "inputs/prefixes.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "inputs/file.hpp"

namespace dpubench::inputs {

namespace {

constexpr std::size_t kShownErrors = 10;

/// A collector of faulty lines. It describes only the first ten.
class Complaints {
 public:
  explicit Complaints(const std::string& name) : name_(name) {}
  void add(std::size_t line, std::string_view text, const std::string& what) {
    if (count_++ < kShownErrors) text_ += "\n  " + name_ + ":" + std::to_string(line) + ": " + excerpt(text) + ": " + what;
  }
  void raise_if_any() const {
    if (count_ == 0) return;
    std::string message = "prefix list " + name_ + ": " + std::to_string(count_) + (count_ == 1 ? " bad line" : " bad lines") +
                          "; a line is PREFIX/LENGTH,NEXT_HOP as 203.0.113.0/24,64500:" + text_;
    if (count_ > kShownErrors) message += "\n  and " + std::to_string(count_ - kShownErrors) + " more";
    throw Error(message);
  }

 private:
  const std::string& name_;
  std::string text_;
  std::size_t count_ = 0;
};

std::string_view trimmed(std::string_view s) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = s.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(kBlank) - first + 1);
}

/// Return a whole decimal number without sign or blanks, or nothing for any other text or a value above `max`.
std::optional<std::uint32_t> number(std::string_view s, std::uint32_t max) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (s.empty() || error != std::errc{} || end != s.data() + s.size() || value > max) return std::nullopt;
  return value;
}

/// A family of addresses: how to read its text, and how to clear host bits. A parsed prefix keeps the next hop as written.
struct Family4 {
  using Prefix = Prefix4;
  static constexpr unsigned kBits = 32;
  static constexpr std::string_view kName = "IPv4";
  static constexpr std::string_view kOther = "IPv6 address in a list of IPv4 prefixes; give it as routes6";
  static bool is_other(std::string_view s) { return s.find(':') != std::string_view::npos; }

  /// Parse dotted decimal. Leading zeros are refused, because some programs read them as octal.
  static bool parse(std::string_view s, Prefix& out) {
    std::uint32_t address = 0;
    const char* p = s.data();
    const char* const end = p + s.size();
    for (int part = 0; part < 4; ++part) {
      if (part > 0 && (p == end || *p++ != '.')) return false;
      std::uint32_t value = 0;
      const char* const start = p;
      while (p != end && *p >= '0' && *p <= '9' && p - start < 3) value = value * 10 + static_cast<std::uint32_t>(*p++ - '0');
      if (p == start || value > 255 || (*start == '0' && p - start > 1)) return false;
      address = address << 8 | value;
    }
    out.address = address;
    return p == end;
  }
  static bool mask(Prefix& p) {
    const std::uint32_t kept = p.length == 0 ? 0 : p.address & (~std::uint32_t{0} << (kBits - p.length));
    return std::exchange(p.address, kept) != kept;
  }
  static std::string text(const Prefix& p) {
    std::string s;
    for (int shift = 24; shift >= 0; shift -= 8) s += std::to_string(p.address >> shift & 0xffU) + (shift > 0 ? "." : "");
    return s;
  }
};

struct Family6 {
  using Prefix = Prefix6;
  static constexpr unsigned kBits = 128;
  static constexpr std::string_view kName = "IPv6";
  static constexpr std::string_view kOther = "IPv4 address in a list of IPv6 prefixes; give it as routes4";
  static bool is_other(std::string_view s) {
    return s.find(':') == std::string_view::npos && s.find('.') != std::string_view::npos;
  }

  static bool parse(std::string_view s, Prefix& out) {
    char text[INET6_ADDRSTRLEN];
    if (s.size() >= sizeof text || s.find('\0') != std::string_view::npos) return false;
    text[s.copy(text, sizeof text - 1)] = '\0';
    return inet_pton(AF_INET6, text, out.address.data()) == 1;
  }
  static bool mask(Prefix& p) {
    bool changed = false;
    for (unsigned i = 0; i < 16; ++i) {
      const unsigned kept = p.length > 8 * i ? std::min(p.length - 8 * i, 8U) : 0;
      const auto value = static_cast<std::uint8_t>(p.address[i] & (0xff00U >> kept));
      changed |= std::exchange(p.address[i], value) != value;
    }
    return changed;
  }
  static std::string text(const Prefix& p) {
    char s[INET6_ADDRSTRLEN];
    return inet_ntop(AF_INET6, p.address.data(), s, sizeof s) == nullptr ? "" : s;
  }
};

/// Parse a line into `out`. @returns the fault, or an empty text
template <class Family>
std::string parse_line(std::string_view line, typename Family::Prefix& out) {
  const std::size_t comma = line.find(',');
  if (comma == std::string_view::npos) return "no comma; the next hop is missing";
  const std::string_view prefix = trimmed(line.substr(0, comma));
  const std::string_view hop = trimmed(line.substr(comma + 1));
  const std::size_t slash = prefix.find('/');
  const std::string_view address = prefix.substr(0, slash);
  if (Family::is_other(address)) return std::string(Family::kOther);
  if (!Family::parse(address, out)) return "no " + std::string(Family::kName) + " address before the slash";
  if (slash == std::string_view::npos) {
    return "no length; for a single address write " + std::string(prefix) + "/" + std::to_string(Family::kBits);
  }
  const auto length = number(prefix.substr(slash + 1), Family::kBits);
  if (!length) return "the length after the slash must be a number from 0 to " + std::to_string(Family::kBits);
  out.length = static_cast<std::uint8_t>(*length);
  if (Family::mask(out)) {
    return "host bits are set; the network is " + Family::text(out) + "/" + std::to_string(out.length);
  }
  const auto next_hop = number(hop, ~std::uint32_t{0});
  if (!next_hop) return "the next hop must be a number from 0 to 4294967295";
  out.next_hop = *next_hop;
  return {};
}

template <class P>
auto key(const P& p) {
  return std::tie(p.address, p.length);
}

/// Keep the first place and the last next hop of each prefix.
template <class P>
void drop_duplicates(PrefixList<P>& list) {
  // Real tables are sorted. One pass then proves that there is nothing to do.
  const auto ordered = [](const P& a, const P& b) { return key(a) < key(b); };
  if (std::adjacent_find(list.prefixes.begin(), list.prefixes.end(), [&](const P& a, const P& b) { return !ordered(a, b); }) ==
      list.prefixes.end()) {
    return;
  }
  std::vector<std::uint32_t> order(list.prefixes.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return ordered(list.prefixes[a], list.prefixes[b]); });
  std::vector<bool> dropped(order.size());
  for (std::size_t i = 1, first = 0; i < order.size(); ++i) {
    if (key(list.prefixes[order[i]]) != key(list.prefixes[order[first]])) {
      first = i;
      continue;
    }
    list.prefixes[order[first]].next_hop = list.prefixes[order[i]].next_hop;
    dropped[order[i]] = true;
    ++list.duplicates;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    if (!dropped[i]) list.prefixes[kept++] = list.prefixes[i];
  }
  list.prefixes.resize(kept);
}

template <class P>
void fold_next_hops(PrefixList<P>& list) {
  std::unordered_map<std::uint32_t, std::uint32_t> index;
  for (P& p : list.prefixes) p.next_hop = index.try_emplace(p.next_hop, static_cast<std::uint32_t>(index.size())).first->second;
  list.next_hops = static_cast<std::uint32_t>(index.size());
}

template <class Family>
PrefixList<typename Family::Prefix> parse(std::string_view text, const std::string& name) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  constexpr std::size_t kTypicalLine = 20;
  if (const std::string hint = unpack_hint(std::as_bytes(std::span(text)), name); !hint.empty()) {
    throw Error("prefix list " + name + ": " + hint);
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  PrefixList<typename Family::Prefix> list;
  list.prefixes.reserve(text.size() / kTypicalLine);
  Complaints complaints(name);
  bool first = true;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    if (std::exchange(first, false) && line.starts_with("prefix,")) continue;
    typename Family::Prefix prefix;
    const std::string wrong = parse_line<Family>(line, prefix);
    if (wrong.empty()) {
      list.prefixes.push_back(prefix);
    } else {
      complaints.add(number, line, wrong);
    }
  }
  complaints.raise_if_any();
  if (list.prefixes.empty()) {
    throw Error("prefix list " + name + ": holds no prefix; write lines as " +
                (Family::kBits == 32 ? "203.0.113.0/24,64500" : "2001:db8::/32,64500"));
  }
  drop_duplicates(list);
  fold_next_hops(list);
  return list;
}

}  // namespace

PrefixList4 parse_prefixes4(std::string_view text, const std::string& name) {
  return parse<Family4>(text, name);
}
PrefixList6 parse_prefixes6(std::string_view text, const std::string& name) {
  return parse<Family6>(text, name);
}

PrefixList4 read_prefixes4(const std::filesystem::path& path) {
  return parse_prefixes4(as_text(read_file(path, "prefix list")), path.string());
}
PrefixList6 read_prefixes6(const std::filesystem::path& path) {
  return parse_prefixes6(as_text(read_file(path, "prefix list")), path.string());
}

}  // namespace dpubench::inputs
