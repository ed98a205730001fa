#include "datapath/stages/batch.hpp"

namespace dpubench::datapath {

const char* drop_name(Fate fate) noexcept {
  switch (fate) {
    case Fate::kForward:
    case Fate::kNext:
    case Fate::kHeld:
      return nullptr;
    case Fate::kDropShort:
      return "short";
    case Fate::kDropMalformed:
      return "malformed";
    case Fate::kDropChecksum:
      return "checksum";
    case Fate::kDropNotIp:
      return "not_ip";
    case Fate::kDropFull:
      return "full";
    case Fate::kDropPolicy:
      return "policy";
    case Fate::kDropNoRoom:
      return "no_room";
    case Fate::kDropFailed:
      return "failed";
    case Fate::kDropStale:
      break;
  }
  return "stale";
}

}  // namespace dpubench::datapath
