//! Attributes as XLA prints them.

use super::floats;
use super::messages as m;
use super::printing::{
    HALF, Printer, Result, checked_name, decode, escaped, field, index, is_group, joined, push_separator,
    quoted,
};
use super::wire::{Broken, Fields};
use prost::Message as _;
use sorts::Arrange as _;
use std::fmt::Write as _;

impl<'b> Printer<'b> {
    /// What belongs to the operation itself; comes before sharding, metadata and the like.
    pub(super) fn own_attributes(
        &mut self,
        bytes: &'b [u8],
        opcode: &str,
        i: &m::Instruction,
        called: &[&str],
    ) -> Result<()> {
        let out = &mut self.out;
        let one = called.first().copied().unwrap_or("");
        match opcode {
            "get-tuple-element" => _ = write!(out, ", index={}", i.tuple_index),
            "iota" => _ = write!(out, ", iota_dimension={}", i.dimensions.first().unwrap_or(&0)),
            "broadcast"
            | "reverse"
            | "transpose"
            | "concatenate"
            | "map"
            | "reduce"
            | "sort"
            | "all-gather"
            | "all-gather-start"
            | "all-to-all"
            | "reduce-scatter"
            | "get-dimension-size"
            | "set-dimension-size"
            | "all-reduce"
            | "all-reduce-start"
            | "collective-permute"
            | "collective-permute-start"
            | "collective-broadcast"
            | "ragged-all-to-all"
            | "send"
            | "send-done"
            | "recv"
            | "recv-done" => {
                if i.channel_id > 0 {
                    _ = write!(out, ", channel_id={}", i.channel_id);
                }
                if opcode.starts_with("all") || opcode.starts_with("reduce-s") || opcode.ends_with("l-to-all")
                {
                    _ = write!(out, ", replica_groups={}", replica_groups(i));
                }
                if i.constrain_layout {
                    out.push_str(", constrain_layout=true");
                }
                // The one collective that names its dimension first.
                let gathers = opcode.starts_with("all-gather");
                if gathers {
                    _ = write!(out, ", dimensions={}", index(&i.dimensions));
                }
                if i.use_global_device_ids {
                    out.push_str(", use_global_device_ids=true");
                }
                if opcode.starts_with("collective-p") {
                    let pairs: Vec<_> = i
                        .source_target_pairs
                        .iter()
                        .map(|p| format!("{{{},{}}}", p.source, p.target))
                        .collect();
                    _ = write!(out, ", source_target_pairs={{{}}}", pairs.join(","));
                }
                let all_to_all_of_tuple = opcode.ends_with("all-to-all") && i.dimensions.is_empty();
                let collective = opcode.starts_with("all-reduce") || opcode.starts_with("collective");
                let point_to_point = opcode.starts_with("send") || opcode.starts_with("recv");
                if !(all_to_all_of_tuple || collective || point_to_point || gathers) {
                    _ = write!(out, ", dimensions={}", index(&i.dimensions));
                }
                if i.is_host_transfer {
                    out.push_str(", is_host_transfer=true");
                }
                if i.is_stable {
                    out.push_str(", is_stable=true");
                }
                if !one.is_empty() {
                    _ = write!(out, ", to_apply=%{one}");
                }
            }
            "fusion" => {
                _ = write!(out, ", kind={}, calls=%{one}", i.fusion_kind);
                aliasing(out, i);
            }
            "call" => {
                _ = write!(out, ", to_apply=%{one}");
                if i.is_composite {
                    out.push_str(", is_composite=true");
                }
            }
            "while" => {
                // The proto has the body first.
                if let [body, condition] = called {
                    _ = write!(out, ", condition=%{condition}, body=%{body}");
                }
            }
            "conditional" => {
                // Branches chosen by a truth value have names of their own.
                let selector = i.operands.first().map_or(-1, |id| id & HALF);
                match called {
                    [yes, no] if self.truths.contains(&selector) => {
                        _ = write!(out, ", true_computation=%{yes}, false_computation=%{no}");
                    }
                    _ => callees(out, "branch_computations", called),
                }
            }
            "async-start" => {
                if !matches!(i.async_execution_thread.as_str(), "" | "main") {
                    _ = write!(
                        out,
                        ", async_execution_thread={}",
                        quoted(i.async_execution_thread.as_bytes())
                    );
                }
                _ = write!(out, ", calls=%{one}");
                aliasing(out, i);
            }
            "async-update" | "async-done" => aliasing(out, i),
            "scatter" => {
                if let Some(d) = &i.scatter {
                    _ = write!(
                        out,
                        ", update_window_dims={}, inserted_window_dims={}, scatter_dims_to_operand_dims={}",
                        index(&d.offset_dims),
                        index(&d.collapsed_slice_dims),
                        index(&d.start_index_map)
                    );
                    if !d.operand_batching_dims.is_empty() {
                        _ = write!(
                            out,
                            ", input_batching_dims={}, scatter_indices_batching_dims={}",
                            index(&d.operand_batching_dims),
                            index(&d.start_indices_batching_dims)
                        );
                    }
                    _ = write!(out, ", index_vector_dim={}", d.index_vector_dim);
                }
                sortedness(out, i);
                _ = write!(out, ", to_apply=%{one}");
            }
            "gather" => {
                if let Some(d) = &i.gather {
                    _ = write!(
                        out,
                        ", offset_dims={}, collapsed_slice_dims={}, start_index_map={}",
                        index(&d.offset_dims),
                        index(&d.collapsed_slice_dims),
                        index(&d.start_index_map)
                    );
                    if !d.operand_batching_dims.is_empty() {
                        _ = write!(
                            out,
                            ", operand_batching_dims={}, start_indices_batching_dims={}",
                            index(&d.operand_batching_dims),
                            index(&d.start_indices_batching_dims)
                        );
                    }
                    _ = write!(out, ", index_vector_dim={}", d.index_vector_dim);
                }
                _ = write!(out, ", slice_sizes={}", index(&i.gather_slice_sizes));
                sortedness(out, i);
            }
            "reduce-window" | "select-and-scatter" => {
                window(out, i);
                match called {
                    [select, scatter] if opcode == "select-and-scatter" => {
                        _ = write!(out, ", select=%{select}, scatter=%{scatter}");
                    }
                    _ => _ = write!(out, ", to_apply=%{one}"),
                }
            }
            "convolution" => convolution(out, i),
            "custom-call" => self.custom_call(bytes, i, called)?,
            "dot" => {
                if let Some(d) = &i.dot {
                    for (name, dims) in [
                        ("lhs_batch_dims", &d.lhs_batch),
                        ("lhs_contracting_dims", &d.lhs_contracting),
                        ("rhs_batch_dims", &d.rhs_batch),
                        ("rhs_contracting_dims", &d.rhs_contracting),
                    ] {
                        if !dims.is_empty() || name.ends_with("contracting_dims") {
                            _ = write!(out, ", {name}={}", index(dims));
                        }
                    }
                }
                precision(out, i);
            }
            "compare" => {
                _ = write!(out, ", direction={}", checked_name(bytes, i.comparison_direction.as_bytes())?);
                // Said only of numbers that know another order too; older protos say it in the type.
                let floating = i.operands.first().is_some_and(|id| self.floats.contains(&(id & HALF)));
                let total = i.comparison_order == "TOTAL" && floating;
                if total || i.comparison_type.contains("TOTALORDER") {
                    out.push_str(", type=TOTALORDER");
                }
            }
            "slice" => {
                let parts: Vec<_> = i
                    .slices
                    .iter()
                    .map(|s| {
                        let stride = if s.stride == 1 { String::new() } else { format!(":{}", s.stride) };
                        format!("[{}:{}{stride}]", s.start, s.limit)
                    })
                    .collect();
                _ = write!(out, ", slice={{{}}}", parts.join(", "));
            }
            "dynamic-slice" => _ = write!(out, ", dynamic_slice_sizes={}", index(&i.dynamic_slice_sizes)),
            "pad" => {
                let dimensions = i.padding.as_ref().map_or(&[][..], |p| &p.dimensions);
                let interior = dimensions.iter().any(|d| d.interior != 0);
                let parts: Vec<_> = dimensions
                    .iter()
                    .map(|d| {
                        let inside = if interior { format!("_{}", d.interior) } else { String::new() };
                        format!("{}_{}{inside}", d.low, d.high)
                    })
                    .collect();
                _ = write!(
                    out,
                    ", padding={}",
                    if parts.is_empty() { "{}".to_owned() } else { parts.join("x") }
                );
            }
            "fft" => {
                let kind =
                    ["FFT", "IFFT", "RFFT", "IRFFT"].get(i.fft_type as usize).copied().unwrap_or("FFT");
                _ = write!(out, ", fft_type={kind}, fft_length={}", index(&i.fft_length));
            }
            "reduce-precision" => {
                _ = write!(out, ", exponent_bits={}, mantissa_bits={}", i.exponent_bits, i.mantissa_bits);
            }
            "copy-start" => {
                if let Some(n) = i.cross_program_prefetch_index {
                    _ = write!(out, ", cross_program_prefetch_index={n}");
                }
            }
            "rng" => {
                let kind = if i.distribution == 2 { "rng_normal" } else { "rng_uniform" };
                _ = write!(out, ", distribution={kind}");
            }
            "rng-bit-generator" => {
                let kind = ["rng_default", "rng_three_fry", "rng_philox"];
                let kind = kind.get(i.rng_algorithm as usize).copied().unwrap_or("rng_default");
                _ = write!(out, ", algorithm={kind}");
            }
            "rng-get-and-update-state" => _ = write!(out, ", delta={}", i.delta),
            "infeed" if !i.infeed_config.is_empty() => {
                _ = write!(out, ", infeed_config={}", quoted(&i.infeed_config));
            }
            "outfeed" => {
                let outfeed_shape = field(bytes, 29)?;
                if !outfeed_shape.is_empty() {
                    let shape = self.shape(outfeed_shape)?;
                    _ = write!(self.out, ", outfeed_shape={shape}");
                }
                if !i.outfeed_config.is_empty() {
                    _ = write!(self.out, ", outfeed_config={}", quoted(&i.outfeed_config));
                }
            }
            "triangular-solve" => {
                let options = i.triangular_solve.clone().unwrap_or_default();
                if options.left_side {
                    out.push_str(", left_side=true");
                }
                if options.lower {
                    out.push_str(", lower=true");
                }
                if options.unit_diagonal {
                    out.push_str(", unit_diagonal=true");
                }
                let kind = ["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"];
                let kind = kind.get(options.transpose_a as usize).copied().unwrap_or("NO_TRANSPOSE");
                _ = write!(out, ", transpose_a={kind}");
            }
            "cholesky" if i.cholesky.as_ref().is_some_and(|c| c.lower) => out.push_str(", lower=true"),
            "batch-norm-training" | "batch-norm-inference" | "batch-norm-grad" => {
                out.push_str(", epsilon=");
                floats::push(out, f64::from(i.epsilon), (6, 9), |v| f64::from(v as f32));
                _ = write!(out, ", feature_index={}", i.feature_index);
            }
            "topk" => _ = write!(out, ", k={}, largest={}", i.k, i.largest),
            _ => {
                // An operation this table does not know: what it calls matters to all that follows.
                if !called.is_empty() {
                    callees(out, "called_computations", called);
                }
            }
        }
        Ok(())
    }

