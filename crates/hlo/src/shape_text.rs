//! Shapes from text and to text.

use crate::shape::{
    Entry, Layout, MAX_RANK, MAX_TUPLE_DEPTH, Shape, ShapeError, ShapeId, ShapeIndex, Shapes, Subshape, Tile,
};
use crate::{ElementType, text::quote};
use smallvec::SmallVec;
use std::fmt::Write as _;
use std::sync::Arc;

type Result<T> = std::result::Result<T, ShapeError>;

impl Shapes {
    /// None yet; together they may take about `limit` bytes.
    pub(crate) fn with_weight_limit(limit: u64) -> Self {
        Self { weight_limit: limit, ..Self::default() }
    }

    /// The shape written as `text`, with or without layouts and `/*index=5*/` markers.
    ///
    /// The same shape written in two ways has one id: `f32[4, 5]{1, 0}` is `f32[4,5]{1,0}`.
    pub fn intern(&mut self, text: &str) -> Result<ShapeId> {
        if let Some(id) = self.by_text.get(text) {
            return Ok(*id);
        }
        let (id, end) = Parser { text, bytes: text.as_bytes(), at: 0, shapes: self }.shape()?;
        if let Some(c) = text[end..].chars().next() {
            return Err(ShapeError {
                offset: end,
                read: quote(&c.to_string()),
                expected: "expected the shape's end",
            });
        }
        if &*self.entries[id.0 as usize].long != text {
            self.weight += text.len() as u64 + 64;
            self.by_text.insert(Arc::from(text), id);
        }
        Ok(id)
    }

    /// The tuple of these shapes.
    pub fn intern_tuple(&mut self, elements: &[ShapeId]) -> Result<ShapeId> {
        // Weighed before anything is built, because every level enumerates all that lies below it.
        let weight: u64 = elements
            .iter()
            .map(|e| {
                let e = &self.entries[e.0 as usize];
                let indices: usize =
                    e.subshapes.iter().map(|s| if s.index.0.len() >= 4 { s.index.0.len() } else { 0 }).sum();
                (e.long.len() + e.short.len() + e.subshapes.len() * 32 + indices * 4) as u64 + 32
            })
            .sum();
        self.afford(weight)?;
        let mut long = String::from("(");
        let mut short = String::from("(");
        let mut subshapes = vec![Subshape { index: ShapeIndex::root(), shape: ShapeId(u32::MAX) }];
        for (i, element) in elements.iter().enumerate() {
            if i > 0 {
                long.push_str(", ");
                short.push_str(", ");
                if i % 5 == 0 {
                    _ = write!(long, "/*index={i}*/");
                    _ = write!(short, "/*index={i}*/");
                }
            }
            let entry = &self.entries[element.0 as usize];
            long.push_str(&entry.long);
            short.push_str(&entry.short);
            subshapes.extend(
                entry.subshapes.iter().map(|s| Subshape { index: s.index.under(i as u32), shape: s.shape }),
            );
        }
        long.push(')');
        short.push(')');
        Ok(self.add(Shape::Tuple(elements.to_vec()), &long, &short, subshapes))
    }

    fn afford(&self, weight: u64) -> Result<()> {
        if self.weight.saturating_add(weight) > self.weight_limit {
            return Err(ShapeError {
                offset: 0,
                read: "a tuple of more parts than can be kept".to_owned(),
                expected: "expected fewer or flatter tuples",
            });
        }
        Ok(())
    }

    fn add(&mut self, shape: Shape, long: &str, short: &str, mut subshapes: Vec<Subshape>) -> ShapeId {
        if let Some(id) = self.by_text.get(long) {
            return *id;
        }
        let id = ShapeId(self.entries.len() as u32);
        subshapes[0].shape = id;
        let spilled: usize =
            subshapes.iter().map(|s| if s.index.0.spilled() { s.index.0.len() * 4 } else { 0 }).sum();
        self.weight += (long.len() + short.len() + subshapes.len() * 32 + spilled) as u64 + 200;
        let long: Arc<str> = Arc::from(long);
        let short = if short == &*long { Arc::clone(&long) } else { Arc::from(short) };
        self.by_text.insert(Arc::clone(&long), id);
        self.entries.push(Entry { shape, long, short, subshapes: subshapes.into_boxed_slice() });
        id
    }

