/* SPDX-License-Identifier: MIT
 *
 * Sides of ONNX's operators that its own tests (t-onnx-nodes.c) don't reach: reductions over
 * nothing, slices of axes whose size is a symbol, attributes of old opsets, constants written as
 * attributes, attributes that a function hands on; and what is refused. The results are those that
 * onnx/docs/Operators.md and Changelog.md define.
 */
#include "support/onnx-node.h"

#define FOUR "f 4: 1 2 3 4"
#define FOUR_N "f 4N: 1 2 3 4"
#define SIX_N "f 6N: 0 1 2 3 4 5"
#define IMAGE "f 1 1 2 2: 1 2 3 4"
#define FIRST "=i 1: 0"

/* GIVES(name, operator, attributes, result, inputs…) */
#define GIVES(name, operator_, attributes, result, ...)                                            \
  {                                                                                                \
    name, operator_, attributes, {__VA_ARGS__}, {                                                  \
      result                                                                                       \
    }                                                                                              \
  }
/* A slice of SIX_N. */
#define SLICE(name, start, end, step, result)                                                      \
  GIVES("slice_" name, "Slice", "", result, SIX_N, "=i 1: " start, "=i 1: " end, "=i 1: 0",        \
        "=i 1: " step)

static const node_case cases[] = {
    GIVES("max_of_none", "ReduceMax", "", "f 1 2: -inf -inf", "f 0 2", FIRST),
    GIVES("min_of_none", "ReduceMin", "keepdims=0", "f 2: inf inf", "f 2 0", "=i 1: -1"),
    GIVES("max_of_all_none", "ReduceMax", "", "d 1 1: -inf", "d 0 2"),
    GIVES("max_of_no_i32", "ReduceMax", "", "w 1: -2147483648", "w 0"),
    GIVES("min_of_no_i32", "ReduceMin", "", "w 1: 2147483647", "w 0"),
    GIVES("max_of_no_u8", "ReduceMax", "", "u 1: 0", "u 0"),
    GIVES("min_of_no_u8", "ReduceMin", "", "u 1: 255", "u 0"),
    GIVES("max_of_no_i8", "ReduceMax", "", "s 1: -128", "s 0"),
    GIVES("min_of_no_i8", "ReduceMin", "", "s 1: 127", "s 0"),
    GIVES("max_of_no_truth", "ReduceMax", "", "b 1: 0", "b 0"),
    GIVES("min_of_no_truth", "ReduceMin", "", "b 1: 1", "b 0"),
    GIVES("sum_of_none", "ReduceSum", "", "f 1: 0", "f 0"),
    GIVES("prod_of_none", "ReduceProd", "", "f 1: 1", "f 0"),
    GIVES("log_sum_exp_of_none", "ReduceLogSumExp", "", "f 1: -inf", "f 0"),
    GIVES("sum_kept", "ReduceSum", "noop_with_empty_axes=1", "f 2: 3 -4", "f 2: 3 -4"),
    GIVES("prod_kept", "ReduceProd", "noop_with_empty_axes=1", "f 2: 3 -4", "f 2: 3 -4", "=i 0:"),
    GIVES("prod_of_sizes_kept", "ReduceProd", "noop_with_empty_axes=1", "i 2: 3 4", "=i 2: 3 4"),
    GIVES("prod_of_sizes", "ReduceProd", "", "i 1: 12", "=i 2: 3 4"),
    GIVES("max_kept", "ReduceMax", "noop_with_empty_axes=1", "f 2: 3 -4", "f 2: 3 -4"),
    GIVES("mean_kept", "ReduceMean", "noop_with_empty_axes=1", "f 2: 3 -4", "f 2: 3 -4"),
    GIVES("l1_kept", "ReduceL1", "noop_with_empty_axes=1", "f 2: 3 4", "f 2: 3 -4"),
    GIVES("l2_kept", "ReduceL2", "noop_with_empty_axes=1", "f 2: 3 4", "f 2: 3 -4"),
    GIVES("square_kept", "ReduceSumSquare", "noop_with_empty_axes=1", "f 2: 9 16", "f 2: 3 -4"),
    GIVES("log_kept", "ReduceLogSum", "noop_with_empty_axes=1", "f 2: 0 0.6931472", "f 2: 1 2"),
    GIVES("log_exp_kept", "ReduceLogSumExp", "noop_with_empty_axes=1", "f 1: 3", "f 1: 3"),
    GIVES("mish", "Mish", "", "f 4: 0.86509839 -0.30340146 0 30", "f 4: 1 -1 0 30"),
    GIVES("bit_cast", "BitCast", "to=6", "w 2: 1065353216 -1073741824", "f 2: 1 -2"),
    GIVES("bit_cast_to_truth", "BitCast", "to=9", "b 2: 0 1", "u 2: 0 1"),
    GIVES("no_infinity", "IsInf", "detect_negative=0 detect_positive=0", "b 3: 0 0 0",
          "f 3: inf -inf 1"),
    GIVES("infinity_above", "IsInf", "detect_negative=0", "b 3: 1 0 0", "f 3: inf -inf 1"),
    GIVES("infinity_below", "IsInf", "detect_positive=0", "b 3: 0 1 0", "f 3: inf -inf 1"),
    GIVES("gelu_said", "Gelu", "approximate=none", "f 1: 0.84134475", "f 1: 1"),
    GIVES("reshape_1", "Reshape-1", "shape=2,2", "f 2 2: 1 2 3 4", FOUR),
    GIVES("upsample_7", "Upsample-7", "scales=1.0,2.0", "f 1 4: 1 1 2 2", "f 1 2: 1 2"),
    GIVES("grid_one_element", "GridSample", "mode=nearest padding_mode=reflection align_corners=1",
          "f 1 1 1 2: 7 7", "f 1 1 1 1: 7", "f 1 1 2 2: 0 0 3 -5"),
    GIVES("resize_larger", "Resize", "keep_aspect_ratio_policy=not_smaller",
          "f 4 2: 1 1 1 1 2 2 2 2", "f 2 1: 1 2", "", "", "=i 2: 3 2"),
    GIVES("resize_smaller", "Resize", "keep_aspect_ratio_policy=not_larger axes=-1,0",
          "f 3 2: 1 1 1 1 2 2", "f 2 1: 1 2", "", "", "=i 2: 2 3"),
    GIVES("constant_of_int", "Constant", "value_int=7", "i: 7", NULL),
    GIVES("constant_of_ints", "Constant", "value_ints=7,-8", "i 2: 7 -8", NULL),
    GIVES("constant_of_float", "Constant", "value_float=0.5", "f: 0.5", NULL),
    GIVES("constant_of_floats", "Constant", "value_floats=0.5,-1.5", "f 2: 0.5 -1.5", NULL),
    GIVES("pad_wrap", "Pad", "mode=wrap", "f 9: 2 3 4 1 2 3 4 1 2", FOUR, "=i 2: 3 2"),
    GIVES("pad_wrap_symbol", "Pad", "mode=wrap", "f 7: 4 1 2 3 4 1 2", FOUR_N, "=i 2: 1 2"),
    GIVES("pad_reflect", "Pad", "mode=reflect", "f 9: 4 3 2 1 2 3 4 3 2", FOUR, "=i 2: 3 2"),
    GIVES("pad_below_0", "Pad", "", "f 3: 2 3 0", "f 3: 1 2 3", "=i 2: -1 1"),
    GIVES("quotients", "Div", "", "i 4: 3 -3 -3 3", "=i 4: 7 -7 7 -7", "=i 4: 2 2 -2 -2"),
    GIVES("negation", "Neg", "", "i 2: -7 7", "=i 2: 7 -7"),
    GIVES("gather_of_sizes", "Gather", "", "i 2: 9 7", "=i 3: 7 8 9", "=i 2: -1 0"),
    GIVES("where_of_sizes", "Where", "", "i 2: 7 6", "=b 2: 1 0", "=i 2: 7 8", "=i: 6"),
    GIVES("equal_sizes", "Equal", "", "b 2: 1 0", "=i 2: 7 8", "=i 1: 7"),
    GIVES("slice_of_sizes", "Slice", "", "i 2: 8 9", "=i 3: 7 8 9", "=i 1: -2", "=i 1: 99"),
    GIVES("slice_of_sizes_1", "Slice-1", "starts=1, ends=-1,", "i 1: 8", "=i 3: 7 8 9"),
    GIVES("cast_of_large", "Cast", "to=1", "f 2: 16777216 -3", "=i 2: 16777217 -3"),
    SLICE("reversed", "-1", "-99999999999", "-1", "f 6: 5 4 3 2 1 0"),
    SLICE("to_first", "-1", "-9223372036854775808", "-1", "f 6: 5 4 3 2 1 0"),
    SLICE("from_far", "99999999999", "0", "-1", "f 5: 5 4 3 2 1"),
    SLICE("by_two", "-1", "-99999999999", "-2", "f 3: 5 3 1"),
    SLICE("inner", "-2", "1", "-1", "f 3: 4 3 2"),
    SLICE("inner_by_three", "4", "-6", "-3", "f 2: 4 1"),
    SLICE("to_last", "-1", "99999999999", "-1", "f 0:"),
    SLICE("to_behind", "2", "-1", "-1", "f 0:"),
    SLICE("of_one", "-99999999999", "-99999999999", "-1", "f 1: 0"),
    SLICE("beyond", "20", "-20", "-4", "f 2: 5 1"),
    SLICE("forwards", "1", "-1", "2", "f 2: 1 3"),
    SLICE("forwards_from_far", "-99999999999", "-99999999999", "1", "f 0:"),
    SLICE("forwards_behind", "99999999999", "99999999999", "1", "f 0:"),
};

