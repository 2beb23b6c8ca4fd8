//! What differs between backends: sizes, alignments, colours, hints (12; GPU and TPU supplement, 2 to 8).

use crate::Color;
use hlo::{Layout, Module, Shape, ShapeId, Shapes};
use sorts::Arrange as _;

/// The compiler a module comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Backend {
    /// XLA:CPU.
    Cpu,
    /// XLA:GPU.
    Gpu,
    /// libtpu.
    Tpu,
}

impl Backend {
    /// `cpu`, `gpu` or `tpu`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Tpu => "tpu",
        }
    }
}

impl std::str::FromStr for Backend {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "cpu" => Ok(Self::Cpu),
            "gpu" => Ok(Self::Gpu),
            "tpu" => Ok(Self::Tpu),
            _ => Err(format!("`{name}` is no target, expected cpu, gpu or tpu")),
        }
    }
}

/// A generation of TPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Generation {
    /// v2.
    V2,
    /// v3.
    V3,
    /// v4.
    V4,
    /// v5e (v5 lite).
    V5e,
    /// v5p.
    V5p,
    /// v6e (v6 lite).
    V6e,
    /// 7x.
    V7x,
}

impl Generation {
    /// `v2`, `v3`, `v4`, `v5e`, `v5p`, `v6e` or `7x`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V2 => "v2",
            Self::V3 => "v3",
            Self::V4 => "v4",
            Self::V5e => "v5e",
            Self::V5p => "v5p",
            Self::V6e => "v6e",
            Self::V7x => "7x",
        }
    }
}

impl std::str::FromStr for Generation {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "v2" => Ok(Self::V2),
            "v3" => Ok(Self::V3),
            "v4" => Ok(Self::V4),
            "v5e" => Ok(Self::V5e),
            "v5p" => Ok(Self::V5p),
            "v6e" => Ok(Self::V6e),
            "7x" | "v7x" | "tpu7x" => Ok(Self::V7x),
            _ => Err(format!("`{name}` is no generation, expected v2, v3, v4, v5e, v5p, v6e or 7x")),
        }
    }
}

/// A backend with the settings that buffer assignment depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The compiler.
    pub backend: Backend,
    /// GPU: buffers of collectives are coloured 1 (`--xla_gpu_enable_nccl_user_buffers`).
    pub collective_memory: bool,
    /// GPU: colour given to a combined temp that absorbed another (`--xla_gpu_temp_buffer_use_separate_color`).
    pub separate_temp_color: Option<Color>,
    /// TPU: tuples are rounded up to this many bytes; it depends on the generation (GPU and TPU supplement, 8.1).
    pub tuple_unit: u64,
    /// TPU: alignment of colour 6 in bytes.
    pub color6_alignment: u64,
    /// Use this alignment in bytes for every colour, whatever the backend's own.
    pub alignment_override: Option<u64>,
}

impl Target {
    /// The target with its default settings.
    #[must_use]
    pub fn new(backend: Backend) -> Self {
        Self {
            backend,
            collective_memory: false,
            separate_temp_color: None,
            tuple_unit: 512,
            color6_alignment: 512,
            alignment_override: None,
        }
    }

    /// Guesses the target from the text: tiled layouts mean TPU, a header with `fingerprint_before_lhs` GPU, else CPU.
    #[must_use]
    pub fn detect(module: &Module) -> Self {
        let tiled = (0..module.shapes.len() as u32).any(|i| {
            matches!(module.shapes.get(ShapeId(i)), Shape::Array { layout: Some(l), .. } if !l.tiles.is_empty())
        });
        let backend = if tiled {
            Backend::Tpu
        } else if module
            .header_attribute("frontend_attributes")
            .is_some_and(|a| a.contains("fingerprint_before_lhs"))
        {
            Backend::Gpu
        } else {
            Backend::Cpu
        };
        Self::tuned(backend, module)
    }

    /// The target with the settings that the module's text betrays.
    #[must_use]
    pub fn tuned(backend: Backend, module: &Module) -> Self {
        let mut target = Self::new(backend);
        let layouts = || {
            (0..module.shapes.len() as u32).filter_map(|i| match module.shapes.get(ShapeId(i)) {
                Shape::Array { dims, layout: Some(layout), .. } => Some((dims, layout)),
                _ => None,
            })
        };
        match backend {
            Backend::Cpu => {}
            // With user buffers on, collectives are fed through copies into space 1; without, nothing is there.
            Backend::Gpu => target.collective_memory = layouts().any(|(_, l)| l.memory_space == 1),
            Backend::Tpu => {
                if has_wide_tiles(&module.shapes)
                    .unwrap_or_else(|| !layouts().any(|(_, l)| matches!(l.memory_space, 1 | 3)))
                {
                    target = target.of_generation(Generation::V3);
                } else if layouts().any(|(_, l)| NEW_SPACES.contains(&l.memory_space)) {
                    target = target.of_generation(Generation::V6e);
                }
            }
        }
        target
    }

    /// The target with what this generation of TPU does differently; other backends stay as they are.
    #[must_use]
    pub fn of_generation(mut self, generation: Generation) -> Self {
        if self.backend == Backend::Tpu {
            (self.tuple_unit, self.color6_alignment) = match generation {
                Generation::V2 | Generation::V3 => (1024, 1024),
                Generation::V4 | Generation::V5e => (512, 512),
                Generation::V5p | Generation::V6e | Generation::V7x => (32, 512),
            };
        }
        self
    }

