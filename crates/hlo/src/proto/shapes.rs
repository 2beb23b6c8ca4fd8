//! Shapes and small literals as XLA prints them.

use super::floats;
use super::messages as m;
use super::printing::{MAX_DEPTH, Printer, Result, decode, joined, push_separator};
use super::wire::Broken;
use prost::Message as _;
use std::fmt::Write as _;

impl<'b> Printer<'b> {
    /// The literal of a constant; `{...}` for more than ten elements.
    pub(super) fn literal(&mut self, bytes: &[u8], i: &m::Instruction) -> Result<()> {
        let shape: m::Shape = decode(&i.shape)?;
        let name = element_type(shape.element_type).unwrap_or("");
        let count = shape.dimensions.iter().try_fold(1_i64, |n, d| n.checked_mul(*d));
        let small = count.is_some_and(|n| (0..=10).contains(&n)) && shape.dimensions.len() <= 10;
        if !small || i.literal.is_empty() || i.literal.len() > 4096 {
            self.out.push_str("{...}");
            return Ok(());
        }
        let literal: m::Literal = decode(&i.literal)?;
        let own: m::Shape = decode(&literal.shape)?;
        let elements = elements(&literal, name, shape.dimensions.is_empty());
        let count = count.unwrap_or(0) as usize;
        if elements.len() != count {
            if elements.is_empty() {
                self.out.push_str("{...}");
                return Ok(());
            }
            return Err(Broken::at(bytes, "a literal of another size than its shape"));
        }
        let rank = shape.dimensions.len();
        // Elements stand in the order of the literal's own layout.
        let layout = own.layout.map(|l| l.minor_to_major).filter(|l| l.len() == rank);
        let layout = layout.unwrap_or_else(|| (0..rank as i64).rev().collect());
        let mut strides = vec![0; rank];
        let mut stride = 1;
        for d in layout {
            let size = usize::try_from(d).ok().and_then(|d| Some((d, *shape.dimensions.get(d)? as usize)));
            let Some((d, size)) = size else { return Err(Broken::at(bytes, "a literal without a layout")) };
            strides[d] = stride;
            stride *= size;
        }
        let mut position = vec![0_usize; rank];
        // Rows of a matrix have spaces inside, unless there is one element only; a vector has none.
        let spaced = |d: usize| d + 1 < rank || (rank > 1 && shape.dimensions[d] > 1);
        for n in 0..count {
            for d in 0..rank {
                if position[d..].iter().all(|p| *p == 0) {
                    self.out.push_str(if spaced(d) { "{ " } else { "{" });
                }
            }
            let at: usize = position.iter().zip(&strides).map(|(p, s)| p * s).sum();
            self.out.push_str(elements.get(at).map_or("0", String::as_str));
            // On to the next, closing what ends here.
            for d in (0..rank).rev() {
                position[d] += 1;
                if position[d] < shape.dimensions[d] as usize {
                    break;
                }
                position[d] = 0;
                self.out.push_str(if spaced(d) { " }" } else { "}" });
            }
            if n + 1 < count {
                self.out.push_str(", ");
            }
        }
        if count == 0 {
            nothing(&mut self.out, &shape.dimensions);
        }
        Ok(())
    }

    /// The shape's text with layout.
    pub(super) fn shape(&mut self, bytes: &'b [u8]) -> Result<String> {
        if let Some(text) = self.shapes.get(bytes) {
            return Ok(text.clone());
        }
        /// Tuples that are open: the shapes that are still to come, and how many have been.
        struct Open {
            rest: std::vec::IntoIter<Vec<u8>>,
            done: usize,
            closes: char,
        }
        let mut out = String::new();
        let mut open: Vec<Open> = Vec::new();
        let mut next: Option<m::Shape> = Some(decode(bytes)?);
        loop {
            if let Some(shape) = next.take() {
                match shape.element_type {
                    13 | 34 => {
                        if open.len() >= MAX_DEPTH {
                            return Err(Broken::at(bytes, "tuples nested more than 100 deep"));
                        }
                        let tuple = shape.element_type == 13;
                        out.push_str(if tuple { "(" } else { "b(" });
                        open.push(Open { rest: shape.tuple_shapes.into_iter(), done: 0, closes: ')' });
                    }
                    14 => out.push_str("opaque[]"),
                    17 => out.push_str("token[]"),
                    _ => array(&mut out, &shape).map_err(|what| Broken::at(bytes, what))?,
                }
            }
            let Some(innermost) = open.last_mut() else { break };
            match innermost.rest.next() {
                Some(element) => {
                    push_separator(&mut out, innermost.done);
                    innermost.done += 1;
                    next =
                        Some(m::Shape::decode(&element[..]).map_err(|e| Broken::at(bytes, e.to_string()))?);
                }
                None => {
                    out.push(innermost.closes);
                    open.pop();
                }
            }
        }
        self.shapes.insert(bytes, out.clone());
        Ok(out)
    }
}

