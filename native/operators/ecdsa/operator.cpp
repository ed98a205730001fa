// ecdsa: signatures of FIPS 186-4 over the curves P-256 and P-384.

#include <map>

#include "operators/ecdsa/vectors.hpp"
#include "operators/support/signatures/pkey.hpp"

namespace dpubench {
namespace {

const ecdsa::Curve& curve_of(const Params& params) {
  return *std::find_if(std::begin(ecdsa::kCurves), std::end(ecdsa::kCurves),
                       [&](const ecdsa::Curve& c) { return params.is("curve", c.name); });
}

struct Moduli {
  Modular field, order;
};
/// Return the moduli of a curve. They are made once, because a signature costs little more than this.
const Moduli& moduli_of(const ecdsa::Curve& curve) {
  static std::map<std::string_view, Moduli> made;
  const auto it = made.find(curve.name);
  if (it != made.end()) return it->second;
  return made.emplace(curve.name, Moduli{Modular(limbs_of(from_hex(curve.p))), Modular(limbs_of(from_hex(curve.n)))})
      .first->second;
}

/// A point in Jacobian coordinates (x = X / Z^2, y = Y / Z^3); Z = 0 is the point at infinity. Coordinates are in Montgomery's
/// form.
struct Point {
  Limbs x, y, z;
};

/// The group of a curve with a = -3: formulas "dbl-2001-b" and "add-2007-bl" of the Explicit-Formulas Database.
class Group {
 public:
  explicit Group(const Modular& field) : f_(field) {}

  [[nodiscard]] Point twice(const Point& p) const {
    const Limbs delta = f_.montgomery(p.z, p.z);
    const Limbs gamma = f_.montgomery(p.y, p.y);
    const Limbs beta = f_.montgomery(p.x, gamma);
    const Limbs third = f_.montgomery(f_.sub(p.x, delta), f_.add(p.x, delta));
    const Limbs alpha = f_.add(third, f_.add(third, third));
    const Limbs beta4 = times(beta, 2);
    const Limbs x = f_.sub(f_.montgomery(alpha, alpha), f_.add(beta4, beta4));
    const Limbs yz = f_.add(p.y, p.z);
    const Limbs z = f_.sub(f_.sub(f_.montgomery(yz, yz), gamma), delta);
    return {x, f_.sub(f_.montgomery(alpha, f_.sub(beta4, x)), times(f_.montgomery(gamma, gamma), 3)), z};
  }
  [[nodiscard]] Point add(const Point& a, const Point& b) const {
    if (Modular::is_zero(a.z)) return b;
    if (Modular::is_zero(b.z)) return a;
    const Limbs aa = f_.montgomery(a.z, a.z);
    const Limbs bb = f_.montgomery(b.z, b.z);
    const Limbs u1 = f_.montgomery(a.x, bb);
    const Limbs s1 = f_.montgomery(f_.montgomery(a.y, b.z), bb);
    const Limbs h = f_.sub(f_.montgomery(b.x, aa), u1);
    const Limbs half_r = f_.sub(f_.montgomery(f_.montgomery(b.y, a.z), aa), s1);
    if (Modular::is_zero(h)) return Modular::is_zero(half_r) ? twice(a) : Point{a.x, a.y, f_.value(0)};
    const Limbs i = times(f_.montgomery(h, h), 2);
    const Limbs j = f_.montgomery(h, i);
    const Limbs r = times(half_r, 1);
    const Limbs v = f_.montgomery(u1, i);
    const Limbs x = f_.sub(f_.sub(f_.montgomery(r, r), j), times(v, 1));
    return {x, f_.sub(f_.montgomery(r, f_.sub(v, x)), times(f_.montgomery(s1, j), 1)),
            times(f_.montgomery(f_.montgomery(a.z, b.z), h), 1)};
  }
  /// Return the affine x of k times the point (x, y). Arguments and result are plain numbers, not in Montgomery's form.
  [[nodiscard]] Limbs x_of_multiple(const Limbs& k, const Limbs& x, const Limbs& y) const {
    const Point p{f_.enter(x), f_.enter(y), f_.enter(f_.value(1))};
    Point sum{p.x, p.y, f_.value(0)};
    for (std::size_t i = k.size() * 64; i-- > 0;) {
      sum = twice(sum);
      if ((k[i / 64] >> i % 64 & 1U) != 0) sum = add(sum, p);
    }
    const Limbs inverse = f_.inverse(f_.leave(sum.z));
    return f_.mul(f_.leave(sum.x), f_.mul(inverse, inverse));
  }