    fn custom_call(&mut self, bytes: &'b [u8], i: &m::Instruction, called: &[&str]) -> Result<()> {
        if i.window.is_some() || i.convolution.is_some() {
            convolution(&mut self.out, i);
        }
        _ = write!(self.out, ", custom_call_target={}", quoted(i.custom_call_target.as_bytes()));
        if i.constrain_layout {
            self.out.push_str(", operand_layout_constraints={");
            let mut n = 0;
            for part in Fields::new(bytes) {
                let part = part?;
                if part.number == 57 {
                    let comma = if n > 0 { ", " } else { "" };
                    let shape = self.shape(part.bytes)?;
                    _ = write!(self.out, "{comma}{shape}");
                    n += 1;
                }
            }
            self.out.push('}');
        }
        let out = &mut self.out;
        if i.has_side_effect {
            out.push_str(", custom_call_has_side_effect=true");
        }
        aliasing(out, i);
        match i.custom_call_schedule {
            1 => out.push_str(", schedule=SCHEDULE_LATEST"),
            2 => out.push_str(", schedule=SCHEDULE_EARLIEST"),
            _ => {}
        }
        match i.api_version {
            2 => out.push_str(", api_version=API_VERSION_STATUS_RETURNING"),
            3 => out.push_str(", api_version=API_VERSION_STATUS_RETURNING_UNIFIED"),
            4 => out.push_str(", api_version=API_VERSION_TYPED_FFI"),
            _ => {}
        }
        if !called.is_empty() {
            callees(out, "called_computations", called);
        }
        Ok(())
    }
}

