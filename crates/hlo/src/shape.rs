//! Shapes, layouts, tiles and what they weigh.

use smallvec::SmallVec;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Numbers of tuple elements from the outside in; empty for the shape itself.
///
/// Prints as XLA does: `{}`, `{0}`, `{1,2}` (specification, 1.1).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct ShapeIndex(pub SmallVec<[u32; 4]>);

impl ShapeIndex {
    /// The index of a shape itself, `{}`.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Is this `{}`?
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// This index with `element` put in front: the same place seen from an enclosing tuple.
    #[must_use]
    pub fn under(&self, element: u32) -> Self {
        let mut out = SmallVec::with_capacity(self.0.len() + 1);
        out.push(element);
        out.extend_from_slice(&self.0);
        Self(out)
    }
}

impl From<&[u32]> for ShapeIndex {
    fn from(numbers: &[u32]) -> Self {
        Self(SmallVec::from_slice(numbers))
    }
}

impl fmt::Display for ShapeIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, n) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            write!(f, "{n}")?;
        }
        f.write_str("}")
    }
}

macro_rules! element_types {
    ($($variant:ident = $name:literal, $bits:literal;)*) => {
        /// The type of an array's elements.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs, reason = "the variants are XLA's own names")]
        pub enum ElementType { $($variant,)* }

        impl ElementType {
            /// The type of that name, if there is one.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            /// XLA's name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Bits of one element as the type is defined (4 for `s4`), before any layout.
            #[must_use]
            pub fn bits(self) -> u64 {
                match self { $(Self::$variant => $bits,)* }
            }
        }
    };
}

element_types! {
    Pred = "pred", 8;
    S1 = "s1", 1; S2 = "s2", 2; S4 = "s4", 4; S8 = "s8", 8; S16 = "s16", 16; S32 = "s32", 32; S64 = "s64", 64;
    U1 = "u1", 1; U2 = "u2", 2; U4 = "u4", 4; U8 = "u8", 8; U16 = "u16", 16; U32 = "u32", 32; U64 = "u64", 64;
    F16 = "f16", 16; F32 = "f32", 32; F64 = "f64", 64; Bf16 = "bf16", 16;
    C64 = "c64", 64; C128 = "c128", 128;
    F4e2m1fn = "f4e2m1fn", 4; F8e3m4 = "f8e3m4", 8; F8e4m3 = "f8e4m3", 8; F8e4m3fn = "f8e4m3fn", 8;
    F8e4m3b11fnuz = "f8e4m3b11fnuz", 8; F8e4m3fnuz = "f8e4m3fnuz", 8; F8e5m2 = "f8e5m2", 8;
    F8e5m2fnuz = "f8e5m2fnuz", 8; F8e8m0fnu = "f8e8m0fnu", 8;
}

/// One tile of a layout, `T(8,128)`; `None` is the `*` that joins a dimension with the next.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tile(pub SmallVec<[Option<u64>; 3]>);

/// How an array lies in memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Layout {
    /// Dimension numbers, the fastest varying first.
    pub minor_to_major: SmallVec<[u32; 6]>,
    /// Tiles, the outermost first; empty on backends that do not tile.
    pub tiles: SmallVec<[Tile; 2]>,
    /// Bits an element takes if the layout says so, `E(4)`; 0 if it does not.
    pub element_size_in_bits: u64,
    /// Memory space, `S(1)`; 0 is the default one.
    pub memory_space: u32,
    /// Split configuration `SC(dim:index,...)` of TPU layouts: the dimension and where it is cut.
    pub split: Option<(u32, SmallVec<[u64; 2]>)>,
}

/// An identifier of an interned shape: two equal ids are equal shapes, layout included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ShapeId(pub u32);

/// A shape: an array, a tuple of shapes, or one of the types without data.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// An array.
    Array {
        /// The elements' type.
        element: ElementType,
        /// Sizes of the dimensions, the most major first; the bound where a dimension is dynamic.
        dims: SmallVec<[u64; 4]>,
        /// Bit `i` is set if dimension `i` is dynamic (`<=10`).
        dynamic: u64,
        /// Its layout; `None` where the text gives none.
        layout: Option<Box<Layout>>,
    },
    /// A tuple.
    Tuple(Vec<ShapeId>),
    /// `token[]`.
    Token,
    /// `opaque[]`.
    Opaque,
    /// `b(f32[4])`: a buffer of that shape.
    Buffer(ShapeId),
}

/// One place inside a shape.
#[derive(Clone, Debug)]
pub struct Subshape {
    /// Where it is.
    pub index: ShapeIndex,
    /// What is there.
    pub shape: ShapeId,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) shape: Shape,
    /// As XLA prints it, with layout and `/*index=5*/` markers; shared with the key in `by_text`.
    pub(crate) long: Arc<str>,
    /// The same without layouts; shared with `long` where there is none.
    pub(crate) short: Arc<str>,
    /// Pre-order (specification, 1.1); the first is the shape itself.
    pub(crate) subshapes: Box<[Subshape]>,
}

