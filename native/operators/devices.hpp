// Devices, as the engine modules of one process share them: the devices that the program may use, and objects that exist once for
// all modules. (Each module has its own copy of every variable in a header.)
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace dpubench {

/// Set the devices that engines may use (the program's `--device`), before any module is loaded. A name is a PCI address
/// ("0000:03:00.0") or a DPDK virtual device. Arguments of its driver may follow ("0000:03:00.0,class=compress",
/// "crypto_openssl0,max_nb_queue_pairs=4").
/// @throws Error on a name of another form, on a PCI address without a device, and on a device that is named twice
void name_devices(std::vector<std::string> names);
/// Return the names that name_devices() got, with full PCI addresses.
std::span<const std::string> named_devices();
/// Return whether the name is a PCI address: domain:bus:device.function in hexadecimal.
bool is_pci_address(const std::string& name);
/// Return the name without arguments: `crypto_openssl0` of `crypto_openssl0,max_nb_queue_pairs=4`.
std::string device_name(const std::string& named);

/// Return the mutex to hold while the process-wide state of a device library changes.
std::recursive_mutex& device_mutex();
/// Return the process's one object of this name. The first module that asks makes it. The caller holds device_mutex(). The object
/// that `make` returns must have the same layout in all modules: kEngineAbi guarantees this.
std::shared_ptr<void> shared_object(const std::string& name, const std::function<std::shared_ptr<void>()>& make);

/// Return why the driver in a shared library cannot be loaded, or an empty string if its file (`<library>.so`, with any version
/// behind it) is in one of the folders. Load nothing. @param driver  its name @param package  the Debian package that contains it
std::string driver_missing(std::span<const std::filesystem::path> folders, const std::string& driver, const std::string& library,
                           const std::string& package);

/// Return the folder of the running program. A bundle keeps its libraries there.
std::filesystem::path program_folder();

}  // namespace dpubench
