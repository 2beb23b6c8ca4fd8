//! Edits made by hand, as the page shows them: what they came to in sentences, and what can be tried with one value.

use crate::talk::{Edit, Hands, RoomLine};
use crate::text::{cut, cut_line};
use assigner::words::{both, difference};
use questions::{Program, Sizes, Study, Tried};

/// Runs of steps that are sent at most.
const MOST_RUNS: usize = 2_000;
/// Reads that are offered at most.
const MOST_READS: usize = 60;

/// What a run came to, against what it started from: a sentence each; first the three sums.
pub(crate) fn words(before: &Sizes, tried: &Tried) -> Vec<String> {
    let after = &tried.after;
    let sums = [
        ("All allocations", before.total, after.total),
        ("The temporaries", before.temp, after.temp),
        ("Most temporaries in use at once", before.peak, after.peak),
    ];
    let mut out: Vec<String> = sums
        .into_iter()
        .map(|(what, a, b)| format!("{what}: {}, before {}: {}.", both(b), both(a), difference(a, b)))
        .collect();
    out.extend(tried.sharings.iter().map(|s| cut_line(s)));
    out.extend(tried.remarks.iter().cloned());
    out
}

/// What can be tried with a value.
pub(crate) fn hands(study: &Study, program: &Program, name: &str) -> Option<Hands> {
    let row = &study.rows[study.find(name)?];
    let module = &program.module;
    let instruction = row.instruction?;
    let own = module.name_of(instruction);
    let mut out = Hands { value: cut(&row.name.to_string()), instruction: cut(own), ..Hands::default() };
    match questions::room(program, instruction) {
        Ok(room) => {
            out.words = cut_line(&room.words(module));
            let mut runs: Vec<(u32, u32)> = Vec::new();
            for step in room.steps() {
                match runs.last_mut() {
                    Some(last) if last.1 + 1 == step => last.1 = step,
                    _ => runs.push((step, step)),
                }
            }
            // The ends count; of what is between some may be left out.
            if runs.len() > MOST_RUNS {
                let last = runs.pop();
                runs.truncate(MOST_RUNS - 1);
                runs.extend(last);
            }
            out.room = Some(RoomLine { now: room.now, runs });
        }
        Err(why) => out.words = cut_line(&why),
    }
    if let Some(value) = row.value {
        for read in questions::droppable_reads(program, value).into_iter().take(MOST_READS) {
            let reader = module.name_of(read.reader);
            let step = program.facts.clock.time(read.reader).map_or(0, |s| s.0);
            let edit = Edit::DropRead { reader: reader.to_owned(), operand: read.operand };
            out.reads.push((format!("{} at step {step}, operand {}", cut(reader), read.operand), edit));
        }
    }
    out.is_copy = module.instruction(instruction).opcode == hlo::Opcode::Copy;
    Some(out)
}
