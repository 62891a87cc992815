/* SPDX-License-Identifier: MIT
 *
 * Operators of ONNX, or sides of them, that the tests of its older versions (t-onnx-nodes.c) don't
 * reach: small models of one node, with results that ONNX Runtime or ONNX's reference gives, and
 * what is refused of them.
 */
#include "support/onnx-node.h"

/* ---- Cases ---- */

static const node_case cases[] = {
    {"lp_pool",
     "LpPool<kernel_shape=[2, 2], p=3>(f 1 1 3 3: -4.5 2.5 -1.5 5.5 1.5 -2.5 4.5 0.5 -3.5)"
     " => f 1 1 2 2: 6.514759540557861 3.3619754314422607 6.390676975250244 3.9578917026519775"},
    {"lp_pool_padded", "LpPool<kernel_shape=[3], strides=[2], pads=[1, 1], p=1>("
                       "f 1 1 5: -4.5 2.5 -1.5 5.5 1.5) => f 1 1 3: 7 9.5 7"},
    {"global_lp_pool", "GlobalLpPool<p=2>(f 1 2 2 2: -4.5 2.5 -1.5 5.5 1.5 -2.5 4.5 0.5)"
                       " => f 1 2 1 1: 7.681145668029785 5.385164737701416"},
    {"average_pool_beyond", "AveragePool<kernel_shape=[2], strides=[3], ceil_mode=1, "
                            "count_include_pad=1>(f 1 1 4: -4.5 2.5 -1.5 5.5) => f 1 1 2: -1 5.5"},
    {"max_pool_columns",
     "MaxPool<kernel_shape=[2, 2], storage_order=1, pads=[1, 0, 0, 0]>("
     "f 1 2 3 3: -4.5 2.5 -1.5 5.5 1.5 -2.5 4.5 0.5 -3.5 3.5 -0.5 -4.5 2.5 -1.5 5.5 1.5 -2.5 4.5)"
     " => f 1 2 3 2: 2.5 2.5 5.5 2.5 5.5 1.5 3.5 -0.5 3.5 5.5 2.5 5.5, "
     "i 1 2 3 2: 3 3 1 3 1 4 9 12 9 16 10 16"},
    {"max_pool_of_least",
     "MaxPool<kernel_shape=[2], pads=[1, 0]>(u 1 1 2: 0 0) => u 1 1 2: 0 0, i 1 1 2: 0 0"},
    {"col2im",
     "Col2Im(f 1 8 2: -4.5 2.5 -1.5 5.5 1.5 -2.5 4.5 0.5 -3.5 3.5 -0.5 -4.5 2.5 -1.5 5.5 1.5, "
     "i 2: 2 3, i 2: 2 2) => f 1 2 2 3: -4.5 1 5.5 1.5 2 0.5 -3.5 3 -4.5 2.5 4 1.5"},
    {"affine_grid", "AffineGrid<align_corners=1>(f 1 2 3: -4.5 2.5 -1.5 5.5 1.5 -2.5, "
                    "i 4: 1 1 2 3) => f 1 2 3 2: 0.5 -9.5 -4 -4 -8.5 1.5 5.5 -6.5 1 -1 -3.5 4.5"},
    {"affine_grid_edges", "AffineGrid<align_corners=0>(f 1 2 3: -4.5 2.5 -1.5 5.5 1.5 -2.5, "
                          "i 4: 1 1 2 2) => f 1 2 2 2: -0.5 -6 -5 -0.5 2 -4.5 -2.5 1"},
    {"center_crop_pad", "CenterCropPad(f 3 2: -4.5 2.5 -1.5 5.5 1.5 -2.5, i 2: 2 5)"
                        " => f 2 5: 0 -4.5 2.5 0 0 0 -1.5 5.5 0 0"},
    {"det_of_five", "Det(f 5 5: 0 1 0 0 0 1 0 0 0 0 0 0 2 0 0 0 0 0 1 0 0 0 0 0 3) => f: -6"},
    {"det", "Det("
            "f 2 3 3: -4.5 2.5 -1.5 5.5 1.5 -2.5 4.5 0.5 -3.5 3.5 -0.5 -4.5 2.5 -1.5 5.5 1.5 -2.5 "
            "4.5) => f 2: 44.000003814697266 44.000003814697266"},
    {"swiglu", "SwiGLU<alpha=0.5>(f 3: -4.5 2.5 -1.5, f 3: -3.5 3.5 -0.5)"
               " => f 3: 1.5017541646957397 6.8013739585876465 0.24061596393585205"},
    {"tensor_scatter",
     "TensorScatter(f 2 3 1: -4.5 2.5 -1.5 5.5 1.5 -2.5, f 2 2 1: 95.5 102.5 98.5 105.5, i 2: 1 0)"
     " => f 2 3 1: -4.5 95.5 102.5 98.5 105.5 -2.5"},
    {"tensor_scatter_circular",
     "TensorScatter<mode=circular>(f 2 3 1: -4.5 2.5 -1.5 5.5 1.5 -2.5, "
     "f 2 2 1: 95.5 102.5 98.5 105.5, i 2: 2 1) => f 2 3 1: 102.5 2.5 95.5 5.5 98.5 105.5"},
    {"deform_conv",
     "DeformConv<group=2, offset_group=2, strides=[1, 2]>("
     "f 1 2 2 4: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15, f 2 1 1 2: 1 2 -1 3, "
     "f 1 8 2 2: 0.5 0 0 -1.5 0 0.25 1 0 0 0 -0.5 2 -1 -0.5 0 0.75 1 1 1 1 5 -5 0 0 0.5 0.5 -0.5 "
     "-0.5 0 0 0 1, , f 1 4 2 2: 1 2 0.5 1 1 2 0.5 1 1 2 0.5 1 1 2 0.5 1)"
     " => f 1 2 2 2: 2 14.5 5.5 1 33 78 16.5 0"},
    {"quantize_ties",
     "QuantizeLinear(f 7: -3 -1 1 3 5 600 -600, f: 2, u: 1) => u 7: 0 1 1 3 3 255 0"},
    {"quantize_along",
     "QuantizeLinear<axis=0>(f 2 2: 1 2 3 4, f 2: 0.5 0.25, s 2: -1 1) => s 2 2: 1 3 13 17"},
    {"quantize_blocks", "QuantizeLinear<axis=1, block_size=2>(f 2 3: 1 2 3 4 5 6, "
                        "f 2 2: 0.5 1 0.25 2, s 2 2: 0 1 2 3) => s 2 3: 2 4 4 18 22 6"},
    {"dequantize_blocks", "DequantizeLinear<axis=0, block_size=2>(u 3 2: 1 2 3 4 5 6, "
                          "f 2 2: 0.5 1 0.25 2, u 2 2: 0 1 2 3) => f 3 2: 0.5 1 1.5 3 0.75 6"},
    {"dynamic_quantize_above_zero",
     "DynamicQuantizeLinear(f 3: 1 2 5.5) => u 3: 46 93 255, f: 0.021568627, u: 0"},
    {"matmul_integer_of_rows_and_columns", "MatMulInteger(u 2 2: 1 200 3 4, s 2 2: -100 6 7 8, "
                                           "u 2: 3 1, s 2: 1 -2) => w 2 2: 1384 1954 -184 46"},
    {"qlinear_matmul_of_columns",
     "QLinearMatMul(u 2 2: 1 200 3 4, f: 0.5, u: 3, s 2 2: -100 6 7 8, f 2: 0.25 0.5, s 2: 1 -2, "
     "f: 2, u: 100) => u 2 2: 186 255 100 101"},
    {"qlinear_conv_of_filters",
     "QLinearConv<pads=[1, 0, 0, 0]>(u 1 1 3 3: 10 11 12 13 14 15 16 17 18, f: 0.5, u: 9, "
     "s 2 1 2 2: 1 -2 3 4 5 -6 7 8, f 2: 0.25 0.5, s 2: 0 0, f: 1, u: 100, w 2: 10 -10)"
     " => u 1 2 3 2: 103 104 105 106 107 108 103 107 113 116 123 127"},
    {"resize_of_bytes",
     "Resize<mode=linear>(u 1 3: 10 20 201, , f 2: 1 2) => u 1 6: 10 12 17 65 155 201"},
    {"resize_of_signed", "Resize<mode=linear>(s 1 2: -9 -4, , f 2: 1 2) => s 1 4: -9 -7 -5 -4"},
    {"resize_to_nothing", "Resize<mode=linear>(f 1 3: 1 2 3, , f 2: 0.5 1) => f 0 3:"},
    {"resize_of_f32_scale",
     "Resize<mode=nearest, nearest_mode=floor, coordinate_transformation_mode=asymmetric>("
     "f 5: 0 1 2 3 4, , f 1: 1.8) => f 9: 0 0 1 1 2 2 3 3 4"},
    {"resize_place_of_f32",
     "Resize<mode=nearest, nearest_mode=floor, coordinate_transformation_mode=asymmetric>("
     "f 6: 0 1 2 3 4 5, , f 1: 1.2) => f 7: 0 0 1 2 3 4 5"},
    {"conv_integer_of_filters",
     "ConvInteger<pads=[0, 1, 0, 0]>(u 1 1 3 3: 10 11 12 13 14 15 16 17 18, u 1 1 2 2: 1 2 3 4, "
     "u: 9, u: 2) => w 1 1 2 3: 8 13 15 14 19 21"},
    {"group_query_decode",
     "com.microsoft.GroupQueryAttention<num_heads=2, kv_num_heads=1, softcap=1.5, scale=0.1>("
     "f 2 1 16: 3 -4 -3 -2.5 -3 3 3.5 1 -4.5 -4 -1.5 -0.5 1 0 -2 -3 2 2 -4.5 -3.5 -0.5 -1 3.5 0 "
     "-1 -0.5 1.5 1 -3 2.5 2.5 4.5, "
     "f 2 1 8: 2.5 -2 -1.5 1.5 1.5 2 3.5 -2 4 -4.5 -4 4.5 4 -2 -3.5 -2, "
     "f 2 1 8: -4.5 3.5 1.5 1 -2.5 -0.5 -3 2.5 0 -4.5 -2.5 2 0 -1 -2.5 -4, "
     "f 2 1 2 8: 1 1.5 0 4 4 -3 1 1 -2.5 -2 0 2.5 -2 2 1.5 -2.5 -1 3 3.5 1.5 -4.5 1.5 -2.5 3 4 "
     "-0.5 4.5 2.5 -1.5 3.5 -1 -4, "
     "f 2 1 2 8: 1 3.5 1.5 -1 4 0 -1 -3.5 -2.5 2 3 -2 1 3.5 -3.5 -2 0 0.5 -1 -1 -3.5 1 4 -3 3 -3 "
     "-4.5 2.5 -3 2.5 -1.5 0.5, w 2: 2 1, w: 3)"
     " => f 2 1 16: -3.63179851 2.99540281 2.00459719 -0.0802509189 -1.0916729 0.863356709 "
     "-3.0971427 0.773038924 -2.61507106 2.37052774 2.62947202 -1.39674973 0.58330369 2.54637671 "
     "-3.23868465 -1.30183351 0 -2.56390071 -1.91917014 0.838340461 -1.35526943 -0.225560308 "
     "0.0169290304 -3.61278009 0 0.247101411 -1.07586968 -0.84826088 -3.32297111 0.898840606 "
     "3.67123199 -3.05057979"},
    {"group_query_rotated",
     "com.microsoft.GroupQueryAttention<num_heads=2, kv_num_heads=1, do_rotary=1, "
     "local_window_size=2, scale=0.02>("
     "f 1 1 32: 4 4 0 -3 -2.5 3.5 1 -3 3.5 4.5 4.5 1 4.5 1 0 4.5 1 2.5 -1.5 3 4.5 -4 0.5 -1 -4.5 "
     "-4 -2 -3 2 -2.5 1 3.5, f 1 1 16: 0 -3.5 -4 -2 -1 0 -2 3.5 0.5 4.5 4 2 -4.5 -2.5 2.5 0.5, "
     "f 1 1 16: 4 2 3 -4.5 -2 1.5 1.5 -1.5 -3 1 -4 1.5 3 1.5 -4 0, "
     "f 1 1 2 16: -2 0.5 1.5 -3 -4.5 0 1 -3.5 4 0 4.5 0.5 2 2.5 0 -1 1.5 -4.5 1 0.5 -3.5 -3 -4.5 "
     "2.5 2 -1 4.5 -1 -2 4 -4 -1, "
     "f 1 1 2 16: -4.5 -1.5 2 -1.5 0 0 -4 -4 -2 0.5 -4 4 3.5 0.5 2 2.5 -4.5 4 -4.5 3.5 3 2.5 -3.5 "
     "3 4.5 3 2 -2.5 0.5 0 3.5 -1.5, w 1: 2, w: 3, "
     "f 3 8: -1 -2.5 0 0.5 -0.5 -1.5 0.5 1 -3 1 2 -4 1 -0.5 4 -1 -2 2 3.5 -4 -3.5 -3 -1.5 0, "
     "f 3 8: 0.5 -1 3.5 1.5 -3 -1.5 -3 -3 3.5 4 -0.5 -2.5 3 -3.5 -3.5 -2 -1.5 -1.5 -2 -2.5 1 0.5 "
     "1.5 4)"
     " => f 1 1 32: 3.28897071 2.16730118 2.3726213 -3.83079624 -1.58174741 1.58365059 1.08174741 "
     "-1.12357259 -2.3726213 1.16730118 -3.49809718 1.165398 2.79087377 1.37452435 -3.3726213 "
     "-0.125475809 -4.49997187 3.99999332 -4.4999752 3.49997354 2.99998331 2.49999666 -3.49998331 "
     "2.99998498 4.4999752 2.99999332 1.99998021 -2.49998665 0.500008225 4.93929474e-06 3.4999752 "
     "-1.49999499, "
     "f 1 1 3 16: -2 0.5 1.5 -3 -4.5 0 1 -3.5 4 0 4.5 0.5 2 2.5 0 -1 1.5 -4.5 1 0.5 -3.5 -3 -4.5 "
     "2.5 2 -1 4.5 -1 -2 4 -4 -1 0.75 -0.25 -6 13 8 1.25 -0.75 -2 -1 14.25 22 -3 14.75 7.5 -6.75 "
     "14, "
     "f 1 1 3 16: -4.5 -1.5 2 -1.5 0 0 -4 -4 -2 0.5 -4 4 3.5 0.5 2 2.5 -4.5 4 -4.5 3.5 3 2.5 -3.5 "
     "3 4.5 3 2 -2.5 0.5 0 3.5 -1.5 4 2 3 -4.5 -2 1.5 1.5 -1.5 -3 1 -4 1.5 3 1.5 -4 0"},
    {"group_query_prompt",
     "com.microsoft.GroupQueryAttention<num_heads=2, kv_num_heads=1, scale=0.05>("
     "f 1 2 32: 4 -3.5 3 -1 3 1.5 -4 3.5 4 4.5 -4 -3.5 1 0.5 -4 3.5 -2.5 -4 3.5 1 -4.5 -3 3.5 2.5 "
     "3.5 4 -2 0.5 -1 -4.5 -2.5 -4 -3.5 -1 4 3.5 1.5 -2.5 -3.5 1.5 2 -1 -3.5 -2 4.5 2 0.5 -2 3.5 "
     "-1 -0.5 2.5 -1 0 -4.5 2.5 -2 0 0.5 -3 -2.5 -0.5 -4 3.5, , , "
     "f 1 1 3 8: -1.5 0.5 -3.5 4.5 -0.5 -4.5 -1.5 -1.5 -2.5 2.5 4.5 2 -3 0.5 -0.5 1.5 3 3.5 3 1.5 "
     "-0.5 0.5 -3 0.5, "
     "f 1 1 3 8: 0 1.5 -0.5 -1.5 0 1.5 -3 1 -1.5 2.5 1 0 -4.5 -4.5 -2.5 0.5 0 3.5 -3.5 1.5 -1 1.5 "
     "-4 -1, w 1: 1, w: 2)"
     " => f 1 2 16: 3.5 4 -2 0.5 -1 -4.5 -2.5 -4 3.5 4 -2 0.5 -1 -4.5 -2.5 -4 1.35851598 "
     "2.4425571 -1.02659822 -0.862762749 -1.58404124 -2.94255733 -3.08404112 -1.07979429 "
     "-1.27658617 0.526119232 0.171175525 -2.53964567 -2.30270529 -1.02611923 -3.80270553 "
     "2.51352668"},
    {"group_query_short_prompt",
     "com.microsoft.GroupQueryAttention<num_heads=2, kv_num_heads=2, causal=0, scale=0.05>("
     "f 1 2 48: -3.5 -1.5 -3 2 1.5 -4 -2 3.5 4 3.5 -3.5 4.5 -1 -3.5 2 -3.5 -4.5 3.5 -3.5 -1 3.5 "
     "-2 -2 -1 2.5 1.5 -2 -3 -0.5 0 -1 1.5 -4 2 0.5 -4.5 1.5 3 -1.5 -0.5 0.5 -0.5 0 0.5 1 -2 -3.5 "
     "3.5 -0.5 -2.5 4.5 0.5 -1.5 -3 -4.5 1 1 4 4.5 3.5 -4 -3.5 1 1 -3 3.5 4 -3 1.5 -1 0.5 2 0 2.5 "
     "-2 -0.5 -3.5 1.5 -1 1.5 4.5 -1.5 2.5 1.5 2.5 0.5 -2 2 -1.5 0 0.5 -1.5 0 -0.5 -2 4, , , "
     "f 1 2 2 8: 4 -3 -1.5 -3.5 -3 -4.5 -1 3.5 -3 4.5 3.5 -2.5 -4.5 -2 -0.5 -3 1.5 1 2.5 0 0.5 3 "
     "1 -3 3.5 3.5 0.5 -0.5 1.5 3 2.5 3, "
     "f 1 2 2 8: -2 4 -4.5 0 -0.5 1 1.5 0.5 -4 -3 0 0 -3 4 -3.5 4 1 -4.5 -1 1.5 -3 -1.5 3.5 -3.5 "
     "4 -3.5 -0.5 3 -4.5 4.5 1 0, w 1: 0, w: 2)"
     " => f 1 2 16: -4 2 0.5 -4.5 1.5 3 -1.5 -0.5 0.5 -0.5 0 0.5 1 -2 -3.5 3.5 -4 2 0.5 -4.5 1.5 "
     "3 -1.5 -0.5 0.5 -0.5 0 0.5 1 -2 -3.5 3.5"},
};

