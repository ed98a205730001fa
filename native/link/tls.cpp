#include "link/tls.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "link/kernel_tls.hpp"

namespace dpubench::link {
namespace {

constexpr const char* kCipher = "TLS_AES_128_GCM_SHA256";
constexpr const char* kCurve = "P-256";
constexpr long kDay_s = 86400;
/// What is read of a file at once; OpenSSL makes four records of it.
constexpr std::size_t kReadBytes = std::size_t{64} << 10;
/// SSL_sendfile() sends at most this much before the watch is looked at.
constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 20;

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Connection = std::unique_ptr<SSL, Freed<SSL_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;

std::string openssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* const text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text == nullptr ? "no reason given" : text;
}

void require(bool done, const char* what) {
  if (!done) throw Error(std::string("OpenSSL cannot ") + what + ": " + openssl_reason());
}

void make_identity(SSL_CTX* context) {
  const Key key(EVP_EC_gen(kCurve));
  require(key != nullptr, "make a key");
  const Certificate certificate(X509_new());
  require(certificate != nullptr, "make a certificate");
  X509* const x = certificate.get();
  X509_NAME* const subject = X509_get_subject_name(x);
  const auto* const name = reinterpret_cast<const unsigned char*>("dpubench-link");
  require(X509_set_version(x, X509_VERSION_3) == 1 && ASN1_INTEGER_set(X509_get_serialNumber(x), 1) == 1 &&
              X509_gmtime_adj(X509_getm_notBefore(x), -kDay_s) != nullptr &&
              X509_gmtime_adj(X509_getm_notAfter(x), kDay_s) != nullptr && X509_set_pubkey(x, key.get()) == 1 &&
              X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, name, -1, -1, 0) == 1 &&
              X509_set_issuer_name(x, subject) == 1 && X509_sign(x, key.get(), EVP_sha256()) > 0,
          "make a certificate");
  require(SSL_CTX_use_certificate(context, x) == 1 && SSL_CTX_use_PrivateKey(context, key.get()) == 1, "use its certificate");
}

class TlsChannel final : public Channel {
 public:
  TlsChannel(SSL_CTX* context, Socket& socket, Role role, Protection protection)
      : socket_(socket), protection_(protection), ssl_(SSL_new(context)), buffer_(kReadBytes) {
    require(ssl_ != nullptr && SSL_set_fd(ssl_.get(), socket.fd()) == 1, "make a connection");
    const TlsCounts before = tls_counts();
    if (role == Role::kServer) {
      SSL_set_accept_state(ssl_.get());
    } else {
      SSL_set_connect_state(ssl_.get());
    }
    carry_out("shake hands with", [this] { return SSL_do_handshake(ssl_.get()); });
    if (role == Role::kClient && protection_ != Protection::kTls) require_kernel(before);
  }

