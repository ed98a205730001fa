// Tests of rsa: integers of arbitrary length against known values; signatures verify and forgeries do not; ciphertexts decrypt,
// and damaged ones are rejected.

#include "operators/support/testing/pkey_test.hpp"

namespace dpubench {
namespace {

struct Known {
  std::string_view m, a, b, wide, exponent;                ///< modulus and operands
  std::string_view sum, difference, product, rest, power;  ///< results modulo m: a + b, a - b, a b, wide, a^exponent
};

// These values were computed with Python's integers.
constexpr Known kKnown[] = {
    {"03", "01", "00", "6186c5", "03", "01", "01", "00", "02", "01"},
    {"fffffffffffffffb", "238642ea126a1e48", "9e115e4b9e30691c", "02b8df1461aaf8eb18b90074513021da8978206f5c6671e0c07e",
     "c60a3cab359eeefb", "c197a135b09a8764", "8574e49e7439b527", "340bf4552a5a1a8a", "ebb27c096a1c2e28", "d0f50e7c87af90e4"},
    {"7fffffffffffffffffffffffffffffff", "153ac8acfb7ff337f5cae3bf3729c619", "2825ba5d4a0fe75d2a9eba0cdf561d80",
     "3ddc3266aa3bb0cde917f7f35634f0e3cd972e81d66d346c6e2ba02fdaa1ad864c44e049548e8a0a8c9632ea6928f6236bf2",
     "263eb6f8621aef57e4cc4132f7108e96", "3d60830a458fda9520699dcc167fe399", "6d150e4fb1700bdacb2c29b257d3a898",
     "5ba144451712c230c4d56db3275b51ac", "06e7aa57b61b0d4d5317774014c129ba", "54982e9d72b8a55e17fe7b0b84340e99"},
    {"ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
     "10acff0043892dfc254cb864ef901b932a7c18806a3753915c76f18a0585a01c",
     "ad8d194a9892139600ddb74d960d5a8f9a656aafd14125844d25deb354f46a69",
     "ceffd84a1d3a5b8e8fb2bff29101f3001cee05da8467f06313fff9a01fe8419521fe0e979cf32d1634b4b465325278f845f57b3120df2f"
     "4d4c8650d7d13fb24891917b121dc54e5a3a26d18a669a5af84e6b4f59672710e6d8e6568068b9b52a43ab",
     "9460597bdc5dbe44096b384309c9a937a68c8f95ef04a012e8", "be3a184adc1b4192262a6fb2859d7622c4e183303b787915a99cd03d5a7a0a85",
     "631fe5b4aaf71a67246f01175982c1039016add198f62e0d0f5112d6b09135b2",
     "a62a9ac8bb0ef1ab0fd89e640b866934b684163060327b3358ec54d4221b8008",
     "7ae1d56dad8d2ea63b5fa04d85f3e9db93376bd0e997671f19821930361a1c69",
     "fb0015287374504603e33b625e2485ee37cb28b3af6c684759443d566fb7c656"},
    {"b0c11fdecb91ce375bc8fbbcbde5c0994164d8399f767c45", "2e50bd4eb52fa53c0bf64ef773ec28d00252f615d75b1e24",
     "5829681876531737f129c8c6d1ca4dc4edfde4163eff8b3f",
     "01f4e9f21ff5eb6ed78f5d0960afe94bbdbb01dc14ed575e0730b3cc170c31c7eec61bbf9703c096fabb7b1ba95a54767d5274c68deb5d"
     "403a960a8652dbd0e488b6c85ad3ba328332f05a",
     "5cd5061c9c5f319e834c1b69573ac59a355f2af41757905e", "867a25672b82bc73fd2017be45b67694f050da2c165aa963",
     "86e875150a6e5c3b769581ed60079ba455b9ea3937d20f2a", "34832d2f0c97a797b23f29235ad61e5ec820e83c1054074e",
     "34dff946012cd04cc2a83ba44071b67484de643f44f8bce1", "954bb5103bf9eb48c798215a1f51a02e572cee757e53b612"},
    {"ae9c82b1478c281d687c966c377b9aa2bb2edb20035b73993fd4235992edcf451a1afe878b33e968617959ce3f1f65a8de5271007814e8"
     "a25f2dd97f1cfb10f62827688de6a16a3b0d464138a62332553fc1ea36f17fd374c6a5387777330bdbd7210dff076ce2ef87b0b125ec1d"
     "7da0a6eb8c9ebd69fe29d76d4330f1446beb",
     "0825c7cc67e84707ec717f158895787f99c4258bfc98500014b9adb50c6dea3db85a5cd22959fea37bd9e8a1ff297d0e4f2e84fcb06dbe"
     "e0b89c4e56261c374ba07657d61404ab1ecc7c6d812d6f2efc4e613a365119cdccaf9b74f84ffcbf4217921e6c8b8e8f4eb3de08f9ec98"
     "37044692ba035707967025f02628eb07c30d",
     "2b37d8171b4c24c269f0441ec9bafe62e580c35ea161d90921fdac3af325ffbe90656c8fbb4e5c11fb368220216d27a23501e088d6a34d"
     "3e558d2adb7e5a3930cd39e15808606af8a36939efea83854afaa30fac0e42d43c2547f19c6bf84914a6a5bc9974a677c6400db00dd388"
     "1a5058056ed0980dc6ffbd953dc23cc21779",
     "019862ac738c8ca5be6d6b8016e14dd111eb3749f088d476832b6246103a2babf0ca69536e816b402d5ebbc61251908c07985b796bfa00"
     "02f6f33dda1101aa94a6300c2dbbf762a6523995570f0cbef20f678df4f6717c4b39e336b74acffbb0ddb48bfb1ff91ac50e2b9943cdc3"
     "567c55dde1d5d1cbd047e5eb8dab163406b4581e378f2f39495d09dd294e424b92c277af3208c9196da9fd1ce996655f23b1d117b75b0f"
     "13b0c65fb8a2cb8f1137c938c68d1027e5d35c7fe05880b91b2ede0d0fc58c5050eac832652e83e2c32845b61df27deaab6416d1b5ac2e"
     "1c5d3a56a68b41de28123c7fd39898efe8b3b5a080c6a52dece95af5b67e6e8820e3bdfd06f9f6d272324860831ef21cd0c151258170f9"
     "e6e053f7675ebe3b785737974a807546462731417aa286ac5154ef5fbac0d757b057c1627cf7fcf6f5cb2afc741b324d85ae8770f9dba1"
     "db2b56955dda2d3b3d9ed2aa0cffd21f09ec08693c7401f5ce2425d75a4b78dc3d6baf71d7d8407b1a0f0b97522634f16f5f7cc5d86f3f"
     "0240",
     "f0bce240c658780d0aa4e15158461cb6e0590ef5945b48368e",
     "335d9fe383346bca5661c334525076e27f44e8ea9dfa290936b759efff93e9fc48bfc961e4a85ab577106ac22096a4b08430658587110c"
     "1f0e297931a476707c6db0392e1c6516176fe5a77117f2b447490449e25f5ca208d4e36694bbf50856be37db0600350714f3ebb907c020"
     "51549e9828d3ef155d6fe38563eb27c9da86",
     "8b8a726694284a62eafdd162f65614bf6f723d4d5e91ea90329024d3ac35b9c4420feec9f93f8bf9e21cc0501cdbbb14f87f157451df5a"
     "44c23cfcf9c4bd0f10fb63df0bf245aa61365974c9e90edc06938014c13456cd0550f8bbd35b378209480d6fd21e54fa77fb810a12052d"
     "9a549578d7d17c63cd9a3fc82b979f8a177f",
     "0994a3c2c5160ca01b37b7e8f46afd7c8b19e042fd6281abeccbdbe6f4ba6bfc45748dfd46eb34dcf43e80334ae54b8065e426f4053f6f"
     "aee53e81ea52b2ca223beb835ff62a94cf38bfa5f9764d3ebb8a623e575c57b71e6115f56a2adf091af70a40dd2bf508f67b03ba717832"
     "9efd8bfb35515e172d43a80d0e9c07f17b68",
     "3cc7f0c20156ad4fb1fbc6d5b679adfd7e89bd514592d7618f1074fc429baa4b6359b21c22473c7bab80b5cf39d59877e0ddd014c0f28f"
     "3f542c2ee08ce54cbcb2da0bd7708370a2dc95f970379c72ecf4e4056a31714f10eb5077427f1da346ba35ce5e52d2a848693336142587"
     "8bf16aa5b5c470de4b74952807f2a618e085",
     "ad77735dc1995cdd0f2b8cb3bfa6125c9bca52b21b8fcd449c54916bfeca09f5dede801b2bf7acb79db2b93ac47649b7f4bcd326231479"
     "c56a24f04ede9756993c0d80c96c63346b8887f73a7580a317e3508b90f785441e1db6512ae2bf229bac6609879600b133b338a1ab00a7"
     "a991a08891a1c4ee36687e67a2f9229af91e"},
    {"ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
     "ffffffff00000001000000000000000000000000fffffffffffffffffffffffe",
     "ffffffff00000001000000000000000000000000fffffffffffffffffffffffe",
     "fffffffd00000005fffffff900000005fffffffffffffffb00000008fffffff700000008fffffffa00000002fffffffffffffffa000000"
     "05fffffffb00000002fffffffd00000000000000000000000000000002fffffffffffffffffffffffe",
     "ffffffff00000001000000000000000000000000fffffffffffffffffffffffe",
     "ffffffff00000001000000000000000000000000fffffffffffffffffffffffd", "00", "01",
     "ffffffff00000001000000000000000000000000fffffffffffffffffffffffe", "01"},
    {"7fffffffffffffffffffffffffffffff", "00", "7ffffffffffffffffffffffffffffffe", "7fffffffffffffffffffffffffffffff", "00",
     "7ffffffffffffffffffffffffffffffe", "01", "00", "00", "01"},
};

TEST(Bignum, ArithmeticModuloOddNumbersGivesKnownValues) {
  for (const Known& k : kKnown) {
    SCOPED_TRACE(std::string(k.m));
    const Modular m(limbs_of(from_hex(k.m)));
    const auto number = [](std::string_view hex) { return limbs_of(from_hex(hex)); };
    const auto padded = [&](std::string_view hex) {
      Limbs limbs = number(hex);
      limbs.resize(m.modulus().size());
      return limbs;
    };
    EXPECT_EQ(m.add(padded(k.a), padded(k.b)), padded(k.sum));
    EXPECT_EQ(m.sub(padded(k.a), padded(k.b)), padded(k.difference));
    EXPECT_EQ(m.mul(padded(k.a), padded(k.b)), padded(k.product));
    EXPECT_EQ(m.leave(m.montgomery(m.enter(padded(k.a)), m.enter(padded(k.b)))), padded(k.product));
    EXPECT_EQ(m.reduce(number(k.wide)), padded(k.rest));
    EXPECT_EQ(m.pow(padded(k.a), number(k.exponent)), padded(k.power));
  }
}

TEST(Bignum, InverseOfAPrimeModulusTimesItsNumberIsOne) {
  const Modular m(limbs_of(from_hex("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")));
  for (const std::uint64_t small : {1ULL, 2ULL, 3ULL, 0xFFFFFFFFFFFFFFFFULL})
    EXPECT_EQ(m.mul(m.inverse(m.value(small)), m.value(small)), m.value(1)) << small;
  EXPECT_TRUE(Modular::is_zero(m.inverse(m.value(0))));
}

TEST(Bignum, BytesAndLimbsConvertBothWays) {
  const auto bytes = from_hex("0102030405060708090a");
  EXPECT_EQ(limbs_of(bytes), (Limbs{0x030405060708090AULL, 0x0102ULL}));
  EXPECT_EQ(bytes_of_limbs(limbs_of(bytes), 10), bytes);
  EXPECT_EQ(bytes_of_limbs(limbs_of(bytes), 12), from_hex("00000102030405060708090a"));
  EXPECT_EQ(bytes_of_limbs({}, 2), from_hex("0000"));
}

TEST(Rsa, ForgeriesAreRejected) {
  for (const char* padding : {"pkcs1", "pss"}) {
    pkey_test::expect_forgeries_rejected("rsa", {{"operation", "verify"}, {"padding", padding}});
    pkey_test::expect_forgeries_rejected("rsa",
                                         {{"operation", "verify"}, {"padding", padding}, {"input", "message"}, {"size", "64"}});
  }
}

TEST(Rsa, SignaturesVerify) {
  for (const char* bits : {"2048", "3072", "4096"})
    pkey_test::expect_signatures_verify("rsa", {{"operation", "sign"}, {"padding", "pss"}, {"key_bits", bits}});
}

TEST(Rsa, CiphertextsDecryptAndDamagedOnesAreRejected) {
  const Operator* const op = find_operator("rsa");
  ASSERT_NE(op, nullptr);
  inputs::Store store({}, 3);
  const Params params = op->complete({{"operation", "decrypt"}, {"padding", "oaep"}});
  const std::unique_ptr<Work> base = op->prepare(params, store, {3});
  auto& work = static_cast<PkeyWork&>(*base);
  const std::vector<std::byte> ciphertext = work.items[0].in;
  const auto reject = [&](std::vector<std::byte> damaged) {
    work.items.push_back({std::move(damaged), {}, work.out_bytes});
    work.expected.push_back({{}, 0, kStatusRejected});
  };
  for (std::size_t at = 0; at < ciphertext.size(); at += 16) reject(flipped(ciphertext, at));
  reject({ciphertext.begin(), ciphertext.end() - 1});
  EXPECT_GE(pkey_test::expect_statuses(*op, work), 1U);
}

TEST(Rsa, PaddingBelongsToItsOperation) {
  const Operator* const op = find_operator("rsa");
  ASSERT_NE(op, nullptr);
  EXPECT_THROW((void)op->complete({{"operation", "sign"}, {"padding", "oaep"}}), Error);
  EXPECT_THROW((void)op->complete({{"operation", "encrypt"}, {"padding", "pss"}}), Error);
  EXPECT_THROW((void)op->complete({{"operation", "encrypt"}, {"padding", "oaep"}, {"input", "message"}}), Error);
  EXPECT_THROW((void)op->complete({{"operation", "sign"}, {"size", "64"}}), Error);
}

}  // namespace
}  // namespace dpubench
