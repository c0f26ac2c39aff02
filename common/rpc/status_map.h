#pragma once

#include <grpcpp/support/status.h>

#include "common/base/status.h"

namespace hearth {

// A Status on the wire. The codes are gRPC's own; param() travels in the error details as "param=NAME". A gRPC code
// that Status lacks becomes the nearest one, kInternal where none is near.
grpc::Status ToGrpc(const Status& status);
Status FromGrpc(const grpc::Status& status);

}  // namespace hearth
