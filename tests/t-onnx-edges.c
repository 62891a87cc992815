/* SPDX-License-Identifier: MIT
 *
 * Sides of ONNX's operators that its own tests (t-onnx-nodes.c) don't reach: reductions over
 * nothing, slices of axes whose size is a symbol, attributes of old opsets, constants written as
 * attributes, attributes that a function hands on; and what is refused. The results are those that
 * onnx/docs/Operators.md and Changelog.md define.
 */
#include "support/onnx-node.h"

/* A slice of six numbers. */
#define SLICE(name, start, end, step, result)                                                      \
  {                                                                                                \
    "slice_" name, "Slice(f 6N: 0 1 2 3 4 5, =i 1: " start ", =i 1: " end ", =i 1: 0, =i 1: " step \
                   ") => " result                                                                  \
  }

static const node_case cases[] = {
    {"max_of_none", "ReduceMax(f 0 2, =i 1: 0) => f 1 2: -inf -inf"},
    {"min_of_none", "ReduceMin<keepdims=0>(f 2 0, =i 1: -1) => f 2: inf inf"},
    {"max_of_all_none", "ReduceMax(d 0 2) => d 1 1: -inf"},
    {"max_of_no_i32", "ReduceMax(w 0) => w 1: -2147483648"},
    {"min_of_no_i32", "ReduceMin(w 0) => w 1: 2147483647"},
    {"max_of_no_u8", "ReduceMax(u 0) => u 1: 0"},
    {"min_of_no_u8", "ReduceMin(u 0) => u 1: 255"},
    {"max_of_no_i8", "ReduceMax(s 0) => s 1: -128"},
    {"min_of_no_i8", "ReduceMin(s 0) => s 1: 127"},
    {"max_of_no_truth", "ReduceMax(b 0) => b 1: 0"},
    {"min_of_no_truth", "ReduceMin(b 0) => b 1: 1"},
    {"sum_of_none", "ReduceSum(f 0) => f 1: 0"},
    {"prod_of_none", "ReduceProd(f 0) => f 1: 1"},
    {"log_sum_exp_of_none", "ReduceLogSumExp(f 0) => f 1: -inf"},
    {"sum_kept", "ReduceSum<noop_with_empty_axes=1>(f 2: 3 -4) => f 2: 3 -4"},
    {"prod_kept", "ReduceProd<noop_with_empty_axes=1>(f 2: 3 -4, =i 0:) => f 2: 3 -4"},
    {"prod_of_sizes_kept", "ReduceProd<noop_with_empty_axes=1>(=i 2: 3 4) => i 2: 3 4"},
    {"prod_of_sizes", "ReduceProd(=i 2: 3 4) => i 1: 12"},
    {"max_kept", "ReduceMax<noop_with_empty_axes=1>(f 2: 3 -4) => f 2: 3 -4"},
    {"mean_kept", "ReduceMean<noop_with_empty_axes=1>(f 2: 3 -4) => f 2: 3 -4"},
    {"l1_kept", "ReduceL1<noop_with_empty_axes=1>(f 2: 3 -4) => f 2: 3 4"},
    {"l2_kept", "ReduceL2<noop_with_empty_axes=1>(f 2: 3 -4) => f 2: 3 4"},
    {"square_kept", "ReduceSumSquare<noop_with_empty_axes=1>(f 2: 3 -4) => f 2: 9 16"},
    {"log_kept", "ReduceLogSum<noop_with_empty_axes=1>(f 2: 1 2) => f 2: 0 0.6931472"},
    {"log_exp_kept", "ReduceLogSumExp<noop_with_empty_axes=1>(f 1: 3) => f 1: 3"},
    {"mish", "Mish(f 4: 1 -1 0 30) => f 4: 0.86509839 -0.30340146 0 30"},
    {"bit_cast", "BitCast<to=6>(f 2: 1 -2) => w 2: 1065353216 -1073741824"},
    {"bit_cast_to_truth", "BitCast<to=9>(u 2: 0 1) => b 2: 0 1"},
    {"no_infinity", "IsInf<detect_negative=0, detect_positive=0>(f 3: inf -inf 1) => b 3: 0 0 0"},
    {"infinity_above", "IsInf<detect_negative=0>(f 3: inf -inf 1) => b 3: 1 0 0"},
    {"infinity_below", "IsInf<detect_positive=0>(f 3: inf -inf 1) => b 3: 0 1 0"},
    {"gelu_said", "Gelu<approximate=none>(f 1: 1) => f 1: 0.84134475"},
    {"reshape_1", "Reshape-1<shape=[2, 2]>(f 4: 1 2 3 4) => f 2 2: 1 2 3 4"},
    {"upsample_7", "Upsample-7<scales=[1.0, 2.0]>(f 1 2: 1 2) => f 1 4: 1 1 2 2"},
    {"grid_one_element", "GridSample<mode=nearest, padding_mode=reflection, align_corners=1>("
                         "f 1 1 1 1: 7, f 1 1 2 2: 0 0 3 -5) => f 1 1 1 2: 7 7"},
    {"resize_larger", "Resize<keep_aspect_ratio_policy=not_smaller>(f 2 1: 1 2, , , =i 2: 3 2)"
                      " => f 4 2: 1 1 1 1 2 2 2 2"},
    {"resize_smaller", "Resize<keep_aspect_ratio_policy=not_larger, axes=[-1, 0]>(f 2 1: 1 2, , , "
                       "=i 2: 2 3) => f 3 2: 1 1 1 1 2 2"},
    {"constant_of_int", "Constant<value_int=7>() => i: 7"},
    {"constant_of_ints", "Constant<value_ints=[7, -8]>() => i 2: 7 -8"},
    {"constant_of_float", "Constant<value_float=0.5>() => f: 0.5"},
    {"constant_of_floats", "Constant<value_floats=[0.5, -1.5]>() => f 2: 0.5 -1.5"},
    {"pad_wrap", "Pad<mode=wrap>(f 4: 1 2 3 4, =i 2: 3 2) => f 9: 2 3 4 1 2 3 4 1 2"},
    {"pad_wrap_symbol", "Pad<mode=wrap>(f 4N: 1 2 3 4, =i 2: 1 2) => f 7: 4 1 2 3 4 1 2"},
    {"pad_reflect", "Pad<mode=reflect>(f 4: 1 2 3 4, =i 2: 3 2) => f 9: 4 3 2 1 2 3 4 3 2"},
    {"pad_below_0", "Pad(f 3: 1 2 3, =i 2: -1 1) => f 3: 2 3 0"},
    {"quotients", "Div(=i 4: 7 -7 7 -7, =i 4: 2 2 -2 -2) => i 4: 3 -3 -3 3"},
    {"negation", "Neg(=i 2: 7 -7) => i 2: -7 7"},
    {"gather_of_sizes", "Gather(=i 3: 7 8 9, =i 2: -1 0) => i 2: 9 7"},
    {"where_of_sizes", "Where(=b 2: 1 0, =i 2: 7 8, =i: 6) => i 2: 7 6"},
    {"equal_sizes", "Equal(=i 2: 7 8, =i 1: 7) => b 2: 1 0"},
    {"slice_of_sizes", "Slice(=i 3: 7 8 9, =i 1: -2, =i 1: 99) => i 2: 8 9"},
    {"slice_of_sizes_1", "Slice-1<starts=[1], ends=[-1]>(=i 3: 7 8 9) => i 1: 8"},
    {"cast_of_large", "Cast<to=1>(=i 2: 16777217 -3) => f 2: 16777216 -3"},
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

static const refused_case refused[] = {
    {"conv_strides", "Conv<strides=[1]>(f 1 1 4 4, f 1 1 2 2)",
     "strides has 1 numbers, and there are 2 spatial axes"},
    {"conv_large_strides", "Conv<strides=[1, 2000000000]>(f 1 1 4 4, f 1 1 2 2)",
     "strides: 2000000000"},
    {"conv_no_strides", "Conv<strides=[1, 0]>(f 1 1 4 4, f 1 1 2 2)",
     "strides and dilations are 1 at least"},
    {"conv_no_dilations", "Conv<dilations=[0, 1]>(f 1 1 4 4, f 1 1 2 2)",
     "strides and dilations are 1 at least"},
    {"conv_auto_pad", "Conv<auto_pad=SOME>(f 1 1 4 4, f 1 1 2 2)", "auto_pad SOME"},
    {"conv_pads", "Conv<pads=[1, 1]>(f 1 1 4 4, f 1 1 2 2)", "2 pads for 2 spatial axes"},
    {"conv_large_pads", "Conv<pads=[1, 1, 1, 2000000000]>(f 1 1 4 4, f 1 1 2 2)",
     "pads: 2000000000"},
    {"conv_no_group", "Conv<group=0>(f 1 1 4 4, f 1 1 2 2)", "group is below 1"},
    {"conv_kernel_shape", "Conv<kernel_shape=[2, 3]>(f 1 1 4 4, f 1 1 2 2)",
     "kernel_shape isn't that of the weights"},
    {"conv_symbol", "Conv<auto_pad=SAME_UPPER>(f 1 1 4N, f 1 1 2)",
     "auto_pad with a size that is a symbol"},
    {"conv_of_matrix", "Conv(f 1 1, f 1 1)", "it takes images of 1 to"},
    {"conv_weights", "Conv(f 1 1 4 4, f 1 1 2)", "weights of 3 axes for 2 spatial axes"},
    {"conv_kernel_of_symbol", "Conv(f 1 1 4, f 1 1 2N)", "a kernel whose size is a symbol"},
    {"transposed_symbol", "ConvTranspose(f 1 1 4N, f 1 1 2)", "a size that is a symbol"},
    {"transposed_weights", "ConvTranspose(f 1 1 4, f 1 1 2 2)", "weights of 4 axes"},
    {"transposed_padding", "ConvTranspose<output_padding=[1, 1]>(f 1 1 4, f 1 1 2)",
     "output_padding has 2 numbers"},
    {"pool_ceil", "MaxPool<kernel_shape=[2], ceil_mode=1>(f 1 1 4N)",
     "ceil_mode with a size that is a symbol"},
    {"pool_numbers", "MaxPool<kernel_shape=[2]>(f 1 1 4N) => ?, ?",
     "numbers of elements in a size that is a symbol"},
    {"pool_of_matrix", "AveragePool<kernel_shape=[2]>(f 1 4)", "it takes images"},
    {"lrn_size", "LRN<size=0>(f 1 1 2 2)", "it takes images and a size above 0"},
    {"col2im_large", "Col2Im(f 1 1 1, =i 1: 2000000000, =i 1: 1)", "image_shape: 2000000000"},
    {"col2im_unknown", "Col2Im(f 1 1 1, i 1: 2, =i 1: 1)",
     "input 1 must be integers that are known"},
    {"mean_of_integers", "ReduceMean(w 2: 1 2)", "a mean of integers"},
    {"sum_axis", "ReduceSum(f 2, =i 1: 2)", "axis 2 is out of range for rank 1"},
    {"arg_axis", "ArgMax<axis=1>(f 2)", "axis 1 is out of range for rank 1"},
    {"cast_to_strings", "Cast<to=8>(f 2)", "string"},
    {"bit_cast_to_strings", "BitCast<to=8>(f 2)", "string"},
    {"kind_of_attribute", "LeakyRelu<alpha=1>(f 2)", "attribute alpha isn't a float"},
    {"kind_of_attribute_in_c", "Flatten<axis=0.0>(f 2)", "attribute axis isn't an integer"},
    {"kind_of_list", "ReduceSum<keepdims=[1]>(f 2)", "attribute keepdims isn't an integer"},
    {"unknown_attribute", "LeakyRelu<aplha=0.5>(f 2)", "an attribute aplha, which isn't known"},
    {"gelu_form", "Gelu<approximate=sine>(f 2)", "approximate = sine"},
    {"left_out", "Add(, f 1)", "input 0 is left out"},
    {"unsqueeze_twice", "Unsqueeze(f 4, =i 2: 0 -3)", "axis 0 is there twice"},
    {"unsqueeze_axis", "Unsqueeze(f 4, =i 1: 3)", "axis 3 of 2 axes"},
    {"unsqueeze_many", "Unsqueeze(f 4, =i 16: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)",
     "a result with more than"},
    {"unsqueeze_unknown", "Unsqueeze(f 4, i 1: 0)", "input 1 must be integers"},
    {"squeeze_of_two", "Squeeze(f 2 1, =i 1: 0)",
     "axis 0 is left out of the order and its size isn't 1"},
    {"flatten_axis", "Flatten<axis=3>(f 2 2)", "axis 3 of 2 axes"},
    {"reshape_copied", "Reshape(f 4, =i 2: 4 0)", "size 1 is copied, and there is no axis 1"},
    {"reshape_unknown_sizes", "Reshape(f 4, =i 2: -1 -1)", "two sizes are -1"},
    {"reshape_unknown", "Reshape(f 4, i 1: 4)", "a shape that isn't known"},
    {"reshape_without", "Reshape-1(f 4)", "a shape that isn't known"},
    {"depth_of_matrix", "DepthToSpace<blocksize=2>(f 4 4)", "it takes images of 4 axes"},
    {"depth_blocks", "DepthToSpace<blocksize=2>(f 1 3 2 2)", "12 elements"},
    {"space_blocksize", "SpaceToDepth(f 1 1 2 2)", "a blocksize above 0"},
    {"eye_of_vector", "EyeLike(f 4)", "it takes a matrix"},
    {"eye_of_strings", "EyeLike<dtype=8>(f 1 1 2 2)", "string"},
    {"triangle_of_vector", "Trilu(f 4)", "it takes matrices"},
    {"triangle_unknown", "Trilu(f 2 2, i: 0)", "input 1 must be integers"},
    {"constant_of_nothing", "Constant()", "a constant that is no tensor"},
    {"constant_of_text", "Constant<value_string=a>()", "a constant that is no tensor"},
    {"split_outputs", "Split-18<num_outputs=3>(f 4) => ?, ?",
     "num_outputs isn't the number of outputs"},
    {"split_sizes", "Split(f 4, =i 1: 4) => ?, ?", "1 sizes for 2 outputs"},
    {"slice_step", "Slice(f 4, =i 1: 0, =i 1: 0, =i 1: 0, =i 1: 0)", "a step of 0"},
    {"slice_lists", "Slice(f 4, =i 2: 0 0, =i 1: 0)", "don't belong together"},
    {"slice_axis", "Slice(f 4, =i 1: 0, =i 1: 0, =i 1: 1)", "axis 1 of 1 axes"},
    {"crop_of_symbol", "CenterCropPad(f 4N, =i 1: 2)", "axis 0, whose size is a symbol"},
    {"pad_count", "Pad(f 4, =i 1: 0)", "1 pads for 1 axes"},
    {"pad_unknown", "Pad(f 4, i 2: 1 1)", "input 1 must be integers"},
    {"pad_edge_below_0", "Pad<mode=edge>(f 4, =i 2: -1 0)", "padding below 0"},
    {"pad_mode", "Pad<mode=tile>(f 4, =i 2: 1 0)", "mode tile"},
    {"pad_wrap_far", "Pad<mode=wrap>(f 4, =i 2: 5 0)",
     "-5:9223372036854775807 is outside of axis 0"},
    {"pad_reflect_far", "Pad<mode=reflect>(f 4, =i 2: 0 4)", "-5:-1 is outside of axis 0"},
    {"scatter_reduction", "ScatterElements<reduction=mean>(f 4, i 1: 0, f 1)", "reduction mean"},
    {"scatter_nd_reduction", "ScatterND<reduction=mean>(f 4, i 1 1: 0, f 1)", "reduction mean"},
    {"gather_axis", "Gather<axis=1>(f 4, i 1: 0)", "axis 1 of 1 axes"},
    {"gather_nd_fits", "GatherND(f 4, i 1 2: 0 0)", "doesn't fit"},
    {"gather_nd_unknown", "GatherND(f 4, i 1N: 0)", "isn't known"},
    {"reverse_sequence_axes", "ReverseSequence<time_axis=1>(f 2 2, i 2: 1 1)",
     "it takes x[time, batch"},
    {"tensor_scatter_axis", "TensorScatter<axis=2>(f 2 2, f 2 2)", "axis 2 of 2 axes"},
    {"cumsum_axes", "CumSum(f 4, =i 2: 0 0)", "2 axes"},
    {"cumsum_unknown", "CumSum(f 4, i: 0)", "input 1 must be integers"},
    {"top_of_two", "TopK(f 4, =i 2: 1 1)", "k is 2 numbers"},
    {"top_unknown", "TopK(f 4, i 1: 1)", "input 1 must be integers"},
    {"gemm_of_vector", "Gemm(f 4, f 4 1)", "it takes matrices"},
    {"resize_taps", "Resize<mode=linear, antialias=1>(f 0 1024, , , =i 2: 0 1)",
     "more than 512 elements for one"},
    {"resize_of_nothing", "Resize<mode=linear>(f 0, , , =i 1: 2)", "no element to make others of"},
    {"resize_below_0", "Resize(f 4, , =f 1: -1)", "axis 0 would have the size"},
    {"resize_axis", "Resize<axes=[3]>(f 4, , =f 1: 2)", "axis 3 of 1 axes"},
    {"resize_region", "Resize<coordinate_transformation_mode=tf_crop_and_resize>(f 4, , =f 1: 2)",
     "a region to crop, must be known"},
    {"resize_mode", "Resize<mode=area>(f 4, , =f 1: 2)", "mode = area"},
    {"resize_places", "Resize<coordinate_transformation_mode=half>(f 4, , =f 1: 2)",
     "coordinate_transformation_mode = half"},
    {"resize_nearest", "Resize<nearest_mode=round>(f 4, , =f 1: 2)", "nearest_mode = round"},
    {"resize_policy", "Resize<keep_aspect_ratio_policy=fit>(f 4, , , =i 1: 2)",
     "keep_aspect_ratio_policy = fit"},
    {"grid_mode", "GridSample<mode=area>(f 1 1 2 2, f 1 1 1 2)", "mode = area"},
    {"grid_padding", "GridSample<padding_mode=wrap>(f 1 1 2 2, f 1 1 1 2)", "padding_mode = wrap"},
    {"grid_of_vector", "GridSample(f 1 1, f 1 2)", "images of 0 axes"},
    {"grid_of_symbol", "GridSample(f 1 1 2 2N, f 1 1 1 2)", "axis 3 has no size that is known"},
    {"grid_axes", "GridSample(f 1 1 2 2, f 1 1 2)", "a grid of 3 axes for 4"},
    {"loss_reduction", "NegativeLogLikelihoodLoss<reduction=max>(f 1 2, i 1: 0)",
     "reduction = max"},
    {"loss_target", "NegativeLogLikelihoodLoss(f 1 2, i 1 1: 0)", "it takes [N, C, ...] and class"},
    {"loss_of_vector", "SoftmaxCrossEntropyLoss(f 2, i: 0)", "it takes scores [N, C, ...]"},
    {"one_hot_axis", "OneHot<axis=2>(i 1: 0, =i: 2, f 2)", "axis 2 is out of range for rank 2"},
    {"one_hot_depth", "OneHot(i 1: 0, =f: -2, f 2)", "input 1 must be a size that is known"},
    {"depth_mode", "DepthToSpace<blocksize=2, mode=RCD>(f 1 4 1 1)", "mode = RCD"},
    {"tensor_scatter_mode", "TensorScatter<mode=wrap>(f 1 2 1, f 1 1 1)", "mode = wrap"},
    {"momentum_mode", "ai.onnx.preview.training.Momentum<mode=heavy>(f: 1, i: 0, f 1, f 1, f 1)",
     "mode = heavy"},
    {"momentum_inputs", "ai.onnx.preview.training.Momentum(f: 1, i: 0, f 1, f 1, f 1, f 1)",
     "it has 6 inputs"},
    {"dft_of_symbol", "DFT(f 1 4N 1, , =i: 1)", "a signal whose size is a symbol"},
    {"stft_window", "STFT(f 1 4, =i: 1, f 2N)", "a window whose size is a symbol"},
    {"mel_number", "MelWeightMatrix(=i: 2, =i: 8, =i: 8000, f: 0, =f: 9)",
     "input 3 must be a number that is known"},
    {"deform_strides", "DeformConv<strides=[1, -1]>(f 1 1 2 2, f 1 1 1 1, f 1 2 2 2)",
     "strides: -1"},
    {"deform_of_symbol", "DeformConv(f 1 1 2 2N, f 1 1 1 1, f 1 2 2 2)", "whose sizes are numbers"},
    {"resize_unknown", "Resize(f 4, , f 1: 2)", "scales or sizes"},
};

static const refused_case failing[] = {
    {"pad_wrap_beyond", "Pad<mode=wrap>(f 4N, =i 2: 5 0)",
     "index -1 of axis 0 is outside its size 4"},
    {"pad_reflect_beyond", "Pad<mode=reflect>(f 4N, =i 2: 4 0)",
     "index 4 of axis 0 is outside its size 4"},
    {"scatter_beyond", "ScatterElements(f 4, i 1: 4, f 1)",
     "index 4 (element 0 of the indices) is outside of axis 0"},
};

/* ---- What is computed of shapes ---- */

static const node_case chains[] = {
    {"shape_half",
     "{s = Shape(a) n = Gather(s, b) v = Div(n, c)}(f 4N 3, =i 1: 0, =i 1: 2) => i 1: 2"},
    {"shape_half_below_0",
     "{s = Shape(a) n = Gather(s, b) v = Div(n, c)}(f 4N 3, =i 1: 0, =i 1: -2) => i 1: -2"},
    {"shape_scalar", "{s = Shape(a) n = Gather(s, b) v = Cast<to=6>(n)}(f 4N 3, =i: 0) => w: 4"},
    {"shape_of_part", "{v = Shape<start=-1, end=9>(a)}(f 4N 3) => i 1: 3"},
    {"shape_of_nothing", "{v = Shape<start=2, end=-2>(a)}(f 4N 3) => i 0:"},
    {"shape_size", "{v = Size(a)}(f 4N 3) => i: 12"},
    {"shape_product", "{s = Shape(a) v = ReduceProd<keepdims=0>(s)}(f 4N 3) => i: 12"},
    {"shape_product_kept",
     "{s = Shape(a) v = ReduceProd<noop_with_empty_axes=1>(s)}(f 4N 3) => i 2: 4 3"},
    {"shape_arithmetic", "{s = Shape(a) t = Add(s, b) u = Sub(t, c) v = Min(u, c)}(f 4N 3, "
                         "=i 2: 2 2, =i: 3) => i 2: 3 2"},
    {"shape_largest", "{s = Shape(a) t = Neg(s) v = Max(t, b)}(f 4N 3, =i 2: -9 -2) => i 2: -4 -2"},
    {"shape_equal_below_0", "{s = Shape(a) v = Equal(s, b)}(f 4N 3, =i 2: -1 3) => b 2: 0 1"},
    {"shape_below_0_equal", "{s = Shape(a) v = Equal(b, s)}(f 4N 3, =i 1: -1) => b 2: 0 0"},
    {"shape_equal_next",
     "{s = Shape(a) t = Add(s, b) v = Equal(s, t)}(f 4N 3, =i 1: 1) => b 2: 0 0"},
    {"shape_equal_perhaps", "{s = Shape(a) v = Equal(s, b)}(f 4N 3, =i 2: 4 4) => b 2: 1 0"},
    {"shape_equal_of_others",
     "{s = Shape(a) v = Equal(s, b)}(f 4N 3, =i 2 2: 4 4 3 3) => b 2 2: 1 0 0 1"},
    {"shape_gather_unknown", "{s = Shape(a) v = Gather(s, b)}(f 4N 3, i 1: 1) => i 1: 3"},
    {"shape_gather_from_end", "{s = Shape(a) v = Gather(s, b)}(f 4N 3, =i 1: -2) => i 1: 4"},
    {"shape_concat",
     "{s = Shape(a) v = Concat<axis=0>(s, b, s)}(f 4N 3, =i 1: 7) => i 5: 4 3 7 4 3"},
    {"shape_concat_unknown",
     "{s = Shape(a) v = Concat<axis=0>(s, b)}(f 4N 3, i 1: 7) => i 3: 4 3 7"},
    {"shape_reshaped",
     "{s = Shape(a) t = Reshape(s, b) v = Add(t, t)}(f 4N 3, =i 1: -1) => i 2: 8 6"},
    {"shape_reshaped_by_size", "{s = Shape(a) v = Reshape(s, b)}(f 4N 3, =i 1: 2) => i 2: 4 3"},
    {"shape_reshaped_to_matrix",
     "{s = Shape(a) v = Reshape(s, b)}(f 4N 3, =i 2: 1 2) => i 1 2: 4 3"},
    {"shape_raised",
     "{s = Shape(a) t = Unsqueeze(s, b) v = Squeeze(t, b)}(f 4N 3, =i 1: 0) => i 2: 4 3"},
    {"shape_slice", "{s = Shape(a) v = Slice(s, b, c)}(f 4N 3, =i 1: 1, =i 1: 9) => i 1: 3"},
    {"shape_slice_by_two",
     "{s = Shape(a) v = Slice(s, b, c, b, d)}(f 4N 3, =i 1: 0, =i 1: 9, =i 1: 2) => i 1: 4"},
    {"shape_chosen", "{s = Shape(a) v = Where(b, s, c)}(f 4N 3, =b 2: 1 0, =i 2: 7 7) => i 2: 4 7"},
    {"shape_chosen_unknown",
     "{s = Shape(a) v = Where(b, s, c)}(f 4N 3, b 2: 1 0, =i 2: 7 7) => i 2: 4 7"},
    {"shape_through_floats", "{s = Shape(a) t = Cast<to=1>(s) u = Cast<to=7>(t) v = Expand(b, u)}("
                             "f 4N 3, f: 2) => f 4 3: 2 2 2 2 2 2 2 2 2 2 2 2"},
    {"shape_into_half", "{s = Shape(a) v = Cast<to=10>(s)}(f 4N 3) => h 2: 4 3"},
    {"shape_filled",
     "{s = Shape(a) v = ConstantOfShape(s)}(f 4N 3) => f 4 3: 0 0 0 0 0 0 0 0 0 0 0 0"},
    {"shape_reshape_of_it",
     "{s = Shape(a) n = Gather(s, b) t = Concat<axis=0>(c, n) v = Reshape(a, t)}("
     "f 4N 3: 0 1 2 3 4 5 6 7 8 9 10 11, =i 1: 0, =i 1: -1) => f 3 4: 0 1 2 3 4 5 6 7 8 9 10 11"},
};

static const refused_case refused_chains[] = {
    {"shape_slice_axis_of_symbol", "{s = Shape(a) v = Slice(a, s, s, s)}(f 4N 3)",
     "an axis or a step that depends on symbols"},
    {"shape_top_of_symbol", "{s = Shape(a) n = Gather(s, b) v = TopK(a, n)}(f 4N 3, =i 1: 0)",
     "input 1 depends on sizes that are symbols"},
    {"shape_squeeze_of_two", "{s = Shape(a) v = Squeeze(s, b)}(f 4N 3, =i 1: 0)",
     "axis 0 is left out of the order"},
    {"shape_made_by_none", "{s = Shape(a) t = Abs(s)}(f 4N 3)", "nothing makes the output v"},
};

/* ---- Functions ---- */

/* A model of LeakyRelu, whose alpha goes through two functions, from the attribute SLOPE of the
 * outer one, which may have a default. The node SAID it or not. The second result is x. */
static message nested(const char *said, const char *slope) {
  return onnx_format(
      "<ai.onnx: 13, own: 1> g (float[2] a) => (float[2] v, float[2] w) {v, w = own.Outer<%s>(a)}"
      "<ai.onnx: 16> own.Inner<slope>(x) => (y, x) {y = LeakyRelu<alpha = @slope>(x)}"
      "<ai.onnx: 16> own.Outer<%s>(x) => (y, x) {y = own.Inner<slope = @slope>(x)}",
      said, slope);
}

/* Where nobody says alpha, it is as LeakyRelu has it. */
static void attributes_handed_on(const void *data) {
  static const struct {
    const char *said, *slope;
    double alpha;
  } ways[] = {{"slope = 0.25", "slope", 0.25},
              {"slope = 0.25", "slope = 0.5", 0.25},
              {"", "slope = 0.5", 0.5},
              {"", "slope", 0.01}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(ways); k++) {
    message model = nested(ways[k].said, ways[k].slope);
    gemel_error error = {0};
    gemel_tensor *results[2] = {NULL, NULL};
    numbers in, out;
    ct_context("case %zu", k);
    read_numbers("f 2: -4 4", &in);
    read_numbers("f 2: 0 4", &out);
    out.values[0] = -4 * ways[k].alpha;
    run_model(&model, &in, 2, results, &error);
    if (CT_EQ_STR(error.text, "")) {
      same_numbers(results[0], &out);
      same_numbers(results[1], &in);
    }
    gemel_tensor_unref(results[0]);
    gemel_tensor_unref(results[1]);
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
  NODE_SUITE("onnx_edges", cases, node_gives);
  NODE_MEMORY("onnx_edges_memory", cases, 0, 8);
  NODE_SUITE("onnx_edges_refused", refused, node_is_refused);
  NODE_SUITE("onnx_edges_fail", failing, node_fails);
  NODE_SUITE("onnx_shapes", chains, node_gives);
  NODE_MEMORY("onnx_shapes_memory", chains, 0, 1);
  NODE_SUITE("onnx_shapes_refused", refused_chains, node_is_refused);
  CT_ADD("onnx_files", "no_such_files", no_such_files, NULL);
  CT_ADD("onnx_functions", "attributes_handed_on", attributes_handed_on, NULL);
}