fn groups(list: &[m::Numbers]) -> String {
    let groups: Vec<_> = list.iter().map(|g| index(&g.numbers)).collect();
    format!("{{{}}}", groups.join(","))
}

pub(super) fn metadata_text(metadata: &m::Metadata) -> String {
    let mut parts = Vec::new();
    let mut text = |name: &str, value: &[u8]| {
        if !value.is_empty() {
            parts.push(format!("{name}={}", quoted(value)));
        }
    };
    text("op_type", metadata.op_type.as_bytes());
    text("op_name", &metadata.op_name);
    text("source_file", &metadata.source_file);
    for (name, value) in [
        ("source_line", metadata.source_line),
        ("source_end_line", metadata.source_end_line),
        ("source_column", metadata.source_column),
        ("source_end_column", metadata.source_end_column),
    ] {
        if value != 0 {
            parts.push(format!("{name}={value}"));
        }
    }
    let mut text = |name: &str, value: &[u8]| {
        if !value.is_empty() {
            parts.push(format!("{name}={}", quoted(value)));
        }
    };
    text("deduplicated_name", &metadata.deduplicated_name);
    text("scheduling_name", &metadata.scheduling_name);
    if metadata.stack_frame_id != 0 {
        parts.push(format!("stack_frame_id={}", metadata.stack_frame_id));
    }
    parts.join(" ")
}

