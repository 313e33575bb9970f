// SPDX-License-Identifier: Apache-2.0
// All operators.
#pragma once

#include "schedule/topi/broadcast.h"
#include "schedule/topi/elementwise.h"
#include "schedule/topi/image/resize.h"
#include "schedule/topi/nn/activation.h"
#include "schedule/topi/nn/conv.h"
#include "schedule/topi/nn/conv2d_blocked.h"
#include "schedule/topi/nn/dense.h"
#include "schedule/topi/nn/local_response_norm.h"
#include "schedule/topi/nn/mirror_pad.h"
#include "schedule/topi/nn/normalization.h"
#include "schedule/topi/nn/pad.h"
#include "schedule/topi/nn/pool_grad.h"
#include "schedule/topi/nn/pooling.h"
#include "schedule/topi/nn/softmax.h"
#include "schedule/topi/nn/upsampling.h"
#include "schedule/topi/operator.h"
#include "schedule/topi/reduction.h"
#include "schedule/topi/slice.h"
#include "schedule/topi/transform.h"