    fn add_leaf(&mut self, shape: Shape, long: &str, short: &str) -> ShapeId {
        self.add(shape, long, short, vec![Subshape { index: ShapeIndex::root(), shape: ShapeId(u32::MAX) }])
    }
}

/// What is open around the place that is being read.
enum Open {
    Tuple(Vec<ShapeId>),
    Buffer,
}

struct Parser<'a, 's> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    shapes: &'s mut Shapes,
}

impl Parser<'_, '_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') if self.bytes[self.at..].starts_with(b"/*") => {
                    let rest = &self.bytes[self.at + 2..];
                    let end = rest.windows(2).position(|w| w == b"*/").map_or(rest.len(), |n| n + 2);
                    self.at += 2 + end;
                }
                _ => return,
            }
        }
    }

    fn eat(&mut self, c: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    fn error<T>(&self, expected: &'static str) -> Result<T> {
        let read = self.text.get(self.at..).and_then(|t| t.chars().next());
        let read = read.map_or_else(|| "the end of the shape".to_owned(), |c| quote(&c.to_string()));
        Err(ShapeError { offset: self.at, read, expected })
    }

    fn number(&mut self, expected: &'static str) -> Result<u64> {
        self.skip_space();
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if start == self.at {
            return self.error(expected);
        }
        let digits = &self.text[start..self.at];
        match digits.parse::<u64>() {
            Ok(n) if i64::try_from(n).is_ok() => Ok(n),
            _ => Err(ShapeError {
                offset: start,
                read: quote(digits),
                expected: "expected a number below 2^63",
            }),
        }
    }

    fn shape(mut self) -> Result<(ShapeId, usize)> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.skip_space();
            let mut done = if self.peek() == Some(b'(') {
                if open.len() >= MAX_TUPLE_DEPTH {
                    return self.error("expected tuples nested at most 100 deep");
                }
                self.at += 1;
                if self.eat(b')') {
                    self.shapes.add_leaf(Shape::Tuple(Vec::new()), "()", "()")
                } else {
                    open.push(Open::Tuple(Vec::new()));
                    continue;
                }
            } else {
                let start = self.at;
                while matches!(self.peek(), Some(b'a'..=b'z' | b'0'..=b'9' | b'_')) {
                    self.at += 1;
                }
                let name = &self.text[start..self.at];
                if name == "b" && self.peek() == Some(b'(') {
                    if open.len() >= MAX_TUPLE_DEPTH {
                        return self.error("expected shapes nested at most 100 deep");
                    }
                    self.at += 1;
                    open.push(Open::Buffer);
                    continue;
                }
                self.leaf(name, start)?
            };
            // Closes whatever ends here.
            loop {
                match open.last_mut() {
                    None => return Ok((done, self.at)),
                    Some(Open::Buffer) => {
                        if !self.eat(b')') {
                            return self.error("expected `)` after the buffer's shape");
                        }
                        open.pop();
                        let inner = &self.shapes.entries[done.0 as usize];
                        self.shapes.afford((inner.long.len() + inner.short.len()) as u64)?;
                        let (long, short) = (format!("b({})", inner.long), format!("b({})", inner.short));
                        done = self.shapes.add_leaf(Shape::Buffer(done), &long, &short);
                    }
                    Some(Open::Tuple(elements)) => {
                        elements.push(done);
                        if self.eat(b',') {
                            break;
                        }
                        if !self.eat(b')') {
                            return self.error("expected `,` or `)` in the tuple");
                        }
                        if let Some(Open::Tuple(elements)) = open.pop() {
                            let at = self.at;
                            done = self
                                .shapes
                                .intern_tuple(&elements)
                                .map_err(|e| ShapeError { offset: at - 1, ..e })?;
                        }
                    }
                }
            }
        }
    }

    /// An array, a token, an opaque: all that starts with a type's name.
    fn leaf(&mut self, name: &str, start: usize) -> Result<ShapeId> {
        // Elements of tuples are mostly shapes seen before; their text is found without being parsed.
        let known = simple_extent(self.bytes, self.at)
            .and_then(|end| self.shapes.by_text.get(&self.text[start..end]).map(|id| (*id, end)));
        if let Some((id, end)) = known {
            self.at = end;
            return Ok(id);
        }
        let element = ElementType::from_name(name);
        if element.is_none() && name != "token" && name != "opaque" {
            self.at = start;
            if name.is_empty() {
                return self.error("expected a shape, for example `f32[4]{0}`");
            }
            return Err(ShapeError {
                offset: start,
                read: quote(name),
                expected: "expected an element type",
            });
        }
        self.shapes.afford(300)?;
        if !self.eat(b'[') {
            return self.error("expected `[` after the type");
        }
        let mut dims: SmallVec<[u64; 4]> = SmallVec::new();
        let mut dynamic = 0;
        if !self.eat(b']') {
            loop {
                self.skip_space();
                if dims.len() >= MAX_RANK {
                    return self.error("expected at most 64 dimensions");
                }
                if self.bytes[self.at..].starts_with(b"<=") {
                    self.at += 2;
                    dynamic |= 1 << dims.len();
                }
                if self.peek() == Some(b'?') {
                    return self.error("expected a bound: nothing can be said of memory without one");
                }
                dims.push(self.number("expected a dimension")?);
                if self.eat(b']') {
                    break;
                }
                if !self.eat(b',') {
                    return self.error("expected `,` or `]`");
                }
            }
        }
        let Some(element) = element else {
            if !dims.is_empty() {
                self.at = start;
                return self.error("expected `[]`: this type has no dimensions");
            }
            if self.bytes[self.at..].starts_with(b"{}") {
                self.at += 2;
            }
            return Ok(match name {
                "token" => self.shapes.add_leaf(Shape::Token, "token[]", "token[]"),
                _ => self.shapes.add_leaf(Shape::Opaque, "opaque[]", "opaque[]"),
            });
        };
        // XLA keeps sizes in signed 64 bits; zero-sized dimensions must not hide an overflow from sums of strides.
        let bits = dims.iter().try_fold(element.bits(), |n, d| n.checked_mul((*d).max(1)));
        if bits.is_none_or(|bits| i64::try_from(bits).is_err()) {
            return Err(ShapeError {
                offset: start,
                read: quote(&self.text[start..self.at]),
                expected: "expected an array of less than 2^63 bits",
            });
        }
        let mut short = String::from(element.name());
        short.push('[');
        for (i, d) in dims.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            let bound = if dynamic >> i & 1 == 1 { "<=" } else { "" };
            _ = write!(short, "{comma}{bound}{d}");
        }
        short.push(']');
        let mut long = short.clone();
        let layout = if self.peek() == Some(b'{') { self.layout(dims.len(), &mut long)? } else { None };
        Ok(self.shapes.add_leaf(Shape::Array { element, dims, dynamic, layout }, &long, &short))
    }

    fn layout(&mut self, rank: usize, long: &mut String) -> Result<Option<Box<Layout>>> {
        let start = self.at;
        self.at += 1;
        let mut layout = Layout::default();
        let mut seen = 0_u64;
        self.skip_space();
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            let at = self.at;
            let n = self.number("expected a dimension's number")?;
            if n >= rank as u64 || seen >> n & 1 == 1 {
                self.at = at;
                return self.error("expected each dimension's number once");
            }
            seen |= 1 << n;
            layout.minor_to_major.push(n as u32);
            if !self.eat(b',') {
                break;
            }
            self.skip_space();
        }
        if layout.minor_to_major.len() != rank {
            return Err(ShapeError {
                offset: start,
                read: format!("a layout of {} dimensions", layout.minor_to_major.len()),
                expected: "expected as many as the array has",
            });
        }
        let mut tail = String::new();
        if self.eat(b':') {
            self.properties(&mut layout, &mut tail)?;
        }
        if !self.eat(b'}') {
            return self.error("expected `}` after the layout");
        }
        if rank == 0 && tail.is_empty() {
            return Ok(None);
        }
        long.push('{');
        for (i, n) in layout.minor_to_major.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            _ = write!(long, "{comma}{n}");
        }
        if !tail.is_empty() {
            long.push(':');
            long.push_str(&tail);
        }
        long.push('}');
        Ok(Some(Box::new(layout)))
    }

    /// `T(8,128)(2,1)E(4)S(1)...`: what is not needed is kept in the text only.
    fn properties(&mut self, layout: &mut Layout, tail: &mut String) -> Result<()> {
        let mut key = "";
        loop {
            self.skip_space();
            let start = self.at;
            match self.peek() {
                Some(b'A'..=b'Z') => {
                    while matches!(self.peek(), Some(b'A'..=b'Z')) {
                        self.at += 1;
                    }
                    key = &self.text[start..self.at];
                }
                Some(b'#' | b'*') => {
                    self.at += 1;
                    key = &self.text[start..self.at];
                }
                // A second group belongs to the key before: `T(8,128)(2,1)`.
                Some(b'(') if !key.is_empty() => {}
                _ => return Ok(()),
            }
            tail.push_str(&self.text[start..self.at]);
            if !self.eat(b'(') {
                return self.error("expected `(`");
            }
            let body = self.at;
            let mut depth = 0_u32;
            let end = loop {
                match self.peek() {
                    None => return self.error("expected `)`"),
                    Some(b'(') => depth += 1,
                    Some(b')') if depth == 0 => break self.at,
                    Some(b')') => depth -= 1,
                    _ => {}
                }
                self.at += 1;
            };
            self.at += 1;
            let group = &self.text[body..end];
            tail.push('(');
            tail.extend(group.chars().filter(|c| !c.is_whitespace()));
            tail.push(')');
            let bad = || ShapeError {
                offset: body,
                read: quote(group),
                expected: "expected a layout property as XLA writes it",
            };
            match key {
                "T" => {
                    let tile = group.split(',').map(|n| match n.trim() {
                        "*" => Ok(None),
                        n => n
                            .parse::<u64>()
                            .ok()
                            .filter(|n| i64::try_from(*n).is_ok())
                            .map(Some)
                            .ok_or_else(bad),
                    });
                    layout.tiles.push(Tile(tile.collect::<Result<_>>()?));
                }
                "E" => layout.element_size_in_bits = group.trim().parse::<u32>().map_err(|_| bad())?.into(),
                "S" => layout.memory_space = group.trim().parse().map_err(|_| bad())?,
                "SC" => {
                    let (dim, cuts) = group.split_once(':').ok_or_else(bad)?;
                    let dim = dim.trim().parse().map_err(|_| bad())?;
                    let cuts: std::result::Result<_, _> = cuts.split(',').map(|n| n.trim().parse()).collect();
                    layout.split = Some((dim, cuts.map_err(|_| bad())?));
                }
                _ => {}
            }
        }
    }
}