/* ---- What is refused ---- */

#define CONV_IMAGE "f 1 1 4 4"
#define CONV(name, attributes, reason)                                                             \
  {                                                                                                \
    "conv_" name, "Conv", attributes, {CONV_IMAGE, "f 1 1 2 2"}, {                                 \
      reason                                                                                       \
    }                                                                                              \
  }
#define REFUSED(name, operator_, attributes, reason, ...)                                          \
  {                                                                                                \
    name, operator_, attributes, {__VA_ARGS__}, {                                                  \
      reason                                                                                       \
    }                                                                                              \
  }

static const node_case refused[] = {
    CONV("strides", "strides=1,", "strides has 1 numbers, and there are 2 spatial axes"),
    CONV("large_strides", "strides=1,2000000000", "strides: 2000000000"),
    CONV("no_strides", "strides=1,0", "strides and dilations are 1 at least"),
    CONV("no_dilations", "dilations=0,1", "strides and dilations are 1 at least"),
    CONV("auto_pad", "auto_pad=SOME", "auto_pad SOME"),
    CONV("pads", "pads=1,1", "2 pads for 2 spatial axes"),
    CONV("large_pads", "pads=1,1,1,2000000000", "pads: 2000000000"),
    CONV("no_group", "group=0", "group is below 1"),
    CONV("kernel_shape", "kernel_shape=2,3", "kernel_shape isn't that of the weights"),
    REFUSED("conv_symbol", "Conv", "auto_pad=SAME_UPPER", "auto_pad with a size that is a symbol",
            "f 1 1 4N", "f 1 1 2"),
    REFUSED("conv_of_matrix", "Conv", "", "it takes images of 1 to", "f 1 1", "f 1 1"),
    REFUSED("conv_weights", "Conv", "", "weights of 3 axes for 2 spatial axes", CONV_IMAGE,
            "f 1 1 2"),
    REFUSED("conv_kernel_of_symbol", "Conv", "", "a kernel whose size is a symbol", "f 1 1 4",
            "f 1 1 2N"),
    REFUSED("transposed_symbol", "ConvTranspose", "", "a size that is a symbol", "f 1 1 4N",
            "f 1 1 2"),
    REFUSED("transposed_weights", "ConvTranspose", "", "weights of 4 axes", "f 1 1 4", "f 1 1 2 2"),
    REFUSED("transposed_padding", "ConvTranspose", "output_padding=1,1",
            "output_padding has 2 numbers", "f 1 1 4", "f 1 1 2"),
    REFUSED("pool_ceil", "MaxPool", "kernel_shape=2, ceil_mode=1",
            "ceil_mode with a size that is a symbol", "f 1 1 4N"),
    {"pool_numbers",
     "MaxPool",
     "kernel_shape=2,",
     {"f 1 1 4N"},
     {"numbers of elements in a size that is a symbol", ""}},
    REFUSED("pool_of_matrix", "AveragePool", "kernel_shape=2,", "it takes images", "f 1 4"),
    REFUSED("lrn_size", "LRN", "size=0", "it takes images and a size above 0", IMAGE),
    REFUSED("col2im_large", "Col2Im", "", "image_shape: 2000000000", "f 1 1 1", "=i 1: 2000000000",
            "=i 1: 1"),
    REFUSED("col2im_unknown", "Col2Im", "", "input 1 must be integers that are known", "f 1 1 1",
            "i 1: 2", "=i 1: 1"),
    REFUSED("mean_of_integers", "ReduceMean", "", "a mean of integers", "w 2: 1 2"),
    REFUSED("sum_axis", "ReduceSum", "", "axis 2 of 1 axes", "f 2", "=i 1: 2"),
    REFUSED("arg_axis", "ArgMax", "axis=1", "axis 1 of 1 axes", "f 2"),
    REFUSED("cast_to_strings", "Cast", "to=8", "string", "f 2"),
    REFUSED("bit_cast_to_strings", "BitCast", "to=8", "string", "f 2"),
    REFUSED("gelu_form", "Gelu", "approximate=sine", "approximate = sine", "f 2"),
    REFUSED("left_out", "Add", "", "input 0 is left out", "", "f 1"),
    REFUSED("unsqueeze_twice", "Unsqueeze", "", "axis 0 is there twice", FOUR, "=i 2: 0 -3"),
    REFUSED("unsqueeze_axis", "Unsqueeze", "", "axis 3 of 2 axes", FOUR, "=i 1: 3"),
    REFUSED("unsqueeze_many", "Unsqueeze", "", "a result with more than", FOUR,
            "=i 16: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"),
    REFUSED("unsqueeze_unknown", "Unsqueeze", "", "input 1 must be integers", FOUR, "i 1: 0"),
    REFUSED("squeeze_of_two", "Squeeze", "", "axis 0 is left out of the order and its size isn't 1",
            "f 2 1", FIRST),
    REFUSED("flatten_axis", "Flatten", "axis=3", "axis 3 of 2 axes", "f 2 2"),
    REFUSED("reshape_copied", "Reshape", "", "size 1 is copied, and there is no axis 1", FOUR,
            "=i 2: 4 0"),
    REFUSED("reshape_unknown_sizes", "Reshape", "", "two sizes are -1", FOUR, "=i 2: -1 -1"),
    REFUSED("reshape_unknown", "Reshape", "", "a shape that isn't known", FOUR, "i 1: 4"),
    REFUSED("reshape_without", "Reshape-1", "", "a shape that isn't known", FOUR),
    REFUSED("depth_of_matrix", "DepthToSpace", "blocksize=2", "it takes images of 4 axes", "f 4 4"),
    REFUSED("depth_blocks", "DepthToSpace", "blocksize=2", "12 elements", "f 1 3 2 2"),
    REFUSED("space_blocksize", "SpaceToDepth", "", "a blocksize above 0", IMAGE),
    REFUSED("eye_of_vector", "EyeLike", "", "it takes a matrix", FOUR),
    REFUSED("eye_of_strings", "EyeLike", "dtype=8", "string", IMAGE),
    REFUSED("triangle_of_vector", "Trilu", "", "it takes matrices", FOUR),
    REFUSED("triangle_unknown", "Trilu", "", "input 1 must be integers", "f 2 2", "i: 0"),
    REFUSED("constant_of_nothing", "Constant", "", "a constant that is no tensor", NULL),
    REFUSED("constant_of_text", "Constant", "value_string=a", "a constant that is no tensor", NULL),
    {"split_outputs",
     "Split-18",
     "num_outputs=3",
     {FOUR},
     {"num_outputs isn't the number of outputs", ""}},
    {"split_sizes", "Split", "", {FOUR, "=i 1: 4"}, {"1 sizes for 2 outputs", ""}},
    REFUSED("slice_step", "Slice", "", "a step of 0", FOUR, FIRST, FIRST, FIRST, FIRST),
    REFUSED("slice_lists", "Slice", "", "don't belong together", FOUR, "=i 2: 0 0", FIRST),
    REFUSED("slice_axis", "Slice", "", "axis 1 of 1 axes", FOUR, FIRST, FIRST, "=i 1: 1"),
    REFUSED("crop_of_symbol", "CenterCropPad", "", "axis 0, whose size is a symbol", FOUR_N,
            "=i 1: 2"),
    REFUSED("pad_count", "Pad", "", "1 pads for 1 axes", FOUR, FIRST),
    REFUSED("pad_unknown", "Pad", "", "input 1 must be integers", FOUR, "i 2: 1 1"),
    REFUSED("pad_edge_below_0", "Pad", "mode=edge", "padding below 0", FOUR, "=i 2: -1 0"),
    REFUSED("pad_mode", "Pad", "mode=tile", "mode tile", FOUR, "=i 2: 1 0"),
    REFUSED("pad_wrap_far", "Pad", "mode=wrap", "-5:9223372036854775807 is outside of axis 0", FOUR,
            "=i 2: 5 0"),
    REFUSED("pad_reflect_far", "Pad", "mode=reflect", "-5:-1 is outside of axis 0", FOUR,
            "=i 2: 0 4"),
    REFUSED("scatter_reduction", "ScatterElements", "reduction=mean", "reduction mean", FOUR,
            "i 1: 0", "f 1"),
    REFUSED("scatter_nd_reduction", "ScatterND", "reduction=mean", "reduction mean", FOUR,
            "i 1 1: 0", "f 1"),
    REFUSED("gather_axis", "Gather", "axis=1", "axis 1 of 1 axes", FOUR, "i 1: 0"),
    REFUSED("gather_nd_fits", "GatherND", "", "doesn't fit", FOUR, "i 1 2: 0 0"),
    REFUSED("gather_nd_unknown", "GatherND", "", "isn't known", FOUR, "i 1N: 0"),
    REFUSED("reverse_sequence_axes", "ReverseSequence", "time_axis=1", "it takes x[time, batch",
            "f 2 2", "i 2: 1 1"),
    REFUSED("tensor_scatter_axis", "TensorScatter", "axis=2", "axis 2 of 2 axes", "f 2 2", "f 2 2"),
    REFUSED("cumsum_axes", "CumSum", "", "2 axes", FOUR, "=i 2: 0 0"),
    REFUSED("cumsum_unknown", "CumSum", "", "input 1 must be integers", FOUR, "i: 0"),
    REFUSED("top_of_two", "TopK", "", "k is 2 numbers", FOUR, "=i 2: 1 1"),
    REFUSED("top_unknown", "TopK", "", "input 1 must be integers", FOUR, "i 1: 1"),
    REFUSED("gemm_of_vector", "Gemm", "", "it takes matrices", FOUR, "f 4 1"),
    REFUSED("resize_taps", "Resize", "mode=linear antialias=1", "more than 512 elements for one",
            "f 0 1024", "", "", "=i 2: 0 1"),
    REFUSED("resize_of_nothing", "Resize", "mode=linear", "no element to make others of", "f 0", "",
            "", "=i 1: 2"),
    REFUSED("resize_below_0", "Resize", "", "axis 0 would have the size", FOUR, "", "=f 1: -1"),
    REFUSED("resize_axis", "Resize", "axes=3,", "axis 3 of 1 axes", FOUR, "", "=f 1: 2"),
    REFUSED("resize_region", "Resize", "coordinate_transformation_mode=tf_crop_and_resize",
            "a region to crop, must be known", FOUR, "", "=f 1: 2"),
    REFUSED("resize_mode", "Resize", "mode=area", "mode = area", FOUR, "", "=f 1: 2"),
    REFUSED("resize_places", "Resize", "coordinate_transformation_mode=half",
            "coordinate_transformation_mode = half", FOUR, "", "=f 1: 2"),
    REFUSED("resize_nearest", "Resize", "nearest_mode=round", "nearest_mode = round", FOUR, "",
            "=f 1: 2"),
    REFUSED("resize_policy", "Resize", "keep_aspect_ratio_policy=fit",
            "keep_aspect_ratio_policy = fit", FOUR, "", "", "=i 1: 2"),
    REFUSED("grid_mode", "GridSample", "mode=area", "mode = area", IMAGE, "f 1 1 1 2"),
    REFUSED("grid_padding", "GridSample", "padding_mode=wrap", "padding_mode = wrap", IMAGE,
            "f 1 1 1 2"),
    REFUSED("grid_of_vector", "GridSample", "", "images of 0 axes", "f 1 1", "f 1 2"),
    REFUSED("grid_of_symbol", "GridSample", "", "axis 3 has no size that is known", "f 1 1 2 2N",
            "f 1 1 1 2"),
    REFUSED("grid_axes", "GridSample", "", "a grid of 3 axes for 4", IMAGE, "f 1 1 2"),
    REFUSED("loss_reduction", "NegativeLogLikelihoodLoss", "reduction=max", "reduction = max",
            "f 1 2", "i 1: 0"),
    REFUSED("loss_target", "NegativeLogLikelihoodLoss", "", "it takes [N, C, ...] and class",
            "f 1 2", "i 1 1: 0"),
    REFUSED("loss_of_vector", "SoftmaxCrossEntropyLoss", "", "it takes scores [N, C, ...]", "f 2",
            "i: 0"),
    REFUSED("one_hot_axis", "OneHot", "axis=2", "axis 2 of 2 axes", "i 1: 0", "=i: 2", "f 2"),
    REFUSED("one_hot_depth", "OneHot", "", "a depth that isn't known", "i 1: 0", "=f: -2", "f 2"),
    REFUSED("depth_mode", "DepthToSpace", "blocksize=2 mode=RCD", "mode = RCD", "f 1 4 1 1"),
    REFUSED("tensor_scatter_mode", "TensorScatter", "mode=wrap", "mode = wrap", "f 1 2 1",
            "f 1 1 1"),
    REFUSED("momentum_mode", "ai.onnx.preview.training.Momentum", "mode=heavy", "mode = heavy",
            "f: 1", "i: 0", "f 1", "f 1", "f 1"),
    REFUSED("momentum_inputs", "ai.onnx.preview.training.Momentum", "", "it has 6 inputs", "f: 1",
            "i: 0", "f 1", "f 1", "f 1", "f 1"),
    REFUSED("dft_of_symbol", "DFT", "", "a signal whose size is a symbol", "f 1 4N 1", "", "=i: 1"),
    REFUSED("stft_window", "STFT", "", "a window whose size is a symbol", "f 1 4", "=i: 1", "f 2N"),
    REFUSED("mel_number", "MelWeightMatrix", "", "input 3 must be a number that is known", "=i: 2",
            "=i: 8", "=i: 8000", "f: 0", "=f: 9"),
    REFUSED("deform_strides", "DeformConv", "strides=1,-1", "strides: -1", IMAGE, "f 1 1 1 1",
            "f 1 2 2 2"),
    REFUSED("deform_of_symbol", "DeformConv", "", "whose sizes are numbers", "f 1 1 2 2N",
            "f 1 1 1 1", "f 1 2 2 2"),
    REFUSED("resize_unknown", "Resize", "", "scales or sizes", FOUR, "", "f 1: 2"),
};

