//! Chapter 5: the signature exhibit.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 5,
    slug: "until-the-sharing-breaks",
    title: "Until the sharing breaks",
    question: "How long may a value live before another one has to move?",
    figures: &["drag"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(ranges, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

/// The module it begins with.
const MODULE: &str = "varied_temp_sizes";

const TITLE: &str = "Pull a range until the sharing breaks";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    use super::Poster;
    use crate::scene::heap;
    use crate::{engine, modules, story};
    let Ok(opened) = engine::open(&super::text_of(MODULE)) else { return Vec::new() };
    let picture = &opened.original.picture;
    let selected = modules::shipped(MODULE).and_then(|m| opened.find(m.suggested?));
    let scene = heap(picture, picture, (900.0, 420.0), selected, &[], opened.original.curve.peak()).scene;
    vec![Poster {
        figure: "drag",
        title: TITLE,
        caption: story::peak(&opened.original),
        class: "heap",
        scene,
    }]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{MODULE, TITLE};
    use crate::breaking;
    use crate::engine::Run;
    use crate::exhibit::Exhibit;
    use crate::figure::Figure;
    use crate::fragmentation::Packed;
    use crate::modules::shipped;
    use crate::scene;
    use crate::state::{End, Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule, Scrub, Term};
    use crate::views::drawn::Drawn;
    use crate::workbench::{Shared, Workbench, use_workbench};
    use assigner::words::{bytes, difference};
    use leptos::prelude::*;

    pub fn chapter() -> AnyView {
        let wb = Workbench::for_figure("drag", State::new(Source::Shipped(MODULE.to_owned())));
        // The value that the module's story begins with; what is selected may change.
        let named = Memo::new(move |_| {
            wb.state.with(|s| match &s.source {
                Source::Shipped(id) => shipped(id).and_then(|m| m.suggested),
                Source::Own(_) => None,
            })
        });
        let pulled = Memo::new(move |_| {
            let base = wb.base.get()?;
            breaking::pulled(&base, named.get().and_then(|n| base.find(n)).or_else(|| base.suggest())?)
        });
        // What the prose speaks of: the selected value, or else the one that the story begins with.
        let spoken = Memo::new(move |_| wb.selected.get().or_else(|| wb.find(&pulled.get()?.name)));
        let range = move || {
            let value = spoken.get()?;
            wb.run.with(|r| r.as_ref()?.picture.item(value).map(|i| (value, i.start, i.end)))
        };
        let spoken_name = move || {
            let value = spoken.get()?;
            wb.base.with(|b| Some(b.as_ref()?.original.picture.item(value)?.name.clone()))
        };
        // A button has a name, also while its module is not there yet.
        let spoken_name = move || {
            spoken_name().or(named.get().map(str::to_owned)).unwrap_or_else(|| "the value".to_owned())
        };
        let question = move || {
            pulled.get().map_or_else(
                || "A value's end is pulled until a sharing breaks. What does the heap do?".to_owned(),
                |p| {
                    format!(
                        "{} has {} and is wanted until step {}. Its end is pulled to step {}, where its first sharing breaks. What does the heap do?",
                        p.name,
                        bytes(p.bytes),
                        p.steps.0,
                        p.steps.1
                    )
                },
            )
        };
        let options = [
            "It stays as it is",
            "It grows, by less than the value",
            "It grows, by the value or more",
            "It gets smaller",
        ];
        let goal = move || wb.opened.get().map(|o| breaking::goal(&o)).unwrap_or_default();
        let check = move || {
            let (solved, progress) = breaking::progress(&*wb.opened.get()?, &*wb.run.get()?);
            Some(PuzzleResult { solved, progress })
        };
        view! {
            <p>
                "Two values may stand at the same address if their live ranges do not overlap. There is one exception, for "
                "instructions that work in place, and chapter 6 is about it; apart from that the ranges decide which of the "
                "temporaries can share. Pull one longer, and at an exact step a sharing "
                "breaks: the two are wanted at the same time, one of them needs another place, and the heap may grow. "
                "XLA calls this " <dfn>"live range interference"</dfn>
                ". "
                <Rule section="8.5.1" />
            </p>
            <p>
                "The marks beyond the end of the selected range say at which step which sharing breaks, before you get "
                "there. Pull the end, or use the arrow keys: the packing runs again at every step. Here, too: "
                <Term wb value=Signal::derive(spoken_name) /> " is wanted until step "
                <Scrub
                    label="End of the selected range"
                    value=Signal::derive(move || range().map_or(0, |(_, _, end)| i64::from(end)))
                    min=Signal::derive(move || range().map_or(0, |(_, start, _)| i64::from(start)))
                    max=Signal::derive(move || wb.run.with(|r| r.as_ref().map_or(0, |r| i64::from(r.picture.last()))))
                    set=Callback::new(move |to| {
                        if let Some((value, ..)) = range() {
                            wb.move_end(value, End::End, to);
                        }
                    })
                    settle=Callback::new(move |()| wb.settle())
                />
                "."
            </p>
            <Predict
                wb
                id="pull"
                question=Signal::derive(question)
                options=Signal::derive(move || options.map(str::to_owned).to_vec())
                answer=Signal::derive(move || pulled.get().map(|p| p.answer()))
                explain=Callback::new(move |_: usize| pulled.get().map(|p| p.words()).unwrap_or_default())
            />
            <Figure
                wb
                title=TITLE
                caption="Above, live ranges: a row a buffer, the steps across. Below or beside, the heap: addresses upwards. Whatever stood elsewhere before leaves a dotted ghost."
                reserve=[1332, 2224, 2967]
            >
                <Exhibit />
                <Packers />
            </Figure>
            <Puzzle
                id="grow"
                goal=Signal::derive(move || {
                    format!(
                        "by pulling one end of one range by at most {} steps, make the heap grow by at least {}.",
                        breaking::REACH,
                        bytes(goal())
                    )
                })
                check=Signal::derive(check)
                hint="Show the breaks on every row. A large value whose mark is near, at a step where much is alive, has nowhere to go."
            />
            <p>
                "Pull an end and look at the small heaps, too: the same values, packed in four ways that XLA has for it, of which "
                "chapter 9 shows the first three step by step. A sharing that breaks is a fact about two ranges, and no packer can bring it "
                "back. How many bytes it costs depends on how the packer fills the heap. "
                <Rule section="5" />
                " "
                <Rule section="10.5" />
            </p>
        }
        .into_any()
    }

    /// The heap as it is now under each packer, small, on the same axes.
    #[component]
    fn Packers() -> impl IntoView {
        let wb = use_workbench();
        // While an end is on its way only the large heap follows.
        let run = Memo::new(
            move |was: Option<&Option<Shared<Run>>>| {
                if wb.dragging.get().is_some() { was.cloned().flatten() } else { wb.run.get() }
            },
        );
        let packers = Memo::new(move |_| run.get().map(|run| Shared::new(breaking::packers(&run))));
        let before = Memo::new(move |_| {
            let opened = wb.opened.get()?;
            Some(Shared::new(breaking::packers(&opened.original)))
        });
        let most = Memo::new(move |_| {
            let of = |p: &Memo<Option<Shared<Vec<Packed>>>>| {
                p.with(|p| p.as_ref().and_then(|p| p.iter().map(|p| p.size).max()).unwrap_or_default())
            };
            of(&packers).max(of(&before)).max(1)
        });
        let count = move || packers.with(|p| p.as_ref().map_or(0, |p| p.len()));
        let size = move |from: Memo<Option<Shared<Vec<Packed>>>>, n: usize| {
            from.with(|p| p.as_ref().and_then(|p| p.get(n)).map(|p| p.size))
        };
        view! {
            <h4>"The same values under each packer"</h4>
            <ul class="small-heaps">
                <For each=move || 0..count() key=|n| *n let(n)>
                    {
                        let name = breaking::PACKERS.get(n).map(|p| p.1).unwrap_or_default();
                        let total = move || {
                            let (now, was) = (size(packers, n)?, size(before, n)?);
                            Some(if now == was {
                                bytes(now)
                            } else {
                                format!("{}, {}", bytes(now), difference(was, now))
                            })
                        };
                        view! {
                            <li data-packer=move || size(packers, n).map(|s| s.to_string())>
                                <p class="quiet">{name}</p>
                                <Drawn
                                    wb
                                    title="A packer's heap"
                                    class="heap small"
                                    said=Signal::derive(move || {
                                        format!("{name}: {}", total().unwrap_or_default())
                                    })
                                    scene=Callback::new(move |width: f64| {
                                        let run = run.get()?;
                                        packers.with(|p| {
                                            let packed = p.as_ref()?.get(n)?;
                                            Some(scene::small(&run.picture, (packed.size, &packed.places), most.get(), (width, 112.0)))
                                        })
                                    })
                                />
                                <p class="quiet">{total}</p>
                            </li>
                        }
                    }
                </For>
            </ul>
        }
    }
}
