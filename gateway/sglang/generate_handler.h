#pragma once

#include "gateway/http/http_message.h"
#include "gateway/serving/services.h"

namespace hearth::sglang {

// POST /generate: generation, streamed or whole, and teacher-forced scoring.
http::HttpResponse HandleGenerate(const serving::Services& services, const http::HttpRequest& request);

// POST /tokenize {"prompt"} -> {"tokens","count","max_model_len"}; special-token text becomes the token.
http::HttpResponse HandleTokenize(const serving::Services& services, const http::HttpRequest& request);
// POST /detokenize {"tokens"} -> {"text"}.
http::HttpResponse HandleDetokenize(const serving::Services& services, const http::HttpRequest& request);

}  // namespace hearth::sglang