static const node_case failing[] = {
    REFUSED("pad_wrap_beyond", "Pad", "mode=wrap", "index -1 of axis 0 is outside its size 4",
            FOUR_N, "=i 2: 5 0"),
    REFUSED("pad_reflect_beyond", "Pad", "mode=reflect", "index 4 of axis 0 is outside its size 4",
            FOUR_N, "=i 2: 4 0"),
    REFUSED("scatter_beyond", "ScatterElements", "",
            "index 4 (element 0 of the indices) is outside of axis 0", FOUR, "i 1: 4", "f 1"),
};

/* ---- What is computed of shapes ---- */

#define ROWS "f 4N 3"
/* CHAIN(name, nodes, result, inputs…) */
#define CHAIN(name, nodes, result, ...)                                                            \
  {                                                                                                \
    "shape_" name, nodes, "", {__VA_ARGS__}, {                                                     \
      result                                                                                       \
    }                                                                                              \
  }

static const node_case chains[] = {
    CHAIN("half", "Shape a > s; Gather s b > n; Div n c > v", "i 1: 2", ROWS, FIRST, "=i 1: 2"),
    CHAIN("half_below_0", "Shape a > s; Gather s b > n; Div n c > v", "i 1: -2", ROWS, FIRST,
          "=i 1: -2"),
    CHAIN("scalar", "Shape a > s; Gather s b > n; Cast n > v | to=6", "w: 4", ROWS, "=i: 0"),
    CHAIN("of_part", "Shape a > v | start=-1 end=9", "i 1: 3", ROWS),
    CHAIN("of_nothing", "Shape a > v | start=2 end=-2", "i 0:", ROWS),
    CHAIN("size", "Size a > v", "i: 12", ROWS),
    CHAIN("product", "Shape a > s; ReduceProd s > v | keepdims=0", "i: 12", ROWS),
    CHAIN("product_kept", "Shape a > s; ReduceProd s > v | noop_with_empty_axes=1", "i 2: 4 3",
          ROWS),
    CHAIN("arithmetic", "Shape a > s; Add s b > t; Sub t c > u; Min u c > v", "i 2: 3 2", ROWS,
          "=i 2: 2 2", "=i: 3"),
    CHAIN("largest", "Shape a > s; Neg s > t; Max t b > v", "i 2: -4 -2", ROWS, "=i 2: -9 -2"),
    CHAIN("equal_below_0", "Shape a > s; Equal s b > v", "b 2: 0 1", ROWS, "=i 2: -1 3"),
    CHAIN("below_0_equal", "Shape a > s; Equal b s > v", "b 2: 0 0", ROWS, "=i 1: -1"),
    CHAIN("equal_next", "Shape a > s; Add s b > t; Equal s t > v", "b 2: 0 0", ROWS, "=i 1: 1"),
    CHAIN("equal_perhaps", "Shape a > s; Equal s b > v", "b 2: 1 0", ROWS, "=i 2: 4 4"),
    CHAIN("equal_of_others", "Shape a > s; Equal s b > v", "b 2 2: 1 0 0 1", ROWS,
          "=i 2 2: 4 4 3 3"),
    CHAIN("gather_unknown", "Shape a > s; Gather s b > v", "i 1: 3", ROWS, "i 1: 1"),
    CHAIN("gather_from_end", "Shape a > s; Gather s b > v", "i 1: 4", ROWS, "=i 1: -2"),
    CHAIN("concat", "Shape a > s; Concat s b s > v | axis=0", "i 5: 4 3 7 4 3", ROWS, "=i 1: 7"),
    CHAIN("concat_unknown", "Shape a > s; Concat s b > v | axis=0", "i 3: 4 3 7", ROWS, "i 1: 7"),
    CHAIN("reshaped", "Shape a > s; Reshape s b > t; Add t t > v", "i 2: 8 6", ROWS, "=i 1: -1"),
    CHAIN("reshaped_by_size", "Shape a > s; Reshape s b > v", "i 2: 4 3", ROWS, "=i 1: 2"),
    CHAIN("reshaped_to_matrix", "Shape a > s; Reshape s b > v", "i 1 2: 4 3", ROWS, "=i 2: 1 2"),
    CHAIN("raised", "Shape a > s; Unsqueeze s b > t; Squeeze t b > v", "i 2: 4 3", ROWS, FIRST),
    CHAIN("slice", "Shape a > s; Slice s b c > v", "i 1: 3", ROWS, "=i 1: 1", "=i 1: 9"),
    CHAIN("slice_by_two", "Shape a > s; Slice s b c b d > v", "i 1: 4", ROWS, FIRST, "=i 1: 9",
          "=i 1: 2"),
    CHAIN("chosen", "Shape a > s; Where b s c > v", "i 2: 4 7", ROWS, "=b 2: 1 0", "=i 2: 7 7"),
    CHAIN("chosen_unknown", "Shape a > s; Where b s c > v", "i 2: 4 7", ROWS, "b 2: 1 0",
          "=i 2: 7 7"),
    CHAIN("through_floats", "Shape a > s; Cast s > t | to=1; Cast t > u | to=7; Expand b u > v",
          "f 4 3: 2 2 2 2 2 2 2 2 2 2 2 2", ROWS, "f: 2"),
    CHAIN("into_half", "Shape a > s; Cast s > v | to=10", "h 2: 4 3", ROWS),
    CHAIN("filled", "Shape a > s; ConstantOfShape s > v", "f 4 3: 0 0 0 0 0 0 0 0 0 0 0 0", ROWS),
    CHAIN("reshape_of_it", "Shape a > s; Gather s b > n; Concat c n > t | axis=0; Reshape a t > v",
          "f 3 4: 0 1 2 3 4 5 6 7 8 9 10 11", "f 4N 3: 0 1 2 3 4 5 6 7 8 9 10 11", FIRST,
          "=i 1: -1"),
};

