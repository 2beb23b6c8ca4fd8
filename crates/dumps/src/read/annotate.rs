//! What each line of a dump is, for a reader who has the file before them.

use super::lines::{Cursor, Line, Lines};
use super::{
    AllocationRecord, BreakdownLine, PeakEntry, PlacedRecord, RangeRecord, ReportRow, Section, ShortValue,
    Size, UseRecord, ValueName, buffer_assignment, live_range, report, section, short_value, values,
};

/// What a line is, with what was read of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LineKind {
    /// Nothing.
    Blank,
    /// `BufferAssignment:`
    AssignmentTitle,
    /// The head of an allocation; its values are in the lines below.
    Allocation(Box<AllocationRecord>),
    /// A value in an allocation.
    Placed {
        /// The allocation's number.
        allocation: u32,
        /// The value.
        placed: PlacedRecord,
    },
    /// Values of other memory spaces that use the allocation above.
    Reused,
    /// `Total bytes used: N`
    Total(Size),
    /// `Used values:`
    ValuesTitle,
    /// The head of a value.
    Value(ShortValue),
    /// ` positions:`
    PositionsTitle,
    /// ` uses:`
    UsesTitle,
    /// A place at which a value stands.
    Position {
        /// The value.
        of: ValueName,
        /// The place.
        at: ValueName,
    },
    /// A reader of a value.
    Use {
        /// The value.
        of: ValueName,
        /// Its reader.
        by: UseRecord,
    },
    /// A value has no reader.
    NoUse {
        /// The value.
        of: ValueName,
    },
    /// The instruction that makes a value.
    Instruction {
        /// The value.
        of: ValueName,
    },
    /// `HloLiveRange (max N):`
    LiveRangeTitle {
        /// How many steps the program has.
        end: u32,
    },
    /// `InstructionSequence:`
    SequenceTitle,
    /// A step of the schedule.
    Step {
        /// Its number.
        step: u32,
        /// The instruction that runs.
        name: String,
    },
    /// `BufferLiveRange:`
    RangesTitle,
    /// A live range.
    Range(RangeRecord),
    /// `Live ranges at T (peak):`
    PeakTitle {
        /// The step of the peak.
        step: u32,
    },
    /// A value that is alive at the peak.
    Peak(PeakEntry),
    /// `Stack trace breakdown for peak usage`
    BreakdownTitle,
    /// A line of the tree.
    Breakdown(BreakdownLine),
    /// Sizes are not known, so there is no peak.
    Unbounded,
    /// A memory space of the report.
    Space {
        /// Its name.
        name: String,
        /// Its number.
        color: u32,
    },
    /// The sum of a memory space.
    SpaceTotal(Size),
    /// The heading of a block, or the rule under it.
    BlockTitle {
        /// Which block of the whole file, from 0.
        block: u32,
    },
    /// A row of a block.
    Row {
        /// Which block of the whole file, from 0.
        block: u32,
        /// The row.
        row: ReportRow,
    },
    /// Rows were left out.
    RowsLeftOut {
        /// Which block of the whole file, from 0.
        block: u32,
    },
    /// None of these.
    Unread,
}

/// What the lines under a heading are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    None,
    Positions,
    Uses,
    Sequence,
    Ranges,
    Peak,
    Breakdown,
    Report,
}

struct State {
    list: List,
    allocation: u32,
    value: ValueName,
    /// How many blocks have begun.
    blocks: u32,
}

/// Says of each line what it is; the first is that of line 1. Takes whatever [`super::everything`] takes.
#[must_use]
pub fn annotate(text: &str) -> Vec<LineKind> {
    let mut lines = Lines::new(text);
    let mut state = State { list: List::None, allocation: 0, value: ValueName::default(), blocks: 0 };
    let mut out = Vec::new();
    while let Some(line) = lines.peek() {
        let begins = section(&lines, line.text);
        out.push(state.line(line, begins).unwrap_or(LineKind::Unread));
        lines.next();
    }
    out
}

impl State {
    fn line(&mut self, line: Line<'_>, begins: Option<Section>) -> Option<LineKind> {
        let text = line.text.trim();
        if text.is_empty() {
            return Some(LineKind::Blank);
        }
        if self.list == List::Breakdown && begins.is_none() {
            return live_range::breakdown_line(line).ok().map(LineKind::Breakdown);
        }
        if let Some(kind) = self.heading(line, text, begins) {
            return Some(kind);
        }
        let mut at = Cursor::new(line);
        at.spaces();
        let of = || self.value.clone();
        match self.list {
            List::Positions => {
                values::position(&mut at).ok().map(|place| LineKind::Position { of: of(), at: place })
            }
            List::Uses if text == "(none)" => Some(LineKind::NoUse { of: of() }),
            List::Uses => values::read_use(&mut at).ok().map(|by| LineKind::Use { of: of(), by }),
            List::Sequence => live_range::step(line).ok().map(|(step, name)| LineKind::Step { step, name }),
            List::Ranges => live_range::range(line).ok().map(LineKind::Range),
            List::Peak => live_range::peak_entry(line).ok().map(LineKind::Peak),
            List::Report => {
                let block = self.blocks.saturating_sub(1);
                if text.starts_with("----") {
                    Some(LineKind::BlockTitle { block })
                } else if text.starts_with("The rest ") {
                    Some(LineKind::RowsLeftOut { block })
                } else if text.contains("; allocation ") {
                    report::old_row(line).ok().map(|row| LineKind::Allocation(Box::new(row.allocation)))
                } else {
                    report::row(line).ok().map(|row| LineKind::Row { block, row })
                }
            }
            List::Breakdown | List::None => None,
        }
    }

    /// A heading: the lines under it are of `list`.
    fn go(&mut self, list: List, kind: LineKind) -> LineKind {
        self.list = list;
        kind
    }

