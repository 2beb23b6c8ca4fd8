//! The address space: which datum stands in which bytes.

use std::collections::BTreeMap;

/// What stands in a byte: one write of one value, at one step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Token(pub(crate) u32);

/// Bytes of one allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub(crate) allocation: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// Bytes that hold one datum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub(crate) range: Range,
    pub(crate) token: Token,
}

/// One write, and how many of the `undo` segments belong to it.
struct Entry {
    range: Range,
    undo_from: usize,
}

/// A map from bytes to data for each allocation, with a journal while somebody may want to go back.
pub(crate) struct Memory {
    maps: Vec<BTreeMap<u64, (u64, Token)>>,
    journal: Vec<Entry>,
    undo: Vec<Segment>,
    listeners: usize,
}

/// A moment to which the memory can be taken back.
#[derive(Clone, Copy)]
pub(crate) struct Mark(usize);

impl Memory {
    pub(crate) fn new(allocations: usize) -> Self {
        Self {
            maps: (0..allocations).map(|_| BTreeMap::new()).collect(),
            journal: Vec::new(),
            undo: Vec::new(),
            listeners: 0,
        }
    }

    /// What stands in the range, piece by piece; bytes that nobody has written are left out.
    pub(crate) fn segments(&self, range: Range) -> impl Iterator<Item = Segment> + '_ {
        let map = &self.maps[range.allocation as usize];
        let first = map.range(..range.start).next_back().filter(|(_, (end, _))| *end > range.start);
        let rest = map.range(range.start..range.end.max(range.start));
        first.into_iter().chain(rest).map(move |(start, (end, token))| Segment {
            range: Range {
                allocation: range.allocation,
                start: (*start).max(range.start),
                end: (*end).min(range.end),
            },
            token: *token,
        })
    }

    /// The first bytes of the range that do not hold the datum, and what they hold.
    pub(crate) fn lost(&self, range: Range, token: Token) -> Option<(Range, Option<Token>)> {
        let mut at = range.start;
        for s in self.segments(range) {
            if s.range.start > at {
                return Some((Range { start: at, end: s.range.start, ..range }, None));
            }
            if s.token != token {
                return Some((s.range, Some(s.token)));
            }
            at = s.range.end;
        }
        (at < range.end).then_some((Range { start: at, ..range }, None))
    }

    pub(crate) fn write(&mut self, range: Range, token: Token) {
        if range.start >= range.end {
            return;
        }
        if self.listeners > 0 {
            let undo_from = self.undo.len();
            let old: Vec<Segment> = self.segments(range).collect();
            self.undo.extend(old);
            self.journal.push(Entry { range, undo_from });
        }
        self.clear(range);
        self.maps[range.allocation as usize].insert(range.start, (range.end, token));
    }

    fn clear(&mut self, range: Range) {
        let map = &mut self.maps[range.allocation as usize];
        if let Some((start, (end, token))) = map.range(..range.start).next_back().map(|(s, v)| (*s, *v))
            && end > range.start
        {
            map.insert(start, (range.start, token));
            if end > range.end {
                map.insert(range.end, (end, token));
            }
        }
        while let Some((start, (end, token))) =
            map.range(range.start..range.end).next().map(|(s, v)| (*s, *v))
        {
            map.remove(&start);
            if end > range.end {
                map.insert(range.end, (end, token));
            }
        }
    }

    /// Starts to keep a journal, or goes on with the one that is kept.
    pub(crate) fn listen(&mut self) -> Mark {
        self.listeners += 1;
        Mark(self.journal.len())
    }

    /// Says that nobody will go back to the mark any more.
    pub(crate) fn stop(&mut self) {
        self.listeners -= 1;
        if self.listeners == 0 {
            self.journal.clear();
            self.undo.clear();
        }
    }

    /// All bytes written since the mark, with what they hold now.
    pub(crate) fn written_since(&self, mark: Mark) -> Vec<Segment> {
        let mut ranges: Vec<Range> = self.journal[mark.0..].iter().map(|e| e.range).collect();
        ranges.sort_by_key(|r| (r.allocation, r.start, r.end));
        let mut out = Vec::new();
        let mut done = (0, 0);
        for mut r in ranges {
            if done.0 == r.allocation {
                r.start = r.start.max(done.1);
            }
            if r.start < r.end {
                out.extend(self.segments(r));
                done = (r.allocation, r.end);
            }
        }
        out
    }

    /// Undoes all writes since the mark.
    pub(crate) fn roll_back(&mut self, mark: Mark) {
        while self.journal.len() > mark.0 {
            let Some(entry) = self.journal.pop() else { return };
            self.clear(entry.range);
            for s in self.undo.drain(entry.undo_from..) {
                self.maps[s.range.allocation as usize].insert(s.range.start, (s.range.end, s.token));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> Range {
        Range { allocation: 0, start, end }
    }

    fn picture(m: &Memory) -> String {
        m.segments(range(0, 100))
            .map(|s| format!("{}-{}:{}", s.range.start, s.range.end, s.token.0))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn a_write_inside_another_leaves_both_sides() {
        let mut m = Memory::new(1);
        m.write(range(0, 30), Token(1));
        m.write(range(10, 20), Token(2));
        assert_eq!(picture(&m), "0-10:1 10-20:2 20-30:1");
        assert_eq!(m.lost(range(0, 30), Token(1)), Some((range(10, 20), Some(Token(2)))));
        assert_eq!(m.lost(range(22, 30), Token(1)), None);
        assert_eq!(m.lost(range(25, 40), Token(1)), Some((range(30, 40), None)));
    }

    #[test]
    fn going_back_restores_holes_and_pieces() {
        let mut m = Memory::new(1);
        m.write(range(0, 10), Token(1));
        m.write(range(20, 30), Token(2));
        let before = picture(&m);
        let mark = m.listen();
        m.write(range(5, 25), Token(3));
        let inner = m.listen();
        m.write(range(8, 12), Token(4));
        assert_eq!(m.written_since(inner).len(), 1);
        m.stop();
        assert_eq!(m.written_since(mark).len(), 3);
        m.roll_back(mark);
        m.stop();
        assert_eq!(
            picture(&m).replace("0-5:1 5-10:1", "0-10:1").replace("20-25:2 25-30:2", "20-30:2"),
            before
        );
        assert_eq!(m.lost(range(0, 10), Token(1)), None);
    }
}
