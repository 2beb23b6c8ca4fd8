//! The names of dump files: which module, which compiler, which stage.

use analysis::Backend;

/// What the name of a dump file tells. It is a hint: what a file is, its content says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DumpName {
    /// The folder, without a slash at its end.
    pub folder: String,
    /// The module's number as written, `0012`.
    pub id: Option<String>,
    /// The module's name; it may hold dots. XLA leaves one that is too long for a file name out: then it is empty. Without a
    /// number, the file's name without what is known of its end.
    pub module: String,
    /// `cpu_after_optimizations`, `sm_9.0_gpu_after_optimizations`, `cl_123.after_optimizations`, `before_optimizations`;
    /// empty if the name tells none.
    pub stage: String,
}

/// Ends of the files of one module; longest first.
const ENDS: [&str; 18] = [
    "-buffer-assignment-values.txt",
    "-buffer-assignment.txt",
    "-memory-usage-report.txt",
    "-live-range.txt",
    "-config.txt",
    ".hlo.pbtxt",
    ".hlo.pb",
    ".hlo.txt",
    ".hlo",
    ".decisions.txt",
    "buffer-assignment.txt",
    "memory-usage-report.txt",
    "live-range.txt",
    "values.txt",
    ".txt",
    ".pb",
    ".mlir",
    ".html",
];

/// Takes a name apart. Whether it ends in `.gz` makes no difference.
#[must_use]
pub fn dump_name(path: &str) -> DumpName {
    let path = path.replace('\\', "/");
    let (folder, file) = path.rsplit_once('/').map_or(("", path.as_str()), |(folder, file)| (folder, file));
    let file = file.strip_suffix(".gz").unwrap_or(file);
    let stem = ENDS.iter().find_map(|e| file.strip_suffix(e)).unwrap_or(file);
    let mut out = DumpName { folder: folder.to_owned(), ..DumpName::default() };
    let (before, rest) = match numbered(stem) {
        Some((before, id, rest)) => {
            out.id = Some(id.to_owned());
            (before, rest)
        }
        None => ("", stem),
    };
    let (module, stage) = split_stage(rest);
    out.module = format!("{before}{module}");
    stage.clone_into(&mut out.stage);
    out
}

/// Bytes of a file's name that file systems take. XLA writes no file whose name is longer.
pub(crate) const LONGEST_NAME: usize = 255;

/// Why a file of that name is not there.
pub(crate) fn too_long(file: &str) -> String {
    format!(
        "its name would have {} bytes, and file systems take {LONGEST_NAME}, so XLA could not write it; give the function a name \
         that is shorter by {} or more",
        file.len(),
        file.len().saturating_sub(LONGEST_NAME)
    )
}

/// Is it the name of a file or a folder that a compilation leaves, `module_0012` or `module_0012.REST`?
pub(crate) fn is_numbered(part: &str) -> bool {
    numbered(part).is_some()
}

