//! Questions about the whole module, answered in words and a table each: by topic, as the page offers them.

use crate::rows::space_name;
use crate::talk::Words;
use crate::text::{cut, cut_line};
use assigner::words::{both, bytes, grouped, list};
use hlo::InstructionId;
use questions::{Peak, Study};

/// What can be asked: the name by which it is asked, and the question.
pub const TOPICS: [(&str, &str); 8] = [
    ("stands-out", "What stands out?"),
    ("donation", "Was my donation used, and what could be donated?"),
    ("copies", "What is copied, why, and what would remove it?"),
    ("fragmentation", "What is lost between values, and would another packing fit?"),
    ("loops", "What do loops store, and what do transfers pin?"),
    ("padding", "What does padding cost?"),
    ("constants", "Which constants are in the executable, and who reads them?"),
    ("numbers", "Which number is which?"),
];

/// Most lines of a table.
const MOST: usize = 200;

/// Answers; `None` for a topic that there is not.
pub(crate) fn answer(study: &Study, peak: &Peak, topic: &str) -> Option<Words> {
    let title = TOPICS.iter().find(|(name, _)| *name == topic)?.1.to_owned();
    let (lines, table) = match topic {
        "stands-out" => stands_out(study, peak),
        "donation" => donation(study),
        "copies" => copies(study),
        "fragmentation" => fragmentation(study, peak),
        "loops" => loops(study, peak),
        "padding" => padding(study),
        "constants" => report::constants(study),
        _ => numbers(study, peak),
    };
    Some(Words { title, lines, table })
}

type Told = (Vec<String>, Vec<Vec<String>>);

fn name(study: &Study, id: InstructionId) -> String {
    study.program.as_ref().map(|p| cut(p.module.name_of(id))).unwrap_or_default()
}

fn row(study: &Study, i: usize) -> String {
    study.rows.get(i).map(|r| cut(&r.name.to_string())).unwrap_or_default()
}

fn head(columns: &[&str]) -> Vec<Vec<String>> {
    vec![columns.iter().map(|c| (*c).to_owned()).collect()]
}

/// Sentences as the items of a list in a cell.
fn items(sentences: &[String]) -> String {
    let each: Vec<String> = sentences.iter().map(|s| cut_line(&s.replace('\n', " "))).collect();
    each.join("\n")
}

fn without_program(what: &str) -> Told {
    (vec![format!("{what} stands in the module's text, and that is not among the files.")], Vec::new())
}

fn stands_out(study: &Study, peak: &Peak) -> Told {
    let notes = questions::notes(study, peak);
    let lines = if notes.is_empty() {
        vec!["Nothing that would be worth a note: no large value waits long, no copy is large, no donation is missed.".to_owned()]
    } else {
        notes.into_iter().map(|n| cut_line(&n.words)).collect()
    };
    (lines, Vec::new())
}

fn donation(study: &Study) -> Told {
    report::donation(study).unwrap_or_else(|| without_program("Donation"))
}

fn copies(study: &Study) -> Told {
    if study.program.is_none() {
        return without_program("A copy");
    }
    let all = questions::copies(study);
    if all.is_empty() {
        return (vec!["There is no copy of an array in this module.".to_owned()], Vec::new());
    }
    let moved = questions::written(study, &all);
    let mut lines = vec![match all.len() {
        1 => format!("1 copy writes {} in one run{}.", both(moved.bytes), moved.caveat()),
        n => {
            format!("{} copies write {} in one run{}.", grouped(n as u64), both(moved.bytes), moved.caveat())
        }
    }];
    let (causes, unknown) = questions::causes(study, &all);
    if let Some(why) = unknown {
        lines.push(format!(
            "Why the plain ones are there cannot be told by running copy insertion again: {}.",
            cut_line(&why)
        ));
    }
    let mut table = head(&["Copy", "Kind", "Of", "Bytes", "Runs", "Why", "What would remove it"]);
    for c in all.iter().take(MOST) {
        let cause = causes.iter().find(|k| (k.copy, k.part) == (c.instruction, c.part));
        let of = match c.argument {
            Some(n) => format!("{} (argument {n})", name(study, c.of)),
            None => name(study, c.of),
        };
        table.push(vec![
            name(study, c.instruction),
            c.kind.words().to_owned(),
            of,
            bytes(c.bytes),
            c.runs.map_or_else(|| "unknown".to_owned(), grouped),
            cause.map(|k| items(&k.words)).unwrap_or_default(),
            cause.map(|k| items(&k.removes)).unwrap_or_default(),
        ]);
    }
    (lines, table)
}