    /// The alignment of chunks and of merged temps of a colour, in bytes.
    #[must_use]
    pub fn alignment(&self, color: Color) -> u64 {
        if let Some(alignment) = self.alignment_override {
            return alignment.max(1);
        }
        match (self.backend, color.0) {
            (Backend::Cpu, _) => 64,
            (Backend::Gpu, _) => 256,
            (Backend::Tpu, 0) => 16384,
            (Backend::Tpu, 1 | 3) => 4096,
            (Backend::Tpu, 2) => 4,
            (Backend::Tpu, 6) => self.color6_alignment,
            (Backend::Tpu, _) => 512,
        }
    }

    /// Is it a memory that only a TPU's SparseCore sees?
    #[must_use]
    pub fn is_sparse_core(&self, color: Color) -> bool {
        self.backend == Backend::Tpu && SPARSE_CORE_SPACES.contains(&color.0)
    }

    /// The name of a memory space in the memory-usage report (9.4); `None` prints as `color_N`.
    #[must_use]
    pub fn color_name(color: Color) -> Option<&'static str> {
        match color.0 {
            0 => Some("default"),
            1 => Some("vmem"),
            2 => Some("smem"),
            3 => Some("hbm"),
            4 => Some("host"),
            5 => Some("cmem"),
            _ => None,
        }
    }

    /// Bytes that a buffer of this shape takes (1.5; TPU: supplement, 8.1).
    #[must_use]
    pub fn bytes(&self, shapes: &Shapes, shape: ShapeId) -> u64 {
        match (self.backend, shapes.get(shape)) {
            (Backend::Tpu, Shape::Array { element, dims, layout, .. }) => {
                tiled_bytes(element.bits(), dims, layout.as_deref())
            }
            (Backend::Tpu, Shape::Tuple(elements)) => {
                (elements.len() as u64 * 4).next_multiple_of(self.tuple_unit)
            }
            (_, Shape::Array { dynamic, dims, .. }) => {
                // A dynamic array carries its sizes behind the data, four bytes a dimension.
                let metadata = if *dynamic == 0 { 0 } else { 4 * dims.len() as u64 };
                shapes.bytes(shape, 8).saturating_add(metadata)
            }
            _ => shapes.bytes(shape, 8),
        }
    }
}

/// Is what fits into one tile rounded up to 1024 bytes, as generations 2 and 3 do it, or to 512, as later ones do?
/// `None` if the module has nothing that small. (What they also differ in: only the later ones place values in fast memory.)
fn has_wide_tiles(shapes: &Shapes) -> Option<bool> {
    (0..shapes.len() as u32).find_map(|i| match shapes.get(ShapeId(i)) {
        Shape::Array { element, dims, layout: Some(layout), .. } if dims.len() < 2 && element.bits() >= 8 => {
            let [tile] = &layout.tiles[..] else { return None };
            let bytes = element.bits() / 8;
            let is_small = dims.iter().all(|d| d.saturating_mul(bytes) <= 512);
            let tile = tile.0.first().copied().flatten()?;
            is_small.then_some(tile.saturating_mul(bytes) == 1024)
        }
        _ => None,
    })
}

/// Memory spaces of the SparseCore.
const SPARSE_CORE_SPACES: [u32; 5] = [8, 10, 11, 12, 15];

/// Memory spaces that only the generations from v5p on have: scalars beside the vector memory, and those of the SparseCore.
const NEW_SPACES: [u32; 6] = [4, 8, 10, 11, 12, 15];

/// Memory spaces of a TPU whose arrays are never padded to tiles.
const UNTILED_SPACES: [u32; 6] = [2, 8, 10, 11, 12, 15];

fn tiled_bytes(element_bits: u64, dims: &[u64], layout: Option<&Layout>) -> u64 {
    if dims.contains(&0) {
        return 0;
    }
    let space = layout.map_or(0, |l| l.memory_space);
    let bits = match layout.map_or(0, |l| l.element_size_in_bits) {
        0 => element_bits.next_multiple_of(8),
        packed => packed,
    };
    // Most major first, as the layout has them; the part that a split leaves largest.
    let mut physical: Vec<u64> = match layout {
        Some(l) if l.minor_to_major.len() == dims.len() => {
            l.minor_to_major.iter().rev().map(|d| dims.get(*d as usize).copied().unwrap_or(1)).collect()
        }
        _ => dims.to_vec(),
    };
    if let Some((dim, cuts)) = layout.and_then(|l| l.split.as_ref()) {
        let size = dims.get(*dim as usize).copied().unwrap_or(0);
        let mut bounds: Vec<u64> =
            std::iter::once(0).chain(cuts.iter().copied()).chain(std::iter::once(size)).collect();
        bounds.arrange_unstable();
        let largest = bounds.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(size);
        let at = layout.and_then(|l| l.minor_to_major.iter().rev().position(|d| d == dim));
        if let Some(slot) = at.and_then(|at| physical.get_mut(at)) {
            *slot = largest;
        }
    }
    let tile: &[Option<u64>] = match layout.and_then(|l| l.tiles.first()) {
        Some(tile) => &tile.0,
        None if UNTILED_SPACES.contains(&space) => &[],
        None => &[Some(8), Some(128)],
    };
    while physical.len() < tile.len() {
        physical.insert(0, 1);
    }
    let first = physical.len() - tile.len();
    for (dim, tile) in physical[first..].iter_mut().zip(tile) {
        if let Some(tile) = tile.filter(|t| *t > 0) {
            *dim = dim.checked_next_multiple_of(tile).unwrap_or(u64::MAX);
        }
    }
    let elements = physical.iter().fold(1u128, |n, d| n.saturating_mul(u128::from(*d)));
    u64::try_from(elements.saturating_mul(u128::from(bits)).div_ceil(8)).unwrap_or(u64::MAX)
}