fn element_type(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "pred",
        2 => "s8",
        3 => "s16",
        4 => "s32",
        5 => "s64",
        6 => "u8",
        7 => "u16",
        8 => "u32",
        9 => "u64",
        10 => "f16",
        11 => "f32",
        12 => "f64",
        15 => "c64",
        16 => "bf16",
        18 => "c128",
        19 => "f8e5m2",
        20 => "f8e4m3fn",
        21 => "s4",
        22 => "u4",
        23 => "f8e4m3b11fnuz",
        24 => "f8e5m2fnuz",
        25 => "f8e4m3fnuz",
        26 => "s2",
        27 => "u2",
        28 => "f8e4m3",
        29 => "f8e3m4",
        30 => "s1",
        31 => "u1",
        32 => "f4e2m1fn",
        33 => "f8e8m0fnu",
        _ => return None,
    })
}

fn array(out: &mut String, shape: &m::Shape) -> std::result::Result<(), String> {
    let name =
        element_type(shape.element_type).ok_or_else(|| format!("the element type {}", shape.element_type))?;
    out.push_str(name);
    out.push('[');
    for (n, d) in shape.dimensions.iter().enumerate() {
        let comma = if n > 0 { "," } else { "" };
        let bound = if shape.is_dynamic.get(n) == Some(&true) { "<=" } else { "" };
        _ = write!(out, "{comma}{bound}{d}");
    }
    out.push(']');
    let Some(layout) = &shape.layout else { return Ok(()) };
    let mut tail = String::new();
    if !layout.dim_level_types.is_empty() {
        let levels: Vec<_> = layout
            .dim_level_types
            .iter()
            .map(|l| ["D", "C", "S", "H"].get(*l as usize).unwrap_or(&"D"))
            .collect();
        _ = write!(tail, "D({})", joined(&levels, ","));
    }
    for (n, tile) in layout.tiles.iter().enumerate() {
        // The smallest number stands for "joined with the next".
        let size = |d: &i64| if *d == i64::MIN { "*".to_owned() } else { d.to_string() };
        let sizes: Vec<_> = tile.numbers.iter().map(size).collect();
        let key = if n == 0 { "T" } else { "" };
        _ = write!(tail, "{key}({})", sizes.join(","));
    }
    if layout.tail_padding_alignment > 1 {
        _ = write!(tail, "L({})", layout.tail_padding_alignment);
    }
    for (mark, number) in [('#', layout.index_type), ('*', layout.pointer_type)] {
        if let Some(name) = element_type(number) {
            _ = write!(tail, "{mark}({name})");
        }
    }
    for (key, number) in [("E", layout.element_size_in_bits), ("S", layout.memory_space)] {
        if number != 0 {
            _ = write!(tail, "{key}({number})");
        }
    }
    for split in &layout.splits {
        _ = write!(tail, "SC({}:{})", split.dimension, joined(&split.indices, ","));
    }
    if layout.metadata_prefix_bytes > 0 {
        _ = write!(tail, "M({})", layout.metadata_prefix_bytes);
    }
    if layout.minor_to_major.is_empty() && tail.is_empty() {
        return Ok(());
    }
    let colon = if tail.is_empty() { "" } else { ":" };
    _ = write!(out, "{{{}{colon}{tail}}}", joined(&layout.minor_to_major, ","));
    Ok(())
}

/// A literal without elements: the braces are there all the same.
fn nothing(out: &mut String, dimensions: &[i64]) {
    let Some((first, rest)) = dimensions.split_first() else { return };
    let (open, close) = if rest.is_empty() { ("{", "}") } else { ("{ ", " }") };
    out.push_str(open);
    // Beyond this nobody reads on; no dump has been seen that long.
    for n in 0..(*first).min(1 << 16) {
        if n > 0 {
            out.push_str(", ");
        }
        if out.len() > 1 << 22 {
            break;
        }
        nothing(out, rest);
    }
    out.push_str(close);
}