/// All shapes of a module, each once.
#[derive(Clone, Debug)]
pub struct Shapes {
    pub(crate) entries: Vec<Entry>,
    /// By the text it was written as, and by its canonical text.
    pub(crate) by_text: HashMap<Arc<str>, ShapeId>,
    /// Bytes that `entries` take, roughly.
    pub(crate) weight: u64,
    /// What `weight` may come to: tuples in tuples are enumerated at every level, so a small text can ask for much.
    pub(crate) weight_limit: u64,
}

impl Default for Shapes {
    fn default() -> Self {
        Self { entries: Vec::new(), by_text: HashMap::new(), weight: 0, weight_limit: DEFAULT_WEIGHT_LIMIT }
    }
}

/// A text that is no shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShapeError {
    /// Byte offset in the text.
    pub offset: usize,
    /// What stands there.
    pub read: String,
    /// What was expected.
    pub expected: &'static str,
}

impl fmt::Display for ShapeError {
    /// `READ, EXPECTED`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.read, self.expected)
    }
}

impl std::error::Error for ShapeError {}

/// Tuples may be nested this deep.
pub const MAX_TUPLE_DEPTH: usize = 100;
/// Arrays may have this many dimensions: `dynamic` has one bit for each.
pub const MAX_RANK: usize = 64;
const DEFAULT_WEIGHT_LIMIT: u64 = 1 << 28;

impl Shapes {
    /// The shape.
    #[must_use]
    pub fn get(&self, id: ShapeId) -> &Shape {
        &self.entries[id.0 as usize].shape
    }

    /// With layout, as XLA prints it: `f32[32,64]{1,0}`, `(f32[4]{0}, s32[])`.
    #[must_use]
    pub fn long(&self, id: ShapeId) -> &str {
        &self.entries[id.0 as usize].long
    }

    /// Without layout: `f32[32,64]`. Tuples have a marker `/*index=5*/` before every fifth element.
    #[must_use]
    pub fn short(&self, id: ShapeId) -> &str {
        &self.entries[id.0 as usize].short
    }

    /// All places inside the shape in pre-order: `{}`, `{0}`, `{0,0}`, ..., `{1}`, ...
    #[must_use]
    pub fn subshapes(&self, id: ShapeId) -> &[Subshape] {
        &self.entries[id.0 as usize].subshapes
    }

    /// The pre-order number of a place inside the shape.
    #[must_use]
    pub fn find(&self, id: ShapeId, index: &[u32]) -> Option<u32> {
        // The pre-order number is found by descending, skipping the elements before.
        let mut at = 0;
        let mut here = id;
        for &n in index {
            let Shape::Tuple(elements) = self.get(here) else { return None };
            let next = *elements.get(n as usize)?;
            at += 1 + elements[..n as usize].iter().map(|e| self.subshapes(*e).len()).sum::<usize>();
            here = next;
        }
        u32::try_from(at).ok()
    }

    /// Is it a tuple?
    #[must_use]
    pub fn is_tuple(&self, id: ShapeId) -> bool {
        matches!(self.get(id), Shape::Tuple(_))
    }

    /// Is it an array?
    #[must_use]
    pub fn is_array(&self, id: ShapeId) -> bool {
        matches!(self.get(id), Shape::Array { .. })
    }

    /// The layout's memory space, 0 where there is no layout.
    #[must_use]
    pub fn memory_space(&self, id: ShapeId) -> u32 {
        match self.get(id) {
            Shape::Array { layout: Some(layout), .. } => layout.memory_space,
            _ => 0,
        }
    }

    /// Elements of an array (bounds where dynamic), saturating at `u64::MAX`; 0 for anything else.
    #[must_use]
    pub fn element_count(&self, id: ShapeId) -> u64 {
        match self.get(id) {
            Shape::Array { dims, .. } => dims.iter().fold(1, |n: u64, d| n.saturating_mul(*d)),
            _ => 0,
        }
    }

    /// Bytes of the untiled shape with pointers of `pointer` bytes (specification, 1.5): a tuple weighs its own
    /// pointer table only, a token nothing. Saturates at `u64::MAX`.
    #[must_use]
    pub fn bytes(&self, id: ShapeId, pointer: u64) -> u64 {
        match self.get(id) {
            Shape::Array { element, layout, .. } => {
                let packed = layout.as_ref().map_or(0, |l| l.element_size_in_bits);
                // A type narrower than a byte takes a whole one unless the layout packs it.
                let bits = if packed > 0 { packed } else { element.bits().next_multiple_of(8) };
                let total = u128::from(self.element_count(id)) * u128::from(bits);
                u64::try_from(total.div_ceil(8)).unwrap_or(u64::MAX)
            }
            Shape::Tuple(elements) => (elements.len() as u64).saturating_mul(pointer),
            Shape::Token => 0,
            Shape::Opaque | Shape::Buffer(_) => pointer,
        }
    }

    /// How many different shapes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Is there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
