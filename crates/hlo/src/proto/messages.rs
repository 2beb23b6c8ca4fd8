//! The messages of `hlo.proto` and `xla_data.proto`, with the fields that are read here.
//!
//! Nested messages that could be many or deep are kept as bytes and decoded where they are needed.

#![allow(missing_docs, reason = "fields have XLA's own names")]

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Instruction {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) opcode: String,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) shape: Vec<u8>,
    #[prost(message, optional, boxed, tag = "7")]
    pub(super) metadata: Option<Box<Metadata>>,
    #[prost(bytes = "vec", tag = "8")]
    pub(super) literal: Vec<u8>,
    #[prost(int64, tag = "9")]
    pub(super) parameter_number: i64,
    #[prost(string, tag = "11")]
    pub(super) fusion_kind: String,
    #[prost(int64, tag = "13")]
    pub(super) tuple_index: i64,
    #[prost(int64, repeated, tag = "14")]
    pub(super) dimensions: Vec<i64>,
    #[prost(message, optional, tag = "15")]
    pub(super) window: Option<Window>,
    #[prost(message, optional, boxed, tag = "16")]
    pub(super) convolution: Option<Box<Convolution>>,
    #[prost(message, repeated, tag = "17")]
    pub(super) slices: Vec<SliceDimensions>,
    #[prost(int32, tag = "18")]
    pub(super) exponent_bits: i32,
    #[prost(int32, tag = "19")]
    pub(super) mantissa_bits: i32,
    #[prost(int64, repeated, tag = "20")]
    pub(super) dynamic_slice_sizes: Vec<i64>,
    #[prost(message, optional, tag = "21")]
    pub(super) padding: Option<Padding>,
    #[prost(bytes = "vec", tag = "22")]
    pub(super) outfeed_config: Vec<u8>,
    #[prost(int32, tag = "23")]
    pub(super) distribution: i32,
    #[prost(float, tag = "24")]
    pub(super) epsilon: f32,
    #[prost(int64, tag = "25")]
    pub(super) feature_index: i64,
    #[prost(int64, tag = "26")]
    pub(super) channel_id: i64,
    #[prost(bytes = "vec", tag = "27")]
    pub(super) infeed_config: Vec<u8>,
    #[prost(string, tag = "28")]
    pub(super) custom_call_target: String,
    #[prost(bytes = "vec", tag = "29")]
    pub(super) outfeed_shape: Vec<u8>,
    #[prost(message, optional, boxed, tag = "30")]
    pub(super) dot: Option<Box<Dot>>,
    #[prost(int32, tag = "31")]
    pub(super) fft_type: i32,
    #[prost(int64, repeated, tag = "32")]
    pub(super) fft_length: Vec<i64>,
    #[prost(message, optional, boxed, tag = "33")]
    pub(super) gather: Option<Box<Gather>>,
    #[prost(int64, repeated, tag = "34")]
    pub(super) gather_slice_sizes: Vec<i64>,
    #[prost(int64, tag = "35")]
    pub(super) id: i64,
    #[prost(int64, repeated, tag = "36")]
    pub(super) operands: Vec<i64>,
    #[prost(int64, repeated, tag = "37")]
    pub(super) control_predecessors: Vec<i64>,
    #[prost(int64, repeated, tag = "38")]
    pub(super) called: Vec<i64>,
    #[prost(bytes = "vec", optional, tag = "40")]
    pub(super) sharding: Option<Vec<u8>>,
    #[prost(bytes = "vec", tag = "43")]
    pub(super) backend_config: Vec<u8>,
    #[prost(bool, tag = "47")]
    pub(super) is_host_transfer: bool,
    #[prost(message, optional, boxed, tag = "48")]
    pub(super) scatter: Option<Box<Gather>>,
    #[prost(message, repeated, tag = "49")]
    pub(super) replica_groups: Vec<Numbers>,
    #[prost(int64, tag = "50")]
    pub(super) feature_group_count: i64,
    #[prost(message, optional, tag = "51")]
    pub(super) precision: Option<Precision>,
    #[prost(message, repeated, tag = "52")]
    pub(super) source_target_pairs: Vec<SourceTarget>,
    #[prost(bool, tag = "56")]
    pub(super) constrain_layout: bool,
    #[prost(bytes = "vec", repeated, tag = "57")]
    pub(super) operand_shapes: Vec<Vec<u8>>,
    #[prost(int64, tag = "58")]
    pub(super) batch_group_count: i64,
    #[prost(message, optional, tag = "59")]
    pub(super) triangular_solve: Option<TriangularSolve>,
    #[prost(bool, tag = "60")]
    pub(super) is_stable: bool,
    #[prost(message, optional, tag = "62")]
    pub(super) cholesky: Option<Cholesky>,
    #[prost(string, tag = "63")]
    pub(super) comparison_direction: String,
    #[prost(bool, tag = "65")]
    pub(super) has_side_effect: bool,
    #[prost(int64, tag = "66")]
    pub(super) delta: i64,
    #[prost(bool, tag = "67")]
    pub(super) indices_are_sorted: bool,
    #[prost(message, optional, tag = "68")]
    pub(super) frontend_attributes: Option<Attributes>,
    #[prost(bool, tag = "69")]
    pub(super) unique_indices: bool,
    #[prost(int32, tag = "70")]
    pub(super) rng_algorithm: i32,
    #[prost(bool, tag = "71")]
    pub(super) use_global_device_ids: bool,
    #[prost(string, tag = "72")]
    pub(super) comparison_type: String,
    #[prost(message, repeated, tag = "74")]
    pub(super) output_operand_aliasing: Vec<OutputOperandAliasing>,
    #[prost(int32, tag = "76")]
    pub(super) custom_call_schedule: i32,
    #[prost(int32, tag = "77")]
    pub(super) api_version: i32,
    #[prost(string, tag = "79")]
    pub(super) async_execution_thread: String,
    #[prost(int32, optional, tag = "80")]
    pub(super) cross_program_prefetch_index: Option<i32>,
    #[prost(int64, tag = "81")]
    pub(super) k: i64,
    #[prost(bool, tag = "85")]
    pub(super) largest: bool,
    #[prost(message, optional, boxed, tag = "87")]
    pub(super) device_list: Option<Box<DeviceList>>,
    #[prost(bool, tag = "89")]
    pub(super) is_composite: bool,
    #[prost(message, optional, boxed, tag = "93")]
    pub(super) mesh_groups: Option<Box<MeshGroups>>,
    #[prost(string, tag = "102")]
    pub(super) comparison_order: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Metadata {
    #[prost(string, tag = "1")]
    pub(super) op_type: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) op_name: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) source_file: Vec<u8>,
    #[prost(int32, tag = "4")]
    pub(super) source_line: i32,
    #[prost(bytes = "vec", tag = "12")]
    pub(super) deduplicated_name: Vec<u8>,
    #[prost(int32, tag = "15")]
    pub(super) stack_frame_id: i32,
    #[prost(bytes = "vec", tag = "16")]
    pub(super) scheduling_name: Vec<u8>,
    #[prost(int32, tag = "17")]
    pub(super) source_end_line: i32,
    #[prost(int32, tag = "18")]
    pub(super) source_column: i32,
    #[prost(int32, tag = "19")]
    pub(super) source_end_column: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(int32, tag = "2")]
    pub(super) element_type: i32,
    #[prost(int64, repeated, tag = "3")]
    pub(super) dimensions: Vec<i64>,
    #[prost(bytes = "vec", repeated, tag = "4")]
    pub(super) tuple_shapes: Vec<Vec<u8>>,
    #[prost(message, optional, boxed, tag = "5")]
    pub(super) layout: Option<Box<Layout>>,
    #[prost(bool, repeated, tag = "6")]
    pub(super) is_dynamic: Vec<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Layout {
    #[prost(int64, repeated, tag = "1")]
    pub(super) minor_to_major: Vec<i64>,
    #[prost(message, repeated, tag = "6")]
    pub(super) tiles: Vec<Numbers>,
    #[prost(int64, tag = "7")]
    pub(super) element_size_in_bits: i64,
    #[prost(int64, tag = "8")]
    pub(super) memory_space: i64,
    #[prost(int32, repeated, tag = "9")]
    pub(super) dim_level_types: Vec<i32>,
    #[prost(int32, tag = "11")]
    pub(super) index_type: i32,
    #[prost(int32, tag = "12")]
    pub(super) pointer_type: i32,
    #[prost(int64, tag = "15")]
    pub(super) metadata_prefix_bytes: i64,
    #[prost(int64, tag = "16")]
    pub(super) tail_padding_alignment: i64,
    #[prost(message, repeated, tag = "17")]
    pub(super) splits: Vec<Split>,
}