pub(super) fn attributes_text(mut attributes: m::Attributes) -> Result<String> {
    attributes.map.arrange_by(|a, b| a.key.cmp(&b.key));
    let mut out = String::from("{");
    for (n, pair) in attributes.map.iter().enumerate() {
        let comma = if n > 0 { "," } else { "" };
        let key = checked_name(&pair.key, &pair.key)?;
        let value = match std::str::from_utf8(&pair.value) {
            Ok(value) if is_group(&pair.value) => value.to_owned(),
            _ => quoted(&pair.value),
        };
        _ = write!(out, "{comma}{key}={value}");
    }
    out.push('}');
    Ok(out)
}

pub(super) fn replica_groups(i: &m::Instruction) -> String {
    if let Some(mesh_groups) = &i.mesh_groups {
        let mesh = mesh_groups.mesh.clone().unwrap_or_default();
        let name =
            |n: i64| usize::try_from(n).ok().and_then(|n| mesh.axes.get(n)).map(|a| quoted_name(&a.name));
        let axes: Vec<_> = mesh.axes.iter().map(|a| format!("{}={}", quoted_name(&a.name), a.size)).collect();
        let used: Vec<_> = mesh_groups
            .axes
            .iter()
            .map(|a| {
                let name = name(a.axis).unwrap_or_default();
                a.part.as_ref().map_or(name.clone(), |p| format!("{name}:({}){}", p.pre_size, p.size))
            })
            .collect();
        let ids = if mesh.device_ids.is_empty() {
            String::new()
        } else {
            format!(", device_ids=({})", joined(&mesh.device_ids, ","))
        };
        return format!("mesh[{}{ids}] {{{}}}", axes.join(","), used.join(","));
    }
    match &i.device_list {
        Some(list) => match &list.iota {
            Some(iota) => {
                let mut out = format!("[{},{}]<=[{}]", iota.groups, iota.devices, joined(&iota.reshape, ","));
                if !iota.transpose.is_empty() && !iota.transpose.is_sorted() {
                    _ = write!(out, "T({})", joined(&iota.transpose, ","));
                }
                out
            }
            None => groups(&list.groups),
        },
        None => groups(&i.replica_groups),
    }
}