static const refused_case refused[] = {
    {"add_of_two_dtypes", "Add(f 2, d 2)", "operands of two dtypes"},
    {"equal_of_two_dtypes", "Equal(f 2, d 2) => ?", "operands of two dtypes"},
    {"mod_of_two_dtypes", "Mod(i 2: 1 2, w 2: 1 2)", "operands of two dtypes"},
    {"less_or_equal_of_two_dtypes", "LessOrEqual(f 2, d 2)", "operands of two dtypes"},
    {"where_of_two_dtypes", "Where(b 2: 1 0, f 2, d 2)", "operands of two dtypes"},
    {"max_of_two_dtypes", "Max(f 2, d 2)", "operands of two dtypes"},
    {"mean_of_two_dtypes", "Mean(f 2, d 2)", "operands of two dtypes"},
    {"conv_of_wide_bias", "Conv(f 1 1 3 3, f 1 1 1 1, f 2)", "an operand of other sizes"},
    {"layer_of_wide_scale", "LayerNormalization(f 2 1, f 3)", "an operand of other sizes"},
    {"layer_of_high_scale", "LayerNormalization(f 2 3, f 1 2 3)", "an operand of more axes"},
    {"rms_of_wide_scale", "RMSNormalization(f 2 1, f 3)", "an operand of other sizes"},
    {"concat_without_axis", "Concat(f 2, f 2)", "it has no attribute axis"},
    {"split_without_parts", "Split(f 4) => ?, ?", "one of split and num_outputs"},
    {"split_with_both", "Split<num_outputs=2>(f 4, =i 2: 2 2) => ?, ?",
     "one of split and num_outputs"},
    {"unsqueeze_of_a_scalar", "{s = Size(a) v = Unsqueeze(s, b)}(f 2 3, =i 1: 1)", "axis 1"},
    {"rnn_of_matrices", "RNN(f 1 1, f 1 1 1, f 1 1 1)", "sequences and weights of 3 axes"},
    {"rnn_direction", "RNN<direction=sideways>(f 1 1 1, f 1 1 1, f 1 1 1)", "direction sideways"},
    {"rnn_bias", "RNN(f 1 1 1, f 1 1 1, f 1 1 1, f 2: 1 2)", "input 3 has 1 axes, and must have 2"},
    {"rnn_hidden_size", "RNN<hidden_size=2>(f 1 1 1, f 1 1 1, f 1 1 1)",
     "hidden_size is 2, and the weights have 1"},
    {"gather_before_the_first", "Gather(f 2: 1 2, i: -6)", "index -6 of axis 0, whose size is 2"},
    {"loop_without_body", "Loop(i: 1, b: 1)", "it has no body"},
    {"if_without_branch", "If(b: 1)", "it has no then_branch"},
    {"scan_of_nothing", "Scan(f 2: 1 2)", "it has 0 tensors to scan"},
    {"einsum_equation", "Einsum<equation=ij>(f 2: 1 2)", "einsum \"ij\": a term"},
    {"lp_pool_power", "LpPool<kernel_shape=[1, 1], p=0>(f 1 1 2 2)", "p must be above 0"},
    {"max_pool_of_many", "MaxPool<kernel_shape=[20, 20], pads=[10, 10, 10, 10]>(f 1 1 2 2) => ?, ?",
     "more than 256"},
    {"col2im_axes", "Col2Im(f 1 1 1, i 4: 1 1 1 1, i 4: 1 1 1 1)", "images of 4 axes"},
    {"col2im_rank", "Col2Im(f 1 1 2 2, i 2: 2 2, i 2: 1 1)", "it takes [N, C x block, L]"},
    {"col2im_block", "Col2Im(f 1 2 1, i 2: 2 2, i 2: 2 2)", "blocks that don't fit"},
    {"dft_of_parts", "DFT(f 2 2, , i: -1)", "the last axis"},
    {"dft_too_long", "DFT(f 2 2, i: 5000)", "a transform of 5000 places"},
    {"stft_step", "STFT(f 1 4, i: 0)", "0 apart"},
    {"stft_frame", "STFT(f 1 4, i: 1, , i: 5)", "frames of 5 places"},
    {"stft_of_vector", "STFT(f 4, i: 1)", "it takes signals"},
    {"window_of_sizes", "HannWindow(i 2: 1 2)", "must be one integer"},
    {"window_too_long", "HannWindow(i: 99999999)", "a constant of more than"},
    {"window_of_strings", "HannWindow<output_datatype=8>(i: 4)", "string"},
    {"mel_range", "MelWeightMatrix(i: 2, i: 8, i: 8000, f: 9, f: 3)", "no range"},
    {"det_not_square", "Det(f 2 3)", "isn't square"},
    {"affine_grid_sizes", "AffineGrid(f 1 2 3, i 3: 1 1 1)", "4 or 5 sizes"},
    {"affine_grid_of_nothing", "AffineGrid(f 1 2 3, i 4: 1 1 1 0)", "a size of 0"},
    {"center_crop_axes", "CenterCropPad(f 2: 1 2, i 2: 1 1)", "2 sizes for other axes"},
    {"center_crop_size", "CenterCropPad(f 2: 1 2, i 1: -1)", "a size of -1"},
    {"tensor_scatter_batch", "TensorScatter<axis=0>(f 2 2, f 2 2)", "axis 0 is that"},
    {"range_too_long", "Range(f: 0, f: 1, f: 0.0000001)", "a range of more than"},
    {"quantize_axis", "QuantizeLinear<axis=3>(f 2 2, f 2: 1 2)",
     "axis 3 is out of range for rank 2"},
    {"quantize_scales", "QuantizeLinear(f 2 2, f 1 1 2)", "a scale or zero point has 3 axes"},
    {"quantize_to_half_a_byte", "QuantizeLinear<output_dtype=22>(f: 1, f: 1)", "4 bits"},
    {"deform_conv_groups", "DeformConv<group=3>(f 1 1 2 2, f 1 1 1 1, f 1 2 2 2)",
     "don't belong together"},
    {"deform_conv_strides", "DeformConv<strides=[1]>(f 1 1 2 2, f 1 1 1 1, f 1 2 2 2)",
     "strides has 1 numbers"},
    {"resize_of_bytes_cubic", "Resize<mode=cubic>(u 1 3: 10 20 201, , f 2: 1 2)",
     "interpolation of u8"},
    {"group_query_slides",
     "com.microsoft.GroupQueryAttention<num_heads=1, kv_num_heads=1, sliding_window_cache=1>("
     "f 1 1 1, f 1 1 1, f 1 1 1, f 1 1 1 1, f 1 1 1 1, w 1: 1, w: 2)",
     "a cache that slides"},
    {"group_query_scores",
     "com.microsoft.GroupQueryAttention<num_heads=1, kv_num_heads=1>(f 1 1 1, f 1 1 1, f 1 1 1, "
     "f 1 1 1 1, f 1 1 1 1, w 1: 1, w: 2) => ?, ?, ?, ?",
     "scores as a result"},
    {"group_query_heads",
     "com.microsoft.GroupQueryAttention<num_heads=1, kv_num_heads=2>("
     "f 1 1 1, f 1 1 1, f 1 1 1, f 1 1 1 1, f 1 1 1 1, w 1: 1, w: 2)",
     "a whole number of heads"},
    {"random_numbers", "Bernoulli(f: 0.5)", "it draws random numbers"},
};

void ct_register(void) {
  all_are_constants = 1;
  NODE_SUITE("onnx_operators", cases, node_gives);
  NODE_SUITE("onnx_refused", refused, node_is_refused);
}
