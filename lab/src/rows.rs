//! Lists of values: filtered, put together, sorted, and added up with each address counted once.

use crate::talk::{Filter, Group, Kind, RowLine, Rows, RowsQuery, Sort};
use crate::text::{cut, pattern};
use questions::{Row, Study, without_numbers};
pub use report::space_name;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Bytes that were counted already, by allocation.
#[derive(Default)]
pub(crate) struct Counted(FxHashMap<usize, BTreeMap<u64, u64>>);

impl Counted {
    /// Counts a stretch of an allocation and gives how many of its bytes are new.
    pub(crate) fn add(&mut self, slab: usize, from: u64, to: u64) -> u64 {
        if from >= to {
            return 0;
        }
        let map = self.0.entry(slab).or_default();
        let (mut low, mut high, mut known) = (from, to, 0u64);
        // Whatever touches it is joined with it.
        while let Some((&start, &end)) = map.range(..=high).next_back().filter(|(_, end)| **end >= low) {
            known += end.min(to).saturating_sub(start.max(from));
            low = low.min(start);
            high = high.max(end);
            map.remove(&start);
        }
        map.insert(low, high);
        (to - from).saturating_sub(known)
    }

    pub(crate) fn add_row(&mut self, row: &Row) -> u64 {
        self.add(row.slab, row.offset, row.offset.saturating_add(row.size))
    }
}

/// Is a value alive at a step?
pub(crate) fn is_alive(row: &Row, step: u32) -> bool {
    row.range.is_some_and(|(start, end)| start <= step && step <= end)
}

/// How many steps a value is alive.
fn length(row: &Row) -> u32 {
    row.range.map_or(0, |(start, end)| end.saturating_sub(start).saturating_add(1))
}

/// The rows that meet a filter, in their own order.
pub(crate) fn fitting(study: &Study, filter: &Filter) -> Result<Vec<u32>, String> {
    let wanted = pattern(&filter.pattern)?;
    Ok(study
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| {
            let slab = study.slab(row);
            filter.kind.is_none_or(|k| k.role() == slab.role)
                && filter.color.is_none_or(|c| c == slab.color)
                && filter.allocation.is_none_or(|a| a == slab.number)
                && filter.alive_at.is_none_or(|step| is_alive(row, step))
                && row.size >= filter.min_bytes
                && length(row) >= filter.min_steps
                && wanted.as_ref().is_none_or(|w| {
                    w.is_match(&row.name.to_string())
                        || w.is_match(&row.shape)
                        || w.is_match(&row.origin.opcode)
                        || w.is_match(&row.origin.op_name)
                        || w.is_match(&row.origin.source_words())
                })
        })
        .map(|(i, _)| i as u32)
        .collect())
}

fn key(study: &Study, row: &Row, group: Group) -> String {
    let named = |text: String, without: &str| if text.is_empty() { without.to_owned() } else { text };
    match group {
        Group::None => row.name.to_string(),
        Group::Shape => format!("{} {}", row.shape, row.origin.opcode),
        Group::Op => named(without_numbers(row.origin.operation()), "without an op_name"),
        Group::Scope => named(without_numbers(row.origin.scope()), "without a scope"),
        Group::Line => named(row.origin.source_words(), "without a source line"),
        Group::Opcode => named(row.origin.opcode.clone(), "unknown"),
        Group::Kind => study.slab(row).role.name().to_owned(),
        Group::Space => format!("memory space {}", space_name(study.slab(row).color)),
        Group::Pass => named(row.origin.phase.name().to_owned(), "not marked"),
    }
}

/// One value as a line.
pub(crate) fn line(study: &Study, number: u32) -> RowLine {
    let row = &study.rows[number as usize];
    let slab = study.slab(row);
    RowLine {
        row: number,
        key: None,
        count: 1,
        name: cut(&row.name.to_string()),
        opcode: cut(&row.origin.opcode),
        shape: cut(&row.shape),
        bytes: row.size,
        cumulative: 0,
        logical: row.unpadded,
        range: row.range,
        place: Some((slab.number, row.offset)),
        kind: Some(slab.role.into()),
        color: slab.color,
        op: cut(&row.origin.op_name),
        line: cut(&row.origin.source_words()),
        pass: row.origin.phase.name().to_owned(),
        ..RowLine::default()
    }
}

/// Places that are named of a group.
const MOST_PLACES: usize = 24;

/// Where a value comes from: its `op_name` with the numbers of layers left out, and its line.
fn place(row: &Row) -> String {
    let parts = [without_numbers(&row.origin.op_name), row.origin.source_words()];
    let told: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
    if told.is_empty() { "not told".to_owned() } else { told.join(" · ") }
}