/// Where `[4,5]{1,0}` at `at` ends, as long as it is written as XLA writes it.
fn simple_extent(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'[') {
        return None;
    }
    let close = at + bytes[at..].iter().position(|b| *b == b']')?;
    if bytes.get(close + 1) != Some(&b'{') {
        return Some(close + 1);
    }
    let end = close + 1 + bytes[close + 1..].iter().position(|b| *b == b'}')?;
    Some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `text` becomes `expected`: `LONG | SHORT`, or the error.
    fn check(text: &str, expected: &str) {
        let mut shapes = Shapes::default();
        let got = match shapes.intern(text) {
            Ok(id) => format!("{} | {}", shapes.long(id), shapes.short(id)),
            Err(e) => format!("{}: {e}", e.offset),
        };
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn canonical_texts() {
        check("f32[4, 5]{1, 0}", "f32[4,5]{1,0} | f32[4,5]");
        check("f32[]", "f32[] | f32[]");
        check("f32[]{}", "f32[] | f32[]");
        check("u32[]{:S(2)}", "u32[]{:S(2)} | u32[]");
        check("f32[<=10,3]{1,0}", "f32[<=10,3]{1,0} | f32[<=10,3]");
        check("()", "() | ()");
        check("( )", "() | ()");
        check("(token[], opaque[])", "(token[], opaque[]) | (token[], opaque[])");
        check("b(f32[4]{0})", "b(f32[4]{0}) | b(f32[4])");
        check("((f32[2]{0}), (), s32[])", "((f32[2]{0}), (), s32[]) | ((f32[2]), (), s32[])");
        check(
            "(u8[],u8[],u8[],u8[],u8[],u8[])",
            "(u8[], u8[], u8[], u8[], u8[], /*index=5*/u8[]) | (u8[], u8[], u8[], u8[], u8[], /*index=5*/u8[])",
        );
        check("bf16[8,128]{1,0:T(8, 128)(2,1)S(1)}", "bf16[8,128]{1,0:T(8,128)(2,1)S(1)} | bf16[8,128]");
        check("f32[4]{0:#(u8)*(u64)}", "f32[4]{0:#(u8)*(u64)} | f32[4]");
        check("f32[10,10]{1,0:D(D,C)}", "f32[10,10]{1,0:D(D,C)} | f32[10,10]");
    }

    #[test]
    fn properties_are_read() {
        let mut shapes = Shapes::default();
        let id = shapes.intern("s4[64,512]{1,0:T(*,8,128)(2,1)E(4)S(5)SC(0:32,48)}").expect("a shape");
        let Shape::Array { layout: Some(layout), .. } = shapes.get(id) else {
            panic!("an array with a layout")
        };
        assert_eq!(layout.minor_to_major.as_slice(), [1, 0]);
        assert_eq!(layout.tiles[0].0.as_slice(), [None, Some(8), Some(128)]);
        assert_eq!(layout.tiles[1].0.as_slice(), [Some(2), Some(1)]);
        assert_eq!((layout.element_size_in_bits, layout.memory_space), (4, 5));
        assert_eq!(layout.split.as_ref().map(|(d, c)| (*d, c.to_vec())), Some((0, vec![32, 48])));
    }

    #[test]
    fn places_inside_a_tuple() {
        let mut shapes = Shapes::default();
        let id = shapes.intern("((f32[2]{0}, s32[]), pred[])").expect("a shape");
        let places: Vec<_> =
            shapes.subshapes(id).iter().map(|s| format!("{} {}", s.index, shapes.short(s.shape))).collect();
        let expected = [
            "{} ((f32[2], s32[]), pred[])",
            "{0} (f32[2], s32[])",
            "{0,0} f32[2]",
            "{0,1} s32[]",
            "{1} pred[]",
        ];
        assert_eq!(places, expected);
        assert_eq!(shapes.find(id, &[1]), Some(4));
        assert_eq!(shapes.find(id, &[2]), None);
    }

    #[test]
    fn what_is_no_shape() {
        check("", "0: the end of the shape, expected a shape, for example `f32[4]{0}`");
        check("f33[4]", "0: `f33`, expected an element type");
        check("f32[4", "5: the end of the shape, expected `,` or `]`");
        check("f32[?]", "4: `?`, expected a bound: nothing can be said of memory without one");
        check("f32[-1]", "4: `-`, expected a dimension");
        check("f32[4]{1}", "7: `1`, expected each dimension's number once");
        check("f32[4,4]{0}", "8: a layout of 1 dimensions, expected as many as the array has");
        check("f32[99999999999999999999]", "4: `99999999999999999999`, expected a number below 2^63");
        check(
            "f32[4294967296,4294967296]",
            "0: `f32[4294967296,4294967296]`, expected an array of less than 2^63 bits",
        );
        check("f32[4]{0} x", "9: ` `, expected the shape's end");
        check("f32[4]{0:T(x)}", "11: `x`, expected a layout property as XLA writes it");
        check(&"(".repeat(101), "100: `(`, expected tuples nested at most 100 deep");
        check(&"(".repeat(1_000_000), "100: `(`, expected tuples nested at most 100 deep");
    }

    #[test]
    fn small_texts_cannot_ask_for_much_memory() {
        let mut shapes = Shapes::default();
        let text = format!("{}{}(){}", "(".repeat(99), "(), ".repeat(1_000_000), ")".repeat(99));
        let error = shapes.intern(&text).expect_err("too much");
        assert_eq!(error.read, "a tuple of more parts than can be kept");
    }
}