pub(super) fn quoted_name(bytes: &[u8]) -> String {
    let mut out = String::from("'");
    escaped(&mut out, bytes);
    out.push('\'');
    out
}

pub(super) fn callees(out: &mut String, attribute: &str, called: &[&str]) {
    _ = write!(out, ", {attribute}={{");
    for (n, name) in called.iter().enumerate() {
        let comma = if n > 0 { ", " } else { "" };
        _ = write!(out, "{comma}%{name}");
    }
    out.push('}');
}

pub(super) fn aliasing(out: &mut String, i: &m::Instruction) {
    if i.output_operand_aliasing.is_empty() {
        return;
    }
    let pairs: Vec<_> = i
        .output_operand_aliasing
        .iter()
        .map(|a| format!("{}: ({}, {})", index(&a.output), a.operand, index(&a.operand_index)))
        .collect();
    _ = write!(out, ", output_to_operand_aliasing={{{}}}", pairs.join(", "));
}

pub(super) fn sortedness(out: &mut String, i: &m::Instruction) {
    if i.indices_are_sorted {
        out.push_str(", indices_are_sorted=true");
    }
    if i.unique_indices {
        out.push_str(", unique_indices=true");
    }
}

pub(super) fn precision(out: &mut String, i: &m::Instruction) {
    let Some(precision) = &i.precision else { return };
    if precision.operands.iter().any(|p| *p != 0) {
        let names: Vec<_> = precision
            .operands
            .iter()
            .map(|p| ["default", "high", "highest"].get(*p as usize).unwrap_or(&"default"))
            .collect();
        _ = write!(out, ", operand_precision={{{}}}", joined(&names, ","));
    }
    const ALGORITHMS: [&str; 14] = [
        "",
        "dot_any_f8_any_f8_f32",
        "dot_any_f8_any_f8_f32_fast_accum",
        "dot_f16_f16_f16",
        "dot_f16_f16_f32",
        "dot_bf16_bf16_bf16",
        "dot_bf16_bf16_f32",
        "dot_bf16_bf16_f32_x3",
        "dot_bf16_bf16_f32_x6",
        "dot_tf32_tf32_f32",
        "dot_tf32_tf32_f32_x3",
        "dot_f32_f32_f32",
        "dot_f64_f64_f64",
        "dot_bf16_bf16_f32_x9",
    ];
    if let Some(name) = ALGORITHMS.get(precision.algorithm as usize).filter(|n| !n.is_empty()) {
        _ = write!(out, ", algorithm={name}");
    }
}

pub(super) fn window(out: &mut String, i: &m::Instruction) {
    let dims = i.window.as_ref().map_or(&[][..], |w| &w.dimensions);
    if dims.is_empty() {
        return;
    }
    let list = |f: &dyn Fn(&m::WindowDimension) -> String| dims.iter().map(f).collect::<Vec<_>>().join("x");
    let mut parts = vec![format!("size={}", list(&|d| d.size.to_string()))];
    if dims.iter().any(|d| d.stride != 1) {
        parts.push(format!("stride={}", list(&|d| d.stride.to_string())));
    }
    if dims.iter().any(|d| d.padding_low != 0 || d.padding_high != 0) {
        parts.push(format!("pad={}", list(&|d| format!("{}_{}", d.padding_low, d.padding_high))));
    }
    if dims.iter().any(|d| d.base_dilation != 1) {
        parts.push(format!("lhs_dilate={}", list(&|d| d.base_dilation.to_string())));
    }
    if dims.iter().any(|d| d.window_dilation != 1) {
        parts.push(format!("rhs_dilate={}", list(&|d| d.window_dilation.to_string())));
    }
    if dims.iter().any(|d| d.reversal) {
        parts.push(format!("rhs_reversal={}", list(&|d| u8::from(d.reversal).to_string())));
    }
    _ = write!(out, ", window={{{}}}", parts.join(" "));
}