/// The scopes that all have in common, from the outermost on.
fn common_scope<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
    let mut common: Vec<&str> = names.next().map(|n| parts(n).collect()).unwrap_or_default();
    for name in names {
        let same = common.iter().zip(parts(name)).take_while(|(a, b)| **a == *b).count();
        common.truncate(same);
    }
    common.join("/")
}

/// The parts of an `op_name`: split at slashes that stand in no brackets.
pub(crate) fn parts(op_name: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    op_name
        .split(move |c| {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                _ => {}
            }
            c == '/' && depth <= 0
        })
        .filter(|p| !p.is_empty())
}

struct Bucket {
    key: String,
    rows: Vec<u32>,
    bytes: u64,
}

fn buckets(study: &Study, rows: &[u32], group: Group) -> Vec<Bucket> {
    let mut at: FxHashMap<String, usize> = FxHashMap::default();
    let mut out: Vec<(Bucket, Counted)> = Vec::new();
    for r in rows {
        let row = &study.rows[*r as usize];
        let key = key(study, row, group);
        let i = *at.entry(key).or_insert_with_key(|key| {
            out.push((Bucket { key: key.clone(), rows: Vec::new(), bytes: 0 }, Counted::default()));
            out.len() - 1
        });
        let (bucket, counted) = &mut out[i];
        bucket.rows.push(*r);
        bucket.bytes = bucket.bytes.saturating_add(counted.add_row(row));
    }
    out.into_iter().map(|(bucket, _)| bucket).collect()
}

/// Answers a question about values.
pub(crate) fn rows(study: &Study, query: &RowsQuery) -> Rows {
    let mut out = Rows::default();
    let mut fitting = match fitting(study, &query.filter) {
        Ok(rows) => rows,
        Err(problem) => {
            out.problem = Some(problem);
            return out;
        }
    };
    let sum = |rows: &mut dyn Iterator<Item = &Row>| {
        let mut counted = Counted::default();
        rows.fold(0u64, |sum, row| sum.saturating_add(counted.add_row(row)))
    };
    (out.whole, out.whole_words) = match query.filter.alive_at {
        Some(step) => (
            sum(&mut study.rows.iter().filter(|r| is_alive(r, step))),
            format!("of what is alive at step {step}"),
        ),
        None => (
            study.slabs.iter().fold(0u64, |sum, s| sum.saturating_add(s.size)),
            "of all allocations".to_owned(),
        ),
    };
    if !query.filter.is_everything() {
        out.fitting = Some(fitting.clone());
    }
    if let Some(within) = &query.within {
        fitting.retain(|r| key(study, &study.rows[*r as usize], query.group) == *within);
    }
    out.values = fitting.len() as u32;
    out.bytes = sum(&mut fitting.iter().map(|r| &study.rows[*r as usize]));
    let page = |len: usize| {
        let from = (query.from as usize).min(len);
        from..from.saturating_add(query.count as usize).min(len)
    };
    if query.group == Group::None || query.within.is_some() {
        sort(study, &mut fitting, query.sort);
        out.of = fitting.len() as u32;
        let page = page(fitting.len());
        let mut counted = Counted::default();
        let mut cumulative = 0u64;
        for (i, r) in fitting.iter().enumerate().take(page.end) {
            cumulative = cumulative.saturating_add(counted.add_row(&study.rows[*r as usize]));
            if i >= page.start {
                out.lines.push(RowLine { cumulative, ..line(study, *r) });
            }
        }
        return out;
    }
    let mut buckets = buckets(study, &fitting, query.group);
    for b in &mut buckets {
        sort(study, &mut b.rows, Sort::Bytes);
    }
    let first = |b: &Bucket| b.rows.iter().filter_map(|r| study.rows[*r as usize].range).min();
    let longest = |b: &Bucket| b.rows.iter().map(|r| length(&study.rows[*r as usize])).max().unwrap_or(0);
    buckets.sort_by(|a, b| {
        let order = match query.sort {
            Sort::Bytes | Sort::Place => b.bytes.cmp(&a.bytes),
            Sort::Start => first(a).cmp(&first(b)),
            Sort::Length => longest(b).cmp(&longest(a)),
            Sort::Name => std::cmp::Ordering::Equal,
        };
        order.then_with(|| a.key.cmp(&b.key))
    });
    out.of = buckets.len() as u32;
    let page = page(buckets.len());
    let mut counted = Counted::default();
    let mut cumulative = 0u64;
    for (i, b) in buckets.iter().enumerate().take(page.end) {
        for r in &b.rows {
            cumulative = cumulative.saturating_add(counted.add_row(&study.rows[*r as usize]));
        }
        if i >= page.start {
            out.lines.push(bucket_line(study, b, cumulative));
        }
    }
    out
}