static const node_case refused_chains[] = {
    CHAIN("slice_axis_of_symbol", "Shape a > s; Slice a s s s > v",
          "an axis or a step that depends on symbols", ROWS),
    CHAIN("top_of_symbol", "Shape a > s; Gather s b > n; TopK a n > v",
          "input 1 depends on sizes that are symbols", ROWS, FIRST),
    CHAIN("squeeze_of_two", "Shape a > s; Squeeze s b > v", "axis 0 is left out of the order", ROWS,
          FIRST),
    CHAIN("made_by_none", "Shape a > s; Abs s > t", "nothing makes the output v", ROWS),
};

/* ---- Functions ---- */

/* In FUNCTION a node of OPERATOR, of x to y, whose attribute NAME is that of the function called
 * REFERENCE. */
static void put_handed_on(message *function, const char *operator_, const char *domain,
                          const char *name, const char *reference) {
  message node = {0}, attribute = {0};
  put_text(&node, 1, "x");
  put_text(&node, 2, "y");
  put_text(&node, 4, operator_);
  put_text(&node, 7, domain);
  put_text(&attribute, 1, name);
  put_text(&attribute, 21, reference);
  put_message(&node, 5, &attribute);
  put_message(function, 7, &node);
}

/* Function NAME of x, in domain "own", with attribute "slope", whose default is FALLBACK unless
 * that is NULL. */