/// `PREFIXmodule_0012.REST`
fn numbered(stem: &str) -> Option<(&str, &str, &str)> {
    stem.match_indices("module_").find_map(|(at, mark)| {
        let rest = &stem[at + mark.len()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let tail = rest.get(digits..)?;
        let is_end = tail.is_empty() || tail.starts_with('.');
        (digits > 0 && is_end).then(|| (&stem[..at], &rest[..digits], tail))
    })
}

/// Splits what stands behind the number, with the dot before it, into the module's name and the stage.
fn split_stage(rest: &str) -> (&str, &str) {
    let (module, stage) = split_dotted(rest);
    (module.strip_prefix('.').unwrap_or(module), stage)
}

fn split_dotted(rest: &str) -> (&str, &str) {
    // The mark that is furthest left among the last ones: a module's own name may hold anything but these.
    let marks = [
        ".cpu_after_optimizations",
        ".after_optimizations",
        "_gpu_after_optimizations",
        ".before_optimizations",
    ];
    let Some(at) = marks.iter().filter_map(|m| rest.rfind(m)).min() else {
        // A dump of a pass: `jit_f.0003.simplification.after_dce.before_copy-insertion`.
        let pass = rest.match_indices('.').find(|(i, _)| {
            let behind = &rest[i + 1..];
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            digits == 4 && behind[4..].starts_with('.')
        });
        return pass.map_or((rest, ""), |(i, _)| (&rest[..i], &rest[i + 1..]));
    };
    let start = if rest[at..].starts_with("_gpu") {
        // `jit_f.sm_9.0_gpu_...`, `jit_f.gfx942_gpu_...`: the architecture begins behind a dot.
        let head = &rest[..at];
        head.rfind(".sm_").or_else(|| head.rfind(".gfx")).or_else(|| head.rfind('.'))
    } else {
        // `jit_f.cl_1014260217.after_optimizations`
        let head = &rest[..at];
        let list = head.rfind(".cl_").filter(|i| head[i + 4..].bytes().all(|b| b.is_ascii_digit()));
        list.or(Some(at))
    };
    match start {
        Some(i) => (&rest[..i], &rest[i + 1..]),
        None => ("", rest),
    }
}

impl DumpName {
    /// The compiler that the stage names.
    #[must_use]
    pub fn backend(&self) -> Option<Backend> {
        if self.stage.starts_with("cpu_") {
            Some(Backend::Cpu)
        } else if self.stage.contains("gpu_after") {
            Some(Backend::Gpu)
        } else if self.stage.starts_with("cl_") {
            Some(Backend::Tpu)
        } else {
            None
        }
    }

    /// Is it the end of the compilation, to which the other files belong?
    #[must_use]
    pub fn is_after_optimizations(&self) -> bool {
        self.stage.ends_with("after_optimizations")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let check = |path: &str, folder: &str, id: Option<&str>, module: &str, stage: &str| {
            let name = dump_name(path);
            let got = (name.folder.as_str(), name.id.as_deref(), name.module.as_str(), name.stage.as_str());
            assert_eq!(got, (folder, id, module, stage), "{path}");
        };
        check(
            "a/module_0000.jit_f.cpu_after_optimizations-live-range.txt",
            "a",
            Some("0000"),
            "jit_f",
            "cpu_after_optimizations",
        );
        check(
            "module_0012.jit_f.sm_9.0_gpu_after_optimizations.txt",
            "",
            Some("0012"),
            "jit_f",
            "sm_9.0_gpu_after_optimizations",
        );
        check(
            "module_0012.f.gfx942_gpu_after_optimizations.hlo.pb",
            "",
            Some("0012"),
            "f",
            "gfx942_gpu_after_optimizations",
        );
        check(
            "module_0002.SyncTensorsGraph.4.cpu_after_optimizations.txt",
            "",
            Some("0002"),
            "SyncTensorsGraph.4",
            "cpu_after_optimizations",
        );
        check(
            "x/y/module_0000.jit_f.cl_1014260217.after_optimizations-buffer-assignment-values.txt",
            "x/y",
            Some("0000"),
            "jit_f",
            "cl_1014260217.after_optimizations",
        );
        check(
            "mödule 1 module_0000.jit_f.before_optimizations.txt",
            "",
            Some("0000"),
            "mödule 1 jit_f",
            "before_optimizations",
        );
        // The module's name was too long.
        for (stage, end) in [
            ("cpu_after_optimizations", "-live-range.txt"),
            ("before_optimizations", ".txt"),
            ("sm_9.0_gpu_after_optimizations", ".hlo.pb"),
            ("cl_12.after_optimizations", ".txt"),
        ] {
            check(&format!("module_0008.{stage}{end}"), "", Some("0008"), "", stage);
        }
        check("module_0000.txt", "", Some("0000"), "", "");
        check("module_0002.__compute_module_1.o", "", Some("0002"), "__compute_module_1.o", "");
        check("module_0000.jit_f.decisions.txt", "", Some("0000"), "jit_f", "");
        check(
            "module_0007.jit_f.0003.simplification.after_dce.txt",
            "",
            Some("0007"),
            "jit_f",
            "0003.simplification.after_dce",
        );
        check("out\\buffer-assignment.txt", "out", None, "", "");
        check("notes.txt", "", None, "notes", "");
        check("", "", None, "", "");
        check("module_.txt", "", None, "module_", "");
    }
}
