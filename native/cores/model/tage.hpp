// TAGE: a bimodal predictor with tagged tables whose histories grow geometrically.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cores/model/predictors.hpp"

namespace dpubench::cores {

/// The predictor of Seznec and Michaud, "A case for (partially) TAgged GEometric history length branch prediction", Journal of
/// Instruction-Level Parallelism 8 (2006): section 3, and the update of section 3.2. It leaves out the path history of section
/// 3.1.2, because its gain there is small.
class Tage final : public DirectionPredictor {
 public:
  Tage(const Branches& branches, std::uint32_t contexts);
  bool predict(std::uint32_t context, std::uint64_t pc, bool taken) override;

 private:
  static constexpr std::size_t kMaxTables = 12;
  static constexpr std::size_t kMaxHistory = 256;
  static constexpr std::uint32_t kTagBits = 11;

  struct Entry {
    std::uint16_t tag = 0;
    std::int8_t counter = 0;  ///< -4 to 3; it predicts taken from 0 on
    std::uint8_t useful = 0;  ///< 0 to 3
  };
  /// A long history folded to few bits by xor. It is updated one bit at a time (section 3.1.1).
  struct Folded {
    std::uint32_t value = 0;
    std::uint32_t bits = 1;
    std::uint32_t length = 1;
    void push(bool newest, bool oldest);
  };
  struct History {
    std::array<bool, kMaxHistory + 1> outcomes{};  ///< circular
    std::size_t newest = 0;
    std::array<Folded, kMaxTables> index{};
    std::array<Folded, kMaxTables> tag{};  ///< two foldings of different widths; otherwise tags would repeat the index
    std::array<Folded, kMaxTables> tag2{};
  };
  struct Lookup {
    std::array<std::uint32_t, kMaxTables> index{};
    std::array<std::uint16_t, kMaxTables> tag{};
    int provider = -1;  ///< the table with the longest history that knows the branch; -1: the bimodal table
    bool predicted = false;
    bool alternate = false;  ///< prediction of the next shorter table that knows the branch
    bool is_new = false;     ///< the provider's entry is new and has learned nothing yet
  };

  [[nodiscard]] Lookup look_up(const History& history, std::uint64_t pc) const;
  void train(const Lookup& found, std::uint64_t pc, bool taken, bool final_prediction);
  void allocate(const Lookup& found, bool taken);
  void remember(History& history, bool taken) const;
  [[nodiscard]] bool base(std::uint64_t pc) const { return base_[pc >> 2 & (base_.size() - 1)] >= 2; }

  std::size_t tables_;
  std::uint32_t index_bits_;
  std::array<std::uint32_t, kMaxTables> lengths_{};
  std::vector<std::uint8_t> base_;
  std::vector<std::vector<Entry>> entries_;  ///< by table
  std::vector<History> histories_;           ///< by context
  int use_alternate_ = 8;                    ///< 0 to 15; from 8 on the predictor does not trust new entries (section 3.2.4)
  std::uint64_t branches_ = 0;
  std::uint32_t random_ = 0x2545f491U;
};

}  // namespace dpubench::cores
