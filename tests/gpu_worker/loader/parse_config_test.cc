#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "gpu_worker/loader/checkpoint.h"
#include "gpu_worker/loader/weights_builder.h"
#include "gpu_worker/model/model_config.h"
#include "tests/gpu_worker/loader/temp_dir.h"

namespace hearth {
namespace {

using nlohmann::json;
using testing::ReadFile;

const std::string kTiny = HEARTH_SOURCE_DIR "/models/hearth-tiny";

json TinyConfig() { return json::parse(ReadFile(kTiny + "/config.json")); }

std::string Problem(const json& config) {
  const Result<ModelConfig> parsed = ParseModelConfig(config.dump());
  return parsed.ok() ? "" : parsed.status().message();
}

TEST(ParseConfig, ReadsHearthTiny) {
  const Result<ModelConfig> config = ParseModelConfig(TinyConfig().dump());
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->hidden_size, 256);
  EXPECT_EQ(config->kda_heads, 2);
  EXPECT_EQ(config->kda_width(), 256);
  EXPECT_EQ(config->gate_lower_bound, -5.0f);
  EXPECT_EQ(config->index_topk, 128);
  EXPECT_EQ(config->max_selected_pools(), 32);
  EXPECT_EQ(config->layer_types[3], AttentionKind::kMla);
  EXPECT_FALSE(config->is_moe[0]);
  EXPECT_TRUE(config->is_moe[7]);
  EXPECT_EQ(config->eos_ids, (std::vector<int32_t>{4060, 4067, 4069}));
}

// The oracle's configuration is a bare text_config without the keys that change nothing in it.
TEST(ParseConfig, ReadsTheOraclesBareConfig) {
  const json oracle = json::parse(ReadFile(HEARTH_SOURCE_DIR "/tests/golden/glm5_next_tiny.json"));
  const Result<ModelConfig> config = ParseModelConfig(oracle["config"].dump());
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->num_hidden_layers, 5);
  EXPECT_EQ(config->mla_layer_count(), 2);
  EXPECT_FLOAT_EQ(config->swiglu_limit, 0.6f);
  EXPECT_TRUE(config->eos_ids.empty());
  EXPECT_GT(config->max_position_embeddings, 96);
}

TEST(ParseConfig, Defaults) {
  json config = TinyConfig();
  json& text = config["text_config"];
  for (const char* key : {"index_kpool", "indexer_types", "max_position_embeddings", "eos_token_id"}) text.erase(key);
  config["eos_token_id"] = 7;
  text.erase("mlp_layer_types");  // first_k_dense_replace says the same
  Result<ModelConfig> parsed = ParseModelConfig(config.dump());
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->index_kpool, 16);
  EXPECT_EQ(parsed->indexer_types[3], IndexerKind::kFull);
  EXPECT_EQ(parsed->eos_ids, std::vector<int32_t>{7});
  EXPECT_EQ(parsed->moe_layer_count(), 7);
}