static void put_function(message *model, const char *name, message *function,
                         const char *fallback) {
  message attribute = {0}, opset = {0};
  put_text(function, 1, name);
  put_text(function, 10, "own");
  put_text(function, 4, "x");
  put_text(function, 5, "y");
  put_text(function, 5, "x");
  put_int(&opset, 2, 16);
  put_message(function, 9, &opset);
  if (fallback != NULL) {
    put_text(&attribute, 1, "slope");
    put_float(&attribute, 2, fallback, NULL);
    put_message(function, 11, &attribute);
  } else {
    put_text(function, 6, "slope");
  }
  put_message(model, 25, function);
}

/* A model of LeakyRelu, whose alpha goes through two functions: the node SAID it or, where it
 * didn't, the outer function has a FALLBACK or NULL. The second result is x. */
static void put_nested(message *model, const char *said, const char *fallback) {
  static const int64_t two = 2;
  message function = {0}, graph = {0}, attributes = {0};
  put_handed_on(&function, "LeakyRelu", "", "alpha", "slope");
  put_function(model, "Inner", &function, NULL);
  put_handed_on(&function, "Inner", "own", "slope", "slope");
  put_function(model, "Outer", &function, fallback);
  put_attributes(&attributes, said);
  put_text(&attributes, 7, "own");
  put_node(&graph, "Outer", "a", "v w", &attributes);
  put_text(&graph, 2, "g");
  put_value(&graph, 11, "a", ONNX_FLOAT, 1, &two);
  put_value(&graph, 12, "v", ONNX_FLOAT, 1, &two);
  put_value(&graph, 12, "w", ONNX_FLOAT, 1, &two);
  put_opset(model, "own", 3, 1);
  put_model(model, &graph);
}