pub(super) fn convolution(out: &mut String, i: &m::Instruction) {
    window(out, i);
    if let Some(c) = &i.convolution {
        let labels = |first: (i64, char), second: (i64, char), spatial: &[i64]| {
            let mut places = vec![(first.0, first.1.to_string()), (second.0, second.1.to_string())];
            places.extend(spatial.iter().enumerate().map(|(n, d)| (*d, n.to_string())));
            places.arrange_by_key(|p| p.0);
            places.into_iter().map(|p| p.1).collect::<String>()
        };
        let input = labels((c.input_batch, 'b'), (c.input_feature, 'f'), &c.input_spatial);
        let kernel = labels((c.kernel_input_feature, 'i'), (c.kernel_output_feature, 'o'), &c.kernel_spatial);
        let output = labels((c.output_batch, 'b'), (c.output_feature, 'f'), &c.output_spatial);
        _ = write!(out, ", dim_labels={input}_{kernel}->{output}");
    }
    if i.feature_group_count > 1 {
        _ = write!(out, ", feature_group_count={}", i.feature_group_count);
    }
    if i.batch_group_count > 1 {
        _ = write!(out, ", batch_group_count={}", i.batch_group_count);
    }
    precision(out, i);
}

pub(super) fn sharding_text(bytes: &[u8]) -> Result<String> {
    let sharding: m::Sharding = decode(bytes)?;
    if sharding.kind != 2 {
        return Ok(format!("{{{}}}", one_sharding(&sharding)));
    }
    let mut parts = Vec::with_capacity(sharding.tuple.len());
    for part in &sharding.tuple {
        let part: m::Sharding =
            m::Sharding::decode(&part[..]).map_err(|e| Broken::at(bytes, e.to_string()))?;
        parts.push(format!("{{{}}}", one_sharding(&part)));
    }
    let mut out = String::from("{");
    for (n, part) in parts.iter().enumerate() {
        push_separator(&mut out, n);
        out.push_str(part);
    }
    out.push('}');
    Ok(out)
}

pub(super) fn one_sharding(s: &m::Sharding) -> String {
    let kind = |n: i32| match n {
        0 => "replicated",
        4 => "manual",
        5 => "unknown",
        6 => "unreduced",
        _ => "replicated",
    };
    let mut out = match s.kind {
        1 => format!("maximal device={}", s.tile_devices.first().unwrap_or(&0)),
        3 => {
            let mut out = format!("devices=[{}]", joined(&s.tile_dimensions, ","));
            if s.iota_reshape.is_empty() {
                out.push_str(&joined(&s.tile_devices, ","));
            } else {
                _ = write!(out, "<=[{}]", joined(&s.iota_reshape, ","));
                if !s.iota_transpose.is_sorted() {
                    _ = write!(out, "T({})", joined(&s.iota_transpose, ","));
                }
            }
            if s.replicate_on_last {
                out.push_str(" last_tile_dim_replicate");
            }
            if !s.last_tile_dims.is_empty() {
                let kinds: Vec<_> = s.last_tile_dims.iter().map(|k| kind(*k)).collect();
                _ = write!(out, " last_tile_dims={{{}}}", kinds.join(", "));
            }
            out
        }
        n => kind(n).to_owned(),
    };
    if s.is_shard_group {
        let word = if s.shard_group_type == 1 { "shard_like" } else { "shard_as" };
        _ = write!(out, " {word} {}", s.shard_group_id);
    }
    out
}