TEST(ParseConfig, RefusesWhatIsNotImplemented) {
  const std::vector<std::tuple<const char*, json, const char*>> cases = {
      {"n_group", 2, "config.json: n_group is 2, only 1 is implemented"},
      {"topk_group", 4, "topk_group is 4"},
      {"scoring_func", "softmax", "scoring_func is \"softmax\", only \"sigmoid\" is implemented"},
      {"topk_method", "greedy", "topk_method"},
      {"norm_topk_prob", false, "norm_topk_prob is false, only true is implemented"},
      {"hidden_act", "gelu", "hidden_act"},
      {"qk_rope_head_dim", 64, "qk_rope_head_dim is 64, only 0 is implemented"},
      {"mla_use_nope", false, "mla_use_nope"},
      {"attention_bias", true, "attention_bias"},
      {"index_kpool_compress", false, "index_kpool_compress is false"},
      {"index_kpool_always_select_tail", false, "index_kpool_always_select_tail"},
      {"mhc", false, "mhc is false"},
      {"moe_router_dtype", "bfloat16", "moe_router_dtype"},
      {"model_type", "llama", "model_type is \"llama\""},
      {"num_key_value_heads", 1, "num_key_value_heads is 1, only 4 is implemented"},
      {"qk_head_dim", 192, "qk_head_dim is 192, only 128 is implemented"},
      {"index_topk", 130, "index_topk is 130, expected a multiple of index_kpool, 4"},
      {"hidden_size", 0, "hidden_size is 0, expected a whole number from 1"},
      {"hidden_size", -256, "hidden_size is -256"},
      {"hidden_size", 255.5, "hidden_size is 255.5"},
      {"hidden_size", "256", "hidden_size is \"256\""},
      {"hidden_size", 18446744073709551615ull, "hidden_size is 18446744073709551615"},
      {"num_hidden_layers", 9, "layer_types has 8 entries, expected 9"},
      {"num_hidden_layers", 1000000, "num_hidden_layers is 1000000"},
      {"num_experts_per_tok", 33, "num_experts_per_tok is 33, expected a whole number from 1 to 32"},
      {"n_shared_experts", 0, "n_shared_experts is 0"},
      {"rms_norm_eps", 0, "rms_norm_eps is 0, expected a number above 0"},
      {"swiglu_limit", -1, "swiglu_limit is -1"},
      {"eos_token_id", json::array({1, 4096}), "eos_token_id is [1,4096], expected token ids below vocab_size, 4096"},
      {"q_lora_rank", nullptr, "q_lora_rank is missing"},
      {"linear_attn_config", json::object(), "linear_attn_config: num_heads is missing"},
      {"hc_mult", 9, "hc_mult is 9"},
      {"tie_word_embeddings", "yes", "tie_word_embeddings is \"yes\""},
      {"mlp_layer_types", json::array({"dense"}), "mlp_layer_types has 1 entries, expected 8"},
  };
  for (const auto& [key, value, expected] : cases) {
    json config = TinyConfig();
    config["text_config"][key] = value;
    EXPECT_NE(Problem(config).find(expected), std::string::npos) << expected << " is not in: " << Problem(config);
  }
}

TEST(ParseConfig, RefusesUnknownLayersAndForeignModels) {
  json config = TinyConfig();
  config["text_config"]["layer_types"][2] = "sliding_attention";
  EXPECT_NE(Problem(config).find("layer_types[2] is \"sliding_attention\", only linear_attention"), std::string::npos);

  config = TinyConfig();
  config["text_config"]["indexer_types"][7] = "shared";  // behind a KDA layer
  EXPECT_NE(Problem(config).find("indexer_types[7] is \"shared\""), std::string::npos) << Problem(config);
  config["text_config"]["indexer_types"][7] = "full";
  config["text_config"]["indexer_types"][6] = "shared";  // of a KDA layer: means nothing
  EXPECT_EQ(Problem(config), "");
  config["text_config"]["layer_types"][6] = "full_attention";
  config["text_config"]["indexer_types"][6] = "full";
  config["text_config"]["indexer_types"][7] = "shared";
  EXPECT_EQ(Problem(config), "");

  EXPECT_EQ(Problem({{"model_type", "llama"}}),
            "config.json: model_type is \"llama\", only \"glm5_next\" is implemented");
  EXPECT_NE(Problem({{"architectures", {"LlamaForCausalLM"}}}).find("LlamaForCausalLM"), std::string::npos);
  EXPECT_NE(Problem(json::array()).find("expected an object"), std::string::npos);
  EXPECT_NE(Problem({{"vocab_size", 3}}).find("num_hidden_layers is missing"), std::string::npos);

  config = TinyConfig();
  config["quantization_config"]["quant_method"] = "gptq";
  EXPECT_NE(Problem(config).find("quantization_config: quant_method is \"gptq\", only \"exl3\""), std::string::npos);
}

TEST(ParseConfig, RefusesDeepAndDoubledJson) {
  const Result<ModelConfig> deep = ParseModelConfig(std::string(100000, '['));
  ASSERT_FALSE(deep.ok());
  EXPECT_NE(deep.status().message().find("deeper"), std::string::npos);
  const Result<ModelConfig> doubled = ParseModelConfig(R"({"model_type": "glm5_next", "n_group": 1, "n_group": 2})");
  ASSERT_FALSE(doubled.ok());
  EXPECT_NE(doubled.status().message().find("n_group occurs twice"), std::string::npos);
}