fn fragmentation(study: &Study, peak: &Peak) -> Told {
    let mut lines = Vec::new();
    let mut table = head(&["Memory space", "Allocation", "First byte", "Byte after the last", "Free bytes"]);
    for fit in questions::fits(study, peak).iter().filter(|f| f.temp > 0) {
        let at = peak.spaces.iter().find(|s| s.color == fit.color).map_or(0, |s| s.step);
        lines.push(format!(
            "Memory space {}: the temporaries take {}; at the fullest step, {}, {} of that are in use together. No packing needs fewer, so at most {} ({:.1} %) are lost by packing and alignment.",
            space_name(fit.color),
            both(fit.temp),
            grouped(u64::from(at)),
            both(fit.least_temp),
            both(fit.lost),
            fit.lost as f64 * 100.0 / fit.temp.max(1) as f64
        ));
        lines.push(format!(
            "With arguments, outputs and constants, {}, the program needs at least {} there under any packing: a smaller limit can be met only by keeping less alive.",
            both(fit.fixed),
            both(fit.least)
        ));
        for (allocation, from, to) in fit.holes.iter().take(40) {
            table.push(vec![
                space_name(fit.color),
                allocation.to_string(),
                grouped(*from),
                grouped(*to),
                bytes(to - from),
            ]);
        }
    }
    if lines.is_empty() {
        lines.push("There are no temporaries, so nothing is lost between them.".to_owned());
    }
    lines.push(
        "What the allocator under XLA loses at run time (rounding, its own fragmentation) stands in no dump."
            .to_owned(),
    );
    (lines, if table.len() > 1 { table } else { Vec::new() })
}

fn loops(study: &Study, peak: &Peak) -> Told {
    if study.program.is_none() {
        return without_program("A loop");
    }
    let mut lines = Vec::new();
    let mut table = head(&["What", "Bytes", "Told"]);
    let mut seen = 0u32;
    for space in &peak.spaces {
        for slot in &space.slots {
            let Some((i, s)) = slot.rows.iter().find_map(|i| Some((*i, questions::stack(study, *i)?))) else {
                continue;
            };
            seen += 1;
            table.push(vec![
                row(study, i),
                bytes(slot.size),
                format!(
                    "a stack of {} × {} ({} each), written by {}{}; alive at the peak",
                    grouped(s.length),
                    cut(&s.element),
                    both(s.element_bytes),
                    name(study, s.writer),
                    s.at.map(|l| format!(" in {}", name(study, l))).unwrap_or_default()
                ),
            ]);
        }
    }
    lines.push(match seen {
        0 => "No array that a loop fills is alive at the peak.".to_owned(),
        n => format!("{n} arrays that a loop fills element by element are alive at the peak."),
    });
    let spans = questions::spans(study);
    if spans.is_empty() {
        lines.push(
            "Nothing is transferred beside the computation: there is no start without its end at once."
                .to_owned(),
        );
    }
    for s in spans.iter().take(MOST) {
        let spaces: Vec<String> = s.colors.iter().map(|c| space_name(*c)).collect();
        table.push(vec![
            name(study, s.start),
            bytes(s.bytes),
            format!(
                "pinned from step {} to step {} ({}), in memory space {}",
                grouped(u64::from(s.from)),
                grouped(u64::from(s.to)),
                name(study, s.done),
                list(&spaces, 4)
            ),
        ]);
    }
    (lines, if table.len() > 1 { table } else { Vec::new() })
}

fn padding(study: &Study) -> Told {
    let found = questions::padding(study);
    if found.values.is_empty() {
        return (
            vec![format!("No value takes more than its data: {} in all.", both(found.unpadded))],
            Vec::new(),
        );
    }
    let lines = vec![format!(
        "Counted one by one, though they take turns in memory, all values take {} for {} of data: a factor of {:.2}.",
        both(found.padded),
        both(found.unpadded),
        found.padded as f64 / found.unpadded.max(1) as f64
    )];
    let mut table =
        head(&["Value", "Shape", "Takes", "Data", "Factor", "Tiling", "A better order of dimensions"]);
    for p in found.values.iter().take(MOST) {
        let best = p.best.as_ref().map(|(order, n)| {
            let order: Vec<String> = order.iter().map(u32::to_string).collect();
            format!("{{{}}}: {}", order.join(","), bytes(*n))
        });
        table.push(vec![
            row(study, p.row),
            cut(&study.rows[p.row].shape),
            bytes(p.padded),
            bytes(p.unpadded),
            format!("{:.2}", p.factor),
            p.tiling.clone(),
            best.unwrap_or_default(),
        ]);
    }
    (lines, table)
}

fn numbers(study: &Study, peak: &Peak) -> Told {
    let lines = questions::cautions(study).iter().map(|c| (*c).to_owned()).collect();
    let mut table = head(&["Number", "Bytes", "What it is"]);
    for n in questions::numbers(study, peak) {
        table.push(vec![n.name.to_owned(), both(n.bytes), n.words.to_owned()]);
    }
    (lines, table)
}