/// The elements of a small literal as text, in the literal's order.
fn elements(l: &m::Literal, name: &str, scalar: bool) -> Vec<String> {
    let float = |v: f64, digits: (usize, usize), back: &dyn Fn(f64) -> f64| {
        let mut out = String::new();
        floats::push(&mut out, v, digits, back);
        out
    };
    let single = |v: f64| float(v, (6, 9), &|v| f64::from(v as f32));
    let double = |v: f64| float(v, (15, 17), &|v| v);
    // Rounding to a half float is not at hand; enough digits for it are.
    let half = |v: f64| float(v, (5, 5), &|v| v);
    let small = |bits: u8, format: &floats::Format| {
        float(format.value(bits), (format.digits(), format.digits()), &|v| v)
    };
    let signed = |list: &[u8], width: u32| -> Vec<String> {
        list.iter().map(|v| ((v << (8 - width)).cast_signed() >> (8 - width)).to_string()).collect()
    };
    let texts = |list: &[u8]| -> Vec<u16> {
        list.chunks_exact(2).map(|c| u16::from_le_bytes([c[0], c[1]])).collect()
    };
    match name {
        "pred" if scalar => l.preds.iter().map(ToString::to_string).collect(),
        "pred" => l.preds.iter().map(|v| u8::from(*v).to_string()).collect(),
        "s8" => l.s8s.iter().map(|v| v.cast_signed().to_string()).collect(),
        "u8" => l.u8s.iter().map(ToString::to_string).collect(),
        "s16" => texts(&l.s16s).iter().map(|v| v.cast_signed().to_string()).collect(),
        "u16" => texts(&l.u16s).iter().map(ToString::to_string).collect(),
        "s32" => l.s32s.iter().map(ToString::to_string).collect(),
        "s64" => l.s64s.iter().map(ToString::to_string).collect(),
        "u32" => l.u32s.iter().map(ToString::to_string).collect(),
        "u64" => l.u64s.iter().map(ToString::to_string).collect(),
        "f32" => l.f32s.iter().map(|v| single(f64::from(*v))).collect(),
        "f64" => l.f64s.iter().map(|v| double(*v)).collect(),
        "f16" => texts(&l.f16s).iter().map(|v| half(floats::from_f16(*v))).collect(),
        "bf16" => texts(&l.bf16s).iter().map(|v| float(floats::from_bf16(*v), (4, 4), &|v| v)).collect(),
        "f8e5m2" => l.f8e5m2s.iter().map(|v| small(*v, &floats::F8E5M2)).collect(),
        "f8e4m3" => l.f8e4m3s.iter().map(|v| small(*v, &floats::F8E4M3)).collect(),
        "f8e3m4" => l.f8e3m4s.iter().map(|v| small(*v, &floats::F8E3M4)).collect(),
        "f8e4m3fn" => l.f8e4m3fns.iter().map(|v| small(*v, &floats::F8E4M3FN)).collect(),
        "f8e5m2fnuz" => l.f8e5m2fnuzs.iter().map(|v| small(*v, &floats::F8E5M2FNUZ)).collect(),
        "f8e4m3fnuz" => l.f8e4m3fnuzs.iter().map(|v| small(*v, &floats::F8E4M3FNUZ)).collect(),
        "f8e4m3b11fnuz" => l.f8e4m3b11fnuzs.iter().map(|v| small(*v, &floats::F8E4M3B11FNUZ)).collect(),
        "f8e8m0fnu" => l.f8e8m0fnus.iter().map(|v| small(*v, &floats::F8E8M0FNU)).collect(),
        "f4e2m1fn" => l.f4e2m1fns.iter().map(|v| small(*v, &floats::F4E2M1FN)).collect(),
        "s4" => signed(&l.s4s, 4),
        "s2" => signed(&l.s2s, 2),
        "u4" => l.u4s.iter().map(|v| (v & 0xf).to_string()).collect(),
        "u2" => l.u2s.iter().map(|v| (v & 3).to_string()).collect(),
        "c64" => {
            let pair = |c: &[f32]| format!("({}, {})", single(f64::from(c[0])), single(f64::from(c[1])));
            l.c64s.chunks_exact(2).map(pair).collect()
        }
        "c128" => l.c128s.chunks_exact(2).map(|c| format!("({}, {})", double(c[0]), double(c[1]))).collect(),
        _ => Vec::new(),
    }
}