fn bucket_line(study: &Study, bucket: &Bucket, cumulative: u64) -> RowLine {
    let mut out = line(study, bucket.rows[0]);
    let rows = || bucket.rows.iter().map(|r| &study.rows[*r as usize]);
    let same = |of: &dyn Fn(&Row) -> String| {
        let first = of(&study.rows[bucket.rows[0] as usize]);
        if rows().all(|r| of(r) == first) { cut(&first) } else { String::new() }
    };
    out.key = Some(bucket.key.clone());
    out.count = bucket.rows.len() as u32;
    if out.count > 1 {
        out.name = cut(&bucket.key);
        out.opcode = same(&|r| r.origin.opcode.clone());
        out.shape = same(&|r| r.shape.clone());
        // Where they differ, what they have in common.
        let all: Vec<&Row> = rows().collect();
        out.op = match same(&|r| without_numbers(&r.origin.op_name)) {
            op if op.is_empty() => cut(&questions::common_scope(&all)),
            op => op,
        };
        out.line = cut(&questions::common_lines(&all));
        out.pass = same(&|r| r.origin.phase.name().to_owned());
        if out.op.is_empty() || out.line.is_empty() {
            let mut count: BTreeMap<String, u32> = BTreeMap::new();
            for r in rows() {
                *count.entry(place(r)).or_default() += 1;
            }
            if count.len() > 1 {
                let mut all: Vec<(String, u32)> = count.into_iter().collect();
                all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
                out.more_places = all.len().saturating_sub(MOST_PLACES) as u32;
                out.places = all.into_iter().take(MOST_PLACES).map(|(p, n)| (cut(&p), n)).collect();
                if out.op.is_empty() {
                    let names: Vec<String> = rows().map(|r| without_numbers(&r.origin.op_name)).collect();
                    let common = cut(&common_scope(names.iter().map(String::as_str)));
                    out.op = if common.is_empty() { common } else { format!("{common}/…") };
                }
            }
        }
        out.place = None;
        let kind: Kind = study.slab(&study.rows[bucket.rows[0] as usize]).role.into();
        out.kind = rows().all(|r| Kind::from(study.slab(r).role) == kind).then_some(kind);
        out.range = rows().filter_map(|r| r.range).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        out.logical = rows().map(|r| r.unpadded).try_fold(0u64, |sum, b| Some(sum.saturating_add(b?)));
    }
    out.bytes = bucket.bytes;
    out.cumulative = cumulative;
    out
}

fn sort(study: &Study, rows: &mut [u32], by: Sort) {
    let row = |r: &u32| &study.rows[*r as usize];
    match by {
        Sort::Bytes => rows.sort_by_key(|r| (std::cmp::Reverse(row(r).size), *r)),
        Sort::Start => rows.sort_by_key(|r| (row(r).range.unwrap_or((u32::MAX, 0)), *r)),
        Sort::Length => rows.sort_by_key(|r| (std::cmp::Reverse(length(row(r))), *r)),
        Sort::Place => rows.sort_by_key(|r| (study.slab(row(r)).number, row(r).offset, row(r).range, *r)),
        Sort::Name => rows.sort_by(|a, b| row(a).name.cmp(&row(b).name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_scopes_have_in_common_ends_at_a_part() {
        let of = |names: &[&str]| common_scope(names.iter().copied());
        assert_eq!(of(&["jit(f)/a/dot", "jit(f)/ab/dot"]), "jit(f)");
        assert_eq!(of(&["jit(f)/a(b/c)/dot", "jit(f)/a(b/d)/dot"]), "jit(f)");
        assert_eq!(of(&["jit(f)/a/dot", "jit(f)/a/add"]), "jit(f)/a");
        assert_eq!(of(&["a", ""]), "");
        assert_eq!(of(&[]), "");
        assert_eq!(parts("/x//y").collect::<Vec<_>>(), ["x", "y"]);
    }

    #[test]
    fn each_address_counts_once() {
        let mut c = Counted::default();
        assert_eq!(c.add(0, 10, 20), 10);
        assert_eq!(c.add(0, 0, 5), 5);
        assert_eq!(c.add(0, 4, 12), 5);
        assert_eq!(c.add(0, 0, 20), 0);
        assert_eq!(c.add(0, 0, 30), 10);
        assert_eq!(c.add(1, 0, 30), 30);
        assert_eq!(c.add(1, 5, 5), 0);
        assert_eq!(c.add(1, u64::MAX - 1, u64::MAX), 1);
    }
}