    /// Lines that say by themselves what they are.
    fn heading(&mut self, line: Line<'_>, text: &str, begins: Option<Section>) -> Option<LineKind> {
        let mut at = Cursor::new(line);
        at.spaces();
        let number_after = |mut at: Cursor<'_>, start: &str| {
            at.eat(start);
            at.spaces();
            at.number32().ok()
        };
        if text.starts_with("BufferAssignment:") {
            Some(self.go(List::None, LineKind::AssignmentTitle))
        } else if text.starts_with("allocation ") {
            let mut a = AllocationRecord::default();
            at.eat("allocation ");
            buffer_assignment::header(&mut at, &mut a).ok()?;
            self.list = List::None;
            self.allocation = a.number;
            Some(LineKind::Allocation(Box::new(a)))
        } else if text.starts_with("value: ") {
            let placed = buffer_assignment::value(line).ok()?;
            Some(LineKind::Placed { allocation: self.allocation, placed })
        } else if text.starts_with("reused by buffers of a different color:") {
            Some(LineKind::Reused)
        } else if text.starts_with("Total bytes used:") {
            let list = if begins == Some(Section::Report) { List::Report } else { List::None };
            Some(self.go(list, LineKind::Total(report::total(line).ok()?)))
        } else if text.starts_with("Used values:") {
            Some(self.go(List::None, LineKind::ValuesTitle))
        } else if text.starts_with('<') && self.list != List::Report {
            let value = short_value(&mut at).ok()?;
            self.list = List::None;
            self.value.clone_from(&value.name);
            Some(LineKind::Value(value))
        } else if text == "positions:" {
            Some(self.go(List::Positions, LineKind::PositionsTitle))
        } else if text == "uses:" {
            Some(self.go(List::Uses, LineKind::UsesTitle))
        } else if text.starts_with("from instruction:") {
            let of = self.value.clone();
            self.list = List::None;
            Some(LineKind::Instruction { of })
        } else if text.starts_with("HloLiveRange (max") {
            let end = number_after(at, "HloLiveRange (max")?;
            Some(self.go(List::None, LineKind::LiveRangeTitle { end }))
        } else if text.starts_with("InstructionSequence:") {
            Some(self.go(List::Sequence, LineKind::SequenceTitle))
        } else if text.starts_with("BufferLiveRange:") {
            Some(self.go(List::Ranges, LineKind::RangesTitle))
        } else if text.starts_with("Live ranges at ") {
            let step = number_after(at, "Live ranges at ")?;
            Some(self.go(List::Peak, LineKind::PeakTitle { step }))
        } else if text.starts_with("Stack trace breakdown") {
            Some(self.go(List::Breakdown, LineKind::BreakdownTitle))
        } else if text.starts_with("Peak memory could not be determined") {
            Some(self.go(List::None, LineKind::Unbounded))
        } else if text.starts_with("Memory Space:") {
            let space = report::space(line).ok()?;
            Some(self.go(List::Report, LineKind::Space { name: space.name, color: space.color }))
        } else if text.starts_with("Total bytes:") {
            report::total(line).ok().map(LineKind::SpaceTotal)
        } else if text.starts_with("Allocations sorted by size:") {
            Some(self.go(List::Report, LineKind::BlockTitle { block: 0 }))
        } else if text.starts_with("cumulative_size;") {
            self.list = List::Report;
            self.blocks += 1;
            Some(LineKind::BlockTitle { block: self.blocks - 1 })
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_small_dump() {
        let text = "\
BufferAssignment:
allocation 2: size 256, preallocated-temp:
 value: <3 c @0> (size=256,offset=0): f32[64]{0}

Total bytes used: 768 (768B)

Used values:
<3 c @0>
 positions:
  c
 uses:
  d, operand 0
 from instruction: %c = f32[64]{0} reverse(%b), dimensions={0}
HloLiveRange (max 5):
  InstructionSequence:
    0:x
  BufferLiveRange:
    x{}:0-5
  Live ranges at 2 (peak):
    x{}: 256 bytes (cumulative: 256 bytes)
  Stack trace breakdown for peak usage: 256 bytes
    main (100.0%, total: 256 bytes, current: 0 bytes, remaining: 256 bytes)
Memory Space: default (color=0)
Total bytes: 768 (768B)
  cumulative_size;       size;       offset; used_by_n_values; shapes_list
  ------------------------------------------------------------
       256B(100%);       256B;            0;                3; 3×f32[64]

what is this
";
        let kinds = annotate(text);
        let names: Vec<String> = kinds
            .iter()
            .map(|k| {
                let text = format!("{k:?}");
                text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
            })
            .collect();
        assert_eq!(
            names,
            [
                "AssignmentTitle",
                "Allocation",
                "Placed",
                "Blank",
                "Total",
                "Blank",
                "ValuesTitle",
                "Value",
                "PositionsTitle",
                "Position",
                "UsesTitle",
                "Use",
                "Instruction",
                "LiveRangeTitle",
                "SequenceTitle",
                "Step",
                "RangesTitle",
                "Range",
                "PeakTitle",
                "Peak",
                "BreakdownTitle",
                "Breakdown",
                "Space",
                "SpaceTotal",
                "BlockTitle",
                "BlockTitle",
                "Row",
                "Blank",
                "Unread",
            ]
        );
        let LineKind::Placed { allocation, placed } = &kinds[2] else { panic!("{:?}", kinds[2]) };
        assert_eq!((*allocation, placed.offset, placed.value.name.to_string().as_str()), (2, 0, "c"));
        assert!(
            matches!(&kinds[11], LineKind::Use { of, by } if of.instruction == "c" && by.instruction == "d")
        );
    }
}