 private:
  /// Return `a` doubled `n` times.
  [[nodiscard]] Limbs times(Limbs a, int n) const {
    for (; n > 0; --n) a = f_.add(a, a);
    return a;
  }
  const Modular& f_;
};

class EcdsaOperator final : public SignatureOperator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i = signature_info("ecdsa");
      i.summary = "ECDSA signature over P-256 or P-384 (SHA-256): sign and verify";
      i.definition =
          "in: a 32-byte digest, or a message (SHA-256 for both curves). sign: out: the signature, DER SEQUENCE {r, s}, at most "
          "72 "
          "(P-256) or 104 (P-384) bytes, with a fresh random nonce. verify: aux: the signature's length (32-bit, native order), "
          "then "
          "the signature; status: ok or rejected; only valid signatures are timed. Keys are those of RFC 6979 A.2.5 and A.2.6.";
      i.parameters = {{"curve", "curve of the key", {"P-256", "P-384"}, "P-256", true, "", 0, 0},
                      operation_parameter({"sign", "verify"}),
                      input_parameter(),
                      message_size_parameter()};
      i.equivalence_text =
          "every engine verifies the signature, and rejects it after a bit flip in the signature or in the signed input; "
          "verifying accepts signatures made by the operator's own arithmetic";
      i.sources = {"FIPS 186-4 section 6", "RFC 6979 A.2.5 and A.2.6"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    std::vector<Signed> pairs;
    for (const ecdsa::Vector& v : curve_of(params).vectors)
      pairs.push_back({bytes_of(v.message), dss_signature(from_hex(v.r), from_hex(v.s))});
    std::vector<KnownAnswer> answers;
    answers.push_back(
        verification(params, params.is("curve", "P-256") ? "RFC 6979 A.2.5, SHA-256" : "RFC 6979 A.2.6, SHA-256", pairs));
    return answers;
  }

 protected:
  [[nodiscard]] std::unique_ptr<PkeyWork> frame(const Params& params) const override {
    auto work = std::make_unique<PkeyWork>();
    set_common(*work, params);
    const ecdsa::Curve& curve = curve_of(params);
    work->key_type = "EC";
    const der::Bytes point = der::join({{std::byte{0}, std::byte{4}}, from_hex(curve.qx), from_hex(curve.qy)});
    work->key = der::sequence({der::integer({std::byte{1}}), der::value(0x04, from_hex(curve.d)),
                               der::value(0xA0, from_hex(curve.oid)), der::value(0xA1, der::value(0x03, point))});
    work->out_bytes = params.is("curve", "P-256") ? 72 : 104;
    return work;
  }

  /// Sign as in FIPS 186-4 section 6.4. A digest of 32 bytes is no longer than either order.
  [[nodiscard]] std::vector<std::byte> sign(const Params& params, const std::vector<std::byte>& digest,
                                            inputs::Random& random) const override {
    const ecdsa::Curve& curve = curve_of(params);
    const auto& [field, order] = moduli_of(curve);
    const std::size_t bytes = curve.n.size() / 2;
    const Limbs gx = limbs_of(from_hex(curve.gx));
    const Limbs gy = limbs_of(from_hex(curve.gy));
    for (;;) {
      const Limbs k = order.reduce(limbs_of(random_bytes(random, bytes + 8)));
      if (Modular::is_zero(k)) continue;
      const Limbs r = order.reduce(Group(field).x_of_multiple(k, gx, gy));
      const Limbs rd = order.mul(r, limbs_of(from_hex(curve.d)));
      const Limbs s = order.mul(order.inverse(k), order.add(order.reduce(limbs_of(digest)), rd));
      if (!Modular::is_zero(r) && !Modular::is_zero(s)) return dss_signature(bytes_of_limbs(r, bytes), bytes_of_limbs(s, bytes));
    }
  }
};

DPUBENCH_OPERATOR(EcdsaOperator);

}  // namespace
}  // namespace dpubench
