// What engine modules of one process share about devices: which ones the program was told to use, and objects of which there is
// one for all modules (a module has its own copy of every variable of a header).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace dpubench {

/// Names the devices that engines may use (the program's `--device`), before any module is loaded. A name is a PCI address
/// ("0000:03:00.0") or a DPDK virtual device ("crypto_openssl0"), either with the driver's arguments
/// ("0000:03:00.0,class=crypto").
/// @throws Error on what is neither, on a PCI address that is not there, and on one named twice
void name_devices(std::vector<std::string> names);
/// As given to name_devices().
std::span<const std::string> named_devices();
/// Whether a device's name is a PCI address: domain:bus:device.function in hexadecimal.
bool is_pci_address(const std::string& name);
/// `crypto_openssl0` of `crypto_openssl0,max_nb_queue_pairs=4`.
std::string device_name(const std::string& named);

/// Held while the process-wide state of a device library is changed.
std::recursive_mutex& device_mutex();
/// The process's one object of this name, made by the first module that asks; device_mutex() is held. What `make` returns must
/// have the same layout in all modules, which kEngineAbi stands for.
std::shared_ptr<void> shared_object(const std::string& name, const std::function<std::shared_ptr<void>()>& make);

/// Why the driver in a shared library cannot be loaded; empty if its file (`<library>.so`, whatever version follows) is in one of
/// the folders. Loads nothing. @param driver  its name @param package  that has it, as Debian calls it
std::string driver_missing(std::span<const std::filesystem::path> folders, const std::string& driver, const std::string& library,
                           const std::string& package);

/// The folder of the running program: where a bundle keeps its libraries.
std::filesystem::path program_folder();

}  // namespace dpubench