  void send_all(Bytes bytes) override {
    while (!bytes.empty()) {
      bytes = bytes.subspan(carry_out("send to", [&] {
        std::size_t sent = 0;
        return SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent) == 1 ? static_cast<ossl_ssize_t>(sent) : 0;
      }));
    }
  }

  void send_file(int file, std::uint64_t bytes) override {
    for (std::uint64_t at = 0; at < bytes; socket_.watch().glance()) {
      at += protection_ == Protection::kTls ? read_and_send(file, at, bytes - at) : send_by_kernel(file, at, bytes - at);
    }
  }

  void end_sending() override {
    carry_out("end sending to", [this] {
      const int done = SSL_shutdown(ssl_.get());
      return done == 0 ? 1 : done;  // 0: sent, and the other end has not done the same yet
    });
  }

  std::size_t receive_some(Room room) override {
    return carry_out("receive from", [&] {
      std::size_t got = 0;
      return SSL_read_ex(ssl_.get(), room.data(), room.size(), &got) == 1 ? static_cast<ossl_ssize_t>(got) : 0;
    });
  }

  [[nodiscard]] std::string path() const override { return path_; }
  [[nodiscard]] std::string cipher() const override { return SSL_get_cipher_name(ssl_.get()); }

 private:
  /// Call OpenSSL until it has done something. @param call  returns how much was done, or 0 or less
  /// @returns that; 0: the other end sends nothing more
  template <class Call>
  std::size_t carry_out(std::string_view operation, Call call) {
    Patience patience(socket_.watch(), operation, socket_.peer());
    for (;;) {
      ERR_clear_error();
      errno = 0;
      const ossl_ssize_t done = call();
      if (done > 0) return static_cast<std::size_t>(done);
      const int reason = errno;
      switch (SSL_get_error(ssl_.get(), static_cast<int>(done))) {
        case SSL_ERROR_ZERO_RETURN:
          return 0;
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE:
          patience.after(EAGAIN);
          break;
        case SSL_ERROR_SYSCALL:
          patience.after(reason == 0 ? ECONNRESET : reason);
          break;
        default:
          if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) patience.after(ECONNRESET);
          throw Error("cannot " + std::string(operation) + " " + socket_.peer() + ": TLS: " + openssl_reason());
      }
    }
  }

  std::uint64_t read_and_send(int file, std::uint64_t at, std::uint64_t most) {
    const std::size_t wanted = std::min<std::uint64_t>(buffer_.size(), most);
    const ssize_t got = pread(file, buffer_.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) return 0;
    if (got <= 0)
      throw Error(std::string("cannot read the file to send: ") + (got < 0 ? std::strerror(errno) : "it is too short"));
    send_all(Bytes(buffer_).first(static_cast<std::size_t>(got)));
    return static_cast<std::uint64_t>(got);
  }

  std::uint64_t send_by_kernel(int file, std::uint64_t at, std::uint64_t most) {
    return carry_out("send a file to",
                     [&] { return SSL_sendfile(ssl_.get(), file, static_cast<off_t>(at), std::min(most, kMostAtOnce), 0); });
  }

  /// Require that the kernel encrypts what this connection sends, and find out who in it does.
  void require_kernel(const TlsCounts& before) {
    // NOLINTNEXTLINE(bugprone-misplaced-widening-cast): the macro's own
    if (BIO_get_ktls_send(SSL_get_wbio(ssl_.get())) == 0)
      throw Error("the kernel did not take over the encryption of this connection: its TLS does not know " +
                  std::string(kCipher) + " of TLS 1.3");
    const TlsCounts now = tls_counts();
    const bool by_device = now.device > before.device;
    path_ = std::string("SSL_sendfile, kernel TLS") + (by_device ? " by the NIC" : now.known ? " in software" : "");
    if (protection_ != Protection::kKtlsNic || by_device) return;
    if (!now.known) throw Error("whether a network interface encrypts is not known: this kernel has no /proc/net/tls_stat");
    const std::string reason = offload_lack_of(socket_.fd());
    throw Error(
        "the kernel encrypts this connection in software (TlsTxDevice of /proc/net/tls_stat has not grown): " +
        (reason.empty() ? "the driver did not take it, as its interface's counters or the kernel's log may tell" : reason));
  }

  Socket& socket_;
  Protection protection_;
  Connection ssl_;
  std::vector<std::byte> buffer_;
  std::string path_ = "SSL_write";
};

class OpenSsl final : public Tls {
 public:
  OpenSsl(Role role, Protection protection)
      : role_(role),
        protection_(protection),
        context_(SSL_CTX_new(role == Role::kServer ? TLS_server_method() : TLS_client_method())) {
    require(context_ != nullptr, "begin");
    SSL_CTX* const context = context_.get();
    require(SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 && SSL_CTX_set_ciphersuites(context, kCipher) == 1,
            "use TLS 1.3 with AES-128-GCM");
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (role == Role::kServer) {
      make_identity(context);
      require(SSL_CTX_set_num_tickets(context, 0) == 1, "leave out session tickets");  // nobody resumes
    } else if (protection != Protection::kTls) {
      SSL_CTX_set_options(context, SSL_OP_ENABLE_KTLS);
    }
  }

  std::unique_ptr<Channel> open(Socket& socket) override {
    return std::make_unique<TlsChannel>(context_.get(), socket, role_, protection_);
  }

 private:
  Role role_;
  Protection protection_;
  Context context_;
};

}  // namespace

std::string tls_lack([[maybe_unused]] Protection protection) {
#ifdef OPENSSL_NO_KTLS
  if (protection != Protection::kTls) return "this OpenSSL was built without kernel TLS: use one with enable-ktls";
#endif
  return {};
}

std::unique_ptr<Tls> Tls::make(Role role, Protection protection) {
  return std::make_unique<OpenSsl>(role, protection);
}

}  // namespace dpubench::link
