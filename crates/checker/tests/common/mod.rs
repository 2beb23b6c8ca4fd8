//! Modules with XLA's own assignments, and how they are asked about.

#![allow(dead_code, reason = "each test file uses its own part")]

use analysis::{Facts, Orders, Position, Target};
use checker::{Options, Plan, Report, Verdict, check_bound};
use hlo::Module;
use std::path::{Path, PathBuf};

/// One module and XLA's assignment of it.
#[derive(Clone)]
pub struct Case {
    pub name: String,
    pub module: Module,
    pub dump: String,
}

impl Case {
    pub fn new(name: String, module: &Path, dump: &Path) -> Self {
        let read = |path: &Path| std::fs::read_to_string(path).expect("a text");
        let module = hlo::read(&read(module)).module.expect("a module");
        Self { name, module, dump: read(dump) }
    }

    pub fn plan(&self) -> Plan {
        Plan::parse(&self.dump).expect("an assignment")
    }

    pub fn verdict(&self, plan: &Plan) -> Verdict {
        checker::check(&self.module, plan, &Options::detect(&self.module, plan)).expect("an assignment of it")
    }

    pub fn facts(&self) -> Facts {
        let target = Target::detect(&self.module);
        let orders = Orders::guess(&self.module, &target);
        Facts::new(&self.module, orders, target).expect("facts")
    }

    /// The same with what is bound to one buffer told.
    pub fn report(&self, plan: &Plan, facts: &Facts) -> Report {
        let bound = |instruction, sub| {
            let value = facts.dataflow.unique_at(Position { instruction, sub })?;
            Some(facts.value(value).buffer.0)
        };
        check_bound(&self.module, plan, &Options::detect(&self.module, plan), &bound)
            .expect("an assignment of it")
    }
}

pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// All cases, by name: `NAME.hlo` and `NAME.txt` in the test data.
pub fn cases() -> Vec<Case> {
    let mut names: Vec<String> = std::fs::read_dir(folder("data"))
        .expect("the test data")
        .filter_map(|e| e.ok()?.file_name().into_string().ok()?.strip_suffix(".hlo").map(String::from))
        .collect();
    names.sort();
    let file = |name: &str, end: &str| folder("data").join(format!("{name}.{end}"));
    names.into_iter().map(|n| Case::new(n.clone(), &file(&n, "hlo"), &file(&n, "txt"))).collect()
}

/// All `module.txt` with a `buffer-assignment.txt` beside it, below a folder.
pub fn cases_below(folder: &Path) -> Vec<Case> {
    let mut out = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let (module, dump) = (folder.join("module.txt"), folder.join("buffer-assignment.txt"));
        if module.is_file() && dump.is_file() {
            out.push(Case::new(folder.display().to_string(), &module, &dump));
        }
        open.extend(
            std::fs::read_dir(&folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|e| e.path())
                .filter(|p| p.is_dir()),
        );
    }
    out.sort_by(|a, b| a.name.cmp(&b.name));
    out
}

/// The answer in one line.
pub fn words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Right(s) => {
            format!("right after {} steps, {} reads, {} writes", s.steps, s.reads, s.writes)
        }
        Verdict::Wrong(v) => format!("wrong: {v}"),
        Verdict::NotFullyExplored(_) => "not fully explored".into(),
    }
}

/// Compares with what a file in `tests` holds.
pub fn expect(file: &str, got: &str) {
    let path = folder(file);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, got).expect("the expectations can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (n, (g, e)) in got.lines().zip(expected.lines()).enumerate() {
        assert_eq!(g, e, "{file}:{}: run with UPDATE_EXPECT=1 if this is right", n + 1);
    }
    assert_eq!(got.lines().count(), expected.lines().count(), "run with UPDATE_EXPECT=1 if this is right");
}
