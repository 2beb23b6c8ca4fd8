//! What is run again only when something has changed that it depends on: the notebooks, and the sites of other generators.

use std::fs;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::process::{root, target_dir};
use crate::{Result, wheel};

#[derive(Default)]
pub(crate) struct Options {
    /// Run it even if nothing has changed.
    pub(crate) force: bool,
    /// A page that is built already.
    pub(crate) dist: Option<PathBuf>,
}

impl Options {
    /// Those of the stage of this name.
    pub(crate) fn parse(stage: &str, args: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--force" => options.force = true,
                "--dist" => options.dist = Some(args.next().ok_or("--dist wants a folder")?.into()),
                _ => return Err(format!("{stage} knows --force and --dist FOLDER, not {arg}")),
            }
        }
        Ok(options)
    }
}

/// What a stage depends on, as it is now and as it was when all of it passed last.
pub(crate) struct Inputs {
    name: &'static str,
    now: String,
    stamp: PathBuf,
}

impl Inputs {
    /// Of the stage of this name, from files and folders: one hash of their names and what is in them.
    pub(crate) fn of(name: &'static str, below: &[&str]) -> Result<Inputs> {
        let mut hash = Sha256::new();
        for file in wheel::tracked(below)? {
            let bytes =
                fs::read(root().join(&file)).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
            hash.update(file.to_string_lossy().as_bytes());
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
        let stamp = target_dir()?.join(format!("{name}.passed"));
        Ok(Inputs { name, now: wheel::hex(&hash.finalize()), stamp })
    }

    /// Whether nothing has changed since all of it passed last.
    pub(crate) fn are_as_passed(&self) -> bool {
        fs::read_to_string(&self.stamp).is_ok_and(|passed| passed == self.now)
    }

    /// Whether there is nothing to be run, which is told.
    pub(crate) fn need_nothing(&self, options: &Options) -> bool {
        let done = !options.force && self.are_as_passed();
        if done {
            println!(
                "Nothing that the {} depend on has changed since they passed last; --force runs them all the same.",
                self.name
            );
        }
        done
    }

    /// Notes that all of it passed with what it depends on as it was when this was made.
    pub(crate) fn passed(&self) -> Result<()> {
        fs::write(&self.stamp, &self.now)
            .map_err(|e| format!("cannot write {}: {e}", self.stamp.display()))?;
        println!("\nThe {} passed.", self.name);
        Ok(())
    }
}