/* Where nobody says alpha, it is as LeakyRelu has it. */
static void attributes_handed_on(const void *data) {
  static const struct {
    const char *said, *fallback;
    double alpha;
  } ways[] = {
      {"slope=0.25", NULL, 0.25}, {"slope=0.25", "0.5", 0.25}, {"", "0.5", 0.5}, {"", NULL, 0.01}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(ways); k++) {
    message model = {0};
    gemel_error error = {0};
    gemel_tensor *results[2] = {NULL, NULL};
    numbers in, out;
    ct_context("case %zu", k);
    read_numbers("f 2: -4 4", &in);
    read_numbers("f 2: 0 4", &out);
    out.values[0] = -4 * ways[k].alpha;
    put_nested(&model, ways[k].said, ways[k].fallback);
    gemel_context *context = gemel_context_new(&error);
    gemel_onnx *read = gemel_onnx_parse(model.bytes, model.length, "m.onnx", NULL, &error);
    gemel_graph *made = read != NULL ? gemel_onnx_graph(read, context, NULL, NULL, &error) : NULL;
    if (made != NULL) {
      run_node(made, &in, 2, results, &error);
    }
    if (CT_EQ_STR(error.text, "")) {
      same_numbers(results[0], &out);
      same_numbers(results[1], &in);
    }
    gemel_tensor_unref(results[0]);
    gemel_tensor_unref(results[1]);
    gemel_graph_unref(made);
    gemel_onnx_free(read);
    gemel_context_unref(context);
  }
}

