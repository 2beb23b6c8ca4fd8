//! Opening and asking: any bytes as a file or an archive, and any module with all questions about it.

use crate::Case;
use analysis::{Facts, Orders, Target};
use opening::{Blob, Limits, open};
use questions::{Effort, Program, Settings, Source, Study, advise, compare};

/// Whatever the bytes are, opening them ends, keeps to its limits, and what it finds can be loaded and asked about.
///
/// # Panics
///
/// When that is not so.
pub fn open_anything(bytes: &[u8]) {
    let limits = Limits { bytes: 4 << 20, files: 50, ..Limits::default() };
    // As one file, and as two beside each other: the second half may be about the first.
    let half = bytes.len() / 2;
    let pieces = [
        vec![Blob::new("module_0001.f.cpu_after_optimizations.txt", bytes)],
        vec![Blob::new("a.txt", &bytes[..half]), Blob::new("b/c", &bytes[half..])],
    ];
    for blobs in pieces {
        let opened = open(blobs, &limits);
        let grown: usize = opened.files.iter().map(|f| f.bytes.len()).sum();
        assert!(grown as u64 <= limits.bytes + bytes.len() as u64 && opened.files.len() <= 50);
        for i in 0..opened.modules.len() {
            let loaded = opened.load(i);
            for f in &loaded.findings {
                assert!(!f.words().is_empty());
            }
            if let Ok(study) = Study::of(loaded, &Settings::default()) {
                ask(&study);
            }
        }
    }
}

/// Whatever the module, all questions have an answer, and what they add up agrees.
///
/// # Panics
///
/// When that is not so.
pub fn ask_anything(bytes: &[u8]) {
    let case = Case::new(bytes);
    let module = hlo::read(&case.text).complete().expect("the generator's own module");
    let target = Target::tuned(case.backend, &module);
    let Ok(facts) = Facts::new(&module, Orders::guess(&module, &target), target.clone()) else { return };
    let study = Study::of_program(Program::new(module.clone(), facts), &case.options);
    ask(&study);
    let own = compare(&study, &study);
    assert!(
        own.changed.is_empty()
            && own.vanished.is_empty()
            && own.appeared.is_empty()
            && own.at_peak.is_empty()
    );

    // The same through the four files, with and without the program.
    let program = study.program.as_ref().expect("the program");
    let (assignment, _) = study.ours.as_ref().expect("our assignment");
    let files = dumps::all(&program.module, &program.facts, assignment);
    let blobs = || files.iter().map(|(name, text)| Blob::new(*name, text.as_bytes()));
    for with_program in [false, true] {
        let text = with_program.then(|| Blob::new("module.txt", case.text.as_bytes()));
        let opened = open(blobs().chain(text).collect(), &Limits::default());
        let Some(i) = (0..opened.modules.len()).find(|i| !opened.modules[*i].dumps.is_empty()) else {
            continue;
        };
        let loaded = opened.load(i);
        let findings: Vec<String> = loaded.findings.iter().map(opening::Finding::words).collect();
        assert!(findings.is_empty(), "{findings:?}\n{}\n{}", case.text, files[0].1);
        let settings =
            Settings { backend: Some(case.backend), options: case.options.clone(), ..Settings::default() };
        let again = Study::of(loaded, &settings).expect("a dump");
        assert_eq!(again.source, Source::Dump);
        ask(&again);
        let (a, b) = (questions::peak(&study), questions::peak(&again));
        assert_eq!((a.total, &a.owners), (b.total, &b.owners), "{}\n{}", case.text, files[0].1);
        let sizes = |p: &questions::Peak| {
            p.spaces.iter().map(|s| (s.color, s.temp, s.live, s.step)).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&a), sizes(&b), "{}\n{}", case.text, files[0].1);
    }

    let effort = Effort { trials: 3, ..Effort::default() };
    for a in advise(&study, effort, &mut |_, _| true).advice {
        assert_eq!(a.saves, a.total.0 - a.total.1);
    }
    let at = |n: usize| usize::from(bytes.get(n).copied().unwrap_or(0));
    if let (false, true) = (study.rows.is_empty(), at(5) % 4 == 0) {
        let pick = |n: usize| study.rows[at(n) % study.rows.len()].name.clone();
        let pair = [pick(6), pick(7)];
        if let Ok(small) = questions::reduce(&module, &target, &case.options, pair, 2_000, &mut |_| true) {
            assert!(small.instructions.1 <= small.instructions.0);
            assert!(hlo::read(&small.text).complete().is_ok(), "{}", small.text);
        }
    }
}

/// Asks everything that needs no other study.
fn ask(study: &Study) {
    let peak = questions::peak(study);
    for space in &peak.spaces {
        assert!(space.live <= space.temp || study.source == Source::Dump, "{space:?}");
        // Slots are apart in a right assignment, so they add up to what is alive.
        let slots = space.slots.iter().fold(0u64, |n, s| n.saturating_add(s.size));
        let groups =
            questions::groups(study, &space.slots).iter().fold(0u64, |n, g| n.saturating_add(g.bytes));
        assert_eq!(slots, groups);
        if study.source == Source::Ours {
            assert!(slots >= space.live, "{space:?}");
        }
    }
    for row in 0..study.rows.len().min(50) {
        _ = questions::hold(study, row);
        _ = questions::stack(study, row);
    }
    _ = questions::spans(study);
    _ = questions::padding(study);
    _ = questions::copies(study);
    _ = questions::fits(study, &peak);
    _ = questions::numbers(study, &peak);
    if let Some(table) = questions::donation(study) {
        let all = table.arguments.iter().fold(0u64, |n, a| n.saturating_add(a.bytes));
        assert!(table.taken <= all && table.could_save <= all);
    }
    for note in questions::notes(study, &peak) {
        assert!(!note.words.is_empty());
    }
}
