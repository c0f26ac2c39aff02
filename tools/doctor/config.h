#pragma once

#include <optional>
#include <string>

#include "common/config/gib_range.h"
#include "common/config/option_table.h"
#include "common/config/problems.h"
#include "tools/doctor/gpu_report.h"

namespace hearth::doctor {

// The names are those of the processes: what is checked is what they would be started with.
struct DoctorConfig {
  std::string model = "/models";
  std::string tokenizer_dir;
  std::string home_dir;
  std::string mode = "fast";
  std::string device = "auto";
  std::optional<double> assume_ram_gb;
  std::string host = "0.0.0.0";
  uint16_t port = 0;
  std::string preflight = "strict";
  std::string least_driver = "580.65";
  bool download = false;
  std::string nvidia_smi = "nvidia-smi";
  std::string root = "/";

  template <typename Visitor>
  void ForEach(Visitor&& visit) {
    visit(OptionSpec{.flag = "--model",
                     .aliases = {"-m", "--model-dir"},
                     .env = {"GLM53_MODEL_DIR"},
                     .help = "folder of the checkpoint, or where it would be downloaded to; or synthetic:FILE.json"},
          model);
    visit(OptionSpec{.flag = "--tokenizer-dir",
                     .env = {"HEARTH_MODEL_DIR"},
                     .help = "folder of the gateway's tokenizer.json; empty: the model's, elsewhere: its own, "
                             "not checked here"},
          tokenizer_dir);
    visit(OptionSpec{.flag = "--home-dir", .help = "tmpfs folder of the expert home; empty: as the worker chooses"},
          home_dir);
    visit(
        OptionSpec{.flag = "--mode", .env = {"GLM53_MODE"}, .help = "mode of the worker", .allowed = {"exact", "fast"}},
        mode);
    visit(OptionSpec{.flag = "--device", .help = "device of the worker", .allowed = {"auto", "host", "cuda"}}, device);
    visit(OptionSpec{.flag = "--assume-ram-gb", .help = "GiB of RAM to count on; auto: what machine and cgroup have"},
          assume_ram_gb);
    visit(OptionSpec{.flag = "--host", .help = "address of the gateway"}, host);
    visit(OptionSpec{.flag = "--port", .env = {"PORT"}, .help = "port of the gateway; 0: not checked"}, port);
    visit(OptionSpec{.flag = "--preflight",
                     .help = "strict: a refusal gives exit code 2; warn: it is only shown",
                     .allowed = {"strict", "warn"}},
          preflight);
    visit(OptionSpec{.flag = "--least-driver", .help = "oldest NVIDIA driver that the build's CUDA toolkit runs on"},
          least_driver);
    visit(OptionSpec{.flag = "--download",
                     .help = "a missing checkpoint is fetched at the start, as the images do it, so its absence is "
                             "no refusal and the disk must have room"},
          download);
    visit(OptionSpec{.flag = "--nvidia-smi", .help = "the program that lists the GPUs"}, nvidia_smi);
    visit(OptionSpec{.flag = "--root", .help = "folder that stands for / when /proc and /sys are read, for tests"},
          root);
  }

  void Validate(Problems& problems) const {
    problems.Require(!model.empty(), "--model", model, "a folder");
    RequireGib(problems, "--assume-ram-gb", assume_ram_gb.value_or(0));
    problems.Require(IsVersion(least_driver), "--least-driver", least_driver, "a version such as 580.65");
  }
};

}  // namespace hearth::doctor