/* ---- Files ---- */

static void no_such_files(const void *data) {
  gemel_error error = {0};
  char path[600];
  (void)data;
  snprintf(path, sizeof path, "%s/none.onnx", ct_scratch());
  CT_CHECK(gemel_onnx_load(path, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_IO);
  CT_HAS_STR(error.text, "none.onnx");
  CT_CHECK(gemel_onnx_load(NULL, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_onnx_tensor_load(path, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_IO);
  CT_CHECK(gemel_onnx_tensor_load(NULL, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_onnx_parse(NULL, 1, "m.onnx", NULL, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_onnx_parse(NULL, 0, NULL, NULL, &error) == NULL);
  CT_HAS_STR(error.text, "no model of ONNX");
  CT_CHECK(gemel_onnx_weight(NULL, 3, &error) == NULL);
  CT_HAS_STR(error.text, "there is no weight 3");
}

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    CT_ADD("onnx_edges", cases[k].name, node_gives, &cases[k]);
    if (k % 8 == 0) {
      CT_ADD("onnx_edges_memory", cases[k].name, node_without_memory, &cases[k]);
    }
  }
  for (size_t k = 0; k < CT_COUNT(refused); k++) {
    CT_ADD("onnx_edges_refused", refused[k].name, node_is_refused, &refused[k]);
  }
  for (size_t k = 0; k < CT_COUNT(failing); k++) {
    CT_ADD("onnx_edges_fail", failing[k].name, node_fails, &failing[k]);
  }
  for (size_t k = 0; k < CT_COUNT(chains); k++) {
    CT_ADD("onnx_shapes", chains[k].name, node_gives, &chains[k]);
    CT_ADD("onnx_shapes_memory", chains[k].name, node_without_memory, &chains[k]);
  }
  for (size_t k = 0; k < CT_COUNT(refused_chains); k++) {
    CT_ADD("onnx_shapes_refused", refused_chains[k].name, node_is_refused, &refused_chains[k]);
  }
  CT_ADD("onnx_files", "no_such_files", no_such_files, NULL);
  CT_ADD("onnx_functions", "attributes_handed_on", attributes_handed_on, NULL);
}