/// `TileProto` and `ReplicaGroup`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Numbers {
    #[prost(int64, repeated, tag = "1")]
    pub(super) numbers: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Split {
    #[prost(int64, tag = "1")]
    pub(super) dimension: i64,
    #[prost(int64, repeated, tag = "2")]
    pub(super) indices: Vec<i64>,
}

/// Only what a literal of at most ten elements needs.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Literal {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) shape: Vec<u8>,
    #[prost(bool, repeated, tag = "2")]
    pub(super) preds: Vec<bool>,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) u8s: Vec<u8>,
    #[prost(int32, repeated, tag = "4")]
    pub(super) s32s: Vec<i32>,
    #[prost(int64, repeated, tag = "5")]
    pub(super) s64s: Vec<i64>,
    #[prost(uint32, repeated, tag = "6")]
    pub(super) u32s: Vec<u32>,
    #[prost(uint64, repeated, tag = "7")]
    pub(super) u64s: Vec<u64>,
    #[prost(float, repeated, tag = "8")]
    pub(super) f32s: Vec<f32>,
    #[prost(double, repeated, tag = "9")]
    pub(super) f64s: Vec<f64>,
    #[prost(bytes = "vec", tag = "11")]
    pub(super) f16s: Vec<u8>,
    #[prost(float, repeated, tag = "12")]
    pub(super) c64s: Vec<f32>,
    #[prost(bytes = "vec", tag = "13")]
    pub(super) bf16s: Vec<u8>,
    #[prost(bytes = "vec", tag = "15")]
    pub(super) s8s: Vec<u8>,
    #[prost(bytes = "vec", tag = "16")]
    pub(super) u16s: Vec<u8>,
    #[prost(bytes = "vec", tag = "17")]
    pub(super) s16s: Vec<u8>,
    #[prost(double, repeated, tag = "18")]
    pub(super) c128s: Vec<f64>,
    // Of the types of at most eight bits, each element has a byte of its own.
    #[prost(bytes = "vec", tag = "19")]
    pub(super) f8e5m2s: Vec<u8>,
    #[prost(bytes = "vec", tag = "20")]
    pub(super) f8e4m3fns: Vec<u8>,
    #[prost(bytes = "vec", tag = "21")]
    pub(super) s4s: Vec<u8>,
    #[prost(bytes = "vec", tag = "22")]
    pub(super) u4s: Vec<u8>,
    #[prost(bytes = "vec", tag = "23")]
    pub(super) f8e4m3b11fnuzs: Vec<u8>,
    #[prost(bytes = "vec", tag = "24")]
    pub(super) f8e5m2fnuzs: Vec<u8>,
    #[prost(bytes = "vec", tag = "25")]
    pub(super) f8e4m3fnuzs: Vec<u8>,
    #[prost(bytes = "vec", tag = "26")]
    pub(super) s2s: Vec<u8>,
    #[prost(bytes = "vec", tag = "27")]
    pub(super) u2s: Vec<u8>,
    #[prost(bytes = "vec", tag = "28")]
    pub(super) f8e4m3s: Vec<u8>,
    #[prost(bytes = "vec", tag = "29")]
    pub(super) f8e3m4s: Vec<u8>,
    #[prost(bytes = "vec", tag = "32")]
    pub(super) f4e2m1fns: Vec<u8>,
    #[prost(bytes = "vec", tag = "33")]
    pub(super) f8e8m0fnus: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Window {
    #[prost(message, repeated, tag = "1")]
    pub(super) dimensions: Vec<WindowDimension>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WindowDimension {
    #[prost(int64, tag = "1")]
    pub(super) size: i64,
    #[prost(int64, tag = "2")]
    pub(super) stride: i64,
    #[prost(int64, tag = "3")]
    pub(super) padding_low: i64,
    #[prost(int64, tag = "4")]
    pub(super) padding_high: i64,
    #[prost(int64, tag = "5")]
    pub(super) window_dilation: i64,
    #[prost(int64, tag = "6")]
    pub(super) base_dilation: i64,
    #[prost(bool, tag = "7")]
    pub(super) reversal: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Convolution {
    #[prost(int64, tag = "3")]
    pub(super) kernel_input_feature: i64,
    #[prost(int64, tag = "4")]
    pub(super) kernel_output_feature: i64,
    #[prost(int64, repeated, tag = "6")]
    pub(super) kernel_spatial: Vec<i64>,
    #[prost(int64, tag = "7")]
    pub(super) input_batch: i64,
    #[prost(int64, tag = "8")]
    pub(super) input_feature: i64,
    #[prost(int64, tag = "9")]
    pub(super) output_batch: i64,
    #[prost(int64, tag = "10")]
    pub(super) output_feature: i64,
    #[prost(int64, repeated, tag = "11")]
    pub(super) input_spatial: Vec<i64>,
    #[prost(int64, repeated, tag = "12")]
    pub(super) output_spatial: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SliceDimensions {
    #[prost(int64, tag = "1")]
    pub(super) start: i64,
    #[prost(int64, tag = "2")]
    pub(super) limit: i64,
    #[prost(int64, tag = "3")]
    pub(super) stride: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Padding {
    #[prost(message, repeated, tag = "1")]
    pub(super) dimensions: Vec<PaddingDimension>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PaddingDimension {
    #[prost(int64, tag = "1")]
    pub(super) low: i64,
    #[prost(int64, tag = "2")]
    pub(super) high: i64,
    #[prost(int64, tag = "3")]
    pub(super) interior: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Dot {
    #[prost(int64, repeated, tag = "1")]
    pub(super) lhs_contracting: Vec<i64>,
    #[prost(int64, repeated, tag = "2")]
    pub(super) rhs_contracting: Vec<i64>,
    #[prost(int64, repeated, tag = "3")]
    pub(super) lhs_batch: Vec<i64>,
    #[prost(int64, repeated, tag = "4")]
    pub(super) rhs_batch: Vec<i64>,
}

/// `GatherDimensionNumbers` and, with other names, `ScatterDimensionNumbers`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Gather {
    #[prost(int64, repeated, tag = "1")]
    pub(super) offset_dims: Vec<i64>,
    #[prost(int64, repeated, tag = "2")]
    pub(super) collapsed_slice_dims: Vec<i64>,
    #[prost(int64, repeated, tag = "3")]
    pub(super) start_index_map: Vec<i64>,
    #[prost(int64, tag = "4")]
    pub(super) index_vector_dim: i64,
    #[prost(int64, repeated, tag = "5")]
    pub(super) operand_batching_dims: Vec<i64>,
    #[prost(int64, repeated, tag = "6")]
    pub(super) start_indices_batching_dims: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Precision {
    #[prost(int32, repeated, tag = "1")]
    pub(super) operands: Vec<i32>,
    #[prost(int32, tag = "2")]
    pub(super) algorithm: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SourceTarget {
    #[prost(int64, tag = "1")]
    pub(super) source: i64,
    #[prost(int64, tag = "2")]
    pub(super) target: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TriangularSolve {
    #[prost(bool, tag = "1")]
    pub(super) left_side: bool,
    #[prost(bool, tag = "2")]
    pub(super) lower: bool,
    #[prost(bool, tag = "3")]
    pub(super) unit_diagonal: bool,
    #[prost(int32, tag = "4")]
    pub(super) transpose_a: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Cholesky {
    #[prost(bool, tag = "1")]
    pub(super) lower: bool,
}

/// `FrontendAttributes`: a map, which is a list of pairs.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attributes {
    #[prost(message, repeated, tag = "1")]
    pub(super) map: Vec<Pair>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Pair {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OutputOperandAliasing {
    #[prost(int64, repeated, tag = "1")]
    pub(super) output: Vec<i64>,
    #[prost(int64, tag = "2")]
    pub(super) operand: i64,
    #[prost(int64, repeated, tag = "3")]
    pub(super) operand_index: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DeviceList {
    #[prost(message, repeated, tag = "1")]
    pub(super) groups: Vec<Numbers>,
    #[prost(message, optional, tag = "2")]
    pub(super) iota: Option<IotaGroups>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct IotaGroups {
    #[prost(int64, tag = "1")]
    pub(super) groups: i64,
    #[prost(int64, tag = "2")]
    pub(super) devices: i64,
    #[prost(int64, repeated, tag = "3")]
    pub(super) reshape: Vec<i64>,
    #[prost(int32, repeated, tag = "4")]
    pub(super) transpose: Vec<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MeshGroups {
    #[prost(message, optional, tag = "1")]
    pub(super) mesh: Option<Mesh>,
    #[prost(message, repeated, tag = "2")]
    pub(super) axes: Vec<AxisReference>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Mesh {
    #[prost(message, repeated, tag = "1")]
    pub(super) axes: Vec<MeshAxis>,
    #[prost(int64, repeated, tag = "2")]
    pub(super) device_ids: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MeshAxis {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) name: Vec<u8>,
    #[prost(int64, tag = "2")]
    pub(super) size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AxisReference {
    #[prost(int64, tag = "1")]
    pub(super) axis: i64,
    #[prost(message, optional, tag = "2")]
    pub(super) part: Option<AxisPart>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AxisPart {
    #[prost(int64, tag = "1")]
    pub(super) pre_size: i64,
    #[prost(int64, tag = "2")]
    pub(super) size: i64,
}

/// One sharding, or a tuple of them as bytes.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Sharding {
    #[prost(int32, tag = "1")]
    pub(super) kind: i32,
    #[prost(int64, repeated, tag = "3")]
    pub(super) tile_dimensions: Vec<i64>,
    #[prost(int64, repeated, tag = "4")]
    pub(super) tile_devices: Vec<i64>,
    #[prost(bytes = "vec", repeated, tag = "5")]
    pub(super) tuple: Vec<Vec<u8>>,
    #[prost(bool, tag = "6")]
    pub(super) replicate_on_last: bool,
    #[prost(int32, repeated, tag = "8")]
    pub(super) last_tile_dims: Vec<i32>,
    #[prost(int64, repeated, tag = "9")]
    pub(super) iota_reshape: Vec<i64>,
    #[prost(int32, repeated, tag = "10")]
    pub(super) iota_transpose: Vec<i32>,
    #[prost(bool, tag = "11")]
    pub(super) is_shard_group: bool,
    #[prost(int64, tag = "12")]
    pub(super) shard_group_id: i64,
    #[prost(int32, tag = "13")]
    pub(super) shard_group_type: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AliasEntry {
    #[prost(int64, repeated, tag = "1")]
    pub(super) output: Vec<i64>,
    #[prost(int64, tag = "2")]
    pub(super) parameter: i64,
    #[prost(int64, repeated, tag = "3")]
    pub(super) parameter_index: Vec<i64>,
    #[prost(int32, tag = "4")]
    pub(super) kind: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DonorEntry {
    #[prost(int64, tag = "1")]
    pub(super) parameter: i64,
    #[prost(int64, repeated, tag = "2")]
    pub(super) parameter_index: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DeviceAssignment {
    #[prost(int32, tag = "1")]
    pub(super) replica_count: i32,
    #[prost(int32, tag = "2")]
    pub(super) computation_count: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FileLocation {
    #[prost(int32, tag = "1")]
    pub(super) file_name_id: i32,
    #[prost(int32, tag = "2")]
    pub(super) function_name_id: i32,
    #[prost(int32, tag = "3")]
    pub(super) line: i32,
    #[prost(int32, tag = "4")]
    pub(super) column: i32,
    #[prost(int32, tag = "5")]
    pub(super) end_line: i32,
    #[prost(int32, tag = "6")]
    pub(super) end_column: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StackFrame {
    #[prost(int32, tag = "1")]
    pub(super) file_location_id: i32,
    #[prost(int32, tag = "2")]
    pub(super) parent_frame_id: i32,
}

/// One entry of the schedule's map.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ScheduleEntry {
    #[prost(int64, tag = "1")]
    pub(super) computation: i64,
    #[prost(message, optional, tag = "2")]
    pub(super) sequence: Option<Numbers>,
}