TEST(ParseGenerationConfig, OverridesAndDefaults) {
  const ModelConfig config = *ParseModelConfig(TinyConfig().dump());
  Result<GenerationConfig> none = ParseGenerationConfig("", config);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->eos_ids, config.eos_ids);
  EXPECT_EQ(none->temperature, 1.0f);
  EXPECT_EQ(none->top_k, 0);

  Result<GenerationConfig> some =
      ParseGenerationConfig(R"({"eos_token_id": 5, "temperature": 0, "top_p": 0.95, "top_k": 20,
                                "min_p": 0.05, "repetition_penalty": 0.01})",
                            config);
  ASSERT_TRUE(some.ok()) << some.status().message();
  EXPECT_EQ(some->eos_ids, std::vector<int32_t>{5});
  EXPECT_EQ(some->temperature, 0.0f);
  EXPECT_FLOAT_EQ(some->top_p, 0.95f);
  EXPECT_EQ(some->top_k, 20);
  EXPECT_FLOAT_EQ(some->min_p, 0.05f);
  EXPECT_FLOAT_EQ(some->repetition_penalty, 0.01f);
  EXPECT_EQ(ParseGenerationConfig(R"({"min_p": 0})", config)->min_p, 0.0f);

  for (const char* bad : {R"({"temperature": -1})", R"({"top_p": 0})", R"({"top_p": 1.5})", R"({"top_k": -3})",
                          R"({"eos_token_id": 4096})", R"({"repetition_penalty": 0})", R"({"repetition_penalty": 90})",
                          R"({"temperature": 2.5})", R"({"repetition_penalty": 0.005})", R"({"min_p": -0.1})",
                          R"({"min_p": 1.1})", R"({"min_p": "0"})", "[]", "{"}) {
    EXPECT_FALSE(ParseGenerationConfig(bad, config).ok()) << bad;
  }
  EXPECT_EQ(ParseGenerationConfig(R"({"repetition_penalty": 0.005})", config).status().message(),
            "generation_config.json: repetition_penalty is 0.005, expected a number from 0.01 to 2");
}

// Replaces one random value somewhere in the document.
void Mutate(json& node, std::mt19937_64& random) {
  json* at = &node;
  while (at->is_structured() && !at->empty() && random() % 8 != 0) {
    auto child = at->begin();
    std::advance(child, static_cast<long>(random() % at->size()));
    at = &*child;
  }
  const json values[] = {0,
                         -1,
                         1,
                         2,
                         3,
                         7,
                         64,
                         65536,
                         1 << 20,
                         1e300,
                         -0.5,
                         2147483648u,
                         INT64_MAX,
                         INT64_MIN,
                         true,
                         false,
                         "",
                         "x",
                         nullptr,
                         json::array(),
                         json::object(),
                         json::array({1, 2, 3}),
                         1.0,
                         5e-324,
                         UINT64_MAX,
                         "shared",
                         "dense",
                         "sparse",
                         "full_attention",
                         "linear_attention"};
  *at = values[random() % std::size(values)];
}

// Whatever the file says: a refusal with one line of text, or a configuration whose tensors the planner then looks for.
TEST(ParseConfig, SurvivesMutations) {
  const Checkpoint checkpoint(kTiny);
  std::mt19937_64 random(20);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    json config = TinyConfig();
    for (uint64_t n = 1 + random() % 3; n > 0; --n) Mutate(config, random);
    const Result<ModelConfig> parsed = ParseModelConfig(config.dump());
    if (!parsed.ok()) {
      ++refused;
      ASSERT_FALSE(parsed.status().message().empty());
      ASSERT_EQ(parsed.status().message().find('\n'), std::string::npos);
      continue;
    }
    ++accepted;
    ASSERT_EQ(parsed->layer_types.size(), static_cast<size_t>(parsed->num_hidden_layers));
    ASSERT_EQ(parsed->is_moe.size(), parsed->layer_types.size());
    ASSERT_GE(parsed->max_selected_pools(), 1);
    if (accepted > 100) continue;
    MatrixPlanner planner(checkpoint);
    try {
      PlanWeights(*parsed, planner);
    } catch (const StartupError& error) {
      ASSERT_NE(std::string(error.what()).find("tensor "), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace hearth
