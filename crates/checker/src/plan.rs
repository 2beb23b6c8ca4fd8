//! What is to be checked: where each value is said to lie, read from XLA's `-buffer-assignment.txt`.

use hlo::{Location, ShapeIndex};
use std::fmt;

/// A number of an allocation that no file uses: counts are capped before memory is taken.
const MOST_ALLOCATIONS: usize = 1 << 24;

/// One allocation: a stretch of memory of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// Bytes.
    pub size: u64,
    /// The colour, 0 where the file gives none.
    pub color: u32,
    /// The entry parameter that stands here when the program starts: its number and the place inside it.
    pub parameter: Option<(u32, ShapeIndex)>,
    /// Holds constants.
    pub is_constant: bool,
    /// Belongs to a computation that runs inside a single step.
    pub is_thread_local: bool,
    /// Is read by whoever called the program, after its end.
    pub maybe_live_out: bool,
}

/// Where one value lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// The instruction that defines the value.
    pub instruction: String,
    /// The place inside the instruction's result.
    pub index: ShapeIndex,
    /// The allocation's number.
    pub allocation: u32,
    /// Bytes from the allocation's start.
    pub offset: u64,
    /// Bytes that belong to the value.
    pub size: u64,
    /// The line of the file, from 1; for messages only.
    pub line: u32,
}

/// A whole assignment: allocations by number, and a line for each value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// The allocations by number.
    pub allocations: Vec<Allocation>,
    /// The values in the order of the file.
    pub placements: Vec<Placement>,
    /// Does the file speak of pages, as only TPU compilers do?
    pub has_pages: bool,
}

/// What is wrong with the text of an assignment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanError {
    /// Where.
    pub at: Location,
    /// What was read there.
    pub read: String,
    /// What was expected.
    pub expected: &'static str,
}

impl fmt::Display for PlanError {
    /// `LINE:COLUMN: READ, expected EXPECTED`; the caller puts the file's name in front.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}, expected {}", self.at.line, self.at.column, self.read, self.expected)
    }
}

impl std::error::Error for PlanError {}

/// The rest of one line, and where in the text it stands.
struct Cursor<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn offset(&self) -> u32 {
        u32::try_from(self.rest.as_ptr() as usize - self.text.as_ptr() as usize).unwrap_or(u32::MAX)
    }

    fn fail<T>(&self, expected: &'static str) -> Result<T, PlanError> {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let mut read: String = self.rest[..end].chars().take(24).collect();
        read = if read.is_empty() { "the end of the line".into() } else { format!("`{read}`") };
        Err(PlanError { at: Location::of(self.text, self.offset()), read, expected })
    }

    fn eat(&mut self, what: &str) -> bool {
        self.rest.strip_prefix(what).map(|r| self.rest = r).is_some()
    }

    fn need(&mut self, what: &'static str) -> Result<(), PlanError> {
        if self.eat(what) { Ok(()) } else { self.fail(what) }
    }

    fn number<T: std::str::FromStr>(&mut self, expected: &'static str) -> Result<T, PlanError> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let Ok(n) = self.rest[..end].parse() else { return self.fail(expected) };
        self.rest = &self.rest[end..];
        Ok(n)
    }

    fn until(&mut self, ends: &[char], expected: &'static str) -> Result<&'a str, PlanError> {
        match self.rest.find(ends) {
            Some(end) if end > 0 => {
                let word = &self.rest[..end];
                self.rest = &self.rest[end..];
                Ok(word)
            }
            _ => self.fail(expected),
        }
    }

    /// `{}`, `{0}`, `{1,2}`.
    fn index(&mut self) -> Result<ShapeIndex, PlanError> {
        self.need("{")?;
        let mut index = ShapeIndex::root();
        while !self.eat("}") {
            if !index.is_root() {
                self.need(",")?;
            }
            if index.0.len() >= hlo::MAX_TUPLE_DEPTH {
                return self.fail("a shallower index");
            }
            index.0.push(self.number("a number")?);
        }
        Ok(index)
    }
}

impl Plan {
    /// Reads `-buffer-assignment.txt` (specification, 9.1). Words in an allocation's line that it does not know are
    /// passed over.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let mut plan = Self::default();
        let mut begun = false;
        for (number, line) in (1_u32..).zip(text.lines()) {
            let mut at = Cursor { text, rest: line };
            if line.trim().is_empty() {
                continue;
            }
            if !begun {
                at.need("BufferAssignment:")?;
                begun = true;
            } else if at.eat("allocation ") {
                plan.allocation(&mut at)?;
            } else {
                plan.value(&mut at, number)?;
            }
        }
        if !begun {
            return Cursor { text, rest: &text[text.len()..] }.fail("BufferAssignment:");
        }
        Ok(plan)
    }

    fn allocation(&mut self, at: &mut Cursor<'_>) -> Result<(), PlanError> {
        let before = at.rest;
        let number: usize = at.number("the allocation's number")?;
        if number != self.allocations.len() || number > MOST_ALLOCATIONS {
            at.rest = before;
            return at.fail("allocations numbered from 0 without gaps");
        }
        at.need(": size ")?;
        let mut allocation = Allocation {
            size: at.number("a size in bytes")?,
            color: 0,
            parameter: None,
            is_constant: false,
            is_thread_local: false,
            maybe_live_out: false,
        };
        loop {
            if at.rest.trim_end() == ":" {
                break;
            }
            at.need(", ")?;
            if at.eat("color ") {
                allocation.color = at.number("a colour")?;
            } else if at.eat("parameter ") {
                let number = at.number("the parameter's number")?;
                at.need(", shape |")?;
                let Some(end) = at.rest.find('|') else { return at.fail("a shape") };
                at.rest = &at.rest[end..];
                at.need("| at ShapeIndex ")?;
                allocation.parameter = Some((number, at.index()?));
            } else if at.eat("output shape is |") {
                let Some(end) = at.rest.find('|') else { return at.fail("a shape") };
                at.rest = &at.rest[end + 1..];
            } else {
                match at.until(&[',', ':'], "a property of the allocation")? {
                    "constant" => allocation.is_constant = true,
                    "thread-local" => allocation.is_thread_local = true,
                    "maybe-live-out" => allocation.maybe_live_out = true,
                    word if word.starts_with("page ") => self.has_pages = true,
                    _ => {}
                }
            }
        }
        self.allocations.push(allocation);
        Ok(())
    }

    fn value(&mut self, at: &mut Cursor<'_>, line: u32) -> Result<(), PlanError> {
        at.rest = at.rest.trim_start();
        if !at.rest.starts_with("value: <") {
            return at.fail("`allocation ` or ` value: <`");
        }
        at.need("value: <")?;
        if self.allocations.is_empty() {
            return at.fail("an allocation before its values");
        }
        let _: u64 = at.number("the value's number")?;
        at.need(" ")?;
        let name = at.until(&[' ', '>', '{'], "the value's name")?;
        let index = if at.rest.starts_with('{') { at.index()? } else { ShapeIndex::root() };
        let Some(end) = at.rest.find("> (size=") else { return at.fail("> (size=") };
        at.rest = &at.rest[end..];
        at.need("> (size=")?;
        let size = at.number("a size in bytes")?;
        at.need(",offset=")?;
        let offset = at.number("an offset in bytes")?;
        at.need(")")?;
        let allocation = self.allocations.len() as u32 - 1;
        self.placements.push(Placement { instruction: name.into(), index, allocation, offset, size, line });
        Ok(())
    }
}
